// Faults put into the compiler on purpose: which of them does the fuzzer find? The work is done by mutants/score.py,
// which builds the faults in; here are its options, and its run in the store.
#pragma once

#include <string>
#include <vector>

#include "compiler/base/error.h"

namespace lenz::fuzz {

struct ScoreOptions {
  std::string faults = "written";  // those of written.toml, or so many made mechanically
  std::vector<std::string> names;  // these of them alone; empty: all
  std::string seconds;             // for each fault; empty: so many cases
  uint64_t cases = 0, seed = 1;
  int jobs = 1;
  std::string out = "lenz-fuzz";
  bool resume = false, json = false, all_found = false;
};

// Does not return where the script could be started.
ExitCode score_faults(const ScoreOptions& options);

}  // namespace lenz::fuzz
