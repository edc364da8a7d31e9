// Loops that break no rule, as far as proofs go.
#include "compiler/lower/lower.h"

namespace lenz {

namespace {
constexpr int kTries = 3;

// Whose loops the finding is about.
std::optional<LowerOptions::OfHost> culprit(const loops::Program& program, const loops::ProgramFinding& finding) {
  std::optional<LowerOptions::OfHost> found;
  size_t number = 0;
  loops::for_each_node(program.body, [&](const loops::Node& node) {
    if (number++ != finding.spot.node) return;
    if (const auto* nest = std::get_if<loops::Nest>(&node.is)) found = {nest->origin, nest->name};
    if (const auto* sort = std::get_if<loops::Sort>(&node.is)) found = {sort->origin, ""};
  });
  return found;
}
}  // namespace

loops::Program lower_proved(const Graph& graph, const LowerOptions& options,
                            const std::function<loops::ProgramVerdict(const loops::Program&)>& verify) {
  LowerOptions with = options;
  for (int tries = 0;; ++tries) {
    loops::Program made = lower_graph(graph, with);
    const loops::ProgramVerdict verdict = verify(made);
    if (verdict.valid()) return made;
    const size_t before = with.by_host.size();
    if (options.externs)
      for (const loops::ProgramFinding& finding : verdict.violations)
        if (auto node = culprit(made, finding)) with.by_host.push_back(std::move(*node));
    if (tries == kTries || with.by_host.size() == before)
      throw Unsupported("nothing proves that the loops of @" + graph.name +
                        " keep the rules of programs: " + to_string(verdict.violations[0]));
  }
}

}  // namespace lenz
