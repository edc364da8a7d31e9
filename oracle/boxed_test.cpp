#include "oracle/boxed.h"

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>
#include <gtest/gtest.h>

#include "compiler/ops/op_table.h"
#include "oracle/aten.h"
#include "oracle/type_check.h"

namespace lenz::oracle {
namespace {

// Calls ops by their schemas' text, so that what the caller can do does not depend on which rows exist.
class BoxedTest : public ::testing::Test {
 protected:
  OpTable table;
  Graph graph{std::make_shared<Context>(), table, "test"};
  Boxed cpu{DeviceKind::cpu}, meta{DeviceKind::meta};
  std::vector<std::unique_ptr<OpDef>> ops;

  Context& context() { return graph.context(); }

  ValueId input(TensorType type, Initialiser init = {Initialiser::integers, 1, 9, 7, false}) {
    ValueId v = graph.add_input("x" + std::to_string(graph.inputs().size()), context().tensor(type));
    graph.input(graph.inputs().size() - 1).init = init;
    return v;
  }
  ValueId input(Dtype dtype, std::initializer_list<int64_t> sizes) {
    DimVec dims;
    for (int64_t s : sizes) dims.push_back(s);
    return input(contiguous_tensor(dtype, dims));
  }

  Outcome call(Boxed& device, std::string_view schema, std::vector<Arg> args, std::vector<RunValue>* values = nullptr) {
    ops.push_back(std::make_unique<OpDef>());
    ops.back()->schema = parse_schema(schema);
    ops.back()->full_name = ops.back()->schema.full_name();
    for (size_t i = args.size(); i < ops.back()->schema.params.size(); ++i)
      args.push_back(default_arg(context(), ops.back()->schema.params[i]));
    std::vector<RunValue> own;
    std::vector<RunValue>& inputs = values ? *values : own;
    if (inputs.empty()) inputs = device.inputs(graph);
    return device.run(*ops.back(), args, inputs);
  }

  // Runs on both devices and compares what both can say; returns the CPU's view.
  Seen seen(std::string_view schema, std::vector<Arg> args) {
    Outcome on_cpu = call(cpu, schema, args), on_meta = call(meta, schema, args);
    EXPECT_FALSE(on_cpu.raised) << schema << ": " << on_cpu.text;
    if (on_cpu.raised || on_cpu.results.empty()) return {};
    if (!on_meta.raised) {
      EXPECT_EQ(to_string(look(on_cpu.results[0])), to_string(look(on_meta.results[0]))) << schema;
    }
    return look(on_cpu.results[0]);
  }

  static at::Tensor tensor(const RunValue& v) { return v->value.toTensor(); }
  Arg value(ValueId v) { return Arg::of_value(v); }
  Arg values(std::initializer_list<ValueId> v) { return context().values(std::vector<ValueId>(v)); }
  Arg ints(std::initializer_list<int64_t> v) { return context().ints(std::vector<int64_t>(v)); }
};

TEST_F(BoxedTest, HandsOverEveryKindOfArgument) {
  ValueId x = input(Dtype::f32, {2, 3}), y = input(Dtype::f32, {3}), i = input(Dtype::i64, {2});
  ValueId image = input(Dtype::f32, {1, 2, 5, 5}), kernel = input(Dtype::f32, {3, 2, 2, 2});
  struct Case {
    std::string_view schema;
    std::vector<Arg> args;
    std::string_view result;
  };
  const double kScales[] = {2.0, 2.0}, kNumbers[] = {1.0, 2.0};
  const Arg kMixed[] = {Arg::of_int(1), Arg::of_real(2.5)};
  const Case cases[] = {
      {"add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor",
       {value(x), value(y), Arg::of_int(2)},
       "f32[2, 3]"},
      {"add.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor",
       {value(x), context().complex({1, 2})},
       "c64[2, 3]"},
      {"mul.Scalar(Tensor self, Scalar other) -> Tensor", {value(i), Arg::of_bool(true)}, "i64[2]"},
      {"pow.Tensor_Scalar(Tensor self, Scalar exponent) -> Tensor", {value(i), Arg::of_real(0.5)}, "f32[2]"},
      {"sum.dim_IntList(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor",
       {value(x), Arg::none(), Arg::of_bool(true), Arg::of_dtype(Dtype::f64)},
       "f64[1, 1]"},
      {"sum.dim_IntList(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor",
       {value(x), Arg::of_int(1)},
       "f32[2]"},
      {"cat(Tensor[] tensors, int dim=0) -> Tensor", {values({x, x}), Arg::of_int(1)}, "f32[2, 6]"},
      {"index.Tensor(Tensor self, Tensor?[] indices) -> Tensor", {value(x), values({kNone, i})}, ""},
      {"split.Tensor(Tensor(a -> *) self, SymInt split_size, int dim=0) -> Tensor(a)[]",
       {value(x), Arg::of_int(2), Arg::of_int(1)},
       "[f32[2, 2] strides [3, 1], f32[2, 1] strides [3, 1] offset 2]"},
      {"clamp(Tensor self, Scalar? min=None, Scalar? max=None) -> Tensor",
       {value(x), Arg::none(), Arg::of_real(1.5)},
       "f32[2, 3]"},
      {"full(SymInt[] size, Scalar fill_value, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, "
       "bool? pin_memory=None) -> Tensor",
       {ints({2, 2}), Arg::of_int(3), Arg::of_dtype(Dtype::bf16), Arg::of_layout(Layout::strided), Arg::of_device({})},
       "bf16[2, 2]"},
      {"clone(Tensor self, *, MemoryFormat? memory_format=None) -> Tensor",
       {value(image), Arg::of_memory_format(MemoryFormat::channels_last)},
       "f32[1, 2, 5, 5] strides [50, 1, 10, 2]"},
      {"conv2d(Tensor input, Tensor weight, Tensor? bias=None, SymInt[2] stride=1, SymInt[2] padding=0, SymInt[2] "
       "dilation=1, SymInt groups=1) -> Tensor",
       {value(image), value(kernel), Arg::none(), Arg::of_int(2)},
       "f32[1, 3, 2, 2]"},
      {"upsample_nearest2d.vec(Tensor input, SymInt[]? output_size, float[]? scale_factors) -> Tensor",
       {value(image), Arg::none(), context().reals(kScales)},
       "f32[1, 2, 10, 10]"},
      {"gelu(Tensor self, *, str approximate=\"none\") -> Tensor", {value(x), context().string("tanh")}, "f32[2, 3]"},
      {"_foreach_add.ScalarList(Tensor[] self, Scalar[] scalars) -> Tensor[]",
       {values({x, y}), context().args(kMixed)},
       "[f32[2, 3], f32[3]]"},
      {"_foreach_mul.ScalarList(Tensor[] self, Scalar[] scalars) -> Tensor[]",
       {values({x, y}), context().reals(kNumbers)},
       "[f32[2, 3], f32[3]]"},
      {"leaky_relu(Tensor self, Scalar negative_slope=0.01) -> Tensor", {value(x), Arg::of_int(1)}, "f32[2, 3]"},
      {"dropout(Tensor input, float p, bool train) -> Tensor",
       {value(x), Arg::of_int(0), Arg::of_bool(true)},
       "f32[2, 3]"},
      {"is_same_size(Tensor self, Tensor other) -> bool", {value(x), value(y)}, "bool"},
      {"view(Tensor(a) self, SymInt[] size) -> Tensor(a)", {value(x), ints({3, -1})}, "f32[3, 2]"},
      {"nonzero(Tensor self) -> Tensor", {value(x)}, "i64[6, 2] strides [1, 6]"},
  };
  for (const Case& c : cases) {
    if (c.result.empty()) {  // indices out of range for the 2 values: an outcome, not an exception
      EXPECT_TRUE(call(cpu, c.schema, c.args).raised) << c.schema;
    } else {
      EXPECT_EQ(to_string(seen(c.schema, c.args)), c.result) << c.schema;
    }
  }
}

TEST_F(BoxedTest, GivesSeveralResultsAndAbsentOnes) {
  ValueId x = input(Dtype::f32, {4, 5});
  Outcome top = call(
      cpu,
      "topk(Tensor self, SymInt k, int dim=-1, bool largest=True, bool sorted=True) -> (Tensor values, Tensor indices)",
      {value(x), Arg::of_int(2)});
  ASSERT_EQ(top.results.size(), 2u);
  EXPECT_EQ(to_string(look(top.results[1])), "i64[4, 2]");
  const bool mask[] = {true, false, false};
  ValueId g = input(Dtype::f32, {2, 3, 4}), w = input(Dtype::f32, {3}), m = input(Dtype::f32, {3});
  Outcome norm = call(
      cpu,
      "native_batch_norm_backward(Tensor grad_out, Tensor input, Tensor? weight, Tensor? running_mean, Tensor? "
      "running_var, "
      "Tensor? save_mean, Tensor? save_invstd, bool train, float eps, bool[3] output_mask) -> (Tensor, Tensor, Tensor)",
      {value(g), value(g), value(w), Arg::none(), Arg::none(), value(m), value(m), Arg::of_bool(true),
       Arg::of_real(1e-5), context().bools(mask)});
  ASSERT_FALSE(norm.raised) << norm.text;
  ASSERT_EQ(norm.results.size(), 3u);
  EXPECT_EQ(look(norm.results[0]).kind, TypeKind::tensor);
  EXPECT_EQ(look(norm.results[1]).kind, TypeKind::none);
}

TEST_F(BoxedTest, ViewsShareStorageAndInPlaceOpsMutate) {
  ValueId x = input(Dtype::f32, {2, 3});
  std::vector<RunValue> values;
  Outcome view = call(cpu, "t(Tensor(a) self) -> Tensor(a)", {value(x)}, &values);
  EXPECT_EQ(look(view.results[0]).storage, look(values[x]).storage);
  at::Tensor before = tensor(values[x]).clone();
  Outcome add = call(cpu, "add_.Scalar(Tensor(a!) self, Scalar other, Scalar alpha=1) -> Tensor(a!)",
                     {value(x), Arg::of_int(1)}, &values);
  EXPECT_EQ(look(add.results[0]).storage, look(values[x]).storage);
  EXPECT_TRUE(at::equal(tensor(view.results[0]), (before + 1).t()));
}

TEST_F(BoxedTest, OutTensorsAreResized) {
  ValueId x = input(Dtype::f32, {2, 3}), out = input(Dtype::f32, {0});
  std::vector<RunValue> values;
  Outcome o = call(cpu, "sin.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)", {value(x), value(out)}, &values);
  ASSERT_FALSE(o.raised) << o.text;
  EXPECT_EQ(to_string(look(values[out])), "f32[2, 3]");
  EXPECT_EQ(look(o.results[0]).storage, look(values[out]).storage);
}

TEST_F(BoxedTest, ASeedGivesTheSameDraws) {
  ValueId x = input(Dtype::f32, {64});
  auto draw = [&](uint64_t seed) {
    return tensor(call(cpu, "bernoulli.p(Tensor self, float p, *, Generator? generator=None) -> Tensor",
                       {value(x), Arg::of_real(0.5), Arg::of_seed(seed)})
                      .results.at(0));
  };
  EXPECT_TRUE(at::equal(draw(3), draw(3)));
  EXPECT_FALSE(at::equal(draw(3), draw(4)));
}

TEST_F(BoxedTest, WhatEagerRefusesIsAnOutcome) {
  ValueId x = input(Dtype::f32, {2, 3}), y = input(Dtype::f32, {2});
  Outcome o = call(cpu, "add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor", {value(x), value(y)});
  EXPECT_TRUE(o.raised);
  EXPECT_FALSE(o.no_kernel);
  EXPECT_NE(o.text.find("must match"), std::string::npos) << o.text;
  EXPECT_EQ(o.text.find('\n'), std::string::npos);
  Outcome no_kernel = call(meta, "nonzero(Tensor self) -> Tensor", {value(x)});
  EXPECT_TRUE(no_kernel.raised);
  EXPECT_THROW(call(cpu, "no_such_op(Tensor self) -> Tensor", {value(x)}), Unsupported);
  EXPECT_THROW(call(cpu, "sin(Tensor self, int more=0) -> Tensor", {value(x)}), Unsupported);
}

TEST_F(BoxedTest, InputsHaveTheirTypeAndTheirAliasClass) {
  TensorType odd{Dtype::i32, {}, {2, 3}, {7, 2}, 5};
  ValueId a = input(odd), b = input(contiguous_tensor(Dtype::i32, DimVec{2, 3}));
  for (size_t i : {0, 1}) graph.input(i).alias = context().intern("shared");
  for (Boxed* device : {&cpu, &meta}) {
    auto values = device->inputs(graph);
    EXPECT_EQ(to_string(look(values[a])), "i32[2, 3] strides [7, 2] offset 5");
    EXPECT_EQ(look(values[a]).storage, look(values[b]).storage);
  }
}

TEST_F(BoxedTest, TheLargestOfAnAliasClassNeedNotComeFirst) {
  ValueId a = input(contiguous_tensor(Dtype::f32, DimVec{4}));
  ValueId b = input({Dtype::f32, {}, {4}, {1}, 4});
  for (size_t i : {0, 1}) graph.input(i).alias = context().intern("shared");
  auto values = cpu.inputs(graph);
  EXPECT_EQ(look(values[a]).storage, look(values[b]).storage);
  EXPECT_EQ(to_string(look(values[b])), "f32[4] offset 4");
}

TEST_F(BoxedTest, ValuesDoNotDependOnLayoutAndFollowTheInitialiser) {
  TensorType plain = contiguous_tensor(Dtype::f32, DimVec{4, 6}), odd{Dtype::f32, {}, {4, 6}, {1, 9}, 3};
  ValueId a = input(plain, {Initialiser::uniform, -2, 2, 11, false}),
          b = input(odd, {Initialiser::uniform, -2, 2, 11, false});
  ValueId sorted = input(plain, {Initialiser::integers, -5, 5, 1, true});
  ValueId order = input(contiguous_tensor(Dtype::i64, DimVec{30}), {Initialiser::permutation, 0, 0, 2, false});
  ValueId half = input(contiguous_tensor(Dtype::f8e4m3, DimVec{8}), {Initialiser::ones, 0, 0, 0, false});
  auto v = cpu.inputs(graph);
  EXPECT_TRUE(at::equal(tensor(v[a]), tensor(v[b])));
  EXPECT_TRUE((tensor(v[a]).abs() <= 2).all().item<bool>());
  EXPECT_GT(tensor(v[a]).std().item<float>(), 0.5f);
  at::Tensor s = tensor(v[sorted]);
  EXPECT_TRUE((s.slice(1, 1) >= s.slice(1, 0, -1)).all().item<bool>());
  EXPECT_TRUE(at::equal(std::get<0>(tensor(v[order]).sort()), at::arange(30)));
  EXPECT_FALSE(at::equal(tensor(v[order]), at::arange(30)));
  EXPECT_TRUE((tensor(v[half]).to(at::kFloat) == 1).all().item<bool>());
}

// Skipping autograd's keys is faster than no_grad mode and must not show.
TEST(Boxed, SkippingAutogradGivesWhatNoGradGives) {
  quieten_libtorch();
  Boxed below(DeviceKind::cpu, Boxed::Autograd::below), disabled(DeviceKind::cpu, Boxed::Autograd::disabled);
  int compared = 0;
  for (const auto& op : op_table().rows()) {
    if (op->schema.space != "aten" || !op->generate || check_schema(*op)) continue;
    if (op->has(Trait::random) || op->has(Trait::nondeterministic)) continue;
    for (uint64_t seed = 0; seed < 4; ++seed) {
      RandomChooser random(seed);
      DrawnCall call;
      try {
        call = draw_call(*op, op_table(), random);
      } catch (const Error&) {
        continue;  // `lenz ops --check` reports such rows
      }
      auto a_in = below.inputs(*call.graph), b_in = disabled.inputs(*call.graph);
      Outcome a = below.run(*op, call.args, a_in), b = disabled.run(*op, call.args, b_in);
      ASSERT_EQ(a.raised, b.raised) << describe(call) << a.text << b.text;
      ASSERT_EQ(a.results.size(), b.results.size());
      for (size_t i = 0; i < a.results.size(); ++i) {
        ASSERT_EQ(to_string(look(a.results[i])), to_string(look(b.results[i]))) << describe(call);
        if (look(a.results[i]).kind != TypeKind::tensor) continue;
        at::Tensor x = a.results[i]->value.toTensor(), y = b.results[i]->value.toTensor();
        bool view = look(a.results[i]).storage == look(a_in.empty() ? nullptr : a_in[0]).storage;
        EXPECT_EQ(view, look(b.results[i]).storage == look(b_in.empty() ? nullptr : b_in[0]).storage) << describe(call);
        if (op->full_name.find("empty") != std::string::npos) continue;  // elements of no value
        ASSERT_TRUE(at::allclose(x.to(at::kComplexDouble), y.to(at::kComplexDouble), 0, 0, true)) << describe(call);
        ++compared;
      }
    }
  }
  EXPECT_GT(compared, 100);
}

}  // namespace
}  // namespace lenz::oracle
