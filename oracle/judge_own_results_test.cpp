// A graph's own results, written as `lenz run --save` writes them, judged with one number off by `spoilt`.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>

#include "compiler/graph/npz.h"
#include "compiler/graph/text.h"
#include "compiler/ops/op_table.h"
#include "oracle/compare.h"
#include "oracle/judge_results.h"
#include "oracle/random_machine.h"
#include "oracle/values_file.h"

namespace lenz::oracle {
namespace {

class JudgeOwnResults : public testing::Test {
 protected:
  template <class T>
  static void spoil(NpyArray& array, T by) {
    T first = 0;
    std::memcpy(&first, array.bytes.data(), sizeof first);
    first += by;
    std::memcpy(array.bytes.data(), &first, sizeof first);
  }
  ResultsVerdict judged_after(std::string_view text, JudgeOptions options, std::string_view key, double spoilt) {
    auto graph = parse_graph(text, op_table());
    Boxed boxed(DeviceKind::cpu);
    auto inputs = draw_inputs(*graph, boxed, {}, options.values, options.seed);
    ExecuteOptions execute;
    execute.ambient_seed = options.seed;
    LenzRandom stream(boxed, LenzRandom::Others::left_to_libtorch);
    Executor executor = options.draws == Draws::lenz ? Executor(stream, execute) : Executor(boxed, execute);
    options.results = folder_ + "own.npz";
    write_results(options.results, *graph, executor.run(*graph, inputs));
    NpzReader file(options.results);
    std::vector<std::pair<std::string, NpyArray>> arrays;
    for (const std::string& k : file.keys()) arrays.emplace_back(k, file.read(k));
    for (auto& [k, array] : arrays)
      if (k == key) array.dtype == Dtype::f64 ? spoil(array, spoilt) : spoil(array, static_cast<float>(spoilt));
    write_npz(options.results, arrays);
    return judge_results(*graph, options);
  }
  const std::string folder_ = testing::TempDir() + "judge_own_results_" + std::to_string(getpid()) + "_";
};

TEST_F(JudgeOwnResults, InputsThatAreWrittenToThroughAnotherStandInTheFile) {
  constexpr std::string_view kAliased =
      R"(graph @g(%a: f32[3, 4] alias a0 mut, %b: f32[3, 4] offset 6 alias a0, %c: f32[2]) {
    %m = aten.mul_(%a, 2) %s = aten.sum(%c)
    return %s
  })";
  EXPECT_EQ(judged_after(kAliased, {}, "", 0).code, ExitCode::fine);
  EXPECT_EQ(NpzReader(folder_ + "own.npz").keys(), (std::vector<std::string>{"a", "b", "lenz", "out0"}));
  EXPECT_THROW(judged_after(kAliased, {}, "b", 1), UserError) << "it lies where a says something else";
  EXPECT_EQ(judged_after(kAliased, {}, "out0", 1).code, ExitCode::wrong);
}

TEST_F(JudgeOwnResults, InputsThatNobodyWritesToDoNotMakeOpenResultsStrong) {
  // The sum less itself in another order may be any small number, its sign and logarithm anything.
  constexpr std::string_view kOpen = R"(graph @g(%x: f32[8, 8]) {
    %s = aten.sum(%x) %t = aten.sum.dim_IntList(%x, [0]) %u = aten.sum(%t)
    %d = aten.sub(%s, %u) %i = aten.sign(%d) %l = aten.log(%d)
    return %i, %l
  })";
  ResultsVerdict v = judged_after(kOpen, {}, "out0", 1);
  EXPECT_EQ(v.code, ExitCode::not_covered);
  EXPECT_EQ(v.shares.elements, 2u);
  EXPECT_THAT(v.why, testing::HasSubstr("among them most of output 0, output 1"));
}

TEST_F(JudgeOwnResults, OneOpenResultAmongManyCertainElementsIsWeak) {
  constexpr std::string_view kOpen = R"(graph @g(%x: f32[1000]) {
    %s = aten.sum(%x) %t = aten.flip(%x, [0]) %u = aten.sum(%t)
    %d = aten.sub(%s, %u) %i = aten.sign(%d) %n = aten.neg(%x)
    return %n, %i
  })";
  EXPECT_EQ(judged_after(kOpen, {}, "out1", 1).code, ExitCode::not_covered);
}

TEST_F(JudgeOwnResults, MostOfOneResultOpenIsWeak) {
  // 60 of 100 elements hang on the sign of a rounding; beside them stand 10,000 that are certain.
  constexpr std::string_view kOpen = R"(graph @g(%x: f32[1000], %y: f32[10000], %p: f32[40]) {
    %s = aten.sum(%x) %t = aten.flip(%x, [0]) %u = aten.sum(%t)
    %d = aten.sub(%s, %u) %i = aten.sign(%d) %e = aten.expand(%i, [60]) %c = aten.cat([%e, %p]) %n = aten.neg(%y)
    return %n, %c
  })";
  ResultsVerdict v = judged_after(kOpen, {}, "", 0);
  EXPECT_EQ(v.code, ExitCode::not_covered);
  EXPECT_EQ(v.shares.ambiguous, 60U);
}

TEST_F(JudgeOwnResults, BoundsBeyondEveryNumberHoldNobody) {
  // What cancels is off by 1e-4 or so, and everything given is below 1e4 times that: exp makes of it anything.
  constexpr std::string_view kWide = R"(graph @g(%x: f32[1000]) {
    %s = aten.sum(%x) %t = aten.flip(%x, [0]) %u = aten.sum(%t)
    %d = aten.sub(%s, %u) %b = aten.mul(%d, 1e9) %c = aten.sin(%x) return %c, %b
  })";
  ResultsVerdict v = judged_after(kWide, {}, "", 0);
  EXPECT_EQ(v.code, ExitCode::not_covered) << v.shares.ambiguous;
  // Noise that stays below what it came from still holds to something.
  constexpr std::string_view kNoise = R"(graph @g(%x: f32[1000]) {
    %s = aten.sum(%x) %t = aten.flip(%x, [0]) %u = aten.sum(%t) %d = aten.sub(%s, %u) return %d
  })";
  EXPECT_EQ(judged_after(kNoise, {}, "", 0).code, ExitCode::fine);
}

// Bounds grow with each layer until they leave all open; a sign that is wrong is no rounding noise.
TEST_F(JudgeOwnResults, GrossErrorsBehindManyLayersAreNoNoise) {
  std::string text = "graph @g(%x0: f32[8, 64] init normal(0, 1, seed=1)";
  std::string body;
  for (int i = 0; i < 5; ++i) {
    const std::string n = std::to_string(i), next = std::to_string(i + 1);
    text += ", %w" + n + ": f32[64, 64] init normal(0, 0.125, seed=" + std::to_string(i + 2) + ")";
    body += "  %l" + n + " = aten.linear(%x" + n + ", %w" + n + ") %g" + n + " = aten.gelu(%l" + n + ") %x" + next +
            " = aten.layer_norm(%g" + n + ", [64])\n";
  }
  text += ") {\n" + body + "  return %x5\n}";
  const ResultsVerdict right = judged_after(text, {}, "out0", 0);
  EXPECT_EQ(right.code, ExitCode::not_covered) << right.shares.ambiguous;
  EXPECT_TRUE(right.alike);
  EXPECT_EQ(judged_after(text, {}, "out0", 1e-5F).code, ExitCode::not_covered);
  const ResultsVerdict wrong = judged_after(text, {}, "out0", 0.5F);
  ASSERT_EQ(wrong.code, ExitCode::wrong);
  EXPECT_EQ(wrong.mismatch->rung, Rung::likeness);
}

// What is divided by nothing but rounding may be anything: no noise says how far it gets.
TEST_F(JudgeOwnResults, WhatAPoleMakesIsNotHeldToNoise) {
  constexpr std::string_view kPole = R"(graph @g(%x: f32[1000]) {
    %s = aten.sum(%x) %t = aten.flip(%x, [0]) %u = aten.sum(%t)
    %d = aten.sub(%s, %u) %l = aten.reciprocal(%d) return %l
  })";
  EXPECT_EQ(judged_after(kPole, {}, "out0", 0).code, ExitCode::not_covered);
  EXPECT_EQ(judged_after(kPole, {}, "out0", std::numeric_limits<float>::infinity()).code, ExitCode::not_covered);
}

TEST_F(JudgeOwnResults, ExactValuesLeaveNoBounds) {
  constexpr std::string_view kProduct = R"(graph @g(%x: f32[8, 64], %w: f32[64, 8]) {
    %m = aten.mm(%x, %w) %s = aten.sum.dim_IntList(%m, [1])
    return %s
  })";
  JudgeOptions exact;
  exact.values = Values::exact;
  exact.seed = 2;
  EXPECT_EQ(judged_after(kProduct, exact, "out0", 0).code, ExitCode::fine);
  ResultsVerdict v = judged_after(kProduct, exact, "out0", 0.001F);
  ASSERT_EQ(v.code, ExitCode::wrong);
  EXPECT_EQ(v.mismatch->rung, Rung::bitwise);
}

TEST_F(JudgeOwnResults, DrawsAreHeldToTheirStream) {
  constexpr std::string_view kDraws = "graph @g() {\n  %r = aten.rand([100], dtype=f32)\n  return %r\n}\n";
  JudgeOptions lenz;
  lenz.draws = Draws::lenz;
  lenz.seed = 5;
  EXPECT_EQ(judged_after(kDraws, lenz, "", 0).code, ExitCode::fine);
  EXPECT_EQ(judged_after(kDraws, lenz, "out0", 0.25F).code, ExitCode::wrong);
}

// Poisson numbers have no sampling from the stream: which they are is open, of all else nothing is.
TEST_F(JudgeOwnResults, WhatHasNoSamplingIsOpenAlone) {
  constexpr std::string_view kDraws = R"(graph @g(%x: f32[4] init ones) {
    %r = aten.rand([100], dtype=f32) %p = aten.poisson(%x) return %r, %p
  })";
  JudgeOptions lenz;
  lenz.draws = Draws::lenz;
  EXPECT_EQ(judged_after(kDraws, lenz, "", 0).code, ExitCode::not_covered);
  EXPECT_EQ(judged_after(kDraws, lenz, "out1", 7).code, ExitCode::not_covered);
  EXPECT_EQ(judged_after(kDraws, lenz, "out0", 0.25F).code, ExitCode::wrong);
}

TEST_F(JudgeOwnResults, WhatIsPrintedAFileDoesNotSay) {
  constexpr std::string_view kPrints = R"(graph @g(%x: f32[4]) {
    %t = lenz.make_token() %u = lenz.print(%t, "x = {}", [%x]) %n = aten.neg(%x)
    return %n, %u
  })";
  ResultsVerdict v = judged_after(kPrints, {}, "", 0);
  EXPECT_EQ(v.code, ExitCode::fine) << (v.mismatch ? v.mismatch->summary() : v.why);
  EXPECT_THAT(v.untold, testing::Contains("what the graph prints"));
}

// Eager's own j0 is off by 6e-10 there: its very elements are known for it, half of that is nobody's.
TEST_F(JudgeOwnResults, WhatOnlyEagersOwnErrorAllowsIsKnownOrOpen) {
  constexpr std::string_view kBessel =
      "graph @g() { %x = lenz.constant(f64[1] [3.95]) %y = aten.special_bessel_j0(%x) return %y }";
  const ResultsVerdict own = judged_after(kBessel, {}, "out0", 0.0);
  EXPECT_EQ(own.code, ExitCode::fine);
  EXPECT_THAT(own.known, testing::HasSubstr("special_bessel_j0"));
  const ResultsVerdict near = judged_after(kBessel, {}, "out0", 1e-11);
  EXPECT_EQ(near.code, ExitCode::not_covered) << near.why;
  EXPECT_THAT(near.why, testing::HasSubstr("special_bessel_j0"));
  EXPECT_EQ(judged_after(kBessel, {}, "out0", 1e-6).code, ExitCode::wrong);
}

}  // namespace
}  // namespace lenz::oracle
