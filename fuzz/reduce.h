// The smallest case that still fails in the same way.
// Thread-safety: one reduction per thread; cases are run in worker processes (oracle/workers.h says from where).
#pragma once

#include <functional>

#include "fuzz/candidates.h"
#include "oracle/workers.h"

namespace lenz::fuzz {

struct ReduceOptions {
  int jobs = 2;
  double seconds = 60;  // after which the smallest so far is given
  std::function<void(size_t evaluations, size_t nodes)> progress = {};
};
struct Reduction {
  Case smallest;
  size_t evaluations = 0, steps = 0;
  bool finished = true;  // nothing simpler fails; else the time was up
};

// `failure` is what the case fails with: the same property, and the same symptom.
Reduction reduce(const Case& from, const Failure& failure, const ReduceOptions& options);

// What cases run within. Another compiler is slow, and has processes of its own, which would inherit a limit of memory.
oracle::WorkerLimits limits_for(const std::vector<const Property*>& only, bool fresh);

// What a case fails with when it is run alone, in a process of its own; nothing: it holds.
std::optional<Failure> failure_alone(const Case& c, const std::vector<const Property*>& only = {});

// The graph that the case only drew beside its own, where it fails by itself: that is the one to reduce.
struct Found {
  Case by;
  Failure failure;
};
std::optional<Found> drawn_beside(const Failure& failure);

// The failure with its stage and detail, as a bisection in a process of its own finds them.
Failure failure_blamed(const Case& c, const Failure& failure);

}  // namespace lenz::fuzz
