#include "compiler/passes/joint/operands.h"

#include <algorithm>
#include <array>

#include "compiler/graph/match.h"
#include "compiler/graph/overlap.h"
#include "compiler/graph/try_infer.h"
#include "compiler/passes/joint/source_patterns.h"

namespace lenz {

namespace {

Arg exchanged(Context& context, const Arg& a, ValueId from, ValueId to) {
  if (a.is_value()) return a.value() == from ? Arg::of_value(to) : a;
  if (a.kind != ArgKind::value_list) return a;
  SmallVec<ValueId, 8> values(a.value_list());
  std::ranges::replace(values, from, to);
  return context.values(values);
}

SmallVec<Arg, 8> arguments(Graph& graph, NodeId user, ValueId from, ValueId to) {
  SmallVec<Arg, 8> args;
  for (const Arg& a : graph.node(user).arguments()) args.push_back(exchanged(graph.context(), a, from, to));
  return args;
}

constexpr size_t kUsers = 64;  // of one copy, that we look at

class Sources {
 public:
  Sources(Graph& graph, PassContext& context, Traits users)
      : graph_(graph), context_(context), users_(users), aliases_(graph) {}

  void run() {
    graph_.for_each_node([&](NodeId id) {
      if (!copies_whole(id)) return;
      ValueId result = graph_.node(id).result();
      SmallVec<NodeId, 8> users;
      for (NodeId user : graph_.value(result).users)
        if (user != kOutputs && users.size() < kUsers && std::ranges::find(users, user) == users.end())
          users.push_back(user);
      for (NodeId user : users) climb(user, result);
    });
  }

 private:
  // Up a chain of copies, as far as the user can tell no difference.
  void climb(NodeId user, ValueId from) {
    for (;;) {
      NodeId id = graph_.value(from).producer;
      if (id == kNone || !copies_whole(id)) return;
      ValueId to = graph_.node(id).args[0].value();
      if (aliases_.any_writes() && (aliases_.is_written(from) || aliases_.is_written(to))) return;
      if (!may_read(graph_, user, from, to, users_) || !context_.allow("operand")) return;
      read_instead(graph_, user, from, to);
      from = to;
    }
  }

  bool copies_whole(NodeId id) const {
    const Node& node = graph_.node(id);
    if (node.result_count != 1 || node.arg_count == 0 || !node.args[0].is_value()) return false;
    // One that is told strides may drop elements: those whose places others share.
    const Type& made = graph_.type(node.result());
    if (node.op->schema.find("stride") >= 0 && may_meet(graph_.assumptions.known(), made.sizes(), made.strides()))
      return false;
    const RuleSet& rules = source_patterns();
    return std::ranges::any_of(rules.rooted_at(*node.op), [&](uint32_t index) {
      return match(graph_, rules, rules.rules()[index], id).has_value();
    });
  }

  Graph& graph_;
  PassContext& context_;
  Traits users_;
  AliasClasses aliases_;
};

// Whether what it gives hangs on how many elements an operand has: a mean's gradient divides by their number, which is
// another one before the operand is broadcast.
bool counts_elements(const OpDef& op) {
  const OpDef& row = op.base && !op.redefined() ? *op.base : op;
  return std::ranges::any_of(std::array{"numel(", "size(", "shape("}, [&](std::string_view asked) {
    return row.decompose.find(asked) != std::string_view::npos;
  });
}

// Whether eager computes in the same type. A tensor without dims counts for less than one that has some, which the
// result's type doesn't show where that is bool: next to another operand with dims that holds its dtype anyway, it
// never counted.
bool keeps_promotion(const Graph& graph, NodeId user, ValueId from, ValueId to) {
  if (graph.type(from).rank() == 0 || graph.type(to).rank() != 0) return true;
  const Dtype dtype = graph.type(to).dtype;
  bool others = false, held = false;
  for (const Arg& arg : graph.node(user).arguments())
    for_each_value(arg, [&](ValueId v) {
      if (v == from) return;
      others = true;
      held |= graph.type(v).rank() != 0 && promote(graph.type(v).dtype, dtype) == graph.type(v).dtype;
    });
  return held || !others;
}

}  // namespace

bool may_read(Graph& graph, NodeId user, ValueId from, ValueId to, Traits users) {
  const Node& node = graph.node(user);
  if (!(node.op->traits.bits & users.bits) || node.op->has(Trait::view) || node.op->has(Trait::maybe_view) ||
      effects(graph, node).any())
    return false;
  // Products broadcast nothing: a sum over one element is no sum over its copies, though its type is the same.
  if ((node.op->has(Trait::contraction) || counts_elements(*node.op)) &&
      !std::ranges::equal(graph.type(from).sizes(), graph.type(to).sizes()))
    return false;
  if (!keeps_promotion(graph, user, from, to)) return false;
  auto results = try_infer(graph, *node.op, arguments(graph, user, from, to));
  if (!results || results->size() != node.result_count) return false;
  for (uint16_t i = 0; i < node.result_count; ++i)
    if ((*results)[i].type != &graph.type(node.result(i)) || (*results)[i].alias_of != kNone) return false;
  return true;
}

void read_sources(Graph& graph, PassContext& context, Traits users) { Sources(graph, context, users).run(); }

void read_instead(Graph& graph, NodeId user, ValueId from, ValueId to) {
  graph.set_args(user, arguments(graph, user, from, to));
}

}  // namespace lenz
