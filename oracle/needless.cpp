#include "oracle/needless.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "compiler/graph/alias.h"
#include "compiler/graph/overlap.h"
#include "compiler/graph/rebuild.h"
#include "compiler/graph/symbol_makers.h"
#include "compiler/passes/expand_node.h"
#include "oracle/compare.h"
#include "oracle/overwritten.h"

namespace lenz::oracle {

namespace {
std::unique_ptr<Graph> without_it_and_all_of_it(const Graph& graph, NodeId from) {
  AliasClasses classes(graph);
  const SymbolMakers makers(graph);
  std::vector<bool> values(graph.value_count()), memory(graph.value_count());  // that depend on it; memory by class
  bool needed = false;
  std::vector<NodeId> dependent;
  std::vector<bool> goes(graph.node_capacity());
  for (NodeId id = from; id != kNone; id = graph.node(id).next) {
    const Node& node = graph.node(id);
    bool depends = id == from;
    for (const Arg& a : node.arguments())
      for_each_value(a, [&](ValueId v) { depends = depends || values[v] || memory[classes.root(v)]; });
    makers.for_each_maker(graph, node, [&](NodeId maker) { depends = depends || goes[maker]; });
    if (!depends) continue;
    dependent.push_back(id);
    goes[id] = true;
    Effects e = effects(graph, node);
    needed = needed || e.visible || e.advances_random;
    for (uint16_t i = 0; i < node.result_count; ++i) values[node.result(i)] = true;
    for_each_written(graph, node, [&](ValueId v) {
      memory[classes.root(v)] = true;
      needed = needed || classes.is_external(v);
    });
  }
  for (const Arg& a : graph.outputs()) {
    for_each_value(a, [&](ValueId v) { needed = needed || values[v] || memory[classes.root(v)]; });
    makers.for_each_maker(a, [&](NodeId maker) { needed = needed || goes[maker]; });
  }
  if (needed) return nullptr;
  // A copy numbers its nodes anew, in their order.
  std::unique_ptr<Graph> left = graph.clone();
  std::vector<NodeId> erased;
  for (NodeId here = graph.first(), there = left->first(); here != kNone;
       here = graph.node(here).next, there = left->node(there).next)
    if (goes[here]) erased.push_back(there);
  left->erase_all(erased);
  forget_unmade_symbols(*left);
  return left;
}

// The same without writes that others write over: what they wrote nobody needs.
std::unique_ptr<Graph> without_it_or_overwritten(const Graph& graph, NodeId from) {
  const std::vector<NodeId> unseen = overwritten(graph);
  if (unseen.empty()) return nullptr;
  std::unique_ptr<Graph> left = graph.clone();
  NodeId same = kNone;
  std::vector<NodeId> erased;
  for (NodeId here = graph.first(), there = left->first(); here != kNone;
       here = graph.node(here).next, there = left->node(there).next) {
    const bool goes = std::ranges::find(unseen, here) != unseen.end();
    if (goes) erased.push_back(there);
    if (here == from && !goes) same = there;
  }
  erase_overwritten(*left, erased);
  return same == kNone ? std::move(left) : without_it_and_all_of_it(*left, same);
}

// The same with a call for each element of what takes lists: one that nobody needs has no part in the others.
std::unique_ptr<Graph> without_it_in_lists(const Graph& graph, NodeId from) {
  std::unique_ptr<Graph> apart = graph.clone();
  NodeId same = kNone;
  std::vector<NodeId> lists;
  for (NodeId here = graph.first(), there = apart->first(); here != kNone;
       here = graph.node(here).next, there = apart->node(there).next) {
    if (here == from) same = there;
    if (here != from && graph.node(here).op->each) lists.push_back(there);
  }
  bool any = false;
  for (NodeId id : lists) any |= expand_elements(*apart, id);
  if (!any) return nullptr;
  if (auto left = without_it_and_all_of_it(*apart, same)) return left;
  return without_it_or_overwritten(*apart, same);  // a write of a list's element, too
}

constexpr std::string_view kMemory = "aten.empty_strided";  // op name: whatever a type says
constexpr std::string_view kLook = "aten.as_strided";       // op name: at memory, as a type says

constexpr std::string_view kFill = "aten.full";  // op name: the fill itself

// Whether that op made it, or what was placed as its type says.
bool is_made_by(const Graph& graph, ValueId v, std::string_view op) {
  const NodeId maker = graph.value(v).producer;
  if (maker == kNone) return false;
  const Node& node = graph.node(maker);
  const std::string& name = node.op->full_name;
  if (name == "lenz.restride" || name == "aten.reshape" || name == kLook)  // op name: of placed_like
    return node.args[0].is_value() && is_made_by(graph, node.args[0].value(), op);
  return name == op;
}
bool is_memory(const Graph& graph, ValueId v) { return is_made_by(graph, v, kMemory); }

// What has one place for several elements is a look at some that has not: nothing is placed so.
bool shares_places(const Graph& graph, const Type& type) {
  return may_meet(graph.assumptions.known(), type.sizes(), type.strides());
}

// The sizes of what a tensor of that type is made of, by `placed_as`.
DimVec sizes_to_place(const Graph& graph, const Type& type) {
  if (!shares_places(graph, type)) return DimVec(type.sizes());
  Dim last = type.offset;
  for (size_t d = 0; d < type.rank(); ++d) last += (type.sizes()[d] - 1) * type.strides()[d];
  return DimVec{max(last + 1, Dim(1))};
}

ValueId placed_as(Graph& graph, NodeId before, ValueId made, const Type& type, uint32_t origin) {
  if (!shares_places(graph, type)) return placed_like(graph, before, made, type, origin);
  const Arg look[] = {Arg::of_value(made), graph.context().dims(type.sizes()), graph.context().dims(type.strides()),
                      Arg::of_dim(type.offset)};
  return call(graph, before, kLook, look, origin);
}

// Memory of a tensor's type, in which anything may lie.
ValueId memory_of(Graph& graph, NodeId before, const Type& type, uint32_t origin) {
  const DimVec one{1};
  const Arg laid[] = {graph.context().dims(sizes_to_place(graph, type)),
                      graph.context().dims(shares_places(graph, type) ? std::span<const Dim>(one) : type.strides())};
  const Keyword of_type[] = {{"dtype", Arg::of_dtype(type.dtype)}, {"device", Arg::of_device(type.device)}};
  return placed_as(graph, before, call(graph, before, kMemory, laid, origin, of_type), type, origin);
}

// What draws by a type alone, and so stays, draws by that of memory which nobody computes.
bool draw_by_memory(Graph& graph, NodeId id) {
  const Node node = graph.node(id);
  if (node.arg_count == 0 || !node.args[0].is_value()) return false;
  const ValueId like = node.args[0].value();
  // An input raises nothing.
  if (graph.value(like).producer == kNone || !graph.type(like).is_tensor() || is_memory(graph, like)) return false;
  SmallVec<Arg, 8> args(node.arguments());
  args[0] = Arg::of_value(memory_of(graph, id, graph.type(like), node.origin));
  graph.set_args(id, args);
  return true;
}

// In the place of what reads a type alone stands what it gives: its definition, or the number that its own type says.
bool say_the_type(Graph& graph, NodeId id) {
  const Node node = graph.node(id);
  const OpDef& op = *node.op;
  if (!op.has(Trait::reads_metadata_only) || op.schema.mutates()) return false;
  const bool drawn = op.has(Trait::nondeterministic) || effects(graph, node).advances_random;
  if (drawn) return draw_by_memory(graph, id);
  if (!op.decompose.empty()) return expand_node(graph, id);
  SmallVec<Arg, 1> numbers;
  for (uint16_t i = 0; i < node.result_count; ++i)
    if (const Type& type = graph.type(node.result(i)); type.kind == TypeKind::sym_int)
      numbers.push_back(Arg::of_dim(type.offset));
  if (numbers.empty() || numbers.size() != node.result_count) return false;
  replace_node(graph, id, numbers);
  return true;
}

// The same with types in the place of operands that give theirs alone (`new_zeros`, a size): no value hangs on these.
// Null: none does that. `same`: which node it is, if any, that stands in both; it stays as it is.
std::unique_ptr<Graph> with_types_said(const Graph& graph, NodeId* same = nullptr) {
  std::unique_ptr<Graph> said = graph.clone();
  NodeId kept = kNone;  // a copy numbers its nodes anew, in their order
  for (NodeId here = graph.first(), there = said->first(); same && here != kNone;
       here = graph.node(here).next, there = said->node(there).next)
    if (here == *same) kept = there;
  if (same) *same = kept;
  bool any = false;
  for (bool again = true; again;) {  // a definition may be of that kind too
    again = false;
    for (NodeId id = said->first(), next; id != kNone; id = next) {
      next = said->node(id).next;
      again |= id != kept && say_the_type(*said, id);
    }
    any |= again;
  }
  return any ? std::move(said) : nullptr;
}

// Whether it takes lists, and some elements of what it gives nobody takes.
bool gives_idle_elements(const Graph& graph, const Node& node) {
  if (!node.op->each || node.result_count != 1) return false;
  std::set<int64_t> taken;
  for (const NodeId user : graph.value(node.result()).users) {
    if (user == kOutputs || graph.node(user).op->full_name != "lenz.getitem") return false;  // op name: an element
    taken.insert(graph.node(user).args[1].i);
  }
  return taken.size() < graph.type(node.result()).elements().size();
}

// Nothing of it is left out but what nobody needs. Null: there is nothing of that kind.
std::unique_ptr<Graph> without_all_needless(const Graph& given) {
  const std::unique_ptr<Graph> said = with_types_said(given);
  const Graph& typed = said ? *said : given;
  std::unique_ptr<Graph> apart;  // a call for each element, so that those that nobody takes can go
  typed.for_each_node([&](NodeId id) {
    if (!apart && gives_idle_elements(typed, typed.node(id))) apart = typed.clone();
  });
  for (NodeId id = apart ? apart->first() : kNone, next; id != kNone; id = next) {
    next = apart->node(id).next;
    if (gives_idle_elements(*apart, apart->node(id))) expand_elements(*apart, id);
  }
  const Graph& graph = apart ? *apart : typed;
  std::unique_ptr<Graph> left;
  if (!overwritten(graph).empty()) {
    left = graph.clone();
    erase_overwritten(*left, overwritten(*left));
  }
  for (bool again = true; again;) {
    again = false;
    const Graph& now = left ? *left : graph;
    std::unique_ptr<Graph> less;
    for (NodeId id = now.last(); id != kNone && !less; id = now.previous(id)) less = without_it_and_all_of_it(now, id);
    again = less != nullptr;
    if (again) left = std::move(less);  // which may be who was looked at
  }
  for (size_t i = 0; i < graph.subgraphs.size(); ++i) {
    std::unique_ptr<Graph> less = without_all_needless(*graph.subgraphs[i]);
    if (less && !left) left = graph.clone();
    if (less) left->subgraphs[i] = std::move(less);
  }
  return left;
}

// How many of the last results of control flow are its sub-graphs' own, one for one: of a loop none, of a scan the
// stacked ones, for what is carried the next step takes.
size_t given_as_they_are(const Node& node) {
  if (node.op->full_name == "lenz.cond") return node.result_count;  // op names: what differs between them
  if (node.op->full_name != "lenz.scan") return 0;
  return node.result_count - node.args[1].count;
}

// A sub-graph with memory of their type in the place of results that its caller does not take. Null: all are taken.
std::unique_ptr<Graph> without_idle_results(const Graph& caller, const Node& node, const Graph& sub) {
  std::unique_ptr<Graph> left;
  SmallVec<Arg, 8> outputs;
  for (size_t i = node.result_count - given_as_they_are(node); i < node.result_count && i < sub.outputs().size(); ++i) {
    const Arg& given = sub.outputs()[i];
    if (!caller.value(node.result(static_cast<uint16_t>(i))).users.empty() || !given.is_value()) continue;
    if (!sub.type(given.value()).is_tensor() || is_memory(sub, given.value())) continue;
    if (!left) {
      left = sub.clone();  // which numbers its values anew
      outputs = SmallVec<Arg, 8>(left->outputs());
    }
    outputs[i] = Arg::of_value(memory_of(*left, kNone, left->type(outputs[i].value()), node.origin));
  }
  if (left) left->set_outputs(outputs);
  return left;
}

// The same where control flow raised: which node of its sub-graphs did, nobody says.
std::unique_ptr<Graph> without_it_in_sub_graphs(const Graph& graph, NodeId from) {
  std::unique_ptr<Graph> left;
  const Node& node = graph.node(from);
  for (const Arg& a : node.arguments()) {
    if (a.kind != ArgKind::graph) continue;
    const Graph& sub = *graph.subgraphs[a.graph()];
    const std::unique_ptr<Graph> taken = without_idle_results(graph, node, sub);
    std::unique_ptr<Graph> less = without_all_needless(taken ? *taken : sub);
    if (!less) continue;
    if (!left) left = graph.clone();
    left->subgraphs[a.graph()] = std::move(less);
  }
  return left;
}
}  // namespace

std::unique_ptr<Graph> without_needless(const Graph& graph, NodeId from) {
  std::unique_ptr<Graph> left = without_it_and_all_of_it(graph, from);
  if (!left) left = without_it_in_lists(graph, from);
  if (!left) left = without_it_or_overwritten(graph, from);
  NodeId same = from;
  if (const std::unique_ptr<Graph> said = left ? nullptr : with_types_said(graph, &same))
    left = without_it_and_all_of_it(*said, same);
  return left ? std::move(left) : without_it_in_sub_graphs(graph, from);
}

std::unique_ptr<Graph> without_needless(const Graph& graph, const Cond& fact) {
  std::unique_ptr<Graph> left;
  const SymbolMakers makers(graph);
  for (const Dim side : {fact.lhs, fact.rhs})
    makers.for_each_maker(side, [&](NodeId maker) {
      if (!left) left = without_needless(graph, maker);
    });
  return left;
}

namespace {
struct StandIn {
  double number;
  bool adds_up = false;  // along every dim, so that it rises or falls: who takes an element from another one, or the
                         // last of the greatest, tells it from a fill
};
// What stands where a node raised: whoever hangs on what it gives tells these apart. What is no number, among floats: a
// definition that does not ask what eager asks may give that, and 0 times it is not 0.
constexpr StandIn kStandIns[] = {{0},
                                 {1},
                                 {1, true},
                                 {-1, true},
                                 {100},
                                 {-3},
                                 {std::numeric_limits<double>::infinity()},
                                 {std::numeric_limits<double>::quiet_NaN()}};
constexpr double kInteger = 2;  // in the place of those that a dtype does not have: of integers, of eight bits

// The operands that results are once they are written: one for each, of its type. Empty where that is not so.
SmallVec<ValueId, 4> written_to(const Graph& graph, const Node& node) {
  SmallVec<ValueId, 4> targets;
  if (node.op->variant != VariantKind::in_place && node.op->variant != VariantKind::out) return targets;
  for_each_written(graph, node, [&](ValueId v) { targets.push_back(v); });
  bool all = targets.size() == node.result_count;
  for (uint16_t i = 0; all && i < node.result_count; ++i)
    all = graph.type(targets[i]).is_tensor() && &graph.type(targets[i]) == &graph.type(node.result(i));
  return all ? targets : SmallVec<ValueId, 4>();
}

// The graph with a stand-in in the place of each result; null if the node does more than give fresh tensors of sizes
// that are known without it, or write to what it gives.
std::unique_ptr<Graph> with_stand_in(const Graph& graph, NodeId raises, const StandIn& stand_in) {
  const Node& node = graph.node(raises);
  AliasClasses classes(graph);
  const Effects does = effects(graph, node);
  const bool writes = !written_to(graph, node).empty();
  if (does.visible || does.advances_random || (does.writes && !writes)) return nullptr;
  const SymbolMakers makers(graph);
  for (uint16_t i = 0; i < node.result_count; ++i) {
    const ValueId given = node.result(i);
    bool fresh = graph.type(given).is_tensor();
    for_each_symbolic_dim(graph.type(given), [&](Dim d) {
      makers.for_each_maker(d, [&](NodeId maker) { fresh = fresh && maker != raises; });
    });
    for (const Arg& a : node.arguments())
      for_each_value(a, [&](ValueId v) { fresh = fresh && (writes || !classes.shared(v, given)); });
    if (!fresh) return nullptr;
  }
  std::unique_ptr<Graph> other = graph.clone();
  NodeId there = other->first();  // a copy numbers its nodes anew, in their order
  for (NodeId here = graph.first(); here != raises; here = graph.node(here).next) there = other->node(there).next;
  const Node copy = other->node(there);
  const SmallVec<ValueId, 4> targets = written_to(*other, copy);
  SmallVec<Arg, 4> fills;
  for (uint16_t i = 0; i < copy.result_count; ++i) {
    const Type& type = other->type(copy.result(i));
    const bool real = is_floating(type.dtype) || is_complex(type.dtype);
    const bool takes = real ? !(std::isinf(stand_in.number) && dtypes::float8.has(type.dtype))
                            : std::isfinite(stand_in.number) && (stand_in.number >= 0 || info(type.dtype).is_signed);
    const double held = takes ? stand_in.number : kInteger;
    const DimVec sizes = writes ? DimVec(type.sizes()) : sizes_to_place(*other, type);
    const Arg args[] = {other->context().dims(sizes),
                        real ? Arg::of_real(held) : Arg::of_int(static_cast<int64_t>(held))};
    const Keyword as[] = {{"dtype", Arg::of_dtype(type.dtype)}, {"device", Arg::of_device(type.device)}};
    ValueId fill = call(*other, there, kFill, args, copy.origin, as);
    for (size_t d = 0; stand_in.adds_up && dtypes::numbers.has(type.dtype) && d < sizes.size(); ++d) {
      const Arg along[] = {Arg::of_value(fill), Arg::of_int(static_cast<int64_t>(d))};
      fill = call(*other, there, "aten.cumsum", along, copy.origin, std::span(as).first(1));  // op name: what rises
    }
    if (writes) {
      const Arg written[] = {Arg::of_value(targets[i]), Arg::of_value(fill)};
      fills.push_back(Arg::of_value(call(*other, there, "aten.copy_", written, copy.origin)));  // op name: the write
    } else {
      fills.push_back(Arg::of_value(placed_as(*other, there, fill, type, copy.origin)));
    }
  }
  replace_node(*other, there, fills);
  return other;
}

// A call for each element in the place of one that takes lists: which of its elements raised, nobody says.
std::unique_ptr<Graph> with_elements_apart(const Graph& graph, NodeId raises) {
  if (!graph.node(raises).op->each) return nullptr;
  std::unique_ptr<Graph> apart = graph.clone();
  NodeId there = apart->first();
  for (NodeId here = graph.first(); here != raises; here = graph.node(here).next) there = apart->node(there).next;
  return expand_elements(*apart, there) ? std::move(apart) : nullptr;
}

using RunGraph = std::function<Execution(const Graph& graph, const ExecuteOptions& options)>;

struct Raised {
  Execution ended;
  NodeId node = kNone;  // that raised, if one did
};
Raised run_to_error(const Graph& graph, ExecuteOptions options, const RunGraph& run) {
  Raised raised;
  raised.node = graph.first();
  options.on_node = [&](NodeId node, std::span<const RunValue>) { raised.node = graph.node(node).next; };
  raised.ended = run(graph, options);
  return raised;
}

// Where the structure says that results hang on what raises, but no result's value does (x - x of integers).
std::optional<NeededRun> whatever_it_gives(const Graph& graph, NodeId raises, const ExecuteOptions& options,
                                           const RunGraph& run) {
  std::optional<NeededRun> first;
  for (const StandIn& stand_in : kStandIns) {
    std::unique_ptr<Graph> with = with_stand_in(graph, raises, stand_in);
    if (!with) return std::nullopt;
    NeededRun needed = run_needed(*with, options, run);
    if (needed.ended.ending == Ending::out_of_memory) return std::nullopt;
    if (!needed.left) needed.left = std::move(with);
    // Where all of them raise further on, in the same words, that is what needs none of it.
    if (first && (first->ended.text != needed.ended.text || compare_runs(graph, first->ended, needed.ended)))
      return std::nullopt;
    if (!first) first = std::move(needed);
  }
  return first;
}

// Whether nobody asks for elements of what it gives.
bool gives_types_alone(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  if (effects(graph, node).any()) return false;
  for (uint16_t i = 0; i < node.result_count; ++i)
    for (NodeId user : graph.value(node.result(i)).users)
      if (user == kOutputs || !graph.node(user).op->has(Trait::reads_metadata_only)) return false;
  return true;
}

// The graph with this number in the place of each of an operand's: of an index one that every dim has.
std::unique_ptr<Graph> with_operand_of(const Graph& graph, NodeId id, ValueId operand, int64_t number) {
  std::unique_ptr<Graph> other = graph.clone();
  NodeId there = other->first();  // a copy numbers its nodes anew, in their order, and its values
  for (NodeId here = graph.first(); here != id; here = graph.node(here).next) there = other->node(there).next;
  SmallVec<Arg, 8> args(other->node(there).arguments());
  for (size_t i = 0; i < args.size(); ++i) {
    SmallVec<ValueId, 8> before;
    for_each_value(graph.node(id).args[i], [&](ValueId v) { before.push_back(v); });
    size_t k = 0;
    args[i] = map_values(other->context(), args[i], [&](ValueId v) {
      if (before[k++] != operand) return v;
      const Type& type = other->type(v);
      const Arg filled[] = {other->context().dims(sizes_to_place(*other, type)), Arg::of_int(number)};
      const Keyword as[] = {{"dtype", Arg::of_dtype(type.dtype)}, {"device", Arg::of_device(type.device)}};
      const uint32_t origin = other->node(there).origin;
      return placed_as(*other, there, call(*other, there, kFill, filled, origin, as), type, origin);
    });
  }
  other->set_args(there, args);
  return other;
}

// Where a size that only the run knows is all that is asked for, and hangs on other operands than what raised points
// to: `x[mask, i]` has as many rows as the mask says.
std::optional<NeededRun> wherever_it_points(const Graph& graph, NodeId raises, const ExecuteOptions& options,
                                            const RunGraph& run) {
  if (!gives_types_alone(graph, raises)) return std::nullopt;
  SmallVec<ValueId, 4> pointing;
  for (const Arg& a : graph.node(raises).arguments())
    for_each_value(a, [&](ValueId v) {
      const Type& t = graph.type(v);
      const bool points = t.is_tensor() && is_integral(t.dtype, false) && info(t.dtype).is_signed;
      if (points && !is_made_by(graph, v, kFill)) pointing.push_back(v);
    });
  for (ValueId v : pointing) {
    std::unique_ptr<Graph> first = with_operand_of(graph, raises, v, 0), last = with_operand_of(graph, raises, v, -1);
    NeededRun needed = run_needed(*first, options, run);
    if (needed.ended.ending != Ending::finished) continue;
    const NeededRun other = run_needed(*last, options, run);
    if (other.ended.ending != Ending::finished || compare_runs(graph, needed.ended, other.ended)) continue;
    if (!needed.left) needed.left = std::move(first);
    return needed;
  }
  return std::nullopt;
}
}  // namespace

NeededRun run_needed(const Graph& graph, const ExecuteOptions& options, const RunGraph& run) {
  NeededRun needed;
  for (;;) {
    const Graph& part = needed.left ? *needed.left : graph;
    Raised raised = run_to_error(part, options, run);
    needed.ended = std::move(raised.ended);
    if (needed.ended.ending != Ending::raised) return needed;
    std::unique_ptr<Graph> left;
    if (needed.ended.contradicted) left = without_needless(part, *needed.ended.contradicted);
    if (!left && raised.node != kNone) left = without_needless(part, raised.node);
    if (!left && raised.node != kNone) left = with_elements_apart(part, raised.node);
    if (!left && raised.node != kNone && !needed.ended.contradicted) {
      std::optional<NeededRun> rest = whatever_it_gives(part, raised.node, options, run);
      if (!rest) rest = wherever_it_points(part, raised.node, options, run);
      if (!rest) return needed;
      rest->refusal = std::move(needed.refusal ? *needed.refusal : needed.ended);
      return std::move(*rest);
    }
    if (!left) return needed;
    if (!needed.refusal) needed.refusal = std::move(needed.ended);
    needed.left = std::move(left);
  }
}

}  // namespace lenz::oracle
