// The loop programs of one graph. One serves all sizes that its facts and guards allow; sizes that break a guard which
// the way to it had to assume get another, that assumes the contrary.
// Thread-safety: as the graph's.
#pragma once

#include <deque>

#include "compiler/driver/compile.h"

namespace lenz {

// A program that serves these sizes: guards which the way to it had to assume and which they break are assumed
// otherwise. UserError for sizes that the graph itself is not for; Unsupported as to_loops.
loops::Program program_for(const Graph& graph, const SymValues& sizes, const RunnerOptions& options = {},
                           const LowerOptions& lower = {}, std::span<const PipelineLine> lines = pipeline());

class ProgramSet {
 public:
  explicit ProgramSet(const Graph& graph, RunnerOptions options = {}, LowerOptions lower = {},
                      std::span<const PipelineLine> lines = pipeline());

  // The program for these sizes, made by program_for() if there is none yet.
  const loops::Program& at(const SymValues& sizes);
  size_t size() const { return programs_.size(); }

 private:
  const Graph& graph_;
  RunnerOptions options_;
  LowerOptions lower_;
  std::span<const PipelineLine> lines_;
  std::deque<loops::Program> programs_;  // which stay where they are
};

}  // namespace lenz
