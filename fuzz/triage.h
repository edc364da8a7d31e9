// From a case that failed to a finding that has a name: does it fail alone, how small can it be, which step is to
// blame. Thread-safety: as reduce.h.
#pragma once

#include "fuzz/reduce.h"

namespace lenz::fuzz {

struct Triaged {
  std::string name = {};    // the signature: property, stage, symptom, ops of the smallest graph
  std::string text = {};    // the smallest case
  std::string detail = {};  // for people: what differs, the step and its diff
  std::string python = {};  // the smallest case as a program for PyTorch; empty: it has not all of it
  size_t evaluations = 0;
  bool alone = true;        // it fails by itself; else something that ran before it is to blame
  bool eager_dies = false;  // of the graph, with nothing of ours: no finding, and nothing else is said
};
// Whether what failed so fails in eager alone: it kills its process, or gives no answer, or it reads beyond its memory
// where passes put a definition in an op's place. No finding, and quickly told.
bool is_eagers_own_death(const Case& found, const Failure& failure);
Triaged triage(const Case& found, const Failure& failure, const ReduceOptions& options);

std::string finding_file(const std::string& folder, int64_t id);
void write_finding(const std::string& folder, int64_t id, const Triaged& t);  // the case, and a page beside it

}  // namespace lenz::fuzz
