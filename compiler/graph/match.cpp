#include "compiler/graph/match.h"

#include <algorithm>

namespace lenz {

namespace {

// A rule with many commutative nodes and many users to try must not take for ever: what is not found in this many steps
// counts as not there.
constexpr int kMaxSteps = 20'000;
constexpr size_t kMaxUsersTried = 64;

class Matcher {
 public:
  Matcher(const Graph& graph, const RuleSet& rules, const Rule& rule) : graph_(graph), rules_(rules), rule_(rule) {
    match_.rule = &rule;
    match_.nodes.assign(rule.nodes.size(), kNone);
    match_.exchanged.assign(rule.nodes.size(), false);
    match_.bound.values.assign(rule.value_slots, kNone);
    match_.bound.attrs.assign(rule.attr_slots, Arg::none());
    match_.bound.attr_bound.assign(rule.attr_slots, false);
    match_.bound.ops.assign(rule.op_slots, nullptr);
  }

  bool run(NodeId root) { return try_node(0, root); }
  Match take() { return std::move(match_); }

 private:
  // What has been bound since, to be undone: value slots, attribute slots and op slots, each with its kind.
  struct Bound {
    enum Kind : uint8_t { value, attr, op } kind;
    Slot slot;
  };

  bool step(size_t index) {
    if (index == rule_.plan.size()) return free_of_outside_users();
    const MatchStep& s = rule_.plan[index];
    ValueId through = match_.bound.values[s.value];
    if (s.kind == MatchStep::producer) {
      NodeId producer = graph_.value(through).producer;
      return producer != kNone && try_node(index, producer);
    }
    size_t tried = 0;
    for (NodeId user : graph_.value(through).users) {
      if (user == kOutputs) continue;
      if (++tried > kMaxUsersTried) return false;
      if (try_node(index, user)) return true;
    }
    return false;
  }

  bool try_node(size_t index, NodeId id) {
    const MatchStep& s = rule_.plan[index];
    const NodePattern& pattern = rule_.nodes[s.node];
    const Node& node = graph_.node(id);
    if (std::ranges::find(match_.nodes, id) != match_.nodes.end()) return false;
    if (node.result_count != pattern.results.size()) return false;
    if (pattern.op != kNoSlot) return try_call(index, id, pattern, nullptr);
    for (const auto& choice : pattern.choices)
      if (choice.op == node.op && try_call(index, id, pattern, &choice)) return true;
    return false;
  }

  bool try_call(size_t index, NodeId id, const NodePattern& pattern, const NodePattern::Choice* choice) {
    const Node& node = graph_.node(id);
    if (choice ? choice->args.size() != node.arg_count : pattern.positional.size() > node.arg_count) return false;
    for (bool exchanged : {false, true}) {
      if (exchanged && !may_exchange(node)) break;
      if (++steps_ > kMaxSteps) return false;
      size_t mark = trail_.size();
      match_.nodes[rule_.plan[index].node] = id;
      match_.exchanged[rule_.plan[index].node] = exchanged;
      if (bind_node(node, pattern, choice, exchanged) && conditions(index) && step(index + 1)) return true;
      match_.nodes[rule_.plan[index].node] = kNone;
      undo(mark);
    }
    return false;
  }

  // f(a, b) = f(b, a) holds if whatever else the op takes (alpha of a sum) has its default.
  bool may_exchange(const Node& node) const {
    if (!node.op->has(Trait::commutative) || node.arg_count < 2) return false;
    const auto& params = node.op->schema.params;
    if (params[0].type.kind != params[1].type.kind || params[0].writes) return false;
    for (size_t i = 2; i < node.arg_count; ++i)
      if (!params[i].is_out && !(node.args[i] == default_arg(graph_.context(), params[i]))) return false;
    return true;
  }

  bool bind_node(const Node& node, const NodePattern& pattern, const NodePattern::Choice* choice, bool exchanged) {
    for (uint16_t i = 0; i < node.result_count; ++i)
      if (pattern.results[i] != kNoSlot && !bind_value(pattern.results[i], node.result(i))) return false;
    if (!choice) {
      const OpDef*& bound = match_.bound.ops[pattern.op];
      if (bound && bound != node.op) return false;
      if (!bound) trail_.push_back({Bound::op, pattern.op});
      bound = node.op;
    }
    const auto& patterns = choice ? choice->args : pattern.positional;
    for (size_t i = 0; i < node.arg_count; ++i) {
      size_t from = exchanged && i < 2 ? 1 - i : i;
      if (i < patterns.size()) {
        if (!bind_arg(patterns[i], node.args[from], node, i)) return false;
      } else if (!pattern.rest && !(node.args[i] == default_of(node, i))) {
        return false;
      }
    }
    return pattern.rest_slot == kNoSlot || bind_rest(pattern, node, exchanged);
  }

  bool bind_rest(const NodePattern& pattern, const Node& node, bool exchanged) {
    SmallVec<Arg, 8> rest;
    for (size_t i = pattern.positional.size(); i < node.arg_count; ++i)
      rest.push_back(node.args[exchanged && i < 2 ? 1 - i : i]);
    return bind_attr(pattern.rest_slot, graph_.context().args(rest), nullptr, 0);
  }

  Arg default_of(const Node& node, size_t i) const {
    const Param& p = node.op->schema.params[i];
    if (!p.fallback && !p.type.optional) return Arg::of_seed(~uint64_t{0});  // nothing is its default
    return default_arg(graph_.context(), p);
  }

  bool bind_value(Slot slot, ValueId v) {
    ValueId& bound = match_.bound.values[slot];
    if (bound == kNone) {
      trail_.push_back({Bound::value, slot});
      bound = v;
    }
    return bound == v;
  }

  bool bind_attr(Slot slot, const Arg& a, const Node* node, size_t param) {
    if (!match_.bound.attr_bound[slot]) {
      trail_.push_back({Bound::attr, slot});
      match_.bound.attr_bound[slot] = true;
      match_.bound.attrs[slot] = a;
      return true;
    }
    return same(match_.bound.attrs[slot], a, node, param);
  }

  // Equality of an argument with what the rule says; dims count modulo the rank.
  bool same(const Arg& expected, const Arg& given, const Node* node, size_t param) const {
    if (same_argument(graph_, expected, given)) return true;
    if (!node || !is_dim_param(node->op->schema.params[param])) return false;
    auto rank = rank_for_dims(graph_, *node->op, node->arguments(), node->first_result);
    if (!rank) return false;
    return same_dims(expected, given, static_cast<int64_t>(*rank));
  }

  static bool same_dims(const Arg& a, const Arg& b, int64_t rank) {
    auto wrapped = [&](Dim d) { return d.is_constant() && d.constant() < 0 ? Dim(d.constant() + rank) : d; };
    if (a.kind == ArgKind::integer && b.kind == ArgKind::integer) return wrapped(a.dim()) == wrapped(b.dim());
    if (a.kind != ArgKind::int_list || b.kind != ArgKind::int_list || a.count != b.count) return false;
    for (uint32_t i = 0; i < a.count; ++i)
      if (!(wrapped(a.dims[i]) == wrapped(b.dims[i]))) return false;
    return true;
  }

  bool bind_arg(const ArgPattern& p, const Arg& a, const Node& node, size_t param) {
    switch (p.kind) {
      case ArgPattern::any: return true;
      case ArgPattern::value: return a.is_value() && bind_value(p.slot, a.value());
      case ArgPattern::attr: return bind_attr(p.slot, a, &node, param);
      case ArgPattern::literal: return same(p.number, a, &node, param);
      case ArgPattern::list: return bind_list(p, a, node, param);
    }
    return false;
  }

  bool bind_list(const ArgPattern& p, const Arg& a, const Node& node, size_t param) {
    auto each = [&](size_t i) -> std::optional<Arg> {
      switch (a.kind) {
        case ArgKind::value_list: return a.values[i] == kNone ? Arg::none() : Arg::of_value(a.values[i]);
        case ArgKind::int_list: return Arg::of_dim(a.dims[i]);
        case ArgKind::real_list: return Arg::of_real(a.reals[i]);
        case ArgKind::bool_list: return Arg::of_bool(a.bools[i]);
        case ArgKind::arg_list: return a.args[i];
        default: return std::nullopt;
      }
    };
    bool list = a.kind >= ArgKind::value_list && a.kind <= ArgKind::arg_list;
    if (!list || a.count != p.items.size()) return false;
    for (size_t i = 0; i < p.items.size(); ++i) {
      auto element = each(i);
      if (!element || !bind_arg(p.items[i], *element, node, param)) return false;
    }
    return true;
  }

  bool bind_type(const TypePattern& p) {
    const Type& t = graph_.type(match_.bound.values[p.value]);
    if (!t.is_tensor() || (!p.dtypes.empty() && !p.dtypes.has(t.dtype))) return false;
    if (!p.has_shape) return true;
    auto rest = std::ranges::find(p.dims, DimPattern::rest, &DimPattern::kind);
    size_t fixed = p.dims.size() - (rest != p.dims.end() ? 1 : 0);
    if (rest == p.dims.end() ? t.rank() != fixed : t.rank() < fixed) return false;
    auto before = static_cast<size_t>(rest - p.dims.begin());
    for (size_t i = 0; i < p.dims.size(); ++i) {
      if (i == before) continue;
      Dim size = t.sizes()[i < before ? i : t.rank() - (p.dims.size() - i)];
      const DimPattern& d = p.dims[i];
      if (d.kind == DimPattern::constant && !same_argument(graph_, Arg::of_int(d.number), Arg::of_dim(size)))
        return false;
      if (d.kind == DimPattern::attr && !bind_attr(d.slot, Arg::of_dim(size), nullptr, 0)) return false;
    }
    return true;
  }

  bool conditions(size_t index) {
    size_t begin = index ? rule_.plan[index - 1].conditions_end : 0;
    for (size_t i = begin; i < rule_.plan[index].conditions_end; ++i) {
      const Condition& c = rule_.conditions[i];
      if (c.kind == Condition::type) {
        if (!bind_type(c.type_of)) return false;
        continue;
      }
      auto result = evaluate(graph_, rules_, c.expr, match_.bound);
      if (!result) return false;
      if (c.kind == Condition::let) {
        if (!bind_attr(c.let_slot, *result, nullptr, 0)) return false;
      } else if (result->kind != ArgKind::boolean || !result->boolean()) {
        return false;
      }
    }
    return true;
  }

  bool free_of_outside_users() const {
    for (size_t i = 0; i < rule_.nodes.size(); ++i) {
      const Node& node = graph_.node(match_.nodes[i]);
      for (uint16_t r = 0; r < node.result_count; ++r) {
        Slot slot = rule_.nodes[i].results[r];
        auto listed = [&](const std::vector<Slot>& slots) { return std::ranges::find(slots, slot) != slots.end(); };
        if (slot != kNoSlot && (listed(rule_.shared) || listed(rule_.replaced))) continue;
        for (NodeId user : graph_.value(node.result(r)).users)
          if (std::ranges::find(match_.nodes, user) == match_.nodes.end()) return false;
      }
    }
    return true;
  }

  void undo(size_t mark) {
    while (trail_.size() > mark) {
      Bound b = trail_.back();
      trail_.pop_back();
      if (b.kind == Bound::value) match_.bound.values[b.slot] = kNone;
      if (b.kind == Bound::attr) match_.bound.attr_bound[b.slot] = false;
      if (b.kind == Bound::op) match_.bound.ops[b.slot] = nullptr;
    }
  }

  const Graph& graph_;
  const RuleSet& rules_;
  const Rule& rule_;
  Match match_;
  std::vector<Bound> trail_;
  int steps_ = 0;
};

}  // namespace

std::optional<Match> match(const Graph& graph, const RuleSet& rules, const Rule& rule, NodeId root) {
  const NodePattern& pattern = rule.nodes[rule.plan[0].node];
  const Node& node = graph.node(root);
  if (node.result_count != pattern.results.size()) return std::nullopt;  // before any memory is set up
  if (pattern.op != kNoSlot && (node.op->traits.bits & rule.root_traits.bits) != rule.root_traits.bits)
    return std::nullopt;
  Matcher matcher(graph, rules, rule);
  if (!matcher.run(root)) return std::nullopt;
  return matcher.take();
}

}  // namespace lenz
