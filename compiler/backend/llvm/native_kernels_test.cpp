// Kernels as machine code against the same kernels on the interpreter, on every target that runs here.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>

#include "compiler/backend/llvm/compile_kernels.h"
#include "compiler/backend/llvm/native_kernels.h"
#include "compiler/loops/text.h"
#include "compiler/loops/verify.h"
#include "compiler/ops/op_table.h"

namespace lenz::native {
namespace {

loops::Tensor numbers(Dtype dtype, std::initializer_list<int64_t> sizes) {
  loops::Tensor t(dtype, loops::Ints(sizes));
  for (int64_t i = 0; i < t.numel(); ++i) {
    const int64_t n = (i * 37 + 11) % 23 - 7;
    t.put(i, is_floating(dtype) ? ScalarValue(static_cast<double>(n) / 8) : ScalarValue(n));
  }
  return t;
}

void expect_same_here(loops::Program& program, const std::vector<loops::InputValue>& inputs, const CpuTarget& target,
                      int threads) {
  const loops::Results wanted = loops::interpret(program, inputs);
  const bool quick = threads > 1;  // long rows are called then
  NativeKernels kernels(program, target, threads, quick);
  ASSERT_TRUE(kernels.refused().empty()) << kernels.refused()[0];
  size_t ran = 0;
  loops::InterpretOptions options;
  options.run_kernel = [&](const loops::KernelCall& call) { return ++ran, kernels.run(call); };
  const loops::Results got = loops::interpret(program, inputs, options);
  ASSERT_EQ(got.ending, wanted.ending) << got.text;
  EXPECT_GT(ran, 0u);
  for (size_t o = 0; o < wanted.outputs.size(); ++o)
    for (int64_t i = 0; i < wanted.outputs[o].tensor.numel(); ++i) {
      const ScalarValue x = wanted.outputs[o].tensor.at(i), y = got.outputs[o].tensor.at(i);
      if (x.kind() == ScalarKind::integer) {
        EXPECT_EQ(x.integer(), y.integer()) << target.name << " output " << o << " element " << i;
      } else {
        EXPECT_NEAR(x.real(), y.real(), 1e-5) << target.name << " output " << o << " element " << i;
      }
    }
}

// On every target, and with stores that may go past the caches.
void expect_same(std::string_view text, const std::vector<loops::InputValue>& inputs) {
  loops::Program program = loops::parse_program(text, op_table());
  loops::require_valid(program, "the test");
  for (const CpuTarget& target : targets()) {
    if (!target.runs_here) continue;
    for (int threads : {1, 3}) expect_same_here(program, inputs, target, threads);
    for (loops::Buffer& b : program.buffers)
      if (b.kind == loops::BufferKind::temporary && !b.local && b.view_of == kNone) b.far = loops::kAlways;
    loops::require_valid(program, "the test, of far results,");
    expect_same_here(program, inputs, target, 1);
    for (loops::Buffer& b : program.buffers) b.far.reset();
  }
}

// Rows with a tail, a local row, reductions in lanes and unrolled, an epilogue.
TEST(NativeKernels, Rows) {
  for (int64_t n : {1, 15, 16, 17, 100})
    expect_same(R"(loops @rows where s0 in 1..1000 {
  input %x: f32[3, s0] placed
  temp %most: f32[] local
  temp %sum: f32[] local
  temp %e: f32[1000] local
  temp %y: f32[3, s0] placed
  kernel k0 < 3 "softmax" {
    for reduce i1 < s0 lanes 16 unroll 4 {
      %0 = load %x[k0, i1]
      %1 = reduce maximum %0
      store %most[] = %1
    }
    for reduce i2 < s0 lanes 16 unroll 2 {
      %0 = load %x[k0, i2]
      %1 = load %most[]
      %2 = sub.f32 %0, %1
      %3 = exp.f32 %2
      %4 = reduce sum %3
      store %e[i2] = %3
      store %sum[] = %4
    }
    for i3 < s0 lanes 16 {
      %0 = load %e[i3]
      %1 = load %sum[]
      %2 = div.f32 %0, %1
      store %y[k0, i3] = %2
    }
  }
  return %y
})",
                {numbers(Dtype::f32, {3, n})});
}

// Lanes outside of the reduction, gathers, narrow dtypes, positions of several parts.
TEST(NativeKernels, Columns) {
  expect_same(R"(loops @columns {
  input %x: bf16[37, 41] placed
  input %at: i64[41] placed
  temp %total: f32[41] placed
  temp %where: i64[41] placed
  temp %taken: bf16[41] placed
  kernel k0 < 1 {
    for i0 < 41 lanes 16 unroll 2, reduce i1 < 37 {
      %0 = load %x[i1, i0]
      %1: f32 = to_dtype.bf16 %0
      %2 = index[i1]
      %3 = reduce sum %1
      %4 = reduce argmax %1, %2
      %5 = part 1 of %4
      store %total[i0] = %3
      store %where[i0] = %5
    }
    for i0 < 41 lanes 8 {
      %0 = load %at[i0]
      %1 = position %0 < 37 as p0 wraps
      %2 = load %x[p0, i0]
      store %taken[i0] = %2
    }
  }
  return %total, %where, %taken
})",
              {numbers(Dtype::bf16, {37, 41}), numbers(Dtype::i64, {41})});
}

// Stores that combine: in lanes along a coordinate of theirs, and one after another where places may meet; the last of
// those that scatter wins.
TEST(NativeKernels, StoresThatCombine) {
  expect_same(R"(loops @combines {
  input %at: i64[50] placed
  input %g: f32[50, 37] placed
  temp %sum: f32[37, 37] placed
  temp %most: bf16[37] placed
  temp %last: i64[37] placed
  kernel {
    for i0 < 37, i1 < 37 {
      %0 = f32 0.25
      store %sum[i0, i1] = %0
    }
    for i0 < 37 {
      %0 = bf16 -0.5
      %1 = i64 -1
      store %most[i0] = %0
      store %last[i0] = %1
    }
  }
  kernel t < 2 {
    for i0 < 50, i < min(32, 37 - t*32) lanes 16 unroll 2 {
      %0 = load %at[i0]
      %1 = position %0 < 37 as p0 wraps
      %2 = load %g[i0, t*32 + i]
      store add %sum[p0, t*32 + i] = %2
    }
  }
  kernel {
    for i0 < 50 {
      %0 = load %at[i0]
      %1 = position %0 < 37 as p0 wraps
      %2 = load %g[i0, 3]
      %3: bf16 = to_dtype.f32 %2
      %4 = index[i0]
      store maximum %most[p0] = %3
      store scatter %last[p0] = %4
    }
  }
  return %sum, %most, %last
})",
              {numbers(Dtype::i64, {50}), numbers(Dtype::f32, {50, 37})});
}

// Read and stored along the rows, with rows and lanes left over; narrow and wide elements; an axis outside.
TEST(NativeKernels, Squares) {
  for (int64_t n : {16, 5, 32, 41})
    expect_same(R"(loops @squares where s0 in 1..1000 {
  input %x: f32[2, 37, s0] placed
  input %t: bf16[2, s0, 37] placed
  temp %y: f32[2, 37, s0] placed
  temp %z: f32[2, s0, 37] placed
  kernel k0 < 2, t < (s0 + 31)//32 {
    for i0 < 37 unroll 16, i1 < min(32, s0 - t*32) lanes 16 {
      %0 = load %x[k0, i0, t*32 + i1]
      %1 = load %t[k0, t*32 + i1, i0]
      %2: f32 = to_dtype.bf16 %1
      %3 = add.f32 %0, %2
      store %y[k0, i0, t*32 + i1] = %3
      store %z[k0, t*32 + i1, i0] = %2
    }
  }
  return %y, %z
})",
                {numbers(Dtype::f32, {2, 37, n}), numbers(Dtype::bf16, {2, n, 37})});
  expect_same(R"(loops @wide {
  input %x: i64[19, 24] placed
  temp %y: i64[24, 19] placed
  kernel {
    for i0 < 24 unroll 8, i1 < 19 lanes 8 {
      %0 = load %x[i1, i0]
      store %y[i0, i1] = %0
    }
  }
  return %y
})",
              {numbers(Dtype::i64, {19, 24})});
}

// Several vectors of one nest draw together, and the rest by themselves.
TEST(NativeKernels, Draws) {
  expect_same(R"(loops @draws {
  stream 0 offset 3
  temp %coin: i32[3, 100] placed
  temp %u: f32[3, 100] placed
  temp %z: f64[3, 100] placed
  temp %some: f32[3] placed
  kernel k0 < 3 {
    for i0 < 100 lanes 16 unroll 4 {
      %0 = draw signed_word stream 0[i0 + k0*100]
      store %coin[k0, i0] = %0
    }
    for i0 < 100 lanes 16 unroll 2 {
      %0: f32 = draw uniform stream 0[i0 + k0*100]
      store %u[k0, i0] = %0
    }
    for i0 < 100 lanes 8 unroll 2 {
      %0: f64 = draw wide_normal stream 0[i0 + k0*100]
      store %z[k0, i0] = %0
    }
    for reduce i0 < 100 lanes 16 unroll 4 {
      %0: f32 = draw uniform stream 0[i0*3 + k0]
      %1 = reduce sum %0
      store %some[k0] = %1
    }
  }
  return %coin, %u, %z, %some
})",
              {});
}

// Rows of other than a multiple of four begin within a block.
TEST(NativeKernels, DrawsFromWithinABlock) {
  expect_same(R"(loops @draws {
  stream 0 offset 3
  temp %coin: i32[7, 131] placed
  temp %word: i64[5, 131] placed
  temp %u: f32[6, 131] placed
  temp %n: f32[6, 131] placed
  temp %wide: f64[5, 131] placed
  temp %z: f64[5, 131] placed
  kernel k0 < 5 {
    for i0 < 131 lanes 16 unroll 4 {
      %0 = draw signed_word stream 0[i0 + k0*131]
      store %coin[k0, i0] = %0
    }
    for i0 < 131 lanes 16 unroll 2 {
      %0 = draw word stream 0[i0 + k0*131 + 1]
      store %word[k0, i0] = %0
    }
    for i0 < 131 lanes 16 unroll 4 {
      %0: f32 = draw uniform stream 0[i0 + k0*133 + 7]
      store %u[k0, i0] = %0
    }
    for i0 < 131 lanes 16 unroll 2 {
      %0: f32 = draw normal stream 0[i0 + k0*131]
      store %n[k0, i0] = %0
    }
    for i0 < 131 lanes 8 unroll 4 {
      %0: f64 = draw uniform stream 0[i0 + k0*131]
      store %wide[k0, i0] = %0
    }
    for i0 < 131 lanes 8 unroll 2 {
      %0: f64 = draw wide_normal stream 0[i0 + k0*131 + 3]
      store %z[k0, i0] = %0
    }
  }
  return %coin, %word, %u, %n, %wide, %z
})",
              {});
}

// A scan or reduction along a dim of size 1 has no axis.
TEST(NativeKernels, ScansOfOnePoint) {
  expect_same(R"(loops @one {
  input %x: bf16[24] placed
  temp %y: bf16[24] placed
  temp %z: f32[24] placed
  kernel {
    for i0 < 24 lanes 16 unroll 2 {
      %0 = load %x[i0]
      %1: f32 = to_dtype.bf16 %0
      %2 = scan sum %1
      %3: bf16 = to_dtype.f32 %2
      store %y[i0] = %3
    }
    for i0 < 24 {
      %0 = load %x[i0]
      %1: f32 = to_dtype.bf16 %0
      %2 = reduce maximum %1
      %3 = exp.f32 %2
      store %z[i0] = %3
    }
  }
  return %y, %z
})",
              {numbers(Dtype::bf16, {24})});
}

// Every number the interpreter's, on every target.
void expect_equal(const loops::Program& program, const std::vector<loops::InputValue>& inputs) {
  const loops::Results wanted = loops::interpret(program, inputs);
  for (const CpuTarget& target : targets()) {
    if (!target.runs_here) continue;
    NativeKernels kernels(program, target, 1);
    loops::InterpretOptions options;
    options.run_kernel = [&](const loops::KernelCall& call) { return kernels.run(call); };
    const loops::Results got = loops::interpret(program, inputs, options);
    size_t wrong = 0;
    for (size_t o = 0; o < wanted.outputs.size(); ++o)
      for (int64_t i = 0; i < wanted.outputs[o].tensor.numel(); ++i) {
        const double a = wanted.outputs[o].tensor.at(i).real(), b = got.outputs[o].tensor.at(i).real();
        const bool same = std::isnan(a) ? std::isnan(b) : a == b;
        if (!same && wrong++ == 0)
          ADD_FAILURE() << target.name << " output " << o << " element " << i << ": " << b << ", should be " << a;
      }
    EXPECT_EQ(wrong, 0u) << target.name;
  }
}

double of_bits(uint32_t bf16) { return static_cast<double>(std::bit_cast<float>(bf16 << 16)); }

// Quotients by a divisor that all lanes share: rounded right for every size of divisor, results below the normal
// numbers and beyond the greatest included. Maxima and what does not change a number are stored as they are.
TEST(NativeKernels, SharedDivisorsOfBf16) {
  constexpr int64_t kNumbers = 4096 + 37;
  const std::vector<uint32_t> divisors{0x0000, 0x8000, 0x0001, 0x0003, 0x007f, 0x0080, 0x00c1, 0x1f7f,
                                       0x1f80, 0x1f81, 0x3f80, 0xbfab, 0x3faf, 0x40b3, 0x42fd, 0x5f7f,
                                       0x5f80, 0x5fab, 0x7e81, 0x7f7f, 0x7f80, 0xff80, 0x7fc0};
  const auto rows = static_cast<int64_t>(divisors.size());
  loops::Tensor x(Dtype::bf16, {kNumbers}), by(Dtype::bf16, {rows});
  for (int64_t i = 0; i < kNumbers; ++i)
    x.put(i, ScalarValue(of_bits(static_cast<uint32_t>(i * 16 + i / 4096) & 0xffff)));
  for (int64_t i = 0; i < rows; ++i) by.put(i, ScalarValue(of_bits(divisors[static_cast<size_t>(i)])));
  const loops::Program program = loops::parse_program(R"(loops @divided {
  input %x: bf16[4133] placed
  input %by: bf16[23] placed
  temp %y: bf16[23, 4133] placed
  temp %z: bf16[23, 4133] placed
  kernel k0 < 23 {
    for j0 < 4133 lanes 16 unroll 2 {
      %0 = load %x[j0]
      %1 = load %by[k0]
      %2 = div.bf16 %0, %1
      %3 = relu.bf16 %0
      store %y[k0, j0] = %2
      store %z[k0, j0] = %3
    }
  }
  return %y, %z
})",
                                                      op_table());
  expect_equal(program, {x, by});
}

// What chooses among numbers that were made narrow: rounded once, behind it, vectors by two. NaN, infinities, ties, and
// numbers below the normal ones among them, in some lanes and in none; a constant that is not narrow; a length that no
// pair of vectors divides.
TEST(NativeKernels, ChoicesAmongRoundedNumbers) {
  constexpr int64_t kNumbers = 40 * 64 + 37;
  loops::Tensor x(Dtype::f32, {kNumbers});
  for (int64_t i = 0; i < kNumbers; ++i) {
    uint32_t word = static_cast<uint32_t>(i) * 0x9e3779b9U;
    if (i % 3 == 0) word = (word & 0xffff0000U) | 0x8000U;
    if (i / 64 % 2 == 0) {
      if (i % 11 == 0) word &= 0x807fffffU;
    } else {
      word = (word & 0x803fffffU) | 0x3f800000U;  // ordinary numbers alone, for which nothing rare is computed
    }
    x.put(i, ScalarValue(static_cast<double>(std::bit_cast<float>(word))));
  }
  for (const char* dtype : {"bf16", "f16"}) {
    std::string text = R"(loops @choices {
  input %x: f32[2597] placed
  temp %a: NARROW[2597] placed
  temp %b: NARROW[2597] placed
  kernel {
    for j0 < 2597 lanes 16 unroll 3 {
      %0 = load %x[j0]
      %1: NARROW = to_dtype.f32 %0
      %2 = relu.NARROW %1
      store %a[j0] = %2
    }
    for j1 < 2597 lanes 16 unroll 4 {
      %0 = load %x[j1]
      %1: NARROW = to_dtype.f32 %0
      %2 = neg.NARROW %1
      %3 = NARROW -0.7
      %4 = NARROW 1.5
      %5 = clamp.NARROW %2, %3, %4
      %6 = mul.f32 %0, %0
      %7: NARROW = to_dtype.f32 %6
      %8 = maximum.NARROW %5, %7
      store %b[j1] = %8
    }
  }
  return %a, %b
})";
    for (size_t at = 0; (at = text.find("NARROW")) != std::string::npos;) text.replace(at, 6, dtype);
    expect_equal(loops::parse_program(text, op_table()), {x});
  }
}

constexpr std::string_view kRowsOfBf16 = R"(loops @rows {
  input %x: bf16[5, 117] placed
  temp %most: bf16[] local
  temp %e: bf16[117] local
  temp %y: bf16[5, 117] placed
  kernel k0 < 5 {
    for reduce i1 < 117 lanes 16 unroll 4 {
      %0 = load %x[k0, i1]
      %1 = reduce maximum %0
      store %most[] = %1
    }
    for i1 < 117 lanes 16 unroll 2 {
      %0 = load %x[k0, i1]
      %1 = load %most[]
      %2 = sub.bf16 %0, %1
      store %e[i1] = %2
    }
    for i1 < 117 lanes 16 unroll 2 {
      %0 = load %e[i1]
      store %y[k0, i1] = %0
    }
  }
  return %y
})";

// A local row takes the room of the numbers that code holds, not of its dtype's.
TEST(NativeKernels, LocalRowsOfBf16) { expect_same(kRowsOfBf16, {numbers(Dtype::bf16, {5, 117})}); }

// While a row is read again, the next one is fetched.
TEST(NativeKernels, NextRowsAreFetchedAhead) {
  const std::string code =
      kernels_as_text(loops::parse_program(kRowsOfBf16, op_table()), find_target("generic"), false);
  EXPECT_NE(code.find("call void @llvm.prefetch"), std::string::npos) << code;
}

// Rows that an index names, too: the last point has none behind it whose number could be read.
TEST(NativeKernels, NextRowsOfATableAreFetchedAhead) {
  constexpr std::string_view kRowsOfTable = R"(loops @rows {
  input %index: i64[5] placed
  input %table: f32[37, 117] placed
  temp %most: f32[] local
  temp %row: f32[117] local
  temp %y: f32[5, 117] placed
  kernel k0 < 5 {
    for reduce i1 < 117 lanes 16 unroll 4 {
      %0 = load %index[k0]
      %1 = position %0 < 37 as p0 wraps
      %2 = load %table[p0, i1]
      %3 = reduce maximum %2
      store %row[i1] = %2
      store %most[] = %3
    }
    for i2 < 117 lanes 16 unroll 2 {
      %0 = load %row[i2]
      %1 = load %most[]
      %2 = sub.f32 %0, %1
      store %y[k0, i2] = %2
    }
  }
  return %y
})";
  const std::string code =
      kernels_as_text(loops::parse_program(kRowsOfTable, op_table()), find_target("generic"), false);
  EXPECT_NE(code.find("call void @llvm.prefetch"), std::string::npos) << code;
  EXPECT_NE(code.find("llvm.smin.i64"), std::string::npos) << code;
  expect_same(kRowsOfTable, {numbers(Dtype::i64, {5}), numbers(Dtype::f32, {37, 117})});
}

// What there are no points for is not read either.
TEST(NativeKernels, InnerAxesWithoutPoints) {
  expect_same(R"(loops @none where s0 in 0..9 {
  input %x: f64[s0] placed
  input %b: f64[3] placed
  temp %y: f64[3] placed
  temp %z: f64[3, s0] placed
  kernel {
    for i0 < 3, reduce i1 < s0 {
      %0 = load %x[0]
      %1 = load %b[i0]
      %2 = reduce sum %0
      %3 = add.f64 %2, %1
      store %y[i0] = %3
    }
    for i0 < 3, scan i1 < s0 {
      %0 = load %x[0]
      %1 = scan sum %0
      store %z[i0, i1] = %1
    }
  }
  return %y, %z
})",
              {numbers(Dtype::f64, {0}), numbers(Dtype::f64, {3})});
}

// Kernels that differ in what they work on, in their axes' names, in a number, and in which size is whose.
TEST(NativeKernels, KernelsThatAreAlikeShareCode) {
  const std::string text = R"(loops @alike where s0 in 1..99, s1 in 1..99 {
  input %a: f32[s0, s1] placed
  input %b: f32[s1, s0] placed
  temp %c: f32[s0, s1] placed
  temp %d: f32[s0, s1] placed
  temp %e: f32[s1, s0] placed
  temp %f: f32[s0, s1] placed
  kernel k0 < s0 { for i0 < s1 lanes 16 { %0 = load %a[k0, i0] %1 = f32 2.0 %2 = mul.f32 %0, %1 store %c[k0, i0] = %2 } }
  kernel z < s0 { for b < s1 lanes 16 { %0 = load %c[z, b] %1 = f32 2.0 %2 = mul.f32 %0, %1 store %d[z, b] = %2 } }
  kernel k0 < s1 { for i0 < s0 lanes 16 { %0 = load %b[k0, i0] %1 = f32 2.0 %2 = mul.f32 %0, %1 store %e[k0, i0] = %2 } }
  kernel k0 < s0 { for i0 < s1 lanes 16 { %0 = load %a[k0, i0] %1 = f32 3.0 %2 = mul.f32 %0, %1 store %f[k0, i0] = %2 } }
  return %c, %d, %e, %f
})";
  expect_same(text, {numbers(Dtype::f32, {5, 40}), numbers(Dtype::f32, {40, 5})});
  CompileStatistics statistics;
  compile_kernels(loops::parse_program(text, op_table()), runnable_target(), {}, &statistics);
  EXPECT_EQ(statistics.kernels, 4u);
  EXPECT_EQ(statistics.compiled, 2u);
  EXPECT_EQ(statistics.repeated, 2u);
}

// Steps that are written out look at one slice each; the third one looks at two that lie otherwise apart.
TEST(NativeKernels, KernelsOfDifferentSlicesShareCode) {
  const std::string text = R"(loops @slices {
  input %a: bf16[4, 3, 20] placed
  temp %c: bf16[3, 20] placed
  temp %d: bf16[20] placed
  kernel k0 < 1 { for i0 < 20 lanes 16 { %0 = load %a[1, 0, i0] %1 = load %a[1, 2, i0] %2 = add.bf16 %0, %1 store %c[0, i0] = %2 } }
  kernel k0 < 1 { for i0 < 20 lanes 16 { %0 = load %a[3, 0, i0] %1 = load %a[3, 2, i0] %2 = add.bf16 %0, %1 store %c[2, i0] = %2 } }
  kernel k0 < 1 { for i0 < 20 lanes 16 { %0 = load %a[2, 0, i0] %1 = load %a[2, 1, i0] %2 = add.bf16 %0, %1 store %c[1, i0] = %2 } }
  kernel k0 < 1 { for i0 < 20 lanes 16 { %0 = load %a[2, 2, 19 - i0] %1 = load %c[1, i0] %2 = add.bf16 %0, %1 store %d[i0] = %2 } }
  return %c, %d
})";
  expect_same(text, {numbers(Dtype::bf16, {4, 3, 20})});
  CompileStatistics statistics;
  compile_kernels(loops::parse_program(text, op_table()), runnable_target(), {}, &statistics);
  EXPECT_EQ(statistics.compiled, 3u);
  EXPECT_EQ(statistics.repeated, 1u);
}

TEST(NativeKernels, RaisesAsTheInterpreterDoes) {
  expect_same(R"(loops @raises {
  input %x: i64[20] placed
  temp %y: i64[20] placed
  kernel k0 < 20 {
    for {
      %0 = load %x[k0]
      %1 = position %0 < 3 as p0
      %2 = index[p0]
      store %y[k0] = %2
    }
  }
  return %y
})",
              {numbers(Dtype::i64, {20})});
  expect_same(R"(loops @divides {
  input %x: i32[20] placed
  temp %y: i32[20] placed
  kernel {
    for i0 < 20 lanes 16 {
      %0 = load %x[i0]
      %1 = i32 100
      %2 = floor_divide.i32 %1, %0
      store %y[i0] = %2
    }
  }
  return %y
})",
              {numbers(Dtype::i32, {20})});
}

}  // namespace
}  // namespace lenz::native
