// Parsing of a command's arguments, the same way for every command.
// Thread-safety: as CLI::App.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdio>
#include <span>
#include <string>

#include "compiler/base/error.h"

namespace lenz {

// False when help was asked for, and printed. Throws UserError.
inline bool parse_arguments(CLI::App& app, std::span<const std::string> args) {
  std::vector<std::string> reversed(args.rbegin(), args.rend());
  try {
    app.parse(reversed);
  } catch (const CLI::CallForHelp&) {
    std::fputs(app.help().c_str(), stdout);
    return false;
  } catch (const CLI::ParseError& error) {
    throw UserError(error.what(), app.get_name(), app.get_name() + " --help lists the options");
  }
  return true;
}

}  // namespace lenz
