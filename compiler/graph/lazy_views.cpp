#include "compiler/graph/lazy_views.h"

namespace lenz {

bool is_lazily_conjugated(const Graph& graph, ValueId v) {
  bool lazy = false;
  while (graph.storage(v) != v) {
    const Node& node = graph.node(graph.value(v).producer);
    const Type& type = graph.type(v);
    // What is cut off from autograd is an opaque view too, but shows what its operand does.
    bool conjugates = node.op->has(Trait::opaque_view) && node.op->written_base != "return %written";
    if (conjugates && type.is_tensor() && is_complex(type.dtype)) lazy = !lazy;
    ValueId from = v;
    for (const Arg& a : node.arguments())
      for_each_value(a, [&](ValueId operand) {
        if (from == v && graph.storage(operand) == graph.storage(v)) from = operand;
      });
    if (from == v) break;
    v = from;
  }
  return lazy;
}

}  // namespace lenz
