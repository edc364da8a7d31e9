// `--bind` of the oracle's commands.
// Thread-safety: as CLI::App.
#pragma once

#include <string>

#include "compiler/driver/arguments.h"

namespace lenz::oracle {

// `rest`: what becomes of symbols that it does not name.
inline void add_bind_option(CLI::App& app, std::string& bind, const std::string& rest) {
  const auto something = [](const std::string& text) { return std::string(text.empty() ? "it binds no symbol" : ""); };
  app.add_option("--bind", bind, "sizes of symbols: s0=17,s1=3; those not named " + rest)
      ->check(CLI::Validator(something, ""));
}

}  // namespace lenz::oracle
