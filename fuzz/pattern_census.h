// How often the generator makes what bugs are made of: cases are drawn and looked at, none is run.
// Thread-safety: as a campaign's (campaign.h).
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "fuzz/bug_pattern.h"

namespace lenz::fuzz {

struct PatternCount {
  std::string number, title, waits_for;
  uint64_t cases = 0, grown = 0;  // grown: those that did not begin with a graph of the corpus
  int64_t first = -1;             // the number of the first such case
};
struct Census {
  uint64_t seed = 0, cases = 0;
  double processor_seconds = 0;             // for drawing and looking, of all workers
  std::vector<PatternCount> patterns = {};  // those of one number are one
};
// `progress` hears how many are done.
Census count_patterns(const std::vector<BugPattern>& patterns, uint64_t seed, uint64_t cases, int workers,
                      const std::function<void(uint64_t)>& progress = {});

struct Interval {
  double low = 0, high = 1;
};
// Of a probability, with 95 % confidence (Wilson's).
Interval confidence(uint64_t hits, uint64_t cases);

}  // namespace lenz::fuzz
