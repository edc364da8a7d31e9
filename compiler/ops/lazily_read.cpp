#include "compiler/ops/lazily_read.h"

#include "compiler/graph/alias.h"

namespace lenz {

namespace {
const OpDef* conjugate(const Graph& graph) { return graph.ops().find("aten._conj"); }   // op name: a view that is
const OpDef* negate(const Graph& graph) { return graph.ops().find("aten._neg_view"); }  // op name: more than its type
}  // namespace

ValueId seen_lazily(Graph& graph, ValueId v, Laziness lazy) {
  auto view = [&](const OpDef* of) {
    const Arg self = Arg::of_value(v);
    v = graph.node(graph.append(*of, {&self, 1})).result();
  };
  if (lazy.conjugated) view(conjugate(graph));
  if (lazy.negated) view(negate(graph));
  return v;
}

bool read_lazily(DrawnCall& call, Chooser& chooser) {
  Graph& graph = *call.graph;
  const OpDef* negative = negate(graph);
  if (conjugate(graph) == nullptr || negative == nullptr) return false;  // a table of somebody's own
  std::vector<ValueId> read;
  auto is_read = [&](ValueId v) {
    if (v == kNone || !graph.type(v).is_tensor() || !negative->dtypes.has(to_real(graph.type(v).dtype))) return false;
    const Initialiser& init = graph.inputs()[graph.value(v).index].init;
    return init.kind != Initialiser::uniform || init.low <= -init.high;  // eager may refuse negatives of others
  };
  // What it writes to as well; but what only the row says it writes to is Unsupported.
  const bool all = chooser.chance(1, 4);
  auto may_be_lazy = [&](size_t i) {
    return !writes_operand(*call.op, call.args, i) || (all && call.op->schema.params[i].writes);
  };
  for (size_t i = 0; i < call.args.size(); ++i)
    if (may_be_lazy(i))
      for_each_value(call.args[i], [&](ValueId v) {
        if (is_read(v)) read.push_back(v);
      });
  if (read.empty()) return false;
  const size_t always = chooser.below(read.size());
  size_t at = 0;
  auto seen = [&](ValueId v) {
    if (!is_read(v)) return v;
    if (at++ != always && !chooser.flip()) return v;
    const bool conjugates = is_complex(graph.type(v).dtype);
    return seen_lazily(graph, v, {.conjugated = conjugates, .negated = !conjugates});
  };
  for (size_t i = 0; i < call.args.size(); ++i) {
    Arg& a = call.args[i];
    if (!may_be_lazy(i)) continue;
    if (a.is_value()) {
      a = Arg::of_value(seen(a.value()));
    } else if (a.kind == ArgKind::value_list) {
      SmallVec<ValueId, 8> list;
      for (ValueId v : a.value_list()) list.push_back(seen(v));
      a = graph.context().values(list);
    }
  }
  return true;
}

}  // namespace lenz
