#include "compiler/driver/compile.h"

#include "compiler/driver/pipeline.h"

namespace lenz {

std::unique_ptr<Graph> to_level(const Graph& graph, Level level, const RunnerOptions& options) {
  std::unique_ptr<Graph> made = graph.clone();
  std::string why;
  for (const PipelineLine& line : pipeline()) {
    if (made->level >= level && level != Level::core) break;
    RunStatistics run = run_passes(*made, {&line, 1}, options);
    for (const auto& [what, times] : run.runs[0].counters)
      if (what.starts_with("not ")) why += "; " + what;
  }
  if (made->level < level)
    throw Unsupported("@" + made->name + " stays at level " + std::string(name(made->level)) + why);
  return made;
}

loops::Program to_loops(const Graph& graph, const RunnerOptions& options, const LowerOptions& lower) {
  return lower_graph(*to_level(graph, Level::core, options), lower);
}

}  // namespace lenz
