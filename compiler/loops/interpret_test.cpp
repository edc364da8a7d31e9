// The interpreter on nests made by hand: each kind of instruction and store, what it checks, what it counts.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "compiler/loops/interpret_helpers_test.h"
#include "compiler/scalar/rounding.h"

namespace lenz::loops {
namespace {
using namespace test;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr double kInf = HUGE_VAL;

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

// A NaN that signals too: whoever looks at the bits of floats that were moved sees them.
TEST(Interpret, CarriesTheBitsOfNans) {
  Pointwise as_floats("bitcast", Dtype::i32, 1, Dtype::f32), as_bits("bitcast", Dtype::f32, 1, Dtype::i32);
  const Results floats = run(as_floats, {Tensor::integers(Dtype::i32, {3}, {0x7f800001, 0x7fc00005, 0x3f800000})});
  EXPECT_THAT(run_for_first(as_bits, {floats.outputs[0].tensor}), ElementsAre(0x7f800001, 0x7fc00005, 0x3f800000));
  EXPECT_EQ(to_bits(Dtype::f32, settled(Dtype::f32, from_bits(Dtype::f32, {0x7f800001, 0})))[0], 0x7f800001U);
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

TEST(Interpret, IndicesThatDivide) {
  ProgramBuilder p;
  Dim m = p.symbol("m"), n = p.symbol("n");
  BufferId x = p.input("x", Dtype::i64, {m, n}), out = p.temporary("out", Dtype::i64, {n * m});
  NestBuilder b = p.nest("turned");
  Dim i = b.axis(n * m);
  b.store(out, {i}, p.load(b, x, {mod(i, m), floor_div(i, m)}));
  p.add(b);
  p.output(out);
  EXPECT_THAT(run_for_first(p, {iota(Dtype::i64, {2, 3})}), ElementsAre(0, 3, 1, 4, 2, 5));
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

TEST(Interpret, ScanOfWhatDoesNotDependOnItsAxis) {
  ProgramBuilder p;
  BufferId out = p.temporary("out", Dtype::i32, {2, 3});
  NestBuilder b = p.nest();
  Dim i = b.axis(2), j = b.scan_axis(3);
  b.store(out, {i, j}, b.scan(Combine::sum, Dtype::i32, {b.integer(Dtype::i32, 2)}));
  p.add(b);
  p.output(out);
  EXPECT_THAT(run_for_first(p, {}), ElementsAre(2, 4, 6, 2, 4, 6));
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
    p.add(Sort{.keys = x, .values = v, .indices = at, .dim = 1, .descending = descending, .places = {}});
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

TEST(Interpret, SortOfManyEqualKeysKeepsTheirOrder) {
  ProgramBuilder p;
  BufferId x = p.input("x", Dtype::i64, {100}), at = p.temporary("at", Dtype::i64, {100});
  p.add(Sort{.keys = x, .values = kNone, .indices = at, .dim = 0, .descending = true, .places = {}});
  p.output(at);
  Tensor keys(Dtype::i64, {100});
  for (int64_t i = 0; i < 100; ++i) keys.put(i, ScalarValue(i % 3));
  std::vector<double> expected;
  for (int key : {2, 1, 0})
    for (int i = key; i < 100; i += 3) expected.push_back(i);
  EXPECT_EQ(run_for_first(p, {keys}), expected);
}

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
  Pointwise p("to_dtype", Dtype::f32, 1, Dtype::i32);
  Results r = run(p, {Tensor(Dtype::f32, {3})});
  EXPECT_EQ(r.counters, (Counters{.points = 3, .loads = 3, .stores = 3, .operations = 3, .flops = 0, .bytes = 24}));
}

TEST(Interpret, DrawsAreTheStreams) {
  ProgramBuilder p;
  Dim n = p.integer_input("n");
  p.program.streams = {{std::nullopt, n}, {uint64_t{99}, 5}};
  BufferId u = p.temporary("u", Dtype::f32, {6}), g = p.temporary("g", Dtype::f64, {6}),
           narrow = p.temporary("narrow", Dtype::f64, {6}), w = p.temporary("w", Dtype::i64, {6}),
           wide = p.temporary("wide", Dtype::i64, {6});
  NestBuilder b = p.nest();
  Dim i = b.axis(6);
  b.store(u, {i}, b.draw(DrawKind::uniform, Dtype::f32, i));
  b.store(g, {i}, b.draw(DrawKind::wide_normal, Dtype::f64, i, 1));
  b.store(narrow, {i}, b.draw(DrawKind::normal, Dtype::f64, i, 1));
  b.store(w, {i}, b.draw(DrawKind::word, Dtype::i64, i + 1));
  b.store(wide, {i}, b.draw(DrawKind::wide_word, Dtype::i64, i, 1));
  p.add(b);
  for (BufferId id : {u, g, w, wide, narrow}) p.output(id);
  InterpretOptions options;
  options.ambient = {.seed = 7, .offset = 40};
  Results r = run(p, {int64_t{3}}, options);
  const RandomStream ambient{7, 43}, named{99, 5};
  for (int64_t k = 0; k < 6; ++k) {
    const auto e = static_cast<uint64_t>(k);
    EXPECT_EQ(r.outputs[0].tensor.at(k).real(), ambient.uniform(Dtype::f32, e));
    EXPECT_EQ(r.outputs[1].tensor.at(k).real(), named.normal(Dtype::f64, e));
    EXPECT_EQ(r.outputs[4].tensor.at(k).real(), named.normal(Dtype::f32, e));
    EXPECT_EQ(r.outputs[2].tensor.at(k).integer(), int64_t{ambient.word(e + 1)});
    EXPECT_EQ(r.outputs[3].tensor.at(k).integer(), static_cast<int64_t>(named.wide_word(e)));
  }
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

// Coordinates that run backwards, or hang together, are inside where their least and their greatest are.
TEST(Interpret, FindsAccessesOutsideAlongSumsOfAxes) {
  struct Shifted : ProgramBuilder {
    Shifted(int64_t size, int64_t by) {
      BufferId x = input("x", Dtype::f32, {size}), out = temporary("out", Dtype::f32, {2, 3});
      NestBuilder b = nest("shifted");
      Dim i = b.axis(2), j = b.axis(3);
      b.store(out, {i, j}, load(b, x, {i * 3 - j + by}));
      add(b);
      output(out);
    }
  };
  auto ran = [](int64_t size, int64_t by) { return run_for_first(Shifted(size, by), {iota(Dtype::f32, {size})}); };
  EXPECT_THAT(ran(6, 2), ElementsAre(2, 1, 0, 5, 4, 3));
  EXPECT_THAT(thrown<InternalError>([&] { ran(6, 1); }), HasSubstr("[-1], which is outside"));
  EXPECT_THAT(thrown<InternalError>([&] { ran(5, 2); }), HasSubstr("[5], which is outside"));
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

}  // namespace
}  // namespace lenz::loops
