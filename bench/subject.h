// Lenz as one of those that are measured: a workload's files, compiled and called through the executor in this process.
// Thread-safety: one per thread.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "bench/roof.h"
#include "bench/share.h"
#include "bench/times.h"
#include "compiler/driver/build.h"

namespace lenz::bench {

struct SubjectOptions {
  std::string target, cache;
  std::shared_ptr<runtime::Pool> pool;
  bool verify = true;  // the loops, before and after scheduling
  ShortSizes short_sizes = ShortSizes::closed;
};

// Bytes that have to move in one call: what arguments and results hold, each once.
struct Traffic {
  double read = 0, written = 0;
  double bytes() const { return read + written; }
};

class Subject {
 public:
  // Without a file of inputs they are made as the text says. Throws Error for what can't be compiled.
  Subject(const std::string& text, const std::string& inputs, const SubjectOptions& options);
  ~Subject();

  // Nothing if the results are right; else in words what is wrong. By the float64 reference and its bounds; where
  // random numbers are drawn, against eager with the same stream.
  std::optional<std::string> wrong();
  void call();
  // Calls for so long, at least three.
  Times round(double seconds);

  const BuildReport& report() const;
  Traffic traffic() const;
  Work work() const;
  // Times each step by itself from then on.
  Share share();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace lenz::bench
