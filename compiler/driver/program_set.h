// The loop programs of one graph, and what they are built into. One serves all sizes that its facts and guards allow;
// sizes that break a guard, of the graph or of the way from it, get another, that assumes the contrary.
// Thread-safety: as the graph's.
#pragma once

#include <deque>

#include "compiler/driver/build.h"

namespace lenz {

// A program that serves these sizes: guards that they break are assumed otherwise, and types inferred anew. UserError
// for sizes that the graph's facts exclude, or a row of its; Unsupported as to_loops.
loops::Program program_for(const Graph& graph, const SymValues& sizes, const RunnerOptions& options = {},
                           const LowerOptions& lower = {}, std::span<const PipelineLine> lines = pipeline());

// The graph that these passes leave of it where the sizes are these: guards that they ask for and that the sizes break
// are assumed otherwise. As program_for(), without the loops. `statistics`: of the run that made it.
std::unique_ptr<Graph> passed_for(const Graph& graph, const SymValues& sizes, std::span<const PipelineLine> lines,
                                  const RunnerOptions& options = {}, RunStatistics* statistics = nullptr);

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

// The same as machine code. At most kMost are kept: those called last. A size that is short (short_sizes.h) when it is
// first seen is a constant in what is built, until calls come with another: what is built from then on leaves it open.
// So each costs one more building at most, and calls whose short sizes never change run as if these had never been
// open.
class ExecutableSet {
 public:
  static constexpr size_t kMost = 8;
  ExecutableSet(const Graph& graph, BuildOptions options, const LowerOptions& lower,
                ShortSizes how = ShortSizes::closed);

  // Built by program_for() if there is none yet; the report says what that took.
  std::shared_ptr<runtime::Executable> at(const SymValues& sizes, BuildReport* report = nullptr);
  size_t built() const { return built_; }  // so far

 private:
  struct Kept {
    std::shared_ptr<runtime::Executable> executable;
    ClosedSizes constants;  // sizes that are numbers in it
    bool serves(const SymValues& sizes) const;
  };
  loops::Program program_at(const SymValues& sizes, ClosedSizes& constants);
  void look_at(const SymValues& sizes);

  const Graph& graph_;
  BuildOptions options_;
  LowerOptions lower_;
  std::deque<Kept> kept_;  // the last called first
  size_t built_ = 0;
  bool looked_ = false;  // at the first call's sizes
  ClosedSizes first_;    // short ones, which have not changed since
};

}  // namespace lenz
