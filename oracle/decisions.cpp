#include "oracle/decisions.h"

#include <algorithm>

#include "compiler/scalar/scalar.h"
#include "oracle/expanded.h"

namespace lenz::oracle {

namespace {
bool holds_floats(const Type& type) {
  if (type.kind == TypeKind::list)
    return std::ranges::any_of(type.elements(), [](const Type* t) { return holds_floats(*t); });
  return type.is_tensor() ? is_inexact(type.dtype) : type.kind == TypeKind::sym_float;
}

bool decides(const Graph& graph, const Node& node) {
  bool by_floats = false;
  for (const Arg& a : node.arguments())
    for_each_value(a, [&](ValueId v) { by_floats = by_floats || holds_floats(graph.type(v)); });
  if (!by_floats) return false;
  const ScalarRow* row = node.op->scalar.empty() ? nullptr : find_scalar(node.op->scalar);
  if (row && row->error.jump != Jump::none) return true;
  for (uint16_t i = 0; i < node.result_count; ++i)
    if (!holds_floats(graph.type(node.result(i))) && !graph.value(node.result(i)).users.empty()) return true;
  return false;
}
}  // namespace

bool decides_by_floats(const Graph& given) {
  if (!given.subgraphs.empty()) return true;
  const std::unique_ptr<Graph> graph = given.clone();
  expand_definitions(*graph);
  bool found = false;
  graph->for_each_node([&](NodeId id) { found = found || decides(*graph, graph->node(id)); });
  return found;
}

}  // namespace lenz::oracle
