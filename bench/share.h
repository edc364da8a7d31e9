// How much of a program is our own code: its loops, beside products and convolutions that the host computes, and ops
// that have no loops at all. Thread-safety: pure functions.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "compiler/runtime/executable.h"

namespace lenz::bench {

struct Part {
  size_t nodes = 0;  // of the program before fusion
  double bytes = 0;  // that they write
  double seconds = 0;
};

struct Share {
  Part ours, products, others;
  std::set<std::string> without_loops;  // the ops behind `others`

  // Of what is no product: 1 if all of it is ours.
  double nodes() const;
  double bytes() const;
  double time() const;
};

Share share_of(const loops::Program& before_fusion, const SymValues& symbols,
               const std::vector<runtime::StepTime>& times);

}  // namespace lenz::bench
