#include "compiler/passes/joint/attention_steps.h"

#include <algorithm>

#include "compiler/base/held_values.h"
#include "compiler/graph/match.h"

namespace lenz {

namespace {

constexpr size_t kMaxSteps = 24;   // between two products
constexpr size_t kMaxTried = 200;  // sums have two sides to look at

ValueId bound(const Match& m, std::string_view name) {
  const auto& names = m.rule->value_names;
  auto at = std::ranges::find(names, name);
  return at == names.end() ? kNone : m.bound.values[static_cast<size_t>(at - names.begin())];
}

// What a rule binds or computes under this name.
Arg argument(const Match& m, std::string_view name) {
  const auto& names = m.rule->attr_names;
  auto at = std::ranges::find(names, name);
  return at == names.end() ? Arg::none() : m.bound.attrs[static_cast<size_t>(at - names.begin())];
}
double number(const Match& m, std::string_view name, double otherwise) {
  return number_of(argument(m, name)).value_or(otherwise);
}

// The other operand of a step.
ValueId other(const Match& m) {
  Arg open = argument(m, "n");
  return open.is_value() ? open.value() : bound(m, "t");
}

std::optional<AttentionRole> role_of(const Rule& rule) {
  constexpr std::pair<std::string_view, AttentionRole> roles[] = {
      {"cast", AttentionRole::cast},   {"reshape", AttentionRole::reshape}, {"turn", AttentionRole::turn},
      {"scale", AttentionRole::scale}, {"factor", AttentionRole::factor},   {"divisor", AttentionRole::divisor},
      {"bias", AttentionRole::bias},   {"seen", AttentionRole::seen},       {"hidden", AttentionRole::hidden}};
  for (const auto& [name, role] : roles)
    if (std::string_view(rule.name).substr(0, rule.name.find('/')) == name) return role;
  return std::nullopt;
}

class Finder {
 public:
  Finder(const Graph& graph, AliasClasses& aliases) : graph_(graph), aliases_(aliases) {}

  std::optional<AttentionSteps> from(NodeId root) {
    if (!divided_late(root) && !product(root, false) && !product(root, true)) return std::nullopt;
    if (hangs_on_itself()) return std::nullopt;
    std::ranges::reverse(steps_.on_scores);
    std::ranges::reverse(steps_.on_weights);
    return std::move(steps_);
  }

 private:
  std::optional<Match> first_match(const RuleSet& rules, NodeId id) {
    for (uint32_t index : rules.rooted_at(*graph_.node(id).op))
      if (auto m = match(graph_, rules, rules.rules()[index], id)) return m;
    return std::nullopt;
  }

  // Whether the steps take from outside what they make themselves: weights that are the values too, scores that are
  // their own mask.
  bool hangs_on_itself() const {
    auto inside = [&](ValueId v) {
      const NodeId made_by = v == kNone ? kNone : graph_.value(v).producer;
      return made_by != kNone && std::ranges::find(steps_.nodes, made_by) != steps_.nodes.end();
    };
    return inside(steps_.left) || inside(steps_.right) || inside(steps_.value) ||
           std::ranges::any_of(steps_.on_scores,
                               [&](const AttentionStep& s) { return inside(s.mask) || inside(s.other); });
  }

  void start(ValueId value, bool turned) {
    steps_ = AttentionSteps();
    steps_.value = value;
    steps_.turned = turned;
  }

  // The second product, of weights and values, or the other way round.
  bool product(NodeId root, bool turned) {
    auto last = first_match(attention_patterns().products, root);
    if (!last || number(*last, "f", 1) != 1 || bound(*last, "t") != kNone || !clean(*last)) return false;
    start(bound(*last, turned ? "x" : "y"), turned);
    steps_.nodes = {root};
    return weighs(bound(*last, turned ? "y" : "x"), root, turned);
  }

  bool divided_late(NodeId root) {
    auto last = first_match(attention_patterns().late, root);
    if (!last || !clean(*last)) return false;
    ValueId weights = bound(*last, "x");
    NodeId id = graph_.value(weights).producer;
    if (id == kNone || !used_only_by(weights, last->nodes)) return false;
    auto m = first_match(attention_patterns().exponentials, id);
    if (!m || !clean(*m) || number(*m, "back", 0) != 1) return false;
    start(bound(*last, "y"), false);
    steps_.weights = weights;
    steps_.late = true;
    add_nodes(*last);
    add_nodes(*m);
    return scores(bound(*m, "x"), m->nodes, false);
  }

  // Nothing but values: no effects, no memory that is written to.
  bool clean(const Match& m) {
    return std::ranges::all_of(m.nodes, [&](NodeId id) {
      const Node& node = graph_.node(id);
      bool written = aliases_.any_writes() && aliases_.is_written(node.result());
      for (const Arg& a : node.arguments())
        for_each_value(a, [&](ValueId v) { written |= aliases_.any_writes() && aliases_.is_written(v); });
      return !written && !effects(graph_, node).any();
    });
  }

  bool used_only_by(ValueId v, std::span<const NodeId> nodes) const {
    return std::ranges::all_of(graph_.value(v).users,
                               [&](NodeId user) { return std::ranges::find(nodes, user) != nodes.end(); });
  }

  // From the operand of the last product to the softmax, and on from there.
  bool weighs(ValueId v, NodeId user, bool turned) {
    SmallVec<NodeId, 6> users{user};
    for (size_t i = 0; i < kMaxSteps; ++i) {
      NodeId id = graph_.value(v).producer;
      if (id == kNone || !used_only_by(v, users)) return false;
      if (auto m = first_match(attention_patterns().softmax, id)) {
        if (!clean(*m) || number(*m, "back", 0) != (turned ? 2 : 1)) return false;
        add_nodes(*m);
        steps_.weights = v;
        return scores(bound(*m, "x"), m->nodes, turned);
      }
      auto m = first_match(attention_patterns().weights, id);
      if (!m || !clean(*m)) return false;
      auto role = role_of(*m->rule);
      if (role == AttentionRole::reshape) steps_.on_weights.push_back({AttentionRole::reshape, bound(*m, "x"), v});
      if (role == AttentionRole::turn) turned = !turned;
      // Rounded to the values' dtype they may be, but to none that lacks some of its digits or of its range.
      if (role == AttentionRole::cast && !holds_values(graph_.type(v).dtype, graph_.type(steps_.value).dtype))
        return false;
      add_nodes(*m);
      users = SmallVec<NodeId, 6>(std::span<const NodeId>(m->nodes));
      v = bound(*m, "x");
    }
    return false;
  }

  // The node that the graph has last comes first; of several, the rule's last node is the last of the graph.
  void add_nodes(const Match& m) { steps_.nodes.insert(steps_.nodes.end(), m.nodes.rbegin(), m.nodes.rend()); }

  // From the softmax's operand to the first product; sums are looked at from both sides.
  bool scores(ValueId v, const std::vector<NodeId>& users, bool turned) {
    NodeId id = graph_.value(v).producer;
    if (id == kNone || steps_.on_scores.size() > kMaxSteps || ++tried_ > kMaxTried || !used_only_by(v, users))
      return false;
    if (auto m = first_match(attention_patterns().products, id)) {
      if (!clean(*m)) return false;
      steps_.left = bound(*m, "x");
      steps_.right = bound(*m, "y");
      steps_.scores = v;
      steps_.scores_turned = turned;
      steps_.scale = number(*m, "f", 1);
      if (ValueId added = bound(*m, "t"); added != kNone)
        steps_.on_scores.push_back({AttentionRole::bias, v, v, kNone, added, number(*m, "b", 1), turned});
      add_nodes(*m);
      return true;
    }
    const RuleSet& rules = attention_patterns().scores;
    for (uint32_t index : rules.rooted_at(*graph_.node(id).op)) {
      auto m = match(graph_, rules, rules.rules()[index], id);
      if (!m || !clean(*m)) continue;
      AttentionRole role = *role_of(*m->rule);
      std::string_view name = role == AttentionRole::bias                                    ? "b"
                              : role == AttentionRole::seen || role == AttentionRole::hidden ? "h"
                                                                                             : "f";
      AttentionStep step{role, bound(*m, "x"), v, bound(*m, "m"), other(*m), number(*m, name, 0), turned};
      if (tried(*m, step)) return true;
      if (role != AttentionRole::bias || step.number != 1) continue;
      std::swap(step.operand, step.other);
      if (tried(*m, step)) return true;
    }
    return false;
  }

  bool tried(const Match& m, const AttentionStep& step) {
    size_t nodes = steps_.nodes.size();
    steps_.on_scores.push_back(step);
    add_nodes(m);
    if (scores(step.operand, m.nodes, step.turned != (step.role == AttentionRole::turn))) return true;
    steps_.nodes.resize(nodes);
    steps_.on_scores.pop_back();
    return false;
  }

  const Graph& graph_;
  AliasClasses& aliases_;
  AttentionSteps steps_;
  size_t tried_ = 0;
};

}  // namespace

std::optional<AttentionSteps> AttentionSteps::find(const Graph& graph, AliasClasses& aliases, NodeId product) {
  const AttentionPatterns& patterns = attention_patterns();
  const OpDef& op = *graph.node(product).op;
  if (patterns.products.rooted_at(op).empty() && patterns.late.rooted_at(op).empty()) return std::nullopt;
  return Finder(graph, aliases).from(product);
}

}  // namespace lenz
