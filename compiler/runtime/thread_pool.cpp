#include "compiler/runtime/thread_pool.h"

#include <sched.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "compiler/runtime/float_mode.h"
#include "compiler/runtime/shares.h"

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace lenz::runtime {

namespace {

void pause() {
#if defined(__x86_64__)
  _mm_pause();
#else
  std::this_thread::yield();
#endif
}

// Long enough for the next kernel of the same program to find workers awake, short enough not to be seen on a core that
// others want.
constexpr auto kSpin = std::chrono::microseconds(60);

class OwnPool : public Pool {
 public:
  explicit OwnPool(int threads) : shares_(std::max(threads, 1)) {
    for (int w = 1; w < threads; ++w) threads_.emplace_back([this, w] { worker(w); });
  }
  ~OwnPool() override {
    stop_ = true;
    wake();
    for (std::thread& t : threads_) t.join();
  }

  int workers() const override { return static_cast<int>(threads_.size()) + 1; }
  void park() override { parked_.store(true, std::memory_order_relaxed); }

  void run(int64_t chunks, Work work) override {
    if (chunks <= 0) return;
    if (chunks == 1 || chunks > Shares::kMostPieces || threads_.empty() ||
        busy_.test_and_set(std::memory_order_acquire)) {
      for (int64_t c = 0; c < chunks; ++c) work.call(work.self, c, 0);
      return;
    }
    work_ = work;
    mode_ = FloatMode();
    done_.store(0, std::memory_order_relaxed);
    parked_.store(false, std::memory_order_relaxed);
    const uint32_t job = job_.load(std::memory_order_relaxed) + 1;
    shares_.deal(job, chunks);
    job_.store(job, std::memory_order_release);
    wake();
    take_chunks(job, 0);
    for (uint32_t turns = 0; done_.load(std::memory_order_acquire) != chunks;)
      if (++turns % 1024 == 0)
        std::this_thread::yield();  // somebody's core may be ours
      else
        pause();
    busy_.clear(std::memory_order_release);
  }

 private:
  // A job's fields stay until all of its chunks are done.
  void take_chunks(uint32_t job, int worker) {
    bool first = worker != 0;
    while (const std::optional<int64_t> chunk = shares_.take(job, worker)) {
      if (first) mode_.enter();
      first = false;
      work_.call(work_.self, *chunk, worker);
      done_.fetch_add(1, std::memory_order_acq_rel);
    }
  }

  void wake() {
    signal_.fetch_add(1, std::memory_order_seq_cst);
    if (sleeping_.load(std::memory_order_seq_cst) > 0) signal_.notify_all();
  }

  void worker(int number) {
    uint32_t seen = 0;
    while (!stop_) {
      const uint32_t now = wait_for_signal(seen);
      seen = now;
      take_chunks(job_.load(std::memory_order_acquire), number);
    }
  }

  uint32_t wait_for_signal(uint32_t seen) {
    const auto end = std::chrono::steady_clock::now() + kSpin;
    for (uint32_t turns = 1;; ++turns) {
      const uint32_t now = signal_.load(std::memory_order_acquire);
      if (now != seen) return now;
      if (parked_.load(std::memory_order_relaxed)) break;
      if (turns % 64 == 0 && std::chrono::steady_clock::now() > end) break;
      pause();
    }
    sleeping_.fetch_add(1, std::memory_order_seq_cst);
    signal_.wait(seen, std::memory_order_seq_cst);
    sleeping_.fetch_sub(1, std::memory_order_seq_cst);
    return signal_.load(std::memory_order_acquire);
  }

  std::vector<std::thread> threads_;
  std::atomic_flag busy_;
  std::atomic<bool> stop_ = false, parked_ = false;
  Work work_{};
  FloatMode mode_;
  Shares shares_;
  // Apart from each other: all threads look at them at once.
  alignas(64) std::atomic<uint32_t> job_ = 0;
  alignas(64) std::atomic<int64_t> done_ = 0;
  alignas(64) std::atomic<uint32_t> signal_ = 0;
  std::atomic<int32_t> sleeping_ = 0;
};

}  // namespace

int usable_threads() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) == 0 && CPU_COUNT(&set) > 0) return CPU_COUNT(&set);
  return static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
}

std::unique_ptr<Pool> make_pool(int threads) { return std::make_unique<OwnPool>(threads); }

}  // namespace lenz::runtime
