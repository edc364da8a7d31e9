// The least time that a workload can take on this machine: what memory needs for its bytes, or arithmetic for its
// primitives, whichever is longer. Both are measured, in the same run as the workload.
// Thread-safety: one per thread; the pool does the work.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>

#include "bench/times.h"
#include "compiler/driver/build.h"

namespace lenz::bench {

// What has to be computed, from loops that nobody has fused yet: no value of theirs is computed twice.
struct Work {
  // Additions, comparisons, selections: what a vector unit does in one instruction. In lanes of 32 bits: of 64 bits
  // each counts twice. A product that is only added to something is a part of the addition.
  double simple = 0;
  // Multiplications and additions of contractions, two for each term; `narrow`: of bf16, which machines sum at twice
  // the rate.
  double products = 0, narrow = 0;
  // By primitive: what takes a polynomial, a division, a random word.
  std::map<std::string, double> primitives;
  // Between narrow floats and f32 (conversions.h), by primitive: beside all that, for other units do it.
  std::map<std::string, double> conversions{};
};

Work work_of(const loops::Program& program, const SymValues& symbols);

// How fast this machine does them, as fast as anybody who was tried: our code for a primitive, eager's.
class Throughput {
 public:
  explicit Throughput(std::shared_ptr<runtime::Pool> pool);
  ~Throughput();
  // One more round of measurements of what this work is made of; the best ones of all rounds count.
  void measure(const Work& work);
  // In milliseconds, as far as it was measured.
  double time(const Work& work) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace lenz::bench
