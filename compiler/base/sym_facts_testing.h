// For tests only: facts that are learnt from texts.
#pragma once

#include <gtest/gtest.h>

#include "compiler/base/sym_testing.h"

namespace lenz::sym_testing {

struct World {
  SymPool pool;
  Facts facts;

  // "a in 1..9", "a in 8.." or a condition.
  World(std::initializer_list<const char*> given) {
    for (const char* g : given) EXPECT_TRUE(learn(g)) << g;
  }
  World() = default;
  bool learn(std::string_view text) {
    size_t in = text.find(" in ");
    if (in == std::string_view::npos) return facts.add(parse_cond(text, pool));
    size_t dots = text.find("..");
    auto end = [&](std::string_view t) {
      return t.empty() ? std::nullopt : std::optional(parse_dim(t, pool).constant());
    };
    facts.set_range(pool.symbol(text.substr(0, in)).node(),
                    {end(text.substr(in + 4, dots - in - 4)), end(text.substr(dots + 2))});
    return true;
  }
  Dim dim(std::string_view text) { return parse_dim(text, pool); }
  Truth prove(std::string_view text) { return facts.prove(parse_cond(text, pool)); }
};

}  // namespace lenz::sym_testing
