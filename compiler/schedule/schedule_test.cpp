// Plans and what they make of programs: the verifier proves that kernels are independent, the interpreter that they
// compute what the naive loops do.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "compiler/driver/compile.h"
#include "compiler/graph/text.h"
#include "compiler/loops/interpret.h"
#include "compiler/loops/text.h"
#include "compiler/loops/verify.h"
#include "compiler/ops/op_table.h"
#include "compiler/schedule/explain.h"
#include "compiler/schedule/realise.h"

namespace lenz::schedule {
namespace {

loops::Program naive(std::string_view text) { return to_loops(*parse_graph(text, op_table())); }

struct Made {
  loops::Program program;
  size_t kernels = 0, nests = 0, locals = 0;
};

Made made(std::string_view text, bool tiles = true) {
  Made m{schedule(naive(text), cpu_target("avx512", 1), {.tiles = tiles})};
  loops::require_valid(m.program, "the scheduler");
  loops::for_each_node(m.program.body, [&](const loops::Node& n) {
    m.kernels += std::holds_alternative<loops::Kernel>(n.is);
    m.nests += std::holds_alternative<loops::Nest>(n.is);
  });
  for (const loops::Buffer& b : m.program.buffers) m.locals += b.local;
  return m;
}

loops::Tensor numbers(std::initializer_list<int64_t> sizes) {
  loops::Tensor t(Dtype::f32, loops::Ints(sizes));
  for (int64_t i = 0; i < t.numel(); ++i) t.put(i, ScalarValue(static_cast<double>((i * 37 + 11) % 23 - 7) / 8));
  return t;
}

// Every element of every output, before and after.
void expect_same(std::string_view text, const std::vector<loops::InputValue>& values, double within) {
  loops::Results wanted = loops::interpret(naive(text), values);
  ASSERT_EQ(wanted.ending, loops::Ending::finished) << wanted.text;
  for (bool tiles : {false, true}) {
    loops::Results got = loops::interpret(made(text, tiles).program, values);
    ASSERT_EQ(got.ending, loops::Ending::finished) << got.text;
    ASSERT_EQ(got.outputs.size(), wanted.outputs.size());
    for (size_t o = 0; o < got.outputs.size(); ++o)
      for (int64_t i = 0; i < wanted.outputs[o].tensor.numel(); ++i)
        EXPECT_NEAR(got.outputs[o].tensor.at(i).real(), wanted.outputs[o].tensor.at(i).real(), within)
            << "output " << o << " element " << i;
  }
}

constexpr std::string_view kSoftmaxNorm = R"(graph @g(%x: f32[7, 100], %w: f32[100], %b: f32[100]) {
  %y = aten.softmax.int(%x, -1)
  %z = aten.layer_norm(%y, [100], %w, %b)
  return %z
})";

TEST(Schedule, ReductionsOverOneRowAreOneKernel) {
  Made m = made(kSoftmaxNorm);
  EXPECT_EQ(m.kernels, 1u) << loops::print(m.program);
  for (const loops::Buffer& b : m.program.buffers)
    if (b.kind == loops::BufferKind::temporary) EXPECT_TRUE(b.local || b.placed) << b.name;
  expect_same(kSoftmaxNorm, {numbers({7, 100}), numbers({100}), numbers({100})}, 1e-5);
}

// A mask made of coordinates says nothing about the order of the axes.
TEST(Schedule, MaskedSoftmaxIsOneKernel) {
  constexpr std::string_view text = R"(graph @g(%x: f32[3, 20, 20]) {
  %i = aten.arange(20)
  %r = aten.unsqueeze(%i, 0)
  %c = aten.unsqueeze(%i, 1)
  %d = aten.sub(%r, %c)
  %m = aten.gt(%d, 0)
  %a = aten.mul(%x, 0.125)
  %f = aten.masked_fill.Scalar(%a, %m, -inf)
  %y = aten.softmax.int(%f, -1)
  return %y
})";
  EXPECT_LE(made(text).kernels, 2u) << loops::print(made(text).program);
  expect_same(text, {numbers({3, 20, 20})}, 1e-6);
}

// Coordinates that masks ask for are computed there, and so nothing stands between what else is one kernel.
TEST(Schedule, TrianglesAreOneKernel) {
  constexpr std::string_view text = R"(graph @g(%x: f32[70, 70]) {
  %a = aten.tril(%x)
  %b = aten.triu(%x, 1)
  %t = aten.permute(%b, [1, 0])
  %y = aten.add(%a, %t)
  return %y
})";
  EXPECT_EQ(made(text).kernels, 1u) << loops::print(made(text).program);
  expect_same(text, {numbers({70, 70})}, 1e-6);
}

// A buffer that a kernel keeps to itself has a place for each coordinate that some access names.
TEST(Schedule, PiecesOfALocalBufferStayApart) {
  constexpr std::string_view text = R"(graph @g(%x: f32[4, 1, 6], %y: f32[4, 2, 6] mut) {
  %s = aten.sigmoid(%x)
  %n = aten.neg(%x)
  %c = aten.cat([%s, %n], 1)
  %r = aten.copy_(%y, %c)
  return %s
})";
  loops::Tensor x = numbers({4, 1, 6}), wanted = numbers({4, 2, 6}), got = numbers({4, 2, 6});
  loops::interpret(naive(text), std::vector<loops::InputValue>{x, wanted});
  loops::interpret(made(text).program, std::vector<loops::InputValue>{x, got});
  for (int64_t i = 0; i < wanted.numel(); ++i) EXPECT_EQ(wanted.at(i).real(), got.at(i).real()) << i;
}

TEST(Schedule, ChainsOfPointsAreOneNest) {
  constexpr std::string_view text = R"(graph @g(%x: f32[40, 300], %y: f32[300]) {
  %a = aten.mul(%x, %y)
  %b = aten.sin(%a)
  %c = aten.add(%b, %x)
  %d = aten.transpose.int(%c, 0, 1)
  %e = aten.relu(%d)
  return %e, %b
})";
  Made m = made(text);
  EXPECT_EQ(m.locals, 0u) << loops::print(m.program);
  EXPECT_LE(m.nests, 2u) << loops::print(m.program);
  expect_same(text, {numbers({40, 300}), numbers({300})}, 1e-6);
}

// Axes go as memory lies, whatever the order of the dims; where two buffers disagree, squares are turned in registers.
TEST(Schedule, AxesFollowMemory) {
  constexpr std::string_view last = R"(graph @g(%x: f32[2, 40, 5, 6] strides [1200, 1, 240, 40]) {
  %a = aten.relu(%x)
  return %a
})";
  const std::string flat = loops::print(made(last).program);
  EXPECT_THAT(flat, testing::HasSubstr("< 2400 lanes 16")) << flat;
  constexpr std::string_view crossed = R"(graph @g(%x: f32[70, 90], %y: f32[90, 70]) {
  %t = aten.t(%y)
  %a = aten.add(%x, %t)
  return %a
})";
  const std::string squares = loops::print(made(crossed).program);
  EXPECT_THAT(squares, testing::ContainsRegex("unroll 16, .* lanes 16")) << squares;
  expect_same(crossed, {numbers({70, 90}), numbers({90, 70})}, 1e-6);
}

// Where the innermost axis is too short for a vector, lanes go along another one if a few vectors of neighbours have
// all that these read: rows of a few elements that are summed, windows, squares of two.
TEST(Schedule, LanesLeaveShortAxes) {
  struct Short {
    std::string_view text, lanes;
    loops::Tensor x;
  };
  for (const Short& s : {
           Short{"graph @g(%x: f32[300, 5]) { %s = aten.sum(%x, [1]) return %s }",
                 "for i[0-9]* < .* lanes 16 .*reduce j0 < 5 ", numbers({300, 5})},
           Short{"graph @g(%x: f32[2, 3, 40, 40]) { %s = aten.max_pool2d(%x, [2, 2]) return %s }",
                 "for i[0-9]* < 20 lanes 16.*reduce j0 < 2, reduce j1 < 2 ", numbers({2, 3, 40, 40})},
           Short{"graph @g(%x: f32[2, 8, 30, 30]) { %s = aten.pixel_shuffle(%x, 2) return %s }",
                 "for i[0-9]* < 30 lanes 16 unroll 2, i[0-9]* < 2 ", numbers({2, 8, 30, 30})},
           Short{"graph @g(%x: f32[300, 40]) { %s = aten.sum(%x, [1]) return %s }", "for reduce j0 < 40 lanes 16 ",
                 numbers({300, 40})},
       }) {
    const std::string nests = loops::print(made(s.text).program);
    EXPECT_THAT(nests, testing::ContainsRegex(std::string(s.lanes))) << nests;
    expect_same(s.text, {s.x}, 1e-5);
  }
}

// Of two results of one pass nobody asks for the second: neither it nor where the greatest is is computed.
TEST(Schedule, DeadResultsGo) {
  constexpr std::string_view pooled =
      "graph @g(%x: f32[2, 3, 40, 40]) { %s = aten.max_pool2d(%x, [3, 3], [2, 2]) return %s }";
  const std::string nests = loops::print(made(pooled).program);
  EXPECT_THAT(nests, testing::HasSubstr("reduce maximum")) << nests;
  EXPECT_THAT(nests, testing::Not(testing::HasSubstr("i64"))) << nests;
  constexpr std::string_view both = "graph @g(%x: f32[20, 30]) { %v, %i = aten.max(%x, 1) return %v, %i }";
  EXPECT_THAT(loops::print(made(both).program), testing::HasSubstr("argmax"));
}

// Axes that go as one and are cut into tiles anywhere: the verifier knows the digits for one number, and the code for
// neighbours.
TEST(Schedule, TilesOfAxesThatGoAsOne) {
  for (std::string_view sizes :
       {"[12, 512, 64]", "[3, 7, 11, 13, 5]", "[9, 56, 56, 64]", "[1, 12, 512, 64]", "[5, 1, 999, 3]",
        "[2, 2, 2, 2, 4099]", "[9, 256, 56, 56] strides [802816, 1, 14336, 256]",
        "[4, 3, 65, 97] strides [18915, 1, 291, 3]", "[64, 128, 33] strides [1, 64, 8192]"}) {
    const std::string text =
        fmt::format("graph @g(%x: f32{}) {{\n  %a = aten.relu(%x)\n  %b = aten.exp(%a)\n  return %b\n}}\n", sizes);
    const std::string flat = loops::print(made(text).program);
    EXPECT_THAT(flat, testing::ContainsRegex("for i[0-9]* < .* lanes 16 unroll")) << flat;
    EXPECT_THAT(flat, testing::Not(testing::HasSubstr("unroll 16"))) << flat;
  }
}

TEST(Schedule, WhatReadsOtherPointsIsAnotherKernel) {
  constexpr std::string_view text = R"(graph @g(%x: f32[50, 60]) {
  %a = aten.exp(%x)
  %s = aten.sum.dim_IntList(%a, [0])
  %y = aten.div(%a, %s)
  %f = aten.flip(%y, [0])
  %z = aten.add(%f, %y)
  return %z, %s
})";
  EXPECT_GE(made(text).kernels, 2u);
  expect_same(text, {numbers({50, 60})}, 1e-4);
}

TEST(Schedule, InputsAreUpdatedInPlace) {
  constexpr std::string_view text = R"(graph @g(%p: f32[33] mut, %g: f32[33]) {
  %d = aten.mul(%g, 0.5)
  %n = aten.sub_(%p, %d)
  return %d
})";
  loops::Tensor p = numbers({33}), q = numbers({33}), g = numbers({33});
  loops::interpret(naive(text), std::vector<loops::InputValue>{p, g});
  loops::interpret(made(text).program, std::vector<loops::InputValue>{q, g});
  for (int64_t i = 0; i < 33; ++i) EXPECT_EQ(p.at(i).real(), q.at(i).real());
}

// Programs as text, where graphs would not have the shape that matters.
void expect_same_loops(std::string_view text, const std::function<std::vector<loops::InputValue>()>& inputs) {
  auto wanted = loops::interpret(loops::parse_program(text, op_table()), inputs());
  loops::Program program = schedule(loops::parse_program(text, op_table()), cpu_target("avx512", 1));
  loops::require_valid(program, "the scheduler");
  auto got = loops::interpret(program, inputs());
  ASSERT_EQ(got.ending, loops::Ending::finished) << got.text << loops::print(program);
  for (size_t o = 0; o < got.outputs.size(); ++o)
    for (int64_t i = 0; i < wanted.outputs[o].tensor.numel(); ++i)
      EXPECT_EQ(got.outputs[o].tensor.at(i).real(), wanted.outputs[o].tensor.at(i).real())
          << "output " << o << " element " << i << "\n"
          << loops::print(program);
}

TEST(Schedule, InputsOfOneMemoryKeepTheirOrder) {
  constexpr std::string_view text = R"(loops @p {
  input %x: f32[40] placed alias c
  input %y: f32[40] placed mut alias c
  input %w: f32[40] placed
  temp %u: f32[40] placed
  temp %f: f32[40] placed
  for i0 < 40 {
    %0 = load %w[i0]
    %1 = exp.f32 %0
    store %u[i0] = %1
  }
  for i0 < 40 {
    %0 = load %x[39 - i0]
    store %f[i0] = %0
  }
  for i0 < 40 {
    %0 = load %u[i0]
    store %y[i0] = %0
  }
  return %u, %f
})";
  expect_same_loops(text, [] {
    loops::Tensor x = numbers({40});
    return std::vector<loops::InputValue>{x, x, numbers({40})};
  });
}

// A temp that is read behind the write to what it is a copy of.
TEST(Schedule, WhatIsWrittenUnderAnotherNameIsNotRecomputed) {
  constexpr std::string_view text = R"(loops @p {
  input %x: f32[40] placed alias c
  input %y: f32[40] placed mut alias c
  input %w: f32[40] placed
  temp %v: f32[40]
  temp %f: f32[40] placed
  for i0 < 40 {
    %0 = load %x[i0]
    store %v[i0] = %0
  }
  for i0 < 40 {
    %0 = load %w[i0]
    store %y[i0] = %0
  }
  for i0 < 40 {
    %0 = load %v[39 - i0]
    store %f[i0] = %0
  }
  return %f
})";
  expect_same_loops(text, [] {
    loops::Tensor x = numbers({40});
    loops::Tensor w = numbers({41}).view(loops::Ints{40}, loops::Ints{1}, 1);
    loops::Tensor dense(Dtype::f32, loops::Ints{40});
    for (int64_t i = 0; i < 40; ++i) dense.put(i, w.at(i));
    return std::vector<loops::InputValue>{x, x, dense};
  });
}

// Elements of a row that is shared, stored and read in orders that are no axes.
TEST(Schedule, RowsReadInAnotherOrderAreAnotherPhase) {
  constexpr std::string_view text = R"(loops @p {
  input %x: f32[6, 30] placed
  temp %v: f32[6, 30]
  temp %f: f32[6, 30] placed
  temp %s: f32[6] placed
  for i0 < 6, i1 < 30 {
    %0 = load %x[i0, i1]
    %1 = exp.f32 %0
    store %v[i0, 29 - i1] = %1
  }
  for i0 < 6, i1 < 30 {
    %0 = load %v[i0, (i1 + 7) % 30]
    %1 = neg.f32 %0
    store %f[i0, i1] = %1
  }
  for i0 < 6, reduce i1 < 30 {
    %0 = load %v[i0, i1]
    %1 = reduce maximum %0
    store %s[i0] = %1
  }
  return %f, %s
})";
  expect_same_loops(text, [] { return std::vector<loops::InputValue>{numbers({6, 30})}; });
}

// What points write together runs in order, side by side along what keeps it apart.
TEST(Schedule, CombiningStoresAreKernels) {
  constexpr std::string_view text = R"(loops @p {
  input %at: i64[40] placed
  input %g: f32[40, 300] placed
  input %w: f32[9, 40] placed
  temp %sum: f32[9, 300] placed
  temp %last: f32[9, 9] placed
  for i0 < 9, i1 < 300 {
    %0 = f32 0.0
    store %sum[i0, i1] = %0
  }
  for i0 < 9, i1 < 9 {
    %0 = f32 0.0
    store %last[i0, i1] = %0
  }
  for i0 < 40, i1 < 300 {
    %0 = load %at[i0]
    %1 = position %0 < 9 as p0
    %2 = load %g[i0, i1]
    store add %sum[p0, i1] = %2
  }
  for i0 < 9, i1 < 40 {
    %0 = load %at[i1]
    %1 = position %0 < 9 as p0
    %2 = load %w[i0, i1]
    store scatter %last[i0, p0] = %2
  }
  return %sum, %last
})";
  loops::Program program = schedule(loops::parse_program(text, op_table()), cpu_target("avx512", 1));
  size_t bare = 0, axes = 0, lanes = 0;
  for (const loops::Node& n : program.body.nodes) {
    const auto* kernel = std::get_if<loops::Kernel>(&n.is);
    bare += kernel == nullptr;
    if (kernel == nullptr) continue;
    const auto& nest = std::get<loops::Nest>(kernel->body->nodes[0].is);
    if (nest.stores[0].mode == loops::StoreMode::assign) continue;
    axes += kernel->axes.size();
    for (const loops::Axis& a : nest.axes) lanes += a.lanes > 1;
  }
  EXPECT_EQ(bare, 0u) << loops::print(program);
  EXPECT_EQ(axes, 2u) << loops::print(program);
  EXPECT_EQ(lanes, 1u) << loops::print(program);
  expect_same_loops(text, [] {
    loops::Tensor at(Dtype::i64, loops::Ints{40});
    for (int64_t i = 0; i < 40; ++i) at.put(i, ScalarValue(i * 7 % 9));
    return std::vector<loops::InputValue>{at, numbers({40, 300}), numbers({9, 40})};
  });
}

// Every combine: the chunks' results together are what one walk gives, with an epilogue and a tail.
TEST(Schedule, LongReductionsAreSplit) {
  constexpr std::string_view text = R"(loops @p where s0 in 1..1000000 {
  input %x: f32[s0] placed
  temp %e: f32[s0]
  temp %sum: f32[] placed
  temp %most: f32[] placed
  temp %where: i64[] placed
  temp %mean: f32[] placed
  temp %squares: f32[] placed
  temp %count: f32[] placed
  temp %logsum: f32[] placed
  for i0 < s0 {
    %0 = load %x[i0]
    %1 = neg.f32 %0
    %2 = mul.f32 %1, %0
    store %e[i0] = %2
  }
  for reduce i0 < s0 {
    %0 = load %e[i0]
    %1 = reduce sum %0
    store %sum[] = %1
  }
  for reduce i0 < s0 {
    %0 = load %x[i0]
    %1 = index[i0]
    %2 = reduce argmax %0, %1
    %3 = part 1 of %2
    %4 = neg.f32 %2
    store %most[] = %4
    store %where[] = %3
  }
  for reduce i0 < s0 {
    %0 = load %x[i0]
    %1 = reduce welford %0
    %2 = part 1 of %1
    %3 = part 2 of %1
    store %mean[] = %1
    store %squares[] = %2
    store %count[] = %3
  }
  for reduce i0 < s0 {
    %0 = load %x[i0]
    %1 = reduce log_sum_exp %0
    %2 = part 1 of %1
    %3 = log.f32 %2
    %4 = add.f32 %1, %3
    store %logsum[] = %4
  }
  return %sum, %most, %where, %mean, %squares, %count, %logsum
})";
  loops::Program program = schedule(loops::parse_program(text, op_table()), cpu_target("avx512", 2));
  size_t split = 0;
  loops::for_each_node(program.body, [&](const loops::Node& n) {
    if (const auto* kernel = std::get_if<loops::Kernel>(&n.is)) split += kernel->axes.size() == 1;
  });
  EXPECT_EQ(split, 1u) << loops::print(program);
  for (const loops::Buffer& b : program.buffers) EXPECT_NE(b.name, "e");
  for (int64_t n : {1, 32768, 70001}) {
    auto inputs = [&] { return std::vector<loops::InputValue>{numbers({n})}; };
    auto wanted = loops::interpret(loops::parse_program(text, op_table()), inputs());
    auto got = loops::interpret(program, inputs());
    loops::require_valid(program, "the scheduler");
    ASSERT_EQ(got.ending, loops::Ending::finished) << got.text << loops::print(program);
    for (size_t o = 0; o < got.outputs.size(); ++o) {
      const ScalarValue x = wanted.outputs[o].tensor.at(0), y = got.outputs[o].tensor.at(0);
      if (x.kind() == ScalarKind::integer) EXPECT_EQ(x.integer(), y.integer());
      if (x.kind() == ScalarKind::real) EXPECT_NEAR(x.real(), y.real(), 1e-3 * std::fabs(x.real()) + 1e-6) << o;
    }
  }
}

// Columns that may be few: rows are cut for all of them, and into pieces as large as those of many.
TEST(Schedule, ColumnsOfOpenNumberAreSplit) {
  auto kernels = [](std::string_view sizes, std::string_view where) {
    const loops::Program made =
        schedule(to_loops(*parse_graph(fmt::format("graph @g(%x: f32[{}]) {} {{\n  %a = aten.sum.dim_IntList(%x, [0])\n"
                                                   "  return %a\n}}\n",
                                                   sizes, where),
                                       op_table())),
                 cpu_target("avx512", 2));
    std::string axes;
    loops::for_each_node(made.body, [&](const loops::Node& n) {
      if (const auto* kernel = std::get_if<loops::Kernel>(&n.is))
        axes += (axes.empty() ? "" : "; ") + to_string(kernel->axes[0].extent);
    });
    return axes;
  };
  EXPECT_EQ(kernels("s0, s1", "where s0 in 1..1000000, s1 in 1..1000000"), "(s0 + 127)//128; (s1 + 255)//256");
  EXPECT_EQ(kernels("s0, s1", "where s0 in 1..1000000, s1 in 16384..1000000"), "(s1 + 255)//256");
}

TEST(Schedule, AnOuterAxisWithoutPoints) {
  constexpr std::string_view text = R"(loops @p {
  input %x: f32[0, 3] placed
  temp %f: f32[0, 3] placed
  for i0 < 0, i1 < 3 {
    %0 = load %x[i0, i1]
    %1 = neg.f32 %0
    store %f[i0, i1] = %1
  }
  return %f
})";
  expect_same_loops(text, [] { return std::vector<loops::InputValue>{loops::Tensor(Dtype::f32, loops::Ints{0, 3})}; });
}

TEST(Schedule, TilesOfSymbolicSizes) {
  constexpr std::string_view text = R"(graph @g(%x: f32[s0]) where s0 in 2..100000 {
  %a = aten.mul(%x, %x)
  %b = aten.add(%a, %x)
  return %b
})";
  for (int64_t n : {2, 63, 4095, 4096, 4097, 9001}) expect_same(text, {numbers({n})}, 1e-6);
}

// The last chunk is shorter: how far the inner axis goes hangs on the chunk, which no tile may take inside.
TEST(Schedule, ChunksOfOneElementSeenManyTimes) {
  constexpr std::string_view text = R"(graph @g(%x: f32[1], %n: int s0) where s0 in 1..10000000 {
  %e = aten.expand(%x, [s0])
  %s = aten.sum(%e)
  return %s
})";
  for (int64_t n : {2, 32768, 70001}) expect_same(text, {numbers({1}), n}, 1e-6 * static_cast<double>(n));
}

TEST(Schedule, SaysWhyNot) {
  loops::Program program = naive(R"(graph @g(%x: f32[50, 60]) {
  %a = aten.exp(%x)
  %f = aten.flip(%a, [0])
  return %f
})");
  const auto& a = std::get<loops::Nest>(program.body.nodes[0].is);
  const auto& b = std::get<loops::Nest>(program.body.nodes[1].is);
  EXPECT_THAT(why_illegal(program, a, b, 1), testing::HasSubstr("at another point of axis 0"));
}

TEST(Schedule, ExplainsWhatIsFused) {
  constexpr std::string_view text = R"(graph @g(%x: f32[50, 60], %m: f32[60, 70]) {
  %a = aten.exp(%x)
  %s = aten.sum.dim_IntList(%a, [1])
  %c = aten.sum.dim_IntList(%a, [0])
  %p = aten.mm(%a, %m)
  %r = aten.relu(%p)
  return %s, %c, %r
})";
  const Target cpu = cpu_target("avx512", 1);
  loops::Program prepared = naive(text);
  prepare(prepared, cpu);
  const Plan planned = plan(prepared, cpu);
  auto why = [&](std::string_view a, std::string_view b) { return explain(naive(text), prepared, planned, a, b); };
  EXPECT_THAT(why("%s", "a"), testing::HasSubstr("one kernel"));
  EXPECT_THAT(why("s", "c"), testing::HasSubstr("axes"));
  EXPECT_THAT(why("p", "r"), testing::HasSubstr("stays by itself"));
  EXPECT_THROW(why("p", "nothing"), UserError);
}

// The order of a sum is the same on every number of cores, or results were not.
TEST(Schedule, PartsDoNotHangOnCores) {
  for (const int64_t points : {1, 5, 40}) {
    const std::string text =
        fmt::format("graph @g(%x: f32[{}, 300000]) {{ %s = aten.sum.dim_IntList(%x, [1]) return %s }}", points);
    const std::string one = loops::print(schedule(naive(text), cpu_target("avx512", 1)));
    EXPECT_EQ(loops::print(schedule(naive(text), cpu_target("avx512", 16))), one);
    EXPECT_THAT(one, testing::HasSubstr("partial"));
  }
}

// With smaller tiles and parts few elements reach the ends of these, and a plan says so.
TEST(Schedule, GrainMakesPartsSmaller) {
  constexpr std::string_view text = R"(graph @g(%x: f32[1001], %m: f32[30, 40]) {
  %e = aten.exp(%x)
  %s = aten.sum(%x)
  %c = aten.sum.dim_IntList(%m, [0])
  return %e, %s, %c
})";
  Target target = cpu_target("generic", 1);
  target.grain = 1024;
  loops::Program program = schedule(naive(text), target);
  loops::require_valid(program, "the scheduler");
  EXPECT_THAT(loops::print(program), testing::HasSubstr("partial"));
  const std::vector<loops::InputValue> values{numbers({1001}), numbers({30, 40})};
  const loops::Results wanted = loops::interpret(naive(text), values), got = loops::interpret(program, values);
  for (size_t o = 0; o < 3; ++o)
    for (int64_t i = 0; i < wanted.outputs[o].tensor.numel(); ++i)
      EXPECT_NEAR(got.outputs[o].tensor.at(i).real(), wanted.outputs[o].tensor.at(i).real(), 1e-3);
  loops::Program prepared = naive(text);
  prepare(prepared, target);
  const Plan planned = plan(prepared, target);
  const std::string printed = print(planned, prepared);
  EXPECT_THAT(printed, testing::HasSubstr("vector 16 grain 1024 {"));
  EXPECT_EQ(print(parse_plan(printed), prepared), printed);
}

// Where a point of a kernel adds to one place many times, the dims that hang on the point tell points apart.
TEST(Schedule, PointsThatAddInTiles) {
  Target target = cpu_target("generic", 1);
  target.grain = 64;
  constexpr std::string_view text = R"(graph @g(%x: f32[1, 6, 8], %c: f32[1, 6, 4]) {
  %r = aten.reflection_pad1d_backward(%x, %c, [3, 1])
  return %r
})";
  loops::Program program = schedule(naive(text), target);
  loops::require_valid(program, "the scheduler");
}

TEST(Schedule, PlansPrint) {
  loops::Program program = naive(kSoftmaxNorm);
  prepare(program, cpu_target("avx2", 2));
  std::string text = print(plan(program, cpu_target("avx2", 2)), program);
  EXPECT_THAT(text, testing::StartsWith("plan @g for avx2 cores 2 vector 32 {"));
  EXPECT_THAT(text, testing::HasSubstr("kernel shared 1"));
  EXPECT_THROW(cpu_target("sse", 1), UserError);
}

}  // namespace
}  // namespace lenz::schedule
