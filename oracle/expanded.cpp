#include "oracle/expanded.h"

#include "compiler/ops/decompose.h"

namespace lenz::oracle {

namespace {
constexpr size_t kMostNodes = 20'000;

bool expand_one(Graph& graph, NodeId id, const Node& node) {
  try {
    SmallVec<Arg, 4> results = expand(graph, id, *node.op, node.arguments());
    if (results.size() != node.result_count) return false;
    for (uint16_t i = 0; i < node.result_count; ++i)
      if (!results[i].is_value() && !graph.value(node.result(i)).users.empty()) return false;
    for (uint16_t i = 0; i < node.result_count; ++i)
      if (results[i].is_value()) graph.replace_uses(node.result(i), results[i].value());
    graph.erase(id);
    return true;
  } catch (const Error&) {
    return false;  // it stays a call: what its own row says is known
  }
}
}  // namespace

void expand_definitions(Graph& graph, const std::function<void(const Node&)>& before) {
  for (NodeId id = graph.first(); id != kNone;) {
    const Node node = graph.node(id);
    NodeId next = node.next, previous = graph.previous(id);
    if (!node.op->decompose.empty() && !node.op->schema.mutates() && graph.node_count() < kMostNodes) {
      if (before) before(node);
      if (expand_one(graph, id, node)) next = previous == kNone ? graph.first() : graph.node(previous).next;
    }
    id = next;
  }
}

}  // namespace lenz::oracle
