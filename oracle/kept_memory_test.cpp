#include "oracle/kept_memory.h"

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>
#include <c10/core/CPUAllocator.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <cstring>
#include <thread>
#include <vector>

#include "compiler/base/large_pages.h"
#include "compiler/driver/build.h"
#include "compiler/graph/text.h"
#include "compiler/ops/op_table.h"
#include "oracle/aten.h"
#include "oracle/draw_inputs.h"
#include "oracle/native_run.h"
#include "oracle/tensors.h"

namespace lenz::oracle {
namespace {

at::Tensor memory_of(int64_t bytes) { return at::empty({bytes}, at::kByte); }
at::Tensor kept_of(int64_t bytes) {
  const KeepMemory keep;
  return memory_of(bytes);
}

TEST(KeptMemory, IsThereForTheNext) {
  at::Tensor first = kept_of(kFreshBytes);
  const void* place = first.data_ptr();
  EXPECT_EQ(reinterpret_cast<uintptr_t>(place) % (1 << 21), 0) << "not where large pages begin";
  at::Tensor second = kept_of(kFreshBytes);
  EXPECT_NE(second.data_ptr(), place) << "it is in use";
  first.reset();
  at::Tensor third = kept_of(kFreshBytes);
  EXPECT_EQ(third.data_ptr(), place);
}

TEST(KeptMemory, IsNotForMuchLess) {
  at::Tensor large = kept_of(40 * kFreshBytes);
  const void* place = large.data_ptr();
  large.reset();
  EXPECT_EQ(kept_of(40 * kFreshBytes - 100).data_ptr(), place);
  EXPECT_NE(kept_of(20 * kFreshBytes).data_ptr(), place);
}

TEST(KeptMemory, OfNobodyElse) {
  const KeptBytes before = kept_bytes();
  at::Tensor others = memory_of(2 * kFreshBytes), small = kept_of(kFreshBytes - 1);
  EXPECT_EQ(kept_bytes().in_use, before.in_use);
  const KeepMemory keep;
  std::thread([] { memory_of(2 * kFreshBytes); }).join();
  EXPECT_EQ(kept_bytes().in_use + kept_bytes().free, before.in_use + before.free) << "another thread's";
}

TEST(KeptMemory, ComesBackFromAnyThread) {
  at::Tensor kept = kept_of(kFreshBytes);
  const uint64_t in_use = kept_bytes().in_use;
  std::thread([gone = std::move(kept)]() mutable { gone.reset(); }).join();
  EXPECT_EQ(kept_bytes().in_use, in_use - static_cast<uint64_t>(kFreshBytes));
}

TEST(KeptMemory, NeverMoreThanWasInUse) {
  for (int64_t k = 1; k < 12; ++k) kept_of(k * kFreshBytes + k);
  EXPECT_LE(kept_bytes().free, kept_bytes().most_in_use);
}

// As libraries below libtorch ask for memory, and give it back when nobody keeps any more.
TEST(KeptMemory, RawMemoryOfEitherKind) {
  c10::Allocator& allocator = *c10::GetCPUAllocator();
  const uint64_t in_use = kept_bytes().in_use;
  void* own = allocator.raw_allocate(1000);
  void* kept = nullptr;
  {
    const KeepMemory keep;
    kept = allocator.raw_allocate(kFreshBytes);
  }
  std::memset(kept, 1, kFreshBytes);
  std::memset(own, 1, 1000);
  EXPECT_EQ(kept_bytes().in_use, in_use + static_cast<uint64_t>(kFreshBytes));
  allocator.raw_deallocate(own);
  allocator.raw_deallocate(kept);
  EXPECT_EQ(kept_bytes().in_use, in_use);
}

// What was idle beyond the last 256 MiB is offered to the system, and is memory like any other when it comes back.
TEST(KeptMemory, OfferedPagesHoldWhatIsWritten) {
  constexpr int64_t kBytes = int64_t{160} << 20;
  {
    at::Tensor a = kept_of(kBytes), b = kept_of(kBytes), c = kept_of(kBytes);
  }
  at::Tensor a = kept_of(kBytes), b = kept_of(kBytes), c = kept_of(kBytes);
  int value = 0;
  for (const at::Tensor& t : {a, b, c}) std::memset(t.data_ptr(), ++value, kBytes);
  value = 0;
  for (const at::Tensor& t : {a, b, c}) {
    const auto* bytes = static_cast<const unsigned char*>(t.data_ptr());
    ++value;
    for (int64_t i = 0; i < kBytes; i += 4096) ASSERT_EQ(bytes[i], value);
  }
}

#ifndef LENZ_ADDRESS_SANITIZER  // it keeps none
TEST(KeptMemory, SmallBlocksAreThereForTheNext) {
  keep_small_blocks();
  const uint64_t before = kept_bytes().small_in_use;
  constexpr int64_t kMost = 16 << 10;
  std::vector<at::Tensor> all;
  uint64_t bytes = 0;
  // More of them than there is room for: the rest is libtorch's own.
  for (int64_t size : {int64_t{1}, int64_t{64}, int64_t{65}, int64_t{200}, int64_t{1000}, kMost - 1, kMost})
    for (int i = 0; i < 3000; ++i, bytes += static_cast<uint64_t>(size)) all.push_back(memory_of(size));
  for (size_t i = 0; i < all.size(); ++i) all[i].fill_(static_cast<int64_t>(i % 251));
  for (size_t i = 0; i < all.size(); ++i) {
    ASSERT_EQ(reinterpret_cast<uintptr_t>(all[i].data_ptr()) % 64, 0);
    ASSERT_TRUE(at::all(all[i] == static_cast<int64_t>(i % 251)).item<bool>()) << "another one's";
  }
  const uint64_t in_use = kept_bytes().small_in_use - before;
  EXPECT_GT(in_use, 48U << 20);
  EXPECT_LT(in_use, bytes);
  std::thread([gone = std::move(all)]() mutable { gone.clear(); }).join();
  EXPECT_EQ(kept_bytes().small_in_use, before);
  at::Tensor one = memory_of(kMost);
  const void* place = one.data_ptr();
  at::Tensor another = memory_of(kMost), larger = memory_of(kMost + 1);
  EXPECT_NE(another.data_ptr(), place);
  EXPECT_EQ(kept_bytes().small_in_use, before + 2 * kMost);
  one.reset();
  EXPECT_EQ(memory_of(kMost).data_ptr(), place);
}
#endif

#ifndef LENZ_ADDRESS_SANITIZER  // its allocator keeps what is freed from the next
// Convolutions take less than is mapped by itself; what they give back does not go to the system and come again.
TEST(KeptMemory, OfExternsThatTakeLess) {
  auto graph = parse_graph(R"(graph @g(%x: f32[16, 1, 128, 128], %w: f32[8, 1, 3, 3], %v: f32[16, 8, 3, 3]) {
    %y = aten.conv2d(%x, %w, padding=[1, 1]) %r = aten.conv2d(%y, %v, padding=[1, 1]) return %r })",
                           op_table());
  Boxed boxed(DeviceKind::cpu);
  auto executable = build(*graph);
  const std::vector<RunValue> inputs = draw_inputs(*graph, boxed, {}, Values::ordinary, 0);
  auto faults = [] {
    rusage usage = {};
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_minflt;
  };
  for (int i = 0; i < 3; ++i) run_native(*executable, inputs, boxed);
  // Threads let go of memory in an order of their own, so now and then a call takes a block more than others did.
  int fresh = 0;
  for (int i = 0; i < 10; ++i) {
    const long before = faults();
    run_native(*executable, inputs, boxed);
    fresh += faults() - before > 256;
  }
  EXPECT_LE(fresh, 4) << "calls that took pages, of which each result alone has thousands";
}
#endif

// Outputs and results of externs come from there, and stay whole while the caller holds them.
TEST(KeptMemory, OutputsThatAreHeldAreNobodyElses) {
  auto graph = parse_graph(R"(graph @g(%x: f32[4096, 4], %w: f32[4, 2048]) {
    %p = aten.mm(%x, %w) %r = aten.mul(%p, 2.0) return %p, %r })",
                           op_table());
  Boxed boxed(DeviceKind::cpu);
  auto executable = build(*graph);
  const std::vector<RunValue> inputs = draw_inputs(*graph, boxed, {}, Values::ordinary, 0);
  const uint64_t in_use = kept_bytes().in_use;
  const Execution first = run_native(*executable, inputs, boxed);
  const at::Tensor product = first.outputs[0]->value.toTensor().clone();
  EXPECT_EQ(kept_bytes().in_use, in_use + 2 * static_cast<uint64_t>(kFreshBytes));
  for (int i = 0; i < 3; ++i) {
    const Execution again = run_native(*executable, inputs, boxed);
    EXPECT_TRUE(again.outputs[1]->value.toTensor().equal(first.outputs[1]->value.toTensor()));
  }
  EXPECT_EQ(kept_bytes().in_use, in_use + 2 * static_cast<uint64_t>(kFreshBytes));
  EXPECT_TRUE(first.outputs[0]->value.toTensor().equal(product));
}

}  // namespace
}  // namespace lenz::oracle
