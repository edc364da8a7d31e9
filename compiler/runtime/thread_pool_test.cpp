#include "compiler/runtime/thread_pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cfenv>
#include <chrono>
#include <thread>
#include <vector>

#include "compiler/runtime/shares.h"

namespace lenz::runtime {
namespace {

TEST(ThreadPool, EveryChunkOnce) {
  for (int threads : {1, 2, 5}) {
    auto pool = make_pool(threads);
    for (int64_t chunks : {0, 1, 2, 3, 64, 1000}) {
      for (int round = 0; round < 50; ++round) {
        std::vector<std::atomic<int>> seen(static_cast<size_t>(chunks));
        auto work = [&](int64_t chunk, int worker) {
          EXPECT_LT(worker, pool->workers());
          ++seen[static_cast<size_t>(chunk)];
        };
        pool->run(chunks, Work::of(work));
        for (auto& s : seen) ASSERT_EQ(s, 1) << threads << " threads, " << chunks << " chunks";
      }
    }
  }
}

TEST(ThreadPool, WorkersHaveTheSameNeighboursEachTime) {
  Shares shares(3);
  for (uint32_t job : {1U, 2U}) {
    shares.deal(job, 7);
    EXPECT_EQ(shares.take(job + 1, 0), std::nullopt) << "another job";
    std::vector<int64_t> taken;
    for (int worker : {1, 1, 0, 0, 1, 2, 0}) taken.push_back(shares.take(job, worker).value_or(-1));
    EXPECT_EQ(taken, (std::vector<int64_t>{2, 3, 0, 1, 6, 4, 5})) << "own ones from the front, others' from the end";
    EXPECT_EQ(shares.take(job, 0), std::nullopt);
  }
}

TEST(ThreadPool, TwoChunksAtOnceHaveDifferentWorkers) {
  auto pool = make_pool(4);
  std::vector<std::atomic<int>> inside(4);
  std::atomic<bool> collided = false;
  auto work = [&](int64_t, int worker) {
    if (inside[static_cast<size_t>(worker)].fetch_add(1) != 0) collided = true;
    std::this_thread::sleep_for(std::chrono::microseconds(20));
    inside[static_cast<size_t>(worker)].fetch_sub(1);
  };
  for (int round = 0; round < 30; ++round) pool->run(40, Work::of(work));
  EXPECT_FALSE(collided);
}

TEST(ThreadPool, CallersAtOneTimeAndNestedCallersAreServed) {
  auto pool = make_pool(3);
  std::atomic<int64_t> total = 0;
  auto inner = [&](int64_t, int) { ++total; };
  auto outer = [&](int64_t, int) { pool->run(7, Work::of(inner)); };
  std::vector<std::thread> callers;
  for (int c = 0; c < 4; ++c)
    callers.emplace_back([&] {
      for (int round = 0; round < 100; ++round) pool->run(5, Work::of(outer));
    });
  for (std::thread& t : callers) t.join();
  EXPECT_EQ(total, 4 * 100 * 5 * 7);
}

TEST(ThreadPool, WakesAfterSleepAndAfterPark) {
  auto pool = make_pool(3);
  std::atomic<int> done = 0;
  auto work = [&](int64_t, int) { ++done; };
  for (int round = 0; round < 20; ++round) {
    pool->run(16, Work::of(work));
    if (round % 2) pool->park();
    if (round % 3 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  EXPECT_EQ(done, 20 * 16);
}

TEST(ThreadPool, WorkersRoundAsTheCallerDoes) {
  auto pool = make_pool(4);
  std::fesetround(FE_UPWARD);
  std::atomic<bool> other = false;
  auto work = [&](int64_t, int) {
    volatile double one = 1, third = 3;
    if (!(one / third * third >= 1)) other = true;
    std::this_thread::sleep_for(std::chrono::microseconds(50));
  };
  pool->run(64, Work::of(work));
  std::fesetround(FE_TONEAREST);
  EXPECT_FALSE(other);
}

}  // namespace
}  // namespace lenz::runtime
