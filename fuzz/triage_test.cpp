#include "fuzz/triage.h"

#include <gtest/gtest.h>

namespace lenz::fuzz {
namespace {

Triaged triaged(const std::string& text) {
  const Failure died{"pass_alone", "pass_alone", "SIGSEGV", "the process died: SIGSEGV"};
  return triage(parse_case(text), died, {});
}

// Eager's product of half floats dies of one element that is spaced out; where it does not, nothing dies.
TEST(Triage, WhatKillsEagerIsNoFinding) {
  const Triaged t = triaged(
      "graph @g(%x: f16[2, 2, 1], %w: f16[1, 2, 1]) {\n"
      "  %y = aten.convolution(%x, %w, stride=[2], padding=[1], dilation=[2], transposed=false, output_padding=[0], "
      "groups=1)\n"
      "  return %y\n}\n");
  EXPECT_TRUE(t.eager_dies || !t.alone);
}

TEST(Triage, WhatEagerTakesMayBeOne) {
  const Triaged t = triaged("graph @g(%x: f32[3]) {\n  %y = aten.neg(%x)\n  return %y\n}\n");
  EXPECT_FALSE(t.eager_dies);
  EXPECT_FALSE(t.alone);  // nothing of ours dies either
}

}  // namespace
}  // namespace lenz::fuzz
