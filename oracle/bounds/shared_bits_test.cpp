// Memory that a graph sees in several dtypes.
#include <gtest/gtest.h>

#include <cstring>

#include "compiler/graph/text.h"
#include "compiler/ops/op_table.h"
#include "oracle/bounds/reference.h"
#include "oracle/draw_inputs.h"
#include "oracle/tensors.h"

namespace lenz::oracle {
namespace {

struct Judged {
  Judgement judgement;
  Reference reference;
};
Judged judged(std::string_view text) {
  auto graph = parse_graph(text, op_table());
  Boxed boxed(DeviceKind::cpu);
  const auto inputs = [&] { return draw_inputs(*graph, boxed, {}, Values::ordinary, 1); };
  Judged j;
  j.reference = Referee(boxed).run(*graph, inputs());
  const Execution eager = Executor(boxed).run(*graph, inputs());
  EXPECT_EQ(eager.ending, Ending::finished) << text << eager.text;
  j.judgement = judge(*graph, j.reference, eager);
  EXPECT_FALSE(j.judgement.mismatch) << text << (j.judgement.mismatch ? j.judgement.mismatch->summary() : "");
  return j;
}

// Nothing is open, and everything is compared.
void expect_known(std::string_view text) {
  const Judged j = judged(text);
  EXPECT_EQ(j.judgement.shares.ambiguous, 0U) << text;
  EXPECT_GT(j.judgement.shares.strong, 0U) << text;
}

TEST(SharedBits, ComplexNumbersAndTheirPartsAreOneStorage) {
  expect_known(
      "graph @g(%x: c64[4] alias a mut, %r: f32[4, 2] alias a mut, %s: f32[8]) {\n"
      "  %m = aten.gt(%r, 0.0)\n  %q = aten.masked_scatter_(%r, %m, %s)\n"
      "  %y = aten.mul(%x, 2.0)\n  return %y\n}\n");
  expect_known(
      "graph @g(%x: c64[4] alias a mut, %r: f32[3] offset 2 alias a, %s: c64[4]) {\n"
      "  %q = aten.copy_(%x, %s)\n  %y = aten.mul(%r, 2.0)\n  return %y\n}\n");
}

TEST(SharedBits, WhatIsWrittenReachesOtherDtypes) {
  expect_known(
      "graph @g(%x: f32[4] alias a mut, %i: i32[4] alias a, %b: u8[16] alias a, %s: f32[4]) {\n"
      "  %q = aten.copy_(%x, %s)\n  %y = aten.bitwise_and(%i, 255)\n  %z = aten.bitwise_and(%b, 15)\n"
      "  return %y, %z\n}\n");
  expect_known(
      "graph @g(%x: f32[4] mut, %s: f32[4]) {\n  %r = aten.view(%x, i32)\n  %q = aten.copy_(%x, %s)\n"
      "  %y = aten.bitwise_and(%r, 255)\n  return %y\n}\n");
  expect_known(
      "graph @g(%x: f32[4] mut) {\n  %r = aten.view(%x, i32)\n  %q = aten.bitwise_and_(%r, 2147483647)\n"
      "  %y = aten.mul(%x, 2.0)\n  return %y\n}\n");
}

TEST(SharedBits, OfWhatIsUncertainNothingIsKnown) {
  const Judged j = judged(
      "graph @g(%x: f32[4] mut, %s: f32[4]) {\n  %r = aten.view(%x, i32)\n  %e = aten.exp(%s)\n"
      "  %q = aten.copy_(%x, %e)\n  %y = aten.bitwise_and(%r, 255)\n  return %y, %x\n}\n");
  const auto open = [](const Bounded& b) { return b.error && elements_of(b.error).size() == 4 * sizeof(double); };
  ASSERT_TRUE(open(j.reference.outputs[0]));
  double error = 0;
  std::memcpy(&error, elements_of(j.reference.outputs[0].error).data(), sizeof error);
  EXPECT_GT(error, 0);
  EXPECT_GE(j.judgement.shares.strong, 4U);  // what was written is judged all the same
}

// NaNs that signal among them: the values alone say nothing of errors, and are held to every bit.
TEST(SharedBits, ValuesAloneCarryTheBitsOfNans) {
  constexpr std::string_view kGiven = "graph @g(%x: i32[6] init integers(2139095041, 2143289343, seed=1)";
  for (const std::string_view rest :
       {", %y: i32[6] mut) {\n  %v = aten.view.dtype(%y, f32)\n  %u = aten.view.dtype(%x, f32)\n"
        "  %c = aten.copy_(%v, %u)\n  %w = aten.bitwise_xor(%y, 1)\n  return %w\n}\n",
        ") {\n  %v = aten.view.dtype(%x, f32)\n  %c = aten.flip(%v, [0])\n  %d = aten.view.dtype(%c, f64)\n"
        "  %e = aten.clone(%d)\n  %w = aten.view.dtype(%e, i16)\n  return %w\n}\n",
        " mut) {\n  %f = aten.view.dtype(%x, f32)\n  %w = aten.view.dtype(%f, i16)\n"
        "  %b = aten.bitwise_xor_(%w, 1)\n  %r = aten.view.dtype(%f, i64)\n  return %r\n}\n"}) {
    const std::string text = std::string(kGiven) + std::string(rest);
    auto graph = parse_graph(text, op_table());
    Boxed boxed(DeviceKind::cpu);
    const auto inputs = [&] { return draw_inputs(*graph, boxed, {}, Values::ordinary, 1); };
    const Reference right = Referee(boxed, {}, Widening::values_only).run(*graph, inputs());
    const Judgement j = judge(*graph, right, Executor(boxed).run(*graph, inputs()));
    EXPECT_FALSE(j.mismatch) << text << (j.mismatch ? j.mismatch->summary() : "");
  }
}

// Bits of float64 are counted as the integers that they are: a double has no place for the last ones.
TEST(SharedBits, TheLastPlacesOfDoublesAreIntegersOfTheirOwn) {
  const Judged j = judged(
      "graph @g(%x: f64[4] init uniform(1.0, 2.0, seed=3)) {\n  %e = aten.logcumsumexp(%x, 0)\n"
      "  %r = aten.view(%e, i64)\n  return %r\n}\n");
  ASSERT_TRUE(j.reference.outputs[0].error);
  double error = 0;
  std::memcpy(&error, elements_of(j.reference.outputs[0].error).data() + 3 * sizeof error, sizeof error);
  EXPECT_GE(error, 1);
  EXPECT_LT(error, 64);
}

}  // namespace
}  // namespace lenz::oracle
