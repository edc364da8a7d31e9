#include "compiler/torch/torch_pool.h"

#include <ATen/Config.h>
#include <ATen/Parallel.h>

#include <algorithm>
#include <atomic>
#include <chrono>

#include "compiler/runtime/float_mode.h"
#include "compiler/runtime/shares.h"

// Of the OpenMP that libtorch brings along, which the compiler that builds this need not know.
extern "C" {
void GOMP_parallel(void (*work)(void*), void* data, unsigned threads, unsigned flags);  // NOLINT: its name
int omp_get_thread_num();
}

namespace lenz {

namespace {

using Clock = std::chrono::steady_clock;

// Shorter than libtorch's threads keep looking for work.
constexpr auto kAwake = std::chrono::milliseconds(4);

class TorchPool : public runtime::Pool {
 public:
  explicit TorchPool(int threads) : own_(runtime::make_pool(threads)), shares_(workers()) {}
  int workers() const override { return own_->workers(); }
  void park() override { own_->park(); }
  void resume() override { awake_until_.store((Clock::now() + kAwake).time_since_epoch(), std::memory_order_relaxed); }

  void run(int64_t chunks, runtime::Work work) override {
    const bool awake = Clock::now().time_since_epoch() < awake_until_.load(std::memory_order_relaxed);
    if (chunks < 2 || chunks > runtime::Shares::kMostPieces || !awake || at::get_num_threads() < 2)
      return own_->run(chunks, work);
    if (at::in_parallel_region() || busy_.test_and_set(std::memory_order_acquire)) {
      for (int64_t c = 0; c < chunks; ++c) work.call(work.self, c, 0);
      return;
    }
    Job job{work, shares_};
    shares_.deal(0, chunks);
    GOMP_parallel([](void* data) { static_cast<Job*>(data)->join(); }, &job, 0, 0);
    resume();
    busy_.clear(std::memory_order_release);
  }

 private:
  struct Job {
    runtime::Work work;
    runtime::Shares& shares;
    runtime::FloatMode mode = {};

    void join() {
      const int worker = omp_get_thread_num();
      if (worker >= shares.workers()) return;
      const runtime::FloatMode own;
      mode.enter();
      while (const std::optional<int64_t> chunk = shares.take(0, worker)) work.call(work.self, *chunk, worker);
      own.enter();
    }
  };

  std::unique_ptr<runtime::Pool> own_;
  runtime::Shares shares_;
  std::atomic<Clock::duration> awake_until_ = Clock::duration::zero();
  std::atomic_flag busy_;
};

}  // namespace

std::unique_ptr<runtime::Pool> make_torch_pool(int threads) {
#if AT_PARALLEL_OPENMP
  return std::make_unique<TorchPool>(threads);
#else
  return runtime::make_pool(threads);
#endif
}

}  // namespace lenz
