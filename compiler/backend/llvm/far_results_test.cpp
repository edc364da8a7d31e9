// Stores that go past the caches at some sizes only. native_kernels_test.cpp runs all its kernels with such stores.
#include <gtest/gtest.h>

#include "compiler/backend/llvm/compile_kernels.h"
#include "compiler/backend/llvm/native_kernels.h"
#include "compiler/loops/text.h"
#include "compiler/loops/verify.h"
#include "compiler/ops/op_table.h"

namespace lenz::native {
namespace {

// The kernel that reads the result is not given the size that decides.
TEST(FarResults, OfOpenSizes) {
  const loops::Program program = loops::parse_program(R"(loops @far where s0 in 1..1000 {
  input %x: f32[s0, 40] placed
  temp %y: f32[s0, 40] placed far where 40 <= s0*s0
  temp %z: f32[40] placed
  kernel k0 < s0 {
    for i0 < 40 lanes 16 {
      %0 = load %x[k0, i0]
      %1 = neg.f32 %0
      store %y[k0, i0] = %1
    }
  }
  kernel {
    for i0 < 40 lanes 16 {
      %0 = load %y[0, i0]
      store %z[i0] = %0
    }
  }
  return %y, %z
})",
                                                      op_table());
  loops::require_valid(program, "the test");
  for (const int64_t n : {1, 6, 7, 64}) {
    loops::Tensor x(Dtype::f32, loops::Ints{n, 40});
    for (int64_t i = 0; i < x.numel(); ++i) x.put(i, ScalarValue(static_cast<double>(i % 23)));
    const std::vector<loops::InputValue> inputs = {x};
    NativeKernels kernels(program, runnable_target(""), 2);
    ASSERT_TRUE(kernels.refused().empty()) << kernels.refused()[0];
    loops::InterpretOptions options;
    options.run_kernel = [&](const loops::KernelCall& call) { return kernels.run(call); };
    const loops::Results got = loops::interpret(program, inputs, options);
    ASSERT_EQ(got.ending, loops::Ending::finished) << got.text;
    for (int64_t i = 0; i < x.numel(); ++i) EXPECT_EQ(got.outputs[0].tensor.at(i).real(), -(i % 23)) << n << " " << i;
    for (int64_t i = 0; i < 40; ++i) EXPECT_EQ(got.outputs[1].tensor.at(i).real(), -(i % 23)) << n << " " << i;
  }
}

// The first result, where %y goes past the caches and where it does not.
std::vector<loops::Tensor> near_and_far(const std::string& text, const loops::Tensor& x, bool quick) {
  loops::Program program = loops::parse_program(text, op_table());
  const std::vector<loops::InputValue> inputs = {x};
  std::vector<loops::Tensor> made;
  for (const bool far : {false, true}) {
    for (loops::Buffer& b : program.buffers)
      if (far && b.name == "y") b.far = loops::kAlways;
    loops::require_valid(program, "the test");
    NativeKernels kernels(program, runnable_target(""), 1, quick);
    EXPECT_TRUE(kernels.refused().empty()) << kernels.refused()[0];
    loops::InterpretOptions options;
    options.run_kernel = [&](const loops::KernelCall& call) { return kernels.run(call); };
    const loops::Results got = loops::interpret(program, inputs, options);
    EXPECT_EQ(got.ending, loops::Ending::finished) << got.text;
    made.push_back(got.outputs[0].tensor);
  }
  return made;
}

loops::Tensor fractions(const loops::Ints& sizes) {
  loops::Tensor x(Dtype::f32, sizes);
  for (int64_t i = 0; i < x.numel(); ++i) x.put(i, ScalarValue(1.0 / static_cast<double>(i % 23 + 3)));
  return x;
}

// Whether results go past the caches hangs on how many cores there are, and where lines of memory begin on who gave it:
// a row's sum is the same of all that.
TEST(FarResults, RowsHaveTheSameSums) {
  const auto sums = near_and_far(R"(loops @far where s0 in 1..1000 {
  input %x: f32[7, s0] placed
  temp %y: f32[7, s0] placed
  temp %sum: f32[7] placed
  kernel k0 < 7 {
    for reduce i0 < s0 lanes 4 unroll 4 {
      %0 = load %x[k0, i0]
      %1 = neg.f32 %0
      %2 = reduce sum %1
      store %y[k0, i0] = %1
      store %sum[k0] = %2
    }
  }
  return %sum, %y
})",
                                 fractions({7, 133}), false);
  for (int64_t i = 0; i < 7; ++i) EXPECT_EQ(sums[0].at(i).real(), sums[1].at(i).real()) << i;
}

std::string with_parts_of(std::string text, const std::string& part, const std::string& less) {
  const auto put = [&](std::string_view word, const std::string& number) {
    for (size_t at; (at = text.find(word)) != std::string::npos;) text.replace(at, word.size(), number);
  };
  put("PART", part);
  put("LESS", less);
  return text;
}

// Rows of one part have code of their own, which what goes past the caches is none of: it adds up in the same order,
// though of a product of sizes it does not know how short it is there.
TEST(FarResults, PartsHaveTheSameSums) {
  for (const int64_t part : {512, 16384})
    for (const bool quick : {false, true}) {
      const auto sums = near_and_far(with_parts_of(R"(loops @far where s0 in 1..64, s1 in 1..64, s2 in 1..64 {
  input %x: f32[3, s0, s1, s2] placed
  temp %y: f32[(s0*s1*s2 + LESS)//PART, 3] placed
  kernel k0 < (s0*s1*s2 + LESS)//PART, k1 < 3 {
    for reduce i0 < min(PART, s0*s1*s2 - k0*PART) lanes 8 unroll 4 {
      %0 = load %x[k1, (i0 + k0*PART)//(s1*s2), ((i0 + k0*PART) % (s1*s2))//s2, ((i0 + k0*PART) % (s1*s2)) % s2]
      %1 = mul.f32 %0, %0
      %2 = reduce sum %1
      store %y[k0, k1] = %2
    }
  }
  return %y
})",
                                                   std::to_string(part), std::to_string(part - 1)),
                                     fractions({3, 5, 3, 7}), quick);
      for (int64_t i = 0; i < 3; ++i) EXPECT_EQ(sums[0].at(i).real(), sums[1].at(i).real()) << part << " " << i;
    }
}

// What is read twice in a row is read as vectors, and put where it belongs: not by its lanes' own addresses because
// results might begin a line elsewhere.
TEST(FarResults, LeaveWhatWholeVectorsRead) {
  const loops::Program program = loops::parse_program(R"(loops @far where s0 in 1..1000, s1 in 100..1000 {
  input %x: f32[s0, s1] placed
  temp %y: f32[s0, s1*2] placed far where 40 <= s0*s0
  kernel k0 < s0 {
    for i0 < s1*2 lanes 16 {
      %0 = load %x[k0, i0//2]
      store %y[k0, i0] = %0
    }
  }
  return %y
})",
                                                      op_table());
  const std::string code = kernels_as_text(program, find_target("avx512"), false);
  EXPECT_EQ(code.find("masked.gather"), std::string::npos) << code;
}

}  // namespace
}  // namespace lenz::native
