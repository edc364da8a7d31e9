// Puts what a row says about its op in the op's place: its definition, or the calls for the elements of its lists.
// Thread-safety: as the graph's.
#pragma once

#include "compiler/graph/graph.h"

namespace lenz {

// The node's definition stands in its place. Its results keep their types to the last stride, and their storage: where
// the definition's lie otherwise they are laid out again or copied. False, with nothing changed, if the definition
// refuses these arguments or shares memory otherwise than the op does.
bool expand_node(Graph& graph, NodeId id);

// The node of a row over lists becomes one node for each element (OpDef::each); `in_place` ones stay so.
bool expand_elements(Graph& graph, NodeId id);

// Whoever uses the node's results uses these instead, one for each: a value, none, or for a list the list of values.
// The node goes.
void replace_node(Graph& graph, NodeId id, std::span<const Arg> results);

// The same values in these strides and at this offset, in storage of its own; `v` itself if it lies so already.
ValueId placed_like(Graph& graph, NodeId before, ValueId v, const Type& like, uint32_t origin);

// The same argument with other values: to(ValueId) for each.
template <class F>
Arg map_values(Context& context, const Arg& arg, F&& to) {
  if (arg.is_value()) return Arg::of_value(to(arg.value()));
  if (arg.kind == ArgKind::value_list) {
    SmallVec<ValueId, 8> items(arg.value_list());
    for (ValueId& v : items)
      if (v != kNone) v = to(v);
    return context.values(items);
  }
  if (arg.kind == ArgKind::arg_list) {
    SmallVec<Arg, 8> items(arg.arg_list());
    for (Arg& a : items) a = map_values(context, a, to);
    return context.args(items);
  }
  return arg;
}

// A call by name; its first result.
ValueId call(Graph& graph, NodeId before, std::string_view op, std::span<const Arg> args, uint32_t origin,
             std::span<const Keyword> keywords = {});

}  // namespace lenz
