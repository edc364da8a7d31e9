#include "oracle/direct_call.h"

#include <ATen/Functions.h>
#include <gtest/gtest.h>

#include "compiler/ops/op_table.h"
#include "oracle/aten.h"

namespace lenz::oracle {
namespace {

c10::OperatorHandle op(const char* name, const char* overload) {
  return c10::Dispatcher::singleton().findSchemaOrThrow(name, overload);
}

class DirectCallTest : public ::testing::Test {
 protected:
  OpTable table;
  Graph graph{std::make_shared<Context>(), table, "test"};
  std::vector<RunValue> values{hold(at::arange(6, at::kFloat).view({2, 3})), hold(at::full({3}, 2.5)),
                               hold(at::full({2, 3}, 0.5)), hold(static_cast<int64_t>(3)), nullptr};
  at::Tensor x = values[0]->value.toTensor(), y = values[1]->value.toTensor(), z = values[2]->value.toTensor();

  std::optional<at::Tensor> called(const char* name, const char* overload, std::vector<Arg> args) {
    auto direct = DirectCall::of(op(name, overload));
    if (!direct) {
      ADD_FAILURE() << name << " has one of the signatures";
      return std::nullopt;
    }
    return (*direct)(args, values);
  }
  static Arg value(ValueId v) { return Arg::of_value(v); }
  static bool same(const std::optional<at::Tensor>& a, const at::Tensor& b) {
    return a && a->scalar_type() == b.scalar_type() && at::equal(*a, b);
  }
};

TEST_F(DirectCallTest, HandsOperandsOverInTheirOrder) {
  EXPECT_TRUE(same(called("aten::exp", "", {value(0)}), at::exp(x)));
  EXPECT_TRUE(same(called("aten::div", "Tensor", {value(1), value(0)}), at::div(y, x)));
  EXPECT_TRUE(same(called("aten::lerp", "Tensor", {value(0), value(2), value(1)}), at::lerp(x, z, y)));
  EXPECT_TRUE(same(called("aten::sub", "Tensor", {value(0), value(1), Arg::of_int(2)}), at::sub(x, y, 2)));
  EXPECT_TRUE(same(called("aten::sub", "Tensor", {value(0), value(1), Arg::of_real(0.5)}), at::sub(x, y, 0.5)));
  const Arg dims = graph.context().ints(std::vector<int64_t>{-1});
  EXPECT_TRUE(same(called("aten::sum", "dim_IntList", {value(0), dims, Arg::of_bool(true), Arg::none()}),
                   at::sum(x, {-1}, true)));
  EXPECT_TRUE(same(called("aten::sum", "dim_IntList", {value(0), Arg::none(), Arg::of_bool(false), Arg::none()}),
                   at::sum(x, at::OptionalIntArrayRef(), false)));
  EXPECT_TRUE(same(called("aten::mean", "dim", {value(0), dims, Arg::of_bool(false), Arg::of_dtype(Dtype::f64)}),
                   at::mean(x, {-1}, false, at::kDouble)));
}

TEST_F(DirectCallTest, LeavesOtherArgumentsToTheStack) {
  EXPECT_FALSE(called("aten::exp", "", {value(3)})) << "a number";
  EXPECT_FALSE(called("aten::exp", "", {value(4)})) << "nothing";
  EXPECT_FALSE(called("aten::add", "Tensor", {value(0), value(1), value(3)})) << "a number that the graph computes";
  EXPECT_FALSE(called("aten::add", "Tensor", {value(0), value(1), Arg::of_bool(true)}));
  EXPECT_FALSE(called("aten::sum", "dim_IntList", {value(0), Arg::of_int(1), Arg::of_bool(true), Arg::none()}));
  EXPECT_FALSE(called("aten::exp", "", {value(0), value(1)})) << "one too many";
}

TEST_F(DirectCallTest, IsOfTheseSignaturesAlone) {
  EXPECT_FALSE(DirectCall::of(op("aten::add_", "Tensor"))) << "it writes";
  EXPECT_FALSE(DirectCall::of(op("aten::exp", "out")));
  EXPECT_FALSE(DirectCall::of(op("aten::view", "")));
  EXPECT_FALSE(DirectCall::of(op("aten::frexp", "Tensor"))) << "two results";
  EXPECT_FALSE(DirectCall::of(op("aten::unbind", "int"))) << "a list";
  EXPECT_FALSE(DirectCall::of(op("aten::equal", ""))) << "no tensor";
}

TEST_F(DirectCallTest, RaisesWhatEagerRaises) {
  EXPECT_THROW(called("aten::mm", "", {value(0), value(0)}), c10::Error);
}

}  // namespace
}  // namespace lenz::oracle
