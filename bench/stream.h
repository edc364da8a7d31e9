// What memory gives on this machine: so many bytes read and so many written by plain vector loops, at a footprint.
// Thread-safety: one per thread; the pool does the work.
#pragma once

#include <cstddef>
#include <memory>

#include "bench/times.h"
#include "compiler/runtime/thread_pool.h"

namespace lenz::bench {

class Stream {
 public:
  Stream(double read, double written, runtime::Pool& pool);
  ~Stream();

  // Moves for so long, at least three times. Ways that a machine may like better (stores that pass by the caches) are
  // tried beside each other, and the best one counts.
  Times round(double seconds);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace lenz::bench
