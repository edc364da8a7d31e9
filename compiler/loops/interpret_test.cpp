// The interpreter on programs made by hand: each node and instruction kind, what it checks, what it counts.
#include "compiler/loops/interpret.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "compiler/loops/program_builder_test.h"
#include "compiler/scalar/rounding.h"

namespace lenz::loops {
namespace {
using namespace test;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr double kInf = HUGE_VAL;

std::vector<double> numbers(const Tensor& t) {
  std::vector<double> all;
  for (int64_t i = 0; i < t.numel(); ++i) {
    ScalarValue v = t.at(i);
    all.push_back(v.kind() == ScalarKind::real ? v.real() : static_cast<double>(v.integer()));
  }
  return all;
}

Results run(const ProgramBuilder& p, std::vector<InputValue> inputs, const InterpretOptions& options = {}) {
  return interpret(p.program, inputs, options);
}
std::vector<double> run_for_first(const ProgramBuilder& p, std::vector<InputValue> inputs,
                                  const InterpretOptions& options = {}) {
  Results r = run(p, std::move(inputs), options);
  EXPECT_EQ(r.ending, Ending::finished) << r.text;
  return r.outputs.empty() ? std::vector<double>() : numbers(r.outputs[0].tensor);
}
template <class E, class F>
std::string thrown(F&& f) {
  try {
    f();
  } catch (const E& e) {
    return e.what();
  }
  return "nothing";
}

Tensor iota(Dtype dtype, Ints sizes) {
  Tensor t(dtype, sizes);
  for (int64_t i = 0; i < t.numel(); ++i)
    t.put(i, is_floating(dtype) ? ScalarValue(static_cast<double>(i)) : ScalarValue(i));
  return t;
}

// out = row(x, ...) over vectors of one size.
struct Pointwise : ProgramBuilder {
  Pointwise(std::string_view row, Dtype dtype, size_t operands, std::optional<Dtype> target = std::nullopt) {
    Dim n = symbol("n");
    const Dtype result = result_dtype(*find_scalar(row), dtype, target);
    std::vector<BufferId> in;
    for (size_t i = 0; i < operands; ++i) in.push_back(input("x" + std::to_string(i), dtype, {n}));
    BufferId out = temporary("out", result, {n});
    NestBuilder b = nest(std::string(row));
    Dim i = b.axis(n);
    std::vector<Ssa> v;
    for (BufferId id : in) v.push_back(load(b, id, {i}));
    Ssa made = operands == 1 ? b.scalar(row, dtype, {v[0]}, target.value_or(dtype))
                             : b.scalar(row, dtype, {v[0], v[1]}, target.value_or(dtype));
    b.store(out, {i}, made);
    add(b);
    output(out);
  }
};

TEST(Interpret, Pointwise) {
  Pointwise p("add", Dtype::f32, 2);
  EXPECT_THAT(
      run_for_first(p, {Tensor::reals(Dtype::f32, {3}, {1, 2, 3}), Tensor::reals(Dtype::f32, {3}, {10, 20, 30})}),
      ElementsAre(11, 22, 33));
  EXPECT_THAT(run_for_first(p, {Tensor(Dtype::f32, {0}), Tensor(Dtype::f32, {0})}), ElementsAre());
}

TEST(Interpret, RoundsToNarrowFloats) {
  Pointwise half("add", Dtype::f16, 2), bfloat("mul", Dtype::bf16, 2);
  EXPECT_THAT(
      run_for_first(half, {Tensor::reals(Dtype::f16, {2}, {2048, 65504}), Tensor::reals(Dtype::f16, {2}, {1, 32})}),
      ElementsAre(2048, kInf));
  double third = round_to(Dtype::bf16, 1 / 3.0);
  EXPECT_THAT(run_for_first(bfloat, {Tensor::reals(Dtype::bf16, {1}, {third}), Tensor::reals(Dtype::bf16, {1}, {3})}),
              ElementsAre(round_to(Dtype::bf16, third * 3)));
}

TEST(Interpret, IntegersWrapInTheirOwnDtype) {
  Pointwise add("add", Dtype::i8, 2), neg("neg", Dtype::u8, 1), mul("mul", Dtype::i64, 2),
      div("floor_divide", Dtype::i32, 2);
  EXPECT_THAT(
      run_for_first(add, {Tensor::integers(Dtype::i8, {2}, {127, -128}), Tensor::integers(Dtype::i8, {2}, {1, -1})}),
      ElementsAre(-128, 127));
  EXPECT_THAT(run_for_first(neg, {Tensor::integers(Dtype::u8, {2}, {1, 0})}), ElementsAre(255, 0));
  EXPECT_THAT(
      run_for_first(mul, {Tensor::integers(Dtype::i64, {1}, {INT64_MIN}), Tensor::integers(Dtype::i64, {1}, {-1})}),
      ElementsAre(static_cast<double>(INT64_MIN)));
  EXPECT_THAT(
      run_for_first(div, {Tensor::integers(Dtype::i32, {2}, {-7, 7}), Tensor::integers(Dtype::i32, {2}, {2, -2})}),
      ElementsAre(-4, -4));
  Results raised = run(div, {Tensor::integers(Dtype::i32, {1}, {1}), Tensor::integers(Dtype::i32, {1}, {0})});
  EXPECT_EQ(raised.ending, Ending::raised);
  EXPECT_THAT(raised.text, HasSubstr("integer division by zero"));
  EXPECT_TRUE(raised.outputs.empty());
}

TEST(Interpret, BroadcastAndStridedInput) {
  ProgramBuilder p;
  Dim m = p.symbol("m"), n = p.symbol("n");
  BufferId x = p.input("x", Dtype::f32, {m, n}), row = p.input("row", Dtype::f32, {1, n});
  BufferId out = p.temporary("out", Dtype::f32, {m, n});
  NestBuilder b = p.nest();
  Dim i = b.axis(m), j = b.axis(n);
  b.store(out, {i, j}, b.scalar("mul", Dtype::f32, {p.load(b, x, {i, j}), p.load(b, row, {0, j})}));
  p.add(b);
  p.output(out);
  Tensor base = iota(Dtype::f32, {8});
  Tensor transposed = base.view({2, 3}, {1, 2}, 1);  // 1 3 5 / 2 4 6
  EXPECT_THAT(run_for_first(p, {transposed, Tensor::reals(Dtype::f32, {1, 3}, {1, 10, 100})}),
              ElementsAre(1, 30, 500, 2, 40, 600));
}

TEST(Interpret, ReductionWithEpilogue) {
  ProgramBuilder p;
  Dim m = p.symbol("m"), n = p.symbol("n");
  BufferId x = p.input("x", Dtype::f32, {m, n}), bias = p.input("bias", Dtype::f32, {m});
  BufferId out = p.temporary("out", Dtype::f32, {m});
  NestBuilder b = p.nest();
  Dim i = b.axis(m), j = b.reduction(n);
  Ssa sum = b.reduce(Combine::sum, Dtype::f32, {p.load(b, x, {i, j})});
  b.store(out, {i}, b.scalar("add", Dtype::f32, {sum, p.load(b, bias, {i})}));
  p.add(b);
  p.output(out);
  EXPECT_THAT(run_for_first(p, {iota(Dtype::f32, {2, 3}), Tensor::reals(Dtype::f32, {2}, {100, 200})}),
              ElementsAre(103, 212));
  // Over no points a sum is 0, and what does not depend on the reduction is there all the same.
  EXPECT_THAT(run_for_first(p, {Tensor(Dtype::f32, {2, 0}), Tensor::reals(Dtype::f32, {2}, {100, 200})}),
              ElementsAre(100, 200));
}

TEST(Interpret, WelfordAndArg) {
  ProgramBuilder p;
  BufferId x = p.input("x", Dtype::f64, {2, 4});
  BufferId mean = p.temporary("mean", Dtype::f64, {2}), var = p.temporary("var", Dtype::f64, {2}),
           at = p.temporary("at", Dtype::i64, {2});
  NestBuilder b = p.nest();
  Dim i = b.axis(2), j = b.reduction(4);
  Ssa v = p.load(b, x, {i, j});
  Ssa moments = b.reduce(Combine::welford, Dtype::f64, {v});
  Ssa best = b.reduce(Combine::argmax, Dtype::f64, {v, b.index(j)});
  b.store(mean, {i}, moments);
  b.store(var, {i}, b.scalar("div", Dtype::f64, {b.part(moments, 1), b.part(moments, 2)}));
  b.store(at, {i}, b.part(best, 1));
  p.add(b);
  for (BufferId o : {mean, var, at}) p.output(o);
  Results r = run(p, {Tensor::reals(Dtype::f64, {2, 4}, {1, 2, 3, 6, 5, kInf, NAN, 1})});
  EXPECT_EQ(numbers(r.outputs[0].tensor)[0], 3);
  EXPECT_EQ(numbers(r.outputs[1].tensor)[0], 3.5);
  EXPECT_TRUE(std::isnan(numbers(r.outputs[1].tensor)[1]));
  EXPECT_THAT(numbers(r.outputs[2].tensor), ElementsAre(3, 2));
}

TEST(Interpret, Scan) {
  ProgramBuilder p;
  BufferId x = p.input("x", Dtype::i32, {2, 3});
  BufferId sums = p.temporary("sums", Dtype::i32, {2, 3}), at = p.temporary("at", Dtype::i64, {2, 3});
  NestBuilder b = p.nest();
  Dim j = b.scan_axis(3), i = b.axis(2);  // innermost, wherever it is listed
  Ssa v = p.load(b, x, {i, j});
  b.store(sums, {i, j}, b.scan(Combine::sum, Dtype::i32, {v}));
  b.store(at, {i, j}, b.part(b.scan(Combine::argmax_last, Dtype::i32, {v, b.index(j)}), 1));
  p.add(b);
  p.output(sums);
  p.output(at);
  Results r = run(p, {Tensor::integers(Dtype::i32, {2, 3}, {1, 2, 2, 7, 5, 7})});
  EXPECT_THAT(numbers(r.outputs[0].tensor), ElementsAre(1, 3, 5, 7, 12, 19));
  EXPECT_THAT(numbers(r.outputs[1].tensor), ElementsAre(0, 1, 2, 0, 0, 2));
}

TEST(Interpret, ScatterModes) {
  auto scattered = [](StoreMode mode) {
    ProgramBuilder p;
    BufferId at = p.input("at", Dtype::i64, {4}), x = p.input("x", Dtype::f32, {4});
    BufferId out = p.temporary("out", Dtype::f32, {3});
    NestBuilder fill = p.nest("fill");
    Dim k = fill.axis(3);
    fill.store(out, {k}, fill.real(Dtype::f32, 1));
    p.add(fill);
    NestBuilder b = p.nest("scatter");
    Dim i = b.axis(4);
    Dim to = b.position(p.load(b, at, {i}), 3, true);
    b.store(out, {to}, p.load(b, x, {i}), mode);
    p.add(b);
    p.output(out);
    return run_for_first(
        p, {Tensor::integers(Dtype::i64, {4}, {0, 2, 0, -1}), Tensor::reals(Dtype::f32, {4}, {5, -3, 7, 4})});
  };
  EXPECT_THAT(scattered(StoreMode::scatter), ElementsAre(7, 1, 4));
  EXPECT_THAT(scattered(StoreMode::add), ElementsAre(13, 1, 2));
  EXPECT_THAT(scattered(StoreMode::multiply), ElementsAre(35, 1, -12));
  EXPECT_THAT(scattered(StoreMode::minimum), ElementsAre(1, 1, -3));
  EXPECT_THAT(scattered(StoreMode::maximum), ElementsAre(7, 1, 4));
  EXPECT_THAT(thrown<InternalError>([&] { scattered(StoreMode::assign); }),
              testing::AllOf(HasSubstr("nest 'scatter'"), HasSubstr("'out'"), HasSubstr("[0], and assigned to twice")));
}

TEST(Interpret, MaskedLoadsArePadding) {
  ProgramBuilder p;
  Dim n = p.symbol("n");
  BufferId x = p.input("x", Dtype::f32, {n}), out = p.temporary("out", Dtype::f32, {n + 2});
  NestBuilder b = p.nest("pad");
  Dim i = b.axis(n + 2);
  Ssa at = b.index(i - 1);
  Ssa inside = b.scalar(
      "bitwise_and", Dtype::b8,
      {b.scalar("ge", Dtype::i64, {at, b.integer(Dtype::i64, 0)}), b.scalar("lt", Dtype::i64, {at, b.index(n)})});
  b.store(out, {i}, b.scalar("add", Dtype::f32, {p.load(b, x, {i - 1}, inside), b.real(Dtype::f32, 1)}));
  p.add(b);
  p.output(out);
  EXPECT_THAT(run_for_first(p, {Tensor::reals(Dtype::f32, {2}, {5, 6})}), ElementsAre(1, 6, 7, 1));
}

struct Gather : ProgramBuilder {
  explicit Gather(bool wraps, bool masked = false) {
    BufferId x = input("x", Dtype::f32, {3}), at = input("at", Dtype::i64, {2}),
             out = temporary("out", Dtype::f32, {2});
    NestBuilder b = nest("gather");
    Dim i = b.axis(2);
    Ssa mask = masked ? b.integer(Dtype::b8, 0) : kNone;
    Dim from = b.position(load(b, at, {i}), 3, wraps, mask);
    b.store(out, {i}, load(b, x, {from}));
    add(b);
    output(out);
  }
};

TEST(Interpret, PositionsWrapAndRaise) {
  Tensor x = Tensor::reals(Dtype::f32, {3}, {5, 6, 7});
  auto at = [](int64_t a, int64_t b) { return Tensor::integers(Dtype::i64, {2}, {a, b}); };
  EXPECT_THAT(run_for_first(Gather(true), {x, at(-1, 0)}), ElementsAre(7, 5));
  EXPECT_THAT(run_for_first(Gather(true, true), {x, at(-9, 9)}), ElementsAre(5, 5));  // masked: 0, and not looked at
  for (auto [wraps, bad] : {std::pair(true, -4), {true, 3}, {false, -1}, {false, 3}}) {
    Results r = run(Gather(wraps), {x, at(0, bad)});
    EXPECT_EQ(r.ending, Ending::raised);
    EXPECT_THAT(r.text, HasSubstr("index " + std::to_string(bad) + " is out of range for a dim of size 3"));
  }
}

TEST(Interpret, SortIsStableWithNanAsTheGreatest) {
  auto sorted = [](bool descending, Dtype dtype, Tensor keys) {
    ProgramBuilder p;
    BufferId x = p.input("x", dtype, {2, 4}), v = p.temporary("v", dtype, {2, 4}),
             at = p.temporary("at", Dtype::i64, {2, 4});
    p.add(Sort{.keys = x, .values = v, .indices = at, .dim = 1, .descending = descending});
    p.output(v);
    p.output(at);
    return run(p, {std::move(keys)});
  };
  Tensor keys = Tensor::reals(Dtype::f32, {2, 4}, {2, NAN, 1, 2, NAN, -kInf, NAN, kInf});
  Results up = sorted(false, Dtype::f32, keys), down = sorted(true, Dtype::f32, keys);
  EXPECT_THAT(numbers(up.outputs[1].tensor), ElementsAre(2, 0, 3, 1, 1, 3, 0, 2));
  EXPECT_THAT(numbers(down.outputs[1].tensor), ElementsAre(1, 0, 3, 2, 0, 2, 3, 1));
  EXPECT_TRUE(std::isnan(numbers(up.outputs[0].tensor)[3]));
  Results whole = sorted(true, Dtype::i16, Tensor::integers(Dtype::i16, {2, 4}, {3, 1, 3, 2, 0, 0, 0, 0}));
  EXPECT_THAT(numbers(whole.outputs[0].tensor), ElementsAre(3, 3, 2, 1, 0, 0, 0, 0));
  EXPECT_THAT(numbers(whole.outputs[1].tensor), ElementsAre(0, 2, 3, 1, 0, 1, 2, 3));
}

// out = a @ b, accumulated in f32.
struct Matmul : ProgramBuilder {
  Matmul() {
    Dim m = symbol("m"), k = symbol("k"), n = symbol("n");
    BufferId a = input("a", Dtype::f32, {m, k}), c = input("b", Dtype::f32, {k, n}),
             out = temporary("out", Dtype::f32, {m, n});
    NestBuilder b = nest("mm");
    Dim i = b.axis(m), j = b.axis(n), r = b.reduction(k);
    Ssa product = b.scalar("mul", Dtype::f32, {load(b, a, {i, r}), load(b, c, {r, j})});
    b.store(out, {i, j}, b.reduce(Combine::sum, Dtype::f32, {product}));
    add(b);
    output(out);
  }
};

TEST(Interpret, MatmulAndCounters) {
  Matmul p;
  Results r = run(p, {iota(Dtype::f32, {2, 3}), iota(Dtype::f32, {3, 4})});
  EXPECT_THAT(numbers(r.outputs[0].tensor), ElementsAre(20, 23, 26, 29, 56, 68, 80, 92));
  const Counters expected{.points = 24, .loads = 48, .stores = 8, .operations = 48, .flops = 48, .bytes = 56 * 4};
  EXPECT_EQ(r.counters, expected);
  ASSERT_EQ(r.nests.size(), 1u);
  EXPECT_EQ(r.nests[0].name, "mm");
  EXPECT_EQ(r.nests[0].runs, 1u);
  EXPECT_EQ(r.nests[0].counters, expected);
  EXPECT_THAT(run_for_first(p, {Tensor(Dtype::f32, {1, 0}), Tensor(Dtype::f32, {0, 2})}), ElementsAre(0, 0));
}

TEST(Interpret, MaskedLoadsAndConversionsAreNotCounted) {
  Pointwise p("to_dtype", Dtype::i32, 1, Dtype::f32);
  Results r = run(p, {Tensor::integers(Dtype::i32, {3}, {1, 2, 3})});
  EXPECT_EQ(r.counters, (Counters{.points = 3, .loads = 3, .stores = 3, .operations = 3, .flops = 0, .bytes = 24}));
}

TEST(Interpret, SizesBindSymbolsAndDisagreementsNameTheInput) {
  Matmul p;
  auto refused = [&](Tensor a, Tensor b) { return thrown<UserError>([&] { run(p, {std::move(a), std::move(b)}); }); };
  EXPECT_THAT(refused(Tensor(Dtype::f32, {2, 3}), Tensor(Dtype::f32, {4, 2})),
              testing::AllOf(HasSubstr("input 'b' has 4 as the size of dim 0, not k = 3"), HasSubstr("f32[k, n]")));
  EXPECT_THAT(refused(Tensor(Dtype::f64, {2, 3}), Tensor(Dtype::f32, {3, 2})), HasSubstr("input 'a' is of dtype f64"));
  EXPECT_THAT(refused(Tensor(Dtype::f32, {2}), Tensor(Dtype::f32, {3, 2})), HasSubstr("input 'a' has 1 dims"));
  EXPECT_THAT(thrown<UserError>([&] { run(p, {}); }), HasSubstr("takes 2 inputs, 0 are given"));
  EXPECT_THAT(thrown<UserError>([&] { run(p, {1.5, 2.5}); }), HasSubstr("input 'a' is no tensor"));
}

TEST(Interpret, CompoundSizesAreSolved) {
  ProgramBuilder p;
  Dim n = p.symbol("n"), m = p.integer_input("m");
  BufferId x = p.input("x", Dtype::f32, {2 * n + 1, n * m});
  p.program.outputs.emplace_back().kind = Output::integer;
  p.program.outputs.back().value = n;
  p.program.assumptions.facts().set_range(n.node(), {1, 4});
  p.program.assumptions.facts().add(divisible(m, 2));
  (void)x;
  EXPECT_EQ(run(p, {int64_t{2}, Tensor(Dtype::f32, {7, 6})}).outputs[0].integer, 3);
  EXPECT_THAT(thrown<UserError>([&] { run(p, {int64_t{2}, Tensor(Dtype::f32, {8, 6})}); }),
              HasSubstr("has 8 as the size of dim 0, not n*2 + 1"));
  EXPECT_THAT(thrown<UserError>([&] { run(p, {int64_t{2}, Tensor(Dtype::f32, {7, 7})}); }),
              HasSubstr("has 7 as the size of dim 1, not m*n = 6"));
  EXPECT_THAT(thrown<UserError>([&] { run(p, {int64_t{3}, Tensor(Dtype::f32, {7, 9})}); }),
              HasSubstr("the fact m % 2 == 0"));
  EXPECT_THAT(thrown<UserError>([&] { run(p, {int64_t{2}, Tensor(Dtype::f32, {11, 10})}); }),
              HasSubstr("the fact n <= 4"));
  EXPECT_THAT(thrown<UserError>([&] { run(p, {int64_t{-2}, Tensor(Dtype::f32, {1, 0})}); }),
              HasSubstr("the fact 1 <= n"));
}

TEST(Interpret, GuardsAreChecked) {
  ProgramBuilder p;
  Dim n = p.symbol("n");
  p.input("x", Dtype::f32, {n});
  ASSERT_TRUE(p.program.assumptions.assume(ne(n, 1)));
  EXPECT_EQ(run(p, {Tensor(Dtype::f32, {2})}).ending, Ending::finished);
  EXPECT_THAT(thrown<UserError>([&] { run(p, {Tensor(Dtype::f32, {1})}); }),
              HasSubstr("the guard n != 1 does not hold"));
}

TEST(Interpret, InputsThatShareStorage) {
  ProgramBuilder p;
  BufferId a = p.input("a", Dtype::f32, {2}), b = p.input("b", Dtype::f32, {2});
  Tensor base(Dtype::f32, {4}), other(Dtype::f32, {2});
  Tensor low = base.view({2}, {1}, 0), high = base.view({2}, {1}, 2);
  EXPECT_EQ(run(p, {low, high}).ending, Ending::finished);
  p.program.buffers[a].mutated = true;
  EXPECT_THAT(thrown<UserError>([&] { run(p, {low, high}); }), HasSubstr("shares its storage with input 'a'"));
  NameId both = p.program.context->intern("both");
  p.program.buffers[a].alias = p.program.buffers[b].alias = both;
  EXPECT_EQ(run(p, {low, high}).ending, Ending::finished);
  EXPECT_THAT(thrown<UserError>([&] { run(p, {low, other}); }), HasSubstr("does not share its storage"));
}

TEST(Interpret, MutatesInputsAndOutputsAlias) {
  ProgramBuilder p;
  BufferId x = p.input("x", Dtype::f32, {2, 2}), t = p.temporary("t", Dtype::f32, {2, 2});
  p.program.buffers[x].mutated = true;
  NestBuilder b = p.nest("double");
  Dim i = b.axis(2), j = b.axis(2);
  Ssa v = p.load(b, x, {i, j});
  b.store(t, {i, j}, b.scalar("add", Dtype::f32, {v, v}));
  p.add(b);
  NestBuilder back = p.nest("back");
  Dim k = back.axis(2), l = back.axis(2);
  back.store(x, {k, l}, p.load(back, t, {k, l}));
  p.add(back);
  for (BufferId id : {x, t, t}) p.output(id);
  p.program.outputs[2].type.strides = {1, 2};
  Tensor given = iota(Dtype::f32, {2, 2});
  Results r = run(p, {given});
  EXPECT_THAT(numbers(given), ElementsAre(0, 2, 4, 6));
  EXPECT_EQ(r.outputs[0].tensor.storage(), given.storage());
  EXPECT_EQ(r.outputs[1].tensor.storage(), r.outputs[2].tensor.storage());
  EXPECT_THAT(numbers(r.outputs[2].tensor), ElementsAre(0, 4, 2, 6));
}

TEST(Interpret, NumbersInAndOut) {
  ProgramBuilder p;
  BufferId x = p.input("x", Dtype::f64, {}), yes = p.input("yes", Dtype::b8, {}),
           out = p.temporary("out", Dtype::f64, {});
  NestBuilder b = p.nest();
  b.store(out, {}, b.scalar("where", Dtype::f64, {p.load(b, yes, {}), p.load(b, x, {}), b.real(Dtype::f64, -1)}));
  p.add(b);
  p.program.outputs.emplace_back().kind = Output::list;
  Output& number = p.program.outputs.back().elements.emplace_back();
  number.kind = Output::number;
  number.buffer = out;
  p.program.outputs.back().elements.emplace_back().kind = Output::literal;
  p.program.outputs.back().elements.back().literal_value = Arg::of_int(7);
  Results r = run(p, {2.5, true});
  EXPECT_EQ(r.outputs[0].elements[0].tensor.at(0).real(), 2.5);
  EXPECT_EQ(r.outputs[0].elements[1].literal, Arg::of_int(7));
  EXPECT_EQ(run(p, {2.5, false}).outputs[0].elements[0].tensor.at(0).real(), -1);
}

// --- the tree

// count(x) of true elements, then their positions, as nonzero does: a size that depends on data.
struct Nonzero : ProgramBuilder {
  Nonzero() {
    Dim n = symbol("n"), u = symbol("u");
    BufferId x = input("x", Dtype::b8, {n}), count = temporary("count", Dtype::i64, {}),
             rank = temporary("rank", Dtype::i64, {n}), out = temporary("out", Dtype::i64, {u});
    NestBuilder c = nest("count");
    Dim i = c.reduction(n);
    c.store(count, {},
            c.reduce(Combine::sum, Dtype::i64, {c.scalar("to_dtype", Dtype::b8, {load(c, x, {i})}, Dtype::i64)}));
    add(c);
    NestBuilder r = nest("rank");
    Dim j = r.scan_axis(n);
    r.store(rank, {j},
            r.scan(Combine::sum, Dtype::i64, {r.scalar("to_dtype", Dtype::b8, {load(r, x, {j})}, Dtype::i64)}));
    add(r);
    add(Bind{u, count});
    NestBuilder w = nest("write");
    Dim k = w.axis(n);
    Ssa mask = load(w, x, {k});
    Ssa before = w.scalar("sub", Dtype::i64, {load(w, rank, {k}), w.integer(Dtype::i64, 1)});
    Dim to = w.position(before, u, false, mask);
    w.store(out, {to}, w.index(k), StoreMode::assign, mask);
    add(w);
    output(out);
  }
};

TEST(Interpret, BindsASizeThatDependsOnData) {
  Nonzero p;
  EXPECT_THAT(run_for_first(p, {Tensor::integers(Dtype::b8, {5}, {0, 1, 1, 0, 1})}), ElementsAre(1, 2, 4));
  EXPECT_THAT(run_for_first(p, {Tensor::integers(Dtype::b8, {2}, {0, 0})}), ElementsAre());
  p.program.assumptions.facts().set_range(p.symbol("u").node(), {0, 2});
  Results r = run(p, {Tensor::integers(Dtype::b8, {3}, {1, 1, 1})});
  EXPECT_EQ(r.ending, Ending::raised);
  EXPECT_THAT(r.text, HasSubstr("the fact u <= 2 does not hold: it is 3"));
}

// A block of one nest that stores row(load(from), value) in `to`; all of no dims.
std::unique_ptr<Block> step(ProgramBuilder& p, BufferId to, std::string_view row, BufferId from, int64_t value) {
  auto block = std::make_unique<Block>();
  NestBuilder b = p.nest(std::string(row));
  b.store(to, {}, b.scalar(row, Dtype::i64, {p.load(b, from, {}), b.integer(Dtype::i64, value)}));
  block->nodes.push_back(b.done());
  return block;
}

TEST(Interpret, If) {
  ProgramBuilder p;
  BufferId yes = p.input("yes", Dtype::b8, {}), x = p.input("x", Dtype::i64, {}),
           out = p.temporary("out", Dtype::i64, {});
  p.add(If{yes, step(p, out, "add", x, 1), step(p, out, "mul", x, 10)});
  p.output(out);
  Tensor five = Tensor::integers(Dtype::i64, {}, {5});
  EXPECT_THAT(run_for_first(p, {true, five}), ElementsAre(6));
  EXPECT_THAT(run_for_first(p, {false, five}), ElementsAre(50));
}

// while (x < 100) x = x * 3, through two buffers.
struct Tripling : ProgramBuilder {
  Tripling() {
    BufferId from = input("from", Dtype::i64, {}), x = temporary("x", Dtype::i64, {}),
             next = temporary("next", Dtype::i64, {}), more = temporary("more", Dtype::b8, {});
    NestBuilder start = nest("start");
    start.store(x, {}, load(start, from, {}));
    add(start);
    auto body = step(*this, next, "mul", x, 3);
    NestBuilder carry = nest("carry");
    carry.store(x, {}, load(carry, next, {}));
    body->nodes.push_back(carry.done());
    add(While{step(*this, more, "lt", x, 100), more, std::move(body)});
    output(x);
  }
};

TEST(Interpret, While) {
  Tripling p;
  EXPECT_THAT(run_for_first(p, {Tensor::integers(Dtype::i64, {}, {2})}), ElementsAre(162));
  EXPECT_THAT(run_for_first(p, {Tensor::integers(Dtype::i64, {}, {100})}), ElementsAre(100));
  Results r = run(p, {Tensor::integers(Dtype::i64, {}, {2})});
  EXPECT_EQ(r.nests[1].runs, 5u);  // the test
  EXPECT_EQ(r.nests[2].runs, 4u);
  InterpretOptions options;
  options.while_limit = 50;
  r = run(p, {Tensor::integers(Dtype::i64, {}, {0})}, options);
  EXPECT_EQ(r.ending, Ending::endless);
  EXPECT_THAT(r.text, HasSubstr("50 rounds"));
}

TEST(Interpret, RepeatAndPrint) {
  ProgramBuilder p;
  Dim n = p.symbol("n"), t = p.symbol("t");
  BufferId x = p.input("x", Dtype::i64, {n}), sum = p.temporary("sum", Dtype::i64, {}),
           next = p.temporary("next", Dtype::i64, {});
  NestBuilder zero = p.nest("zero");
  zero.store(sum, {}, zero.integer(Dtype::i64, 0));
  p.add(zero);
  auto body = std::make_unique<Block>();
  NestBuilder b = p.nest("add");
  b.store(
      next, {},
      b.scalar("add", Dtype::i64, {p.load(b, sum, {}), b.scalar("mul", Dtype::i64, {p.load(b, x, {t}), b.index(t)})}));
  body->nodes.push_back(b.done());
  NestBuilder carry = p.nest("carry");
  carry.store(sum, {}, p.load(carry, next, {}));
  body->nodes.push_back(carry.done());
  body->nodes.push_back(Node{Print{"sum", {sum}}});
  p.add(Repeat{t, n, std::move(body)});
  p.output(sum);
  std::vector<int64_t> printed;
  InterpretOptions options;
  options.print = [&](std::string_view text, std::span<const Tensor> values) {
    EXPECT_EQ(text, "sum");
    printed.push_back(values[0].at(0).integer());
  };
  EXPECT_THAT(run_for_first(p, {Tensor::integers(Dtype::i64, {3}, {5, 6, 7})}, options), ElementsAre(20));
  EXPECT_THAT(printed, ElementsAre(0, 6, 20));
  EXPECT_THAT(run_for_first(p, {Tensor(Dtype::i64, {0})}), ElementsAre(0));
}

TEST(Interpret, Check) {
  ProgramBuilder p;
  Dim n = p.symbol("n");
  p.input("x", Dtype::f32, {n});
  BufferId holds = p.input("holds", Dtype::b8, {});
  p.add(Check{le(n, 3), kNone, "too long", 0});
  p.add(Check{std::nullopt, holds, "must hold", 0});
  EXPECT_EQ(run(p, {Tensor(Dtype::f32, {3}), true}).ending, Ending::finished);
  EXPECT_EQ(run(p, {Tensor(Dtype::f32, {4}), true}).text, "too long");
  EXPECT_EQ(run(p, {Tensor(Dtype::f32, {3}), false}).text, "must hold");
}

TEST(Interpret, Extern) {
  ProgramBuilder p;
  Dim n = p.symbol("n"), u = p.symbol("u");
  BufferId x = p.input("x", Dtype::i64, {n}), out = p.temporary("out", Dtype::i64, {u}),
           size = p.temporary("size", Dtype::i64, {});
  OpDef op;
  op.full_name = "test.evens";
  p.add(Extern{&op, {Arg::of_value(x), Arg::of_dim(n * 2)}, {out, kNone}, 0});
  NestBuilder b = p.nest();
  b.store(size, {}, b.index(u));
  p.add(b);
  p.output(out);
  p.output(size);
  InterpretOptions options;
  options.run_extern = [&](const ExternCall& call) {
    EXPECT_EQ(call.integer(call.node.args[1].dim()), 8);
    Tensor from = call.tensor(call.node.args[0].value());
    std::vector<ScalarValue> kept;
    for (int64_t i = 0; i < from.numel(); ++i)
      if (from.at(i).integer() % 2 == 0) kept.push_back(from.at(i));
    return std::vector{Tensor::of(Dtype::i64, {static_cast<int64_t>(kept.size())}, kept), Tensor()};
  };
  Tensor given = Tensor::integers(Dtype::i64, {4}, {1, 2, 3, 4});
  Results r = run(p, {given}, options);
  EXPECT_THAT(numbers(r.outputs[0].tensor), ElementsAre(2, 4));
  EXPECT_THAT(numbers(r.outputs[1].tensor), ElementsAre(2));
  EXPECT_THAT(thrown<Unsupported>([&] { run(p, {given}); }), HasSubstr("test.evens"));
  options.run_extern = [](const ExternCall&) { return std::vector{Tensor(Dtype::f32, {1}), Tensor()}; };
  EXPECT_THAT(thrown<InternalError>([&] { run(p, {given}, options); }), HasSubstr("'out' is i64[1], but gets f32[1]"));
}

TEST(Interpret, DrawsAreTheStreams) {
  ProgramBuilder p;
  Dim n = p.integer_input("n");
  p.program.streams = {{std::nullopt, n}, {uint64_t{99}, 5}};
  BufferId u = p.temporary("u", Dtype::f32, {6}), g = p.temporary("g", Dtype::f64, {6}),
           w = p.temporary("w", Dtype::i64, {6}), wide = p.temporary("wide", Dtype::i64, {6});
  NestBuilder b = p.nest();
  Dim i = b.axis(6);
  b.store(u, {i}, b.draw(DrawKind::uniform, Dtype::f32, i));
  b.store(g, {i}, b.draw(DrawKind::normal, Dtype::f64, i, 1));
  b.store(w, {i}, b.draw(DrawKind::word, Dtype::i64, i + 1));
  b.store(wide, {i}, b.draw(DrawKind::wide_word, Dtype::i64, i, 1));
  p.add(b);
  for (BufferId id : {u, g, w, wide}) p.output(id);
  InterpretOptions options;
  options.ambient = {.seed = 7, .offset = 40};
  Results r = run(p, {int64_t{3}}, options);
  const RandomStream ambient{7, 43}, named{99, 5};
  for (int64_t k = 0; k < 6; ++k) {
    const auto e = static_cast<uint64_t>(k);
    EXPECT_EQ(r.outputs[0].tensor.at(k).real(), ambient.uniform(Dtype::f32, e));
    EXPECT_EQ(r.outputs[1].tensor.at(k).real(), named.normal(Dtype::f64, e));
    EXPECT_EQ(r.outputs[2].tensor.at(k).integer(), int64_t{ambient.word(e + 1)});
    EXPECT_EQ(r.outputs[3].tensor.at(k).integer(), static_cast<int64_t>(named.wide_word(e)));
  }
}

TEST(Interpret, ConstantsAreReadOnly) {
  ProgramBuilder p;
  std::vector<std::byte> bytes(8);
  write_element(Dtype::f32, bytes.data(), ScalarValue(1.5));
  write_element(Dtype::f32, bytes.data() + 4, ScalarValue(-2.0));
  ConstantData data{contiguous_tensor(Dtype::f32, DimVec{2}), std::make_shared<const std::vector<std::byte>>(bytes), "",
                    ""};
  BufferId c = p.temporary("c", Dtype::f32, {2});
  p.program.buffers[c].kind = BufferKind::constant;
  p.program.buffers[c].data = &data;
  p.output(c);
  Results r = run(p, {});
  EXPECT_THAT(numbers(r.outputs[0].tensor), ElementsAre(1.5, -2));
  EXPECT_THROW(r.outputs[0].tensor.put(0, ScalarValue(0.0)), InternalError);
  data.bytes = nullptr;
  data.key = "w";
  EXPECT_THAT(thrown<Unsupported>([&] { run(p, {}); }), HasSubstr("'w'"));
  InterpretOptions options;
  options.load_constant = [](const ConstantData&) { return Tensor::reals(Dtype::f32, {2}, {3, 4}); };
  EXPECT_THAT(run_for_first(p, {}, options), ElementsAre(3, 4));
  NestBuilder b = p.nest();
  b.store(c, {0}, b.real(Dtype::f32, 0));
  p.add(b);
  EXPECT_THAT(thrown<InternalError>([&] { run(p, {}, options); }), HasSubstr("'c' is written, but is a constant"));
}

// --- what it finds

// t is written up to `written`, then read up to `read`.
struct Partly : ProgramBuilder {
  Partly(int64_t written, int64_t read, int64_t shift = 0) {
    BufferId t = temporary("t", Dtype::f32, {4, 4}), out = temporary("out", Dtype::f32, {4, 4});
    NestBuilder w = nest("writer");
    Dim i = w.axis(4), j = w.axis(written);
    w.store(t, {i, j}, w.real(Dtype::f32, 1));
    add(w);
    NestBuilder r = nest("reader");
    Dim k = r.axis(4), l = r.axis(read);
    r.store(out, {k, l}, load(r, t, {k, l + shift}));
    add(r);
    output(out);
  }
};

TEST(Interpret, FindsWhatNobodyWrote) {
  EXPECT_EQ(run(Partly(2, 2), {}).ending, Ending::finished);
  EXPECT_THAT(thrown<InternalError>([] { run(Partly(2, 3), {}); }),
              testing::AllOf(HasSubstr("nest 'reader'"), HasSubstr("buffer 't'"),
                             HasSubstr("[0, 2], which nobody has written")));
}

TEST(Interpret, FindsAccessesOutsideInEveryDim) {
  // The address would be inside the buffer: the coordinate is not.
  EXPECT_THAT(thrown<InternalError>([] { run(Partly(4, 4, 1), {}); }),
              testing::AllOf(HasSubstr("sizes [4, 4]"), HasSubstr("[0, 4], which is outside")));
  EXPECT_THAT(thrown<InternalError>([] { run(Partly(4, 4, -1), {}); }), HasSubstr("[0, -1], which is outside"));
}

TEST(Interpret, FindsReadsOfWhatTheNestWrites) {
  ProgramBuilder p;
  BufferId x = p.input("x", Dtype::f32, {2});
  p.program.buffers[x].mutated = true;
  NestBuilder b = p.nest("shift");
  Dim i = b.axis(1);
  b.store(x, {i}, p.load(b, x, {i + 1}));
  p.add(b);
  EXPECT_THAT(thrown<InternalError>([&] { run(p, {Tensor(Dtype::f32, {2})}); }), HasSubstr("'x' is read and written"));
  p.program.buffers[x].mutated = false;
  EXPECT_THAT(thrown<InternalError>([&] { run(p, {Tensor(Dtype::f32, {2})}); }), HasSubstr("not mutated"));
}

TEST(Interpret, FindsReductionPointsInTheEpilogue) {
  ProgramBuilder p;
  BufferId x = p.input("x", Dtype::f32, {2}), out = p.temporary("out", Dtype::f32, {});
  NestBuilder b = p.nest();
  Dim i = b.reduction(2);
  Ssa v = p.load(b, x, {i});
  b.store(out, {}, b.scalar("sub", Dtype::f32, {v, b.reduce(Combine::sum, Dtype::f32, {v})}));
  p.add(b);
  EXPECT_THAT(thrown<InternalError>([&] { run(p, {Tensor(Dtype::f32, {2})}); }),
              HasSubstr("together with what it reduces to"));
}

TEST(Interpret, MemoryLimit) {
  Pointwise p("neg", Dtype::f32, 1);
  InterpretOptions options;
  options.memory_limit = 4000;
  EXPECT_EQ(run(p, {Tensor(Dtype::f32, {1000})}, options).ending, Ending::finished);
  Results r = run(p, {Tensor(Dtype::f32, {1001})}, options);
  EXPECT_EQ(r.ending, Ending::out_of_memory);
  EXPECT_THAT(r.text, HasSubstr("buffer 'out' of sizes [1001] (f32) does not fit"));
  // Sizes beyond 64 bits too.
  ProgramBuilder huge;
  BufferId t = huge.temporary("t", Dtype::f32, {INT64_MAX / 2, 1'000});
  huge.output(t);
  EXPECT_EQ(run(huge, {}).ending, Ending::out_of_memory);
}

}  // namespace
}  // namespace lenz::loops
