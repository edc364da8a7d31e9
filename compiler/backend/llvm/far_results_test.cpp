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

}  // namespace
}  // namespace lenz::native
