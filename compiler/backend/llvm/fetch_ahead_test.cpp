// Rows that lie apart are fetched ahead, of columns that are summed and of squares that are turned; what is fetched
// behind the last of them changes nothing.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "compiler/backend/llvm/compile_kernels.h"
#include "compiler/backend/llvm/native_kernels.h"
#include "compiler/loops/text.h"
#include "compiler/loops/verify.h"
#include "compiler/ops/op_table.h"

namespace lenz::native {
namespace {

loops::Tensor numbers(int64_t rows, int64_t columns) {
  loops::Tensor t(Dtype::f32, loops::Ints{rows, columns});
  for (int64_t i = 0; i < t.numel(); ++i) t.put(i, ScalarValue(static_cast<double>(i * 37 % 101)));
  return t;
}

bool fetches(const std::string& text) {
  const std::string code = kernels_as_text(loops::parse_program(text, op_table()), find_target("generic"), false);
  return code.find("call void @llvm.prefetch") != std::string::npos;
}

// On every target that runs here, on one thread and on several.
void expect_same(const std::string& text, const std::vector<loops::InputValue>& inputs) {
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
      for (int64_t i = 0; i < wanted.outputs[0].tensor.numel(); ++i)
        EXPECT_EQ(got.outputs[0].tensor.at(i).real(), wanted.outputs[0].tensor.at(i).real()) << target.name << " " << i;
    }
  }
}

std::string columns(int rows, int columns, int unroll) {
  return fmt::format(
      "loops @columns {{\n  input %x: f32[{0}, {1}] placed\n  temp %s: f32[{1}] placed\n  kernel {{\n    for i < {1} "
      "lanes 4 unroll {2}, reduce j < {0} {{\n      %0 = load %x[j, i]\n      %1 = reduce sum %0\n      store %s[i] = "
      "%1\n    }}\n  }}\n  return %s\n}}\n",
      rows, columns, unroll);
}

TEST(FetchAhead, ColumnsThatAreSummed) {
  EXPECT_TRUE(fetches(columns(50, 1024, 8)));
  EXPECT_FALSE(fetches(columns(50, 40, 8)));  // the rows of so few follow one another
  for (int n : {3, 64, 131}) expect_same(columns(29, n, 8), {numbers(29, n)});
}

std::string turned(int rows, int columns) {
  return fmt::format(
      "loops @turned {{\n  input %x: f32[{1}, {0}] placed\n  temp %y: f32[{0}, {1}] placed\n  kernel {{\n    for i0 < "
      "{0} unroll 4, i1 < {1} lanes 4 {{\n      %0 = load %x[i1, i0]\n      store %y[i0, i1] = %0\n    }}\n  }}\n  "
      "return %y\n}}\n",
      rows, columns);
}

TEST(FetchAhead, SquaresThatAreTurned) {
  EXPECT_TRUE(fetches(turned(64, 64)));
  for (int n : {4, 7, 64, 97}) expect_same(turned(n, 61), {numbers(61, n)});
}

}  // namespace
}  // namespace lenz::native
