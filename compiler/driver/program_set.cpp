#include "compiler/driver/program_set.h"

#include <algorithm>

namespace lenz {

namespace {
const Cond* broken_by(std::span<const Cond> conditions, const SymValues& sizes) {
  auto at = std::ranges::find_if(conditions, [&](const Cond& c) { return evaluate(c, sizes) == false; });
  return at == conditions.end() ? nullptr : &*at;
}

bool serves(const loops::Program& program, const SymValues& sizes) {
  for (const auto& [symbol, range] : program.assumptions.facts().ranges())
    if (auto v = sizes(symbol); v && ((range.low && *v < *range.low) || (range.high && *v > *range.high))) return false;
  return !broken_by(program.assumptions.facts().conditions(), sizes) && !broken_by(program.assumptions.guards(), sizes);
}
}  // namespace

ProgramSet::ProgramSet(const Graph& graph, RunnerOptions options, LowerOptions lower,
                       std::span<const PipelineLine> lines)
    : graph_(graph), options_(std::move(options)), lower_(lower), lines_(lines) {}

const loops::Program& ProgramSet::at(const SymValues& sizes) {
  for (const loops::Program& program : programs_)
    if (serves(program, sizes)) return program;
  return programs_.emplace_back(program_for(graph_, sizes, options_, lower_, lines_));
}

loops::Program program_for(const Graph& given, const SymValues& sizes, const RunnerOptions& options,
                           const LowerOptions& lower, std::span<const PipelineLine> lines) {
  std::unique_ptr<Graph> graph = given.clone();
  for (;;) {
    loops::Program program = to_loops(*graph, options, lower, lines);
    const Cond* guard = broken_by(program.assumptions.guards(), sizes);
    if (!guard) return program;
    if (!graph->assumptions.declare(negate(*guard)))
      throw UserError("these sizes contradict " + to_string(*guard), "@" + given.name,
                      "the graph's `where` and `assuming` say which sizes it is right for");
  }
}

}  // namespace lenz
