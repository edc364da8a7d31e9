// Kernels that run as one job on several threads: their results and errors.
#include <gtest/gtest.h>

#include <array>

#include "compiler/backend/llvm/compile_kernels.h"
#include "compiler/loops/text.h"
#include "compiler/loops/verify.h"
#include "compiler/ops/op_table.h"
#include "compiler/runtime/executable.h"

namespace lenz::native {
namespace {

class Memory : public runtime::Host {
 public:
  std::byte* output(uint32_t number, uint64_t bytes) override {
    if (outputs.size() <= number) outputs.resize(number + 1);
    outputs[number].assign(bytes / sizeof(Line) + 1, {});
    return reinterpret_cast<std::byte*>(outputs[number].data());
  }
  float at(int number, int64_t i) const {
    return outputs[static_cast<size_t>(number)][static_cast<size_t>(i / 16)][static_cast<size_t>(i % 16)];
  }
  std::vector<loops::Tensor> run_extern(const loops::ExternCall&) override {
    throw InternalError("there is no extern");
  }
  void print(const loops::Print&, std::span<const loops::Tensor>) override {}

  struct alignas(64) Line : std::array<float, 16> {};
  std::vector<std::vector<Line>> outputs;
};

// Of as many kernels: each takes the rows of %x that its own positions name, and adds its number.
std::string program_of(int kernels, int64_t rows) {
  const std::string sizes = "[" + std::to_string(rows) + ", 24]";
  std::string text = "loops @many {\n  input %x: f32" + sizes + " placed\n", body, returned;
  for (int k = 0; k < kernels; ++k) {
    const std::string n = std::to_string(k);
    text += "  input %p" + n + ": i64[" + std::to_string(rows) + "] placed\n";
    body += "  kernel k < " + std::to_string(rows) + " {\n    for i < 24 lanes 8 {\n      %0 = load %p" + n +
            "[k]\n      %1 = position %0 < " + std::to_string(rows) +
            " as p\n      %2 = load %x[p, i]\n      %3 = f32 " + n + ".0\n      %4 = add.f32 %2, %3\n      store %y" +
            n + "[k, i] = %4\n    }\n  }\n";
    returned += (k ? ", %y" : "%y") + n;
  }
  for (int k = 0; k < kernels; ++k) text += "  temp %y" + std::to_string(k) + ": f32" + sizes + " placed\n";
  return text + body + "  return " + returned + "\n}\n";
}

// What is raised for positions of that kernel which are too large; empty: all are right.
std::string run(int kernels, int64_t rows, const std::vector<int>& wrong, double grain) {
  loops::Program program = loops::parse_program(program_of(kernels, rows), op_table());
  loops::require_valid(program, "the test");
  runtime::KernelCode code = compile_kernels(program, runnable_target(""), {}, nullptr);
  runtime::ExecutableOptions options;
  options.pool = runtime::make_pool(3);
  options.grain = grain;
  runtime::Executable executable(std::move(program), std::move(code), std::move(options));
  std::vector<float> x;
  for (int64_t i = 0; i < rows * 24; ++i) x.push_back(static_cast<float>(i));
  std::vector<std::vector<int64_t>> positions(static_cast<size_t>(kernels));
  const int64_t sizes[] = {rows, 24}, strides[] = {24, 1}, one = 1;
  std::vector<runtime::Argument> arguments;
  arguments.emplace_back(
      runtime::TensorRef{reinterpret_cast<std::byte*>(x.data()), x.size() * 4, Dtype::f32, sizes, strides, 0});
  for (std::vector<int64_t>& p : positions) {
    const bool is_wrong = std::ranges::find(wrong, &p - positions.data()) != wrong.end();
    for (int64_t r = 0; r < rows; ++r) p.push_back(is_wrong && r == rows / 2 ? rows : rows - 1 - r);
    arguments.emplace_back(
        runtime::TensorRef{reinterpret_cast<std::byte*>(p.data()), p.size() * 8, Dtype::i64, {&rows, 1}, {&one, 1}, 0});
  }
  for (int call = 0; call < 3; ++call) {
    Memory memory;
    try {
      executable.call(arguments, memory);
    } catch (const UserError& error) {
      return error.message();
    }
    for (int k = 0; k < kernels; ++k)
      for (int64_t i = 0; i < rows * 24; ++i) {
        const float wanted = x[static_cast<size_t>((rows - 1 - i / 24) * 24 + i % 24)] + static_cast<float>(k);
        EXPECT_EQ(memory.at(k, i), wanted) << k << " " << i;
      }
  }
  return {};
}

TEST(JoinedKernels, ComputeWhatTheyComputeApart) {
  for (double grain : {1.0, 1e6})
    for (int64_t rows : {1, 2, 37}) EXPECT_EQ(run(7, rows, {}, grain), "");
}

TEST(JoinedKernels, RaiseWhatOneOfThemRaises) {
  for (double grain : {1.0, 1e6})
    for (const std::vector<int>& wrong : {std::vector{0}, {4}, {3, 2}})
      EXPECT_EQ(run(5, 37, wrong, grain), "an index is out of range");
}

}  // namespace
}  // namespace lenz::native
