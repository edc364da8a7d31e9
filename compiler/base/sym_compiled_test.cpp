// Compiled dims answer as evaluate() does, whichever symbols are folded in.
#include "compiler/base/sym_compiled.h"

#include <gtest/gtest.h>

#include "compiler/base/sym_testing.h"

namespace lenz {
namespace {
using namespace sym_testing;

TEST(SymCompiled, AgreesWithEvaluate) {
  Grammar grammar;
  size_t compared = 0, raised = 0;
  for (uint64_t seed = 0; seed < 4000; ++seed) {
    RandomChooser choose(seed);
    SymPool pool;
    std::string text = random_dim(choose, grammar);
    Dim dim = 0;
    try {
      dim = parse_dim(text, pool);
    } catch (const UserError&) {
      continue;  // a division by the constant 0
    }
    for (int round = 0; round < 4; ++round) {
      Values values = random_values(choose, grammar, -12, 40);
      std::vector<int64_t> by_id(8, INT64_MIN);  // what is fixed must not be read
      Values fixed;
      for (const auto& [name, value] : values) {
        if (choose.chance(1, 2)) {
          fixed[name] = value;
        } else if (std::optional<Dim> symbol = pool.find_symbol(name)) {
          by_id[symbol_id(symbol->node())] = value;
        }
      }
      std::optional<int64_t> expected = evaluate(dim, lookup(values)), got;
      try {
        got = CompiledDim(dim, lookup(fixed))(by_id.data());
      } catch (const UserError&) {
        ++raised;
      }
      ASSERT_EQ(got, expected) << text;
      ++compared;
    }
  }
  EXPECT_GT(compared, 10'000u);
  EXPECT_GT(raised, 100u);
}

TEST(SymCompiled, FoldsToAConstantOrALinearForm) {
  SymPool pool;
  Dim i = pool.symbol("i"), j = pool.symbol("j"), s = pool.symbol("s");
  SymValues fixed = [&](const SymNode* symbol) -> std::optional<int64_t> {
    return symbol == s.node() ? std::optional<int64_t>(5) : std::nullopt;
  };
  EXPECT_TRUE(CompiledDim(floor_div(s, 2) + 1, fixed).is_constant());
  int64_t values[] = {2, 3, -1};
  EXPECT_EQ(CompiledDim(i * s * 2 + j * s * s + 7, fixed)(values), 2 * 5 * 2 + 3 * 25 + 7);
  EXPECT_EQ(CompiledDim(mod(i * s + j, 4) + i * j, fixed)(values), 13 % 4 + 6);
}

TEST(SymCompiled, OverflowsAsDimsDo) {
  SymPool pool;
  Dim i = pool.symbol("i"), j = pool.symbol("j");
  SymValues none = [](const SymNode*) { return std::optional<int64_t>(); };
  int64_t values[] = {INT64_MAX, INT64_MAX};
  EXPECT_EQ(CompiledDim(i * 2 - j, none)(values), INT64_MAX);  // the step in between does not fit, the sum does
  EXPECT_THROW(CompiledDim(i + j, none)(values), UserError);
  EXPECT_THROW(CompiledDim(i * j, none)(values), UserError);
  EXPECT_THROW(CompiledDim(floor_div(j, i - j), none)(values), UserError);
}

}  // namespace
}  // namespace lenz
