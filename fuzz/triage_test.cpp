#include "fuzz/triage.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "compiler/graph/text.h"

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

// Bisected with all passes in, what goes wrong without some goes right, and nobody is blamed.
TEST(Triage, PassesThatWereLeftOutAreLeftOutOfTheBisection) {
  auto stands = [](const std::vector<PipelineLine>& lines, std::string_view pass) {
    return std::ranges::any_of(lines, [&](const PipelineLine& line) { return line.pass.name == pass; });
  };
  const auto left_in = lines_left_in("-common_subexpressions,-dead_code");
  EXPECT_FALSE(stands(left_in, "common_subexpressions"));
  EXPECT_FALSE(stands(left_in, "dead_code"));
  EXPECT_TRUE(stands(left_in, "pointless_views"));
  EXPECT_EQ(lines_left_in("").size(), pipeline().size());
}

TEST(Triage, AFindingIsWrittenAsAGraphAPageAndATest) {
  const std::string folder = testing::TempDir();
  const Triaged t{
      .name = "structure | G1 | breaks a rule | neg", .text = "graph @g() {\n  return\n}\n", .detail = "why"};
  write_finding(folder, 77, t);
  const std::string file = finding_file(folder, 77), stem = file.substr(0, file.size() - 5);
  EXPECT_EQ(read_text(file, 1 << 16), t.text);
  EXPECT_NE(read_text(stem + ".md", 1 << 16).find("why"), std::string::npos);
  const std::string test = read_text(stem + "_test.cpp", 1 << 16);
  EXPECT_NE(test.find("up_to(\"structure\")"), std::string::npos);
  EXPECT_NE(test.find(t.text), std::string::npos);
}

}  // namespace
}  // namespace lenz::fuzz
