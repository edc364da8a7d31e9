// Vectors of a turn that have no point, where nobody knows how many there are, read nothing.
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstring>
#include <functional>

#include "compiler/backend/llvm/same_bits_test.h"

namespace lenz::native {
namespace {

// On each target that runs here, with something done before each call.
void expect_same_after(const std::string& text, const std::vector<loops::InputValue>& inputs,
                       const std::function<void()>& before) {
  const loops::Program program = loops::parse_program(text, op_table());
  loops::require_valid(program, "the test");
  const loops::Tensor wanted = loops::interpret(program, inputs).outputs[0].tensor;
  for (const CpuTarget& target : targets()) {
    if (!target.runs_here) continue;
    NativeKernels kernels(program, target, 1);
    loops::InterpretOptions options;
    options.run_kernel = [&](const loops::KernelCall& call) {
      before();
      return kernels.run(call);
    };
    const loops::Tensor got = loops::interpret(program, inputs, options).outputs[0].tensor;
    for (int64_t i = 0; i < got.numel(); ++i)
      ASSERT_EQ(got.at(i).real(), wanted.at(i).real()) << target.name << " element " << i;
  }
}

// Elements behind which memory ends.
loops::Tensor numbers_before_an_end(const loops::Ints& sizes) {
  const loops::Tensor from = numbers(sizes);
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  const size_t bytes = from.storage()->bytes, pages = (bytes + page - 1) / page * page;
  void* const memory = mmap(nullptr, pages + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  EXPECT_NE(memory, MAP_FAILED);
  auto* const first = static_cast<std::byte*>(memory);
  EXPECT_EQ(mprotect(first + pages, page, PROT_NONE), 0);
  const auto storage = std::make_shared<loops::Storage>();
  storage->data = first + pages - bytes;
  storage->bytes = bytes;
  storage->owner = std::shared_ptr<const void>(memory, [=](const void*) { munmap(memory, pages + page); });
  std::memcpy(storage->data, from.storage()->data, bytes);
  return {storage, from.dtype(), from.sizes(), from.strides(), 0};
}

// One number for all lanes has no mask.
TEST(BehindTheLast, NothingThatLanesShareIsRead) {
  const std::string text =
      "loops @repeated where s0 in 1..99 {\n  input %x: f32[4, s0] placed\n  temp %y: f32[4, s0*8] placed\n"
      "  kernel k < 4 {\n    for i < s0*8 lanes 8 unroll 8 {\n      %0 = load %x[k, i//8]\n"
      "      %1 = add.f32 %0, %0\n      store %y[k, i] = %1\n    }\n  }\n  return %y\n}\n";
  for (const int64_t count : {1, 2, 3, 5, 11, 16}) expect_same_after(text, {numbers_before_an_end({4, count})}, [] {});
}

// What is left of a row goes at once, as parts of a sum that are as many as are unrolled: all of them count.
TEST(BehindTheLast, EveryPartOfARestCounts) {
  const std::string text =
      "loops @sums where s0 in 1..999 {\n  input %x: f32[5, s0] placed\n  temp %y: f32[5] placed\n"
      "  kernel k < 5 {\n    for reduce j < s0 lanes 4 unroll 8 {\n      %0 = load %x[k, j]\n"
      "      %1 = reduce sum %0\n      store %y[k] = %1\n    }\n  }\n  return %y\n}\n";
  for (const int64_t count : {1, 4, 5, 9, 17, 31, 32, 33, 50, 99})
    expect_same_after(text, {numbers({5, count})}, [] {});
}

[[gnu::noinline]] void leave_on_the_stack(std::byte number) {
  volatile std::byte memory[size_t{64} << 10];
  for (volatile std::byte& b : memory) b = number;
}

// Where windows lie is told by tables, which have nothing for these vectors but what was there before: columns that are
// summed, many to a turn, and rows of one turn beside longer ones.
TEST(BehindTheLast, NoWindowIsLookedThrough) {
  const std::string half =
      "      %0 = index[i]\n      %1: f32 = to_dtype.i64 %0\n      %2 = f32 0.5\n      %3 = mul.f32 %1, %2\n"
      "      %4 = floor.f32 %3\n      %5: i64 = to_dtype.f32 %4\n      %6 = position %5 < 100 as p\n";
  const std::string begin =
      "loops @halved where s0 in 1..200 {\n  input %n: int s0\n  input %x: f32[3, 70, 100] placed\n"
      "  temp %y: f32[70, s0] placed\n  temp %z: f32[70, s0*2 + 5] placed\n  kernel k < 70 {\n";
  const std::string sums = "    for i < s0 lanes 8 unroll 8, reduce j < 3 {\n" + half +
                           "      %7 = load %x[j, k, p]\n      %8 = reduce sum %7\n      store %y[k, i] = %8\n    }\n";
  const std::string beside =
      "    for i < s0*2 + 5 lanes 8 {\n      %0 = index[i]\n      %1: f32 = to_dtype.i64 %0\n"
      "      store %z[k, i] = %1\n    }\n    for i < s0 lanes 8 unroll 2 {\n" +
      half + "      %7 = load %x[0, k, p]\n      store %y[k, i] = %7\n    }\n";
  for (const std::string& text : {begin + sums + "  }\n  return %y\n}\n", begin + beside + "  }\n  return %y, %z\n}\n"})
    for (const int64_t count : {3, 5, 65, 145, 161, 200})
      expect_same_after(text, {count, numbers({3, 70, 100})}, [] { leave_on_the_stack(std::byte{2}); });
}

}  // namespace
}  // namespace lenz::native
