#include "compiler/graph/try_infer.h"

namespace lenz {

std::optional<InferredResults> try_infer(Graph& graph, const OpDef& op, std::span<const Arg> args) {
  if (!op.infer || op.has(Trait::data_dependent)) return std::nullopt;
  size_t relied = graph.assumptions.relied().size();
  auto saved = graph.context().syms.node_count() ? std::optional(graph.assumptions) : std::nullopt;
  std::optional<InferredResults> results;
  bool named = false;  // a size that only the run knows, of whose name there are facts then
  try {
    Infer infer(graph.shared_context(), graph.ops(), op, args, graph.types(), graph.assumptions);
    infer.owner = &graph;
    const bool refused = infer.refusal().has_value();
    named = !infer.unbacked_symbols.empty();
    if (!refused && !named && graph.assumptions.relied().size() == relied) results = InferredResults(infer.results());
  } catch (const UserError&) {
  } catch (const Unsupported&) {
  }
  if (saved && (named || graph.assumptions.relied().size() != relied)) graph.assumptions = std::move(*saved);
  return results;
}

}  // namespace lenz
