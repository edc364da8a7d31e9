#include "fuzz/properties/sizes_used.h"

#include <gtest/gtest.h>

#include <set>

#include "compiler/graph/text.h"
#include "compiler/ops/op_table.h"

namespace lenz::fuzz {
namespace {

// Points that break what the graph knows: whoever relies on the facts says what is not so there.
TEST(SizesUsed, WhatDoesNotHoldIsTold) {
  const auto graph = parse_graph(
      "graph @g(%x: f32[s0, s1, s2, s3]) where s0 in 3..9, s0 <= s1, s1 <= s2, s3 == s0 + 1 {\n"
      "  return %x\n}\n",
      op_table());
  PlainFacts known{.low = {0, 0, 0, 0}, .high = {80, 80, 80, 80}, .conditions = {}, .points = {{8, 5, 2, 1}}};
  std::set<std::string> told;
  for (uint64_t seed = 0; seed < 200; ++seed) {
    RandomChooser choose(seed);
    told.insert(wrong_uses(choose, known, *graph).step);
  }
  EXPECT_TRUE(told.contains("forgotten symbols"));
  EXPECT_TRUE(told.contains("one more fact"));
  known.points = {{5, 6, 7, 6}};
  for (uint64_t seed = 0; seed < 200; ++seed) {
    RandomChooser choose(seed);
    const WrongSizes wrong = wrong_uses(choose, known, *graph);
    ASSERT_EQ(wrong.step, "") << wrong.text;
  }
}

TEST(SizesUsed, WhatIsForgottenIsSaid) {
  const auto graph =
      parse_graph("graph @g(%x: f32[s0, s1, s2, s3]) where s0 <= s1, s1 <= s2 {\n  return %x\n}\n", op_table());
  RandomChooser choose(1);
  EXPECT_NE(said_of_uses(choose, *graph).find("s0 <= s2"), std::string::npos);
}

}  // namespace
}  // namespace lenz::fuzz
