#include "oracle/exact.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "compiler/graph/text.h"
#include "compiler/ops/call_maker.h"
#include "compiler/ops/op_table.h"
#include "compiler/scalar/rounding.h"
#include "oracle/draw_inputs.h"
#include "oracle/execute.h"
#include "oracle/tensors.h"

namespace lenz::oracle {
namespace {

ExactPlan plan(std::string_view text) {
  auto graph = parse_graph(text, op_table());
  Boxed boxed(DeviceKind::cpu);
  Binding binding;
  complete(binding, *graph);
  return plan_exact(*graph, boxed, binding);
}

ExactPlan plan_of(std::string_view inputs, std::string_view nodes) {
  return plan("graph @g(" + std::string(inputs) + ") {\n" + std::string(nodes) + "\n  return %r\n}\n");
}

TEST(Exact, WhatAddsMultipliesAndMovesQualifies) {
  ExactPlan p = plan(R"(graph @g(%x: f32[8, 16], %w: f32[16, 4], %b: f32[4], %i: i64[5]) {
    %y = aten.addmm(%b, %x, %w)
    %z = aten.relu(%y)
    %t = aten.transpose(%z, 0, 1)
    %s = aten.index_select(%t, 1, %i)
    %m = aten.clamp_min(%s, 2)
    %k = aten.cat([%m, %s])
    %n = aten.sum(%k, [1])
    %e = aten.neg(%n)
    %d = aten.sub(%e, %n, alpha=3)
    %c = aten.gt(%d, 0)
    %r = aten.where(%c, %d, %e)
    return %r, %k
  })");
  EXPECT_EQ(p.range, 8) << p.why;
}

TEST(Exact, TheOpThatDisqualifiesIsNamed) {
  EXPECT_THAT(plan_of("%x: f32[4]", "%a = aten.mul(%x, 2)\n%r = aten.exp(%a)").why,
              testing::HasSubstr("%r = aten.exp"));
  EXPECT_THAT(plan_of("%x: f32[4]", "%r = aten.mul(%x, 0.1)").why, testing::HasSubstr("no integer"));
  EXPECT_THAT(plan_of("%x: f32[3]", "%r = aten.mean(%x)").why, testing::HasSubstr("aten.div"));
  EXPECT_THAT(plan_of("%x: f32[4]", "%c = lenz.constant(f32[2] [0.1, 1.0])\n%r = aten.sum(%c)").why,
              testing::HasSubstr("lenz.constant may hold"));
  EXPECT_THAT(plan_of("%x: f32[4]", "%r = aten.div(%x, 3)").why, testing::Not(testing::IsEmpty()));
  EXPECT_THAT(plan_of("%x: f32[4]", "%r = aten.dropout(%x, 0.5, true)").why, testing::HasSubstr("draws"));
  EXPECT_THAT(plan_of("%x: f32[4]", "%r = aten.logcumsumexp(%x, 0)").why, testing::HasSubstr("logcumsumexp"));
}

TEST(Exact, RangesShrinkWithTheDtype) {
  auto sums = [](std::string_view dtype, int n) {
    std::string shape = std::string(dtype) + "[" + std::to_string(n) + "]";
    return plan_of("%x: " + shape + ", %y: " + shape, "%r = aten.dot(%x, %y)").range;
  };
  EXPECT_EQ(sums("f32", 1000), 8);
  EXPECT_EQ(sums("bf16", 2), 8);
  EXPECT_EQ(sums("bf16", 8), 4);
  EXPECT_EQ(sums("bf16", 100), 1);
  EXPECT_EQ(sums("bf16", 1000), 0);
  EXPECT_EQ(sums("f16", 1000), 1);
}

TEST(Exact, WritesThroughMemoryCount) {
  // Each write multiplies what the view reads afterwards.
  std::string text = "graph @g(%x: bf16[4]) {\n  %c = aten.clone(%x)\n  %v = aten.view(%c, [2, 2])\n";
  for (int i = 0; i < 6; ++i)
    text += "  %w" + std::to_string(i) + " = aten.mul_(" + (i ? "%w" + std::to_string(i - 1) : "%c") + ", 4)\n";
  ExactPlan p = plan(text + "  %r = aten.add(%v, 1)\n  return %r\n}\n");
  EXPECT_EQ(p.range, 0);
}

// The claim itself, on generated calls: in every row's exact calls all results are integers in range, and the order of
// the elements of a reduced dim does not matter.
// Of bits that are read as another dtype nothing is known, and they may be moved all the same.
TEST(Exact, BitsOfAnotherDtypeAreNoSmallNumbers) {
  const std::string floats = "%v = aten.view.dtype(%x, f32)\n";
  EXPECT_FALSE(plan_of("%x: i32[4]", floats + "%r = aten.add(%v, 1)").possible());
  EXPECT_FALSE(plan_of("%x: i32[4]", floats + "%r = aten.to.dtype(%v, f16)").possible());
  EXPECT_FALSE(plan_of("%x: i32[4]", floats + "%r = aten.sum(%v)").possible());
  EXPECT_TRUE(plan_of("%x: i32[4]", floats + "%c = aten.flip(%v, [0])\n%r = aten.view.dtype(%c, i32)").possible());
  const std::string bits = "%b = aten.view.dtype(%x, i32)\n";
  EXPECT_TRUE(plan_of("%x: f32[4]", bits + "%r = aten.add(%b, 1)").possible());
  EXPECT_FALSE(plan_of("%x: f32[4]", bits + "%a = aten.add(%b, 1)\n%r = aten.to.dtype(%a, f32)").possible());
  const std::string written = bits + "%w = aten.bitwise_xor_(%b, 1)\n";
  EXPECT_FALSE(plan_of("%x: f32[4] mut", written + "%r = aten.add(%x, 1)").possible());
  EXPECT_TRUE(plan_of("%x: f32[4] mut", written + "%r = aten.clone(%x)").possible());
}

TEST(Exact, ResultsOfQualifyingCallsAreIntegers) {
  Boxed boxed(DeviceKind::cpu);
  size_t exact = 0, calls = 0;
  for (const auto& op : op_table().rows()) {
    if (!op->generate || op->has(Trait::structural) || op->variant != VariantKind::functional) continue;
    for (uint64_t i = 0; i < 2; ++i) {
      RandomChooser choose(i);
      auto graph = generate_call(*op, op_table(), choose);
      if (!graph) continue;
      ++calls;
      ExactPlan p = plan_exact(*graph, boxed, {});
      if (!p.possible()) continue;
      auto inputs = InputSource(*graph, {}, Values::exact, i, p.range).make(boxed);
      Execution run = Executor(boxed).run(*graph, inputs);
      if (run.ending != Ending::finished) continue;
      ++exact;
      for (const RunValue& r : run.outputs) {
        Seen seen = look(r);
        if (seen.kind != TypeKind::tensor || !is_floating(seen.dtype)) continue;
        std::vector<std::byte> bytes = elements_of(r);
        auto size = static_cast<size_t>(item_size(seen.dtype));
        for (size_t at = 0; at < bytes.size(); at += size) {
          ScalarBits bits{};
          std::memcpy(bits.data(), bytes.data() + at, size);
          double v = from_bits(seen.dtype, bits).real();
          if (!std::isfinite(v)) continue;
          EXPECT_EQ(v, std::floor(v)) << print(*graph);
        }
      }
    }
  }
  EXPECT_GT(exact, calls / 4);
}

// Both ends are integers and so are the results: what is between is not.
TEST(Exact, IntegersThatAreMadeOfFloatsAreNotExact) {
  EXPECT_FALSE(plan_of("%x: i16[]", "%r = aten.logspace.Tensor_Scalar(%x, 0, 6, base=2.0, dtype=u8)").possible());
}

}  // namespace
}  // namespace lenz::oracle
