#include "compiler/passes/joint/attention_steps.h"

#include <algorithm>

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

std::optional<AttentionRole> role_of(const Rule& rule) {
  constexpr std::pair<std::string_view, AttentionRole> roles[] = {
      {"cast", AttentionRole::cast},     {"reshape", AttentionRole::reshape}, {"scale", AttentionRole::scale},
      {"factor", AttentionRole::factor}, {"divisor", AttentionRole::divisor}, {"bias", AttentionRole::bias},
      {"seen", AttentionRole::seen},     {"hidden", AttentionRole::hidden}};
  for (const auto& [name, role] : roles)
    if (std::string_view(rule.name).substr(0, rule.name.find('/')) == name) return role;
  return std::nullopt;
}

class Finder {
 public:
  Finder(const Graph& graph, AliasClasses& aliases) : graph_(graph), aliases_(aliases) {}

  std::optional<AttentionSteps> from(NodeId product) {
    auto last = first_match(attention_patterns().products, product);
    if (!last || number(*last, 1) != 1 || !clean(*last)) return std::nullopt;
    steps_.value = bound(*last, "y");
    steps_.nodes = {product};
    ValueId weights = bound(*last, "x");
    if (!weighs(weights, product)) return std::nullopt;
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

  // The last number that a rule binds or computes.
  static double number(const Match& m, double otherwise) {
    for (size_t i = m.bound.attrs.size(); i-- > 0;)
      if (auto n = number_of(m.bound.attrs[i])) return *n;
    return otherwise;
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
  bool weighs(ValueId v, NodeId user) {
    SmallVec<NodeId, 6> users{user};
    for (size_t i = 0; i < kMaxSteps; ++i) {
      NodeId id = graph_.value(v).producer;
      if (id == kNone || !used_only_by(v, users)) return false;
      if (auto m = first_match(attention_patterns().softmax, id)) {
        if (!clean(*m)) return false;
        add_nodes(*m);
        return scores(bound(*m, "x"), m->nodes);
      }
      auto m = first_match(attention_patterns().weights, id);
      if (!m || !clean(*m)) return false;
      if (role_of(*m->rule) == AttentionRole::reshape)
        steps_.on_weights.push_back({AttentionRole::reshape, bound(*m, "x"), v});
      add_nodes(*m);
      users = SmallVec<NodeId, 6>(std::span<const NodeId>(m->nodes));
      v = bound(*m, "x");
    }
    return false;
  }

  // The node that the graph has last comes first; of several, the rule's last node is the last of the graph.
  void add_nodes(const Match& m) { steps_.nodes.insert(steps_.nodes.end(), m.nodes.rbegin(), m.nodes.rend()); }

  // From the softmax's operand to the first product; sums are looked at from both sides.
  bool scores(ValueId v, const std::vector<NodeId>& users) {
    NodeId id = graph_.value(v).producer;
    if (id == kNone || steps_.on_scores.size() > kMaxSteps || ++tried_ > kMaxTried || !used_only_by(v, users))
      return false;
    if (auto m = first_match(attention_patterns().products, id)) {
      if (!clean(*m)) return false;
      steps_.query = bound(*m, "x");
      steps_.transposed_key = bound(*m, "y");
      steps_.scores = v;
      steps_.scale = number(*m, 1);
      add_nodes(*m);
      return true;
    }
    const RuleSet& rules = attention_patterns().scores;
    for (uint32_t index : rules.rooted_at(*graph_.node(id).op)) {
      auto m = match(graph_, rules, rules.rules()[index], id);
      if (!m || !clean(*m)) continue;
      AttentionStep step{*role_of(*m->rule), bound(*m, "x"), v, bound(*m, "m"), bound(*m, "t"), number(*m, 0)};
      if (tried(*m, step)) return true;
      if (step.role != AttentionRole::bias) continue;
      std::swap(step.operand, step.other);
      if (tried(*m, step)) return true;
    }
    return false;
  }

  bool tried(const Match& m, const AttentionStep& step) {
    size_t nodes = steps_.nodes.size();
    steps_.on_scores.push_back(step);
    add_nodes(m);
    if (scores(step.operand, m.nodes)) return true;
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
  if (attention_patterns().products.rooted_at(*graph.node(product).op).empty()) return std::nullopt;
  return Finder(graph, aliases).from(product);
}

}  // namespace lenz
