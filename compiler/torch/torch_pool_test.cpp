#include "compiler/torch/torch_pool.h"

#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cfenv>
#include <chrono>
#include <thread>
#include <vector>

namespace lenz {
namespace {

class TorchPool : public testing::Test {
 protected:
  void SetUp() override { at::set_num_threads(4); }
  void TearDown() override { at::set_num_threads(before_); }

 private:
  int before_ = at::get_num_threads();
};

TEST_F(TorchPool, EveryChunkOnceByWorkersOfItsOwnNumber) {
  for (int threads : {1, 2, 4, 9}) {
    const auto pool = make_torch_pool(threads);
    for (int64_t chunks : {0, 1, 2, 3, 64, 1000, 1001}) {
      if (chunks % 2 == 0) pool->resume();
      std::vector<std::atomic<int>> seen(static_cast<size_t>(chunks));
      std::vector<std::atomic<int>> inside(static_cast<size_t>(threads));
      auto work = [&](int64_t chunk, int worker) {
        ASSERT_LT(worker, pool->workers());
        EXPECT_EQ(inside[static_cast<size_t>(worker)].fetch_add(1), 0);
        ++seen[static_cast<size_t>(chunk)];
        inside[static_cast<size_t>(worker)].fetch_sub(1);
      };
      pool->run(chunks, runtime::Work::of(work));
      for (auto& s : seen) ASSERT_EQ(s, 1) << threads << " threads, " << chunks << " chunks";
    }
  }
}

TEST_F(TorchPool, RunsOnThreadsOfLibtorchsBehindItsOpsAlone) {
  const auto pool = make_torch_pool(4);
  std::atomic<bool> outside = false;
  auto work = [&](int64_t, int) {
    if (!at::in_parallel_region()) outside = true;
    std::this_thread::sleep_for(std::chrono::microseconds(20));
  };
  pool->run(64, runtime::Work::of(work));
  EXPECT_TRUE(outside);
  outside = false;
  pool->resume();
  pool->run(64, runtime::Work::of(work));
  EXPECT_FALSE(outside);
}

TEST_F(TorchPool, CallersAtOneTimeAndNestedCallersAreServed) {
  const auto pool = make_torch_pool(3);
  std::atomic<int64_t> total = 0;
  auto inner = [&](int64_t, int) { ++total; };
  auto outer = [&](int64_t, int) { pool->run(7, runtime::Work::of(inner)); };
  std::vector<std::thread> callers;
  for (int c = 0; c < 4; ++c)
    callers.emplace_back([&] {
      for (int round = 0; round < 20; ++round, pool->resume()) pool->run(5, runtime::Work::of(outer));
    });
  for (std::thread& t : callers) t.join();
  EXPECT_EQ(total, 4 * 20 * 5 * 7);
}

TEST_F(TorchPool, WorkersRoundAsTheCallerDoes) {
  const auto pool = make_torch_pool(4);
  std::atomic<int> other = 0;
  auto rounds_up = [&](int64_t, int) {
    volatile double one = 1, third = 3;
    if (!(one / third * third >= 1)) ++other;
    std::this_thread::sleep_for(std::chrono::microseconds(50));
  };
  std::fesetround(FE_UPWARD);
  pool->resume();
  pool->run(64, runtime::Work::of(rounds_up));
  std::fesetround(FE_TONEAREST);
  EXPECT_EQ(other, 0);
}

}  // namespace
}  // namespace lenz
