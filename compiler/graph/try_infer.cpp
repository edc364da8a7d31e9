#include "compiler/graph/try_infer.h"

namespace lenz {

namespace {
struct Answer {
  std::optional<InferredResults> results;
  bool refused = false;
};

Answer ask(Graph& graph, const OpDef& op, std::span<const Arg> args) {
  Answer answer;
  if (!op.infer || op.has(Trait::data_dependent)) return answer;
  size_t relied = graph.assumptions.relied().size();
  auto saved = graph.context().syms.node_count() ? std::optional(graph.assumptions) : std::nullopt;
  try {
    Infer infer(graph.shared_context(), graph.ops(), op, args, graph.types(), graph.assumptions);
    infer.owner = &graph;
    infer.run();
    if (graph.assumptions.relied().size() == relied) answer.results = InferredResults(infer.results());
  } catch (const UserError&) {
    answer.refused = true;
  } catch (const Unsupported&) {
  }
  if (saved && graph.assumptions.relied().size() != relied) graph.assumptions = std::move(*saved);
  return answer;
}
}  // namespace

std::optional<InferredResults> try_infer(Graph& graph, const OpDef& op, std::span<const Arg> args) {
  return ask(graph, op, args).results;
}

bool is_refused(Graph& graph, const OpDef& op, std::span<const Arg> args) { return ask(graph, op, args).refused; }

}  // namespace lenz
