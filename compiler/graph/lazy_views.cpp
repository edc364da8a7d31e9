#include "compiler/graph/lazy_views.h"

namespace lenz {

Laziness laziness(const Graph& graph, ValueId v) {
  Laziness lazy;
  while (graph.storage(v) != v) {
    const Node& node = graph.node(graph.value(v).producer);
    const Type& type = graph.type(v);
    if (type.is_tensor() && !is_inexact(type.dtype)) break;  // nothing negates or conjugates integers lazily
    // What is cut off from autograd is an opaque view too, but shows what its operand does; and so do conjugates of
    // real numbers, which are defined by what they are of complex ones.
    const bool of_reals = type.is_tensor() && !is_complex(type.dtype) && node.op->has(Trait::composite);
    if (node.op->has(Trait::opaque_view) && node.op->written_base != "return %written" && type.is_tensor() && !of_reals)
      (is_complex(type.dtype) ? lazy.conjugated : lazy.negated) ^= true;
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
