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

// Of no elements nothing dies: at sizes that a property binds anew it does.
TEST(Triage, WhatKillsEagerAtOtherSizesIsNoFindingEither) {
  const auto own = [](const std::string& divisor) {
    const Case c = parse_case(
        "# fuzz: values=ordinary seed=0 sizes=s0=0\ngraph @g(%x: f32[s0]) where s0 in 0..8 {\n"
        "  %a = aten.full([s0], -9223372036854775808, dtype=i64)\n"
        "  %b = aten.full([s0], " +
        divisor +
        ", dtype=i64)\n"
        "  %y = aten.lcm(%a, %b)\n  return %y, %x\n}\n");
    return is_eagers_own_death(c, {"rebound", "rebound", "SIGFPE", "the process died: SIGFPE"});
  };
  EXPECT_TRUE(own("7"));
  EXPECT_FALSE(own("0"));
}

// A gradient of a weight is a convolution by what came out, here of an image one element deep by a deeper kernel: there
// eager's tiles read beyond the image, which kills now and then.
// Also where libtorch has threads, which no process made of this one has.
TEST(Triage, WhatADefinitionHasEagerReadBeyondIsNoFinding) {
  const Case large = parse_case("graph @g(%x: f32[1000000]) {\n  %y = aten.sin(%x)\n  return %y\n}\n");
  oracle::Boxed boxed(DeviceKind::cpu);
  oracle::give_libtorch_threads(2);
  Subject(*large.graph, large.setting, boxed, {}).trial().expected();
  const auto dies = [](const std::string& dtype, const std::string& symptom) {
    const Case c =
        parse_case("graph @g(%g: " + dtype + "[2, 2, 2, 6, 3], %x: " + dtype + "[2, 2, 1, 5, 4], %w: " + dtype +
                   "[2, 2, 1, 2, 3]) {\n  %a, %b, %c = aten.convolution_backward(%g, %x, %w, stride=[2, 1, 2], "
                   "padding=[1, 1, 2], dilation=[1], transposed=false, output_padding=[0], groups=1, "
                   "output_mask=[true, true, false])\n  return %b\n}\n");
    return is_eagers_own_death(c, {"exact_passes", "exact_passes", symptom, "the process died: " + symptom});
  };
  EXPECT_TRUE(dies("bf16", "SIGSEGV"));
  EXPECT_FALSE(dies("bf16", "SIGFPE"));
  EXPECT_FALSE(dies("f32", "SIGSEGV"));
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
