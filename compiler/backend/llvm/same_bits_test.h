// For tests: a program of loops, compiled and interpreted, gives one result.
// Thread-safety: pure functions.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "compiler/backend/llvm/native_kernels.h"
#include "compiler/loops/text.h"
#include "compiler/loops/verify.h"
#include "compiler/ops/op_table.h"

namespace lenz::native {

inline loops::Tensor numbers(const loops::Ints& sizes) {
  loops::Tensor t(Dtype::f32, sizes);
  for (int64_t i = 0; i < t.numel(); ++i) t.put(i, ScalarValue(static_cast<double>(i * 37 % 101)));
  return t;
}

inline bool same_number(const ScalarValue& a, const ScalarValue& b) {
  switch (a.kind()) {
    case ScalarKind::integer: return a.integer() == b.integer();
    case ScalarKind::complex: return a.complex() == b.complex();
    default: return a.real() == b.real();
  }
}

// Of real numbers: one NaN is as good as another, and zeros have signs.
inline bool same_real(const ScalarValue& a, const ScalarValue& b) {
  const double x = a.real(), y = b.real();
  return (std::isnan(x) && std::isnan(y)) || (x == y && std::signbit(x) == std::signbit(y));
}

// Code and interpreter give the same on every target that runs here, on one thread and on several.
inline void expect_same(const std::string& text, const std::vector<loops::InputValue>& inputs,
                        const std::function<bool(const ScalarValue&, const ScalarValue&)>& same = same_number) {
  const loops::Program program = loops::parse_program(text, op_table());
  loops::require_valid(program, "the test");
  const loops::Results wanted = loops::interpret(program, inputs);
  for (const CpuTarget& target : targets()) {
    if (!target.runs_here) continue;
    for (int threads : {1, 3}) {
      NativeKernels kernels(program, target, threads);
      ASSERT_TRUE(kernels.refused().empty()) << kernels.refused()[0];
      loops::InterpretOptions options;
      options.run_kernel = [&](const loops::KernelCall& call) { return kernels.run(call); };
      const loops::Results got = loops::interpret(program, inputs, options);
      ASSERT_EQ(got.ending, wanted.ending) << got.text;
      for (int64_t i = 0; i < wanted.outputs[0].tensor.numel(); ++i) {
        const ScalarValue x = wanted.outputs[0].tensor.at(i), y = got.outputs[0].tensor.at(i);
        EXPECT_TRUE(same(x, y)) << target.name << " element " << i << ": " << x.real() << " and " << y.real();
      }
    }
  }
}

}  // namespace lenz::native
