#include "compiler/driver/compile.h"

#include "compiler/driver/pipeline.h"

namespace lenz {

namespace {
void run_named(Graph& graph, std::string_view names, const RunnerOptions& options) {
  run_passes(graph, select_passes(names), options);
}
}  // namespace

std::unique_ptr<Graph> to_functional(const Graph& graph, const RunnerOptions& options) {
  std::unique_ptr<Graph> made = graph.clone();
  if (made->level == Level::torch) run_named(*made, "functionalise", options);
  return made;
}

std::unique_ptr<Graph> to_core(const Graph& graph, const RunnerOptions& options) {
  std::unique_ptr<Graph> made = to_functional(graph, options);
  if (made->level == Level::aten) run_named(*made, "decompose_to_core,dead_code", options);
  return made;
}

loops::Program to_loops(const Graph& graph, const RunnerOptions& options, const LowerOptions& lower) {
  return lower_graph(*to_core(graph, options), lower);
}

}  // namespace lenz
