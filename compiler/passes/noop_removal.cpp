#include "compiler/graph/alias.h"
#include "compiler/passes/noop_patterns.h"
#include "compiler/passes/pass.h"

namespace lenz {

namespace {

// The operand that the result equals, by the op's row or as a view of it: one of the result's very type.
ValueId copied_operand(const Graph& graph, const Node& node) {
  if (node.result_count != 1) return kNone;
  const Type& type = graph.type(node.result());
  if (!type.is_tensor() || !(node.op->copies.has(type.dtype) || is_geometry_view(graph, node))) return kNone;
  auto same = [&](ValueId v) { return v != kNone && &graph.type(v) == &type; };
  for (const Arg& a : node.arguments()) {
    if (a.is_value()) return same(a.value()) ? a.value() : kNone;  // the first tensor only
    if (a.kind != ArgKind::value_list) continue;
    for (ValueId v : a.value_list())  // of a list, whichever holds all elements: the others are empty, then
      if (same(v)) return v;
    return kNone;
  }
  return kNone;
}

void run(Graph& graph, PassContext& context) {
  AliasClasses aliases(graph);
  std::vector<NodeId> dead;
  graph.for_each_node([&](NodeId id) {
    const Node& node = graph.node(id);
    ValueId from = copied_operand(graph, node);
    if (from == kNone || effects(graph, node).any()) return;
    Refusal refusal = may_replace(graph, aliases, node.result(), from);
    if (refusal != Refusal::none) return context.count("refused:" + std::string(name(refusal)));
    if (!context.allow("copy")) return;
    replace_value(graph, aliases, node.result(), from);
    dead.push_back(id);
  });
  graph.erase_all(dead);
  context.apply(graph, noop_patterns());
}

}  // namespace

Pass noop_removal() {
  return {.name = "noop_removal",
          .contract =
              "Replaces a result that equals an operand, bit for bit and in all of its type, by that operand.\n"
              "Asks rows what copies (OpDef::copies) and a few patterns; asks alias classes who would notice.\n"
              "Keeps copies that somebody writes to, and those that part an output from an input or another output.",
          .levels = kEveryLevel,
          .idempotent = true,
          .never_grows = true,
          .run = run};
}

}  // namespace lenz
