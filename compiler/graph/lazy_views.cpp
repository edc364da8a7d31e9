#include "compiler/graph/lazy_views.h"

namespace lenz {

namespace {
// Whether a view of complex numbers shows their imaginary parts alone. (Their real parts, or both, are in no place of
// their own between two numbers.)
bool shows_imaginary_parts(const Type& view, const Type& of) { return view.offset == of.offset * 2 + 1; }
}  // namespace

Laziness laziness(const Graph& graph, ValueId v) {
  Laziness lazy;
  // What a conjugate further down is here: of parts of complex numbers, a negative or nothing.
  bool Laziness::* conjugate = &Laziness::conjugated;
  while (graph.storage(v) != v) {
    const Node& node = graph.node(graph.value(v).producer);
    const Type& type = graph.type(v);
    if (type.is_tensor() && !is_inexact(type.dtype)) break;  // nothing negates or conjugates integers lazily
    // What is cut off from autograd is an opaque view too, but shows what its operand does; and so do conjugates of
    // real numbers, which are defined by what they are of complex ones.
    const bool of_reals = type.is_tensor() && !is_complex(type.dtype) && node.op->has(Trait::composite);
    if (node.op->has(Trait::opaque_view) && node.op->written_base != "return %written" && type.is_tensor() && !of_reals)
      if (bool Laziness::* met = is_complex(type.dtype) ? conjugate : &Laziness::negated) lazy.*met ^= true;
    ValueId from = v;
    for (const Arg& a : node.arguments())
      for_each_value(a, [&](ValueId operand) {
        if (from == v && graph.storage(operand) == graph.storage(v)) from = operand;
      });
    if (from == v) break;
    if (const Type& of = graph.type(from);
        type.is_tensor() && of.is_tensor() && is_complex(of.dtype) && !is_complex(type.dtype))
      conjugate = shows_imaginary_parts(type, of) ? &Laziness::negated : nullptr;
    v = from;
  }
  return lazy;
}

}  // namespace lenz
