#include "oracle/workers.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>
#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <map>
#include <new>
#include <set>
#include <string>

#include "compiler/base/error.h"

namespace lenz::oracle {
namespace {

TEST(Workers, EveryTaskAnswersOnce) {
  std::map<size_t, std::string> results;
  WorkerCalls calls;
  calls.work = [](size_t task, Place&) { return std::string(task * 1000, 'x'); };
  calls.done = [&](size_t task, const std::string& r) { EXPECT_TRUE(results.emplace(task, r).second); };
  run_in_workers(50, 4, {}, calls);
  ASSERT_EQ(results.size(), 50u);
  for (auto& [task, r] : results) EXPECT_EQ(r.size(), task * 1000);
  run_in_workers(0, 4, {}, calls);
}

TEST(Workers, AFreshProcessKnowsNothingOfTheLastTask) {
  for (bool fresh : {false, true}) {
    int spoilt = 0, seen = 0;
    WorkerCalls calls;
    calls.work = [&](size_t, Place&) { return std::to_string(spoilt++); };
    calls.done = [&](size_t, const std::string& r) { seen += r != "0"; };
    run_in_workers(10, 2, {.fresh = fresh}, calls);
    EXPECT_EQ(seen, fresh ? 0 : 8);
  }
}

#if defined(__GLIBC__) && !defined(LENZ_ADDRESS_SANITIZER)
TEST(Workers, WhatNobodySetIsNoZeroByChance) {
  constexpr size_t kBytes = 5000, kOwn = 64;  // the allocator's own words stand before that
  int zeros = 0, kept = 0;
  WorkerCalls calls;
  calls.work = [&](size_t, Place&) {
    auto* one = static_cast<volatile unsigned char*>(std::malloc(kBytes));
    const int first = static_cast<int>(std::count(one, one + kBytes, 0));
    std::fill(one, one + kBytes, 7);
    std::free(const_cast<unsigned char*>(one));
    auto* again = static_cast<volatile unsigned char*>(std::malloc(kBytes));
    const std::string seen = std::to_string(first) + " " + std::to_string(std::count(again + kOwn, again + kBytes, 7));
    std::free(const_cast<unsigned char*>(again));
    return seen;
  };
  calls.done = [&](size_t, const std::string& seen) {
    zeros += !seen.starts_with("0 ");
    kept += !seen.ends_with(" 0");
  };
  run_in_workers(4, 1, {}, calls);
  EXPECT_EQ(zeros, 0);
  EXPECT_EQ(kept, 0);
}
#endif

TEST(Workers, ADeathIsToldWithItsPlaceAndTheTaskMayGoOn) {
  int deaths = 0, done = 0;
  WorkerCalls calls;
  calls.work = [&](size_t task, Place& place) -> std::string {
    place.index = static_cast<uint32_t>(task * 10);
    if (task == 3 && deaths == 0) raise(SIGFPE);  // the next child knows of the death
    if (task == 5) _exit(9);
    return "ok";
  };
  calls.done = [&](size_t, const std::string&) { ++done; };
  calls.died = [&](size_t task, const Death& d) {
    EXPECT_EQ(d.place.index, task * 10);
    EXPECT_EQ(d.text(), task == 3 ? "SIGFPE" : "the process left");
    if (task == 3) ++deaths;
    return task == 3;
  };
  run_in_workers(8, 2, {}, calls);
  EXPECT_EQ(deaths, 1);
  EXPECT_EQ(done, 7);
}

TEST(Workers, WhoRunsOutOfMemoryDiesOfIt) {
  for (bool fresh : {false, true}) {
    std::map<size_t, std::string> ends;
    WorkerCalls calls;
    calls.work = [](size_t task, Place& place) -> std::string {
      place.phase = static_cast<uint32_t>(task);
      if (task == 1) throw std::bad_alloc();
      return "ok";
    };
    calls.done = [&](size_t task, const std::string& r) { ends[task] = r; };
    calls.died = [&](size_t task, const Death& d) {
      EXPECT_EQ(d.place.phase, task);
      ends[task] = d.text();
      return false;
    };
    run_in_workers(4, 2, {.fresh = fresh}, calls);
    EXPECT_EQ(ends, (std::map<size_t, std::string>{{0, "ok"}, {1, "out of memory"}, {2, "ok"}, {3, "ok"}}));
  }
}

TEST(Workers, AHungTaskIsEnded) {
  WorkerCalls calls;
  int hung = 0;
  calls.work = [](size_t task, Place&) -> std::string {
    while (task == 1) pause();
    return "";
  };
  calls.done = [](size_t, const std::string&) {};
  calls.died = [&](size_t, const Death& d) {
    hung += d.hung;
    return false;
  };
  run_in_workers(3, 2, {.hang_seconds = 1}, calls);
  EXPECT_EQ(hung, 1);
}

TEST(Workers, WhatATaskThrowsComesOut) {
  WorkerCalls calls;
  calls.work = [](size_t, Place&) -> std::string { throw UserError("the reason"); };
  calls.done = [](size_t, const std::string&) {};
  try {
    run_in_workers(2, 1, {}, calls);
    FAIL();
  } catch (const InternalError& error) {
    EXPECT_NE(std::string(error.what()).find("the reason"), std::string::npos);
  }
}

// Code that is kept, heaps of threads: what tasks leave in a process is not what a later one dies of.
TEST(Workers, WhatTasksLeaveIsGivenBackByANewProcess) {
#if defined(LENZ_ADDRESS_SANITIZER)
  GTEST_SKIP() << "the sanitizer needs its address space";
#endif
  constexpr size_t kLeft = size_t{200} << 20, kTasks = 12;
  WorkerCalls calls;
  size_t done = 0, deaths = 0;
  std::set<std::string> processes;
  calls.work = [](size_t, Place&) -> std::string {
    if (mmap(nullptr, kLeft, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED) throw std::bad_alloc();
    return std::to_string(getpid());
  };
  calls.done = [&](size_t, const std::string& process) { ++done, processes.insert(process); };
  calls.died = [&](size_t, const Death&) { return ++deaths, false; };
  run_in_workers(kTasks, 1, {.extra_memory = uint64_t{1} << 30}, calls);
  EXPECT_EQ(done, kTasks);
  EXPECT_EQ(deaths, 0);
  EXPECT_EQ(processes.size(), 4) << "each leaves after three, which is more than half of what it may have";
}

TEST(Workers, MemoryIsBounded) {
#if defined(LENZ_ADDRESS_SANITIZER)
  GTEST_SKIP() << "the sanitizer needs its address space";
#endif
  WorkerCalls calls;
  std::string said;
  calls.work = [](size_t, Place&) -> std::string {
    try {
      // By name: a compiler may leave out the memory of what it can compute without.
      void* memory = ::operator new(size_t{1} << 33);
      *static_cast<volatile char*>(memory) = 'x';
      ::operator delete(memory);
      return "given";
    } catch (const std::bad_alloc&) {
      return "refused";
    }
  };
  calls.done = [&](size_t, const std::string& r) { said = r; };
  run_in_workers(1, 1, {}, calls);
  EXPECT_EQ(said, "refused");
}

}  // namespace
}  // namespace lenz::oracle
