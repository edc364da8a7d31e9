#include "compiler/ops/break_call.h"

#include <gtest/gtest.h>

#include <set>

#include "compiler/ops/op_table.h"

namespace lenz {
namespace {

TEST(BreakCall, ChangesOneThingAndSaysWhat) {
  const OpDef& op = *op_table().find("aten.sum.dim_IntList");
  std::set<std::string> kinds;
  for (uint64_t seed = 0; seed < 300; ++seed) {
    RandomChooser first(seed), again(seed), breaking(seed);
    DrawnCall before = draw_call(op, op_table(), first), after = draw_call(op, op_table(), again);
    std::string what = break_call(after, breaking);
    ASSERT_FALSE(what.empty());
    int changes = 0;
    changes += to_string(before.graph->type(0)) != to_string(after.graph->type(0));
    for (size_t i = 1; i < before.args.size(); ++i) {
      const Arg &a = before.args[i], &b = after.args[i];
      changes += !(a == b);
    }
    EXPECT_LE(changes, 1) << what;
    kinds.insert(what.substr(0, what.find(' ', what.find(' ') + 1)));
  }
  for (const char* kind :
       {"%x0: dtype", "%x0: size", "%x0: without", "%x0: one", "%x0: dims", "dim: another", "dtype: "})
    EXPECT_TRUE(std::ranges::any_of(kinds, [&](const std::string& k) { return k.starts_with(kind); })) << kind;
}

// Whatever an out= tensor is before the call, eager says what becomes of it.
TEST(BreakCall, MakesOutTensorsOtherThanTheResult) {
  const OpDef& op = *op_table().find("aten.angle.out");
  int resized = 0, of_another_dtype = 0, both = 0, strided = 0;
  for (uint64_t seed = 0; seed < 400; ++seed) {
    RandomChooser random(seed);
    DrawnCall call = draw_call(op, op_table(), random);
    const Type before = call.graph->type(call.args[1].value());
    if (!break_call(call, random).starts_with("%x1: ")) continue;
    const Type& after = call.graph->type(call.args[1].value());
    const bool sizes = DimVec(before.sizes()) != DimVec(after.sizes()), dtype = before.dtype != after.dtype;
    resized += sizes;
    of_another_dtype += dtype;
    both += sizes && dtype;
    strided += DimVec(after.strides()) != contiguous_strides(after.sizes());
  }
  EXPECT_GT(resized, 40);
  EXPECT_GT(of_another_dtype, 40);
  EXPECT_GT(both, 20);
  EXPECT_GT(strided, 20);
}

TEST(BreakCall, DrawsNumbersThatFitAndThatDoNot) {
  const OpDef& op = *op_table().find("aten.clamp_max");
  int fit = 0, beyond = 0;
  for (uint64_t seed = 0; seed < 300; ++seed) {
    RandomChooser random(seed);
    DrawnCall call = draw_call(op, op_table(), random);
    if (!break_call(call, random).starts_with("max: ")) continue;
    const Dtype dtype = call.graph->type(call.args[0].value()).dtype;
    (representable(call.args[1], dtype) ? fit : beyond) += 1;
  }
  EXPECT_GT(fit, 10);
  EXPECT_GT(beyond, 10);
}

TEST(BreakCall, ReachesCallsThatTheRuleRefuses) {
  const OpDef& op = *op_table().find("aten.mul.Tensor");
  int refused = 0;
  for (uint64_t seed = 0; seed < 100; ++seed) {
    RandomChooser random(seed);
    DrawnCall call = draw_call(op, op_table(), random);
    break_call(call, random);
    try {
      call.graph->append(op, call.args);
    } catch (const UserError&) {
      ++refused;
    }
  }
  EXPECT_GT(refused, 5);
  EXPECT_LT(refused, 100);
}

}  // namespace
}  // namespace lenz
