#include "compiler/graph/rewrite.h"

#include <algorithm>
#include <deque>
#include <unordered_map>
#include <unordered_set>

#include "compiler/base/hash.h"
#include "compiler/graph/lazy_views.h"

namespace lenz {

std::string_view name(Refusal refusal) {
  constexpr std::string_view names[kRefusals] = {"none",    "type",  "aliasing",  "written",
                                                 "effects", "order", "inference", "denied"};
  return names[static_cast<size_t>(refusal)];
}

namespace {
// Whether anybody tells a lazily conjugated, or negated, tensor from one whose memory holds what it shows: views of it,
// bodies that may make some, and the caller.
bool laziness_is_seen(const Graph& graph, ValueId v) {
  return std::ranges::any_of(graph.value(v).users, [&](NodeId user) {
    if (user == kOutputs) return true;
    const OpDef& op = *graph.node(user).op;
    return op.has(Trait::view) || op.has(Trait::maybe_view) || op.has(Trait::structural);
  });
}
bool reads_otherwise(const Graph& graph, ValueId from, ValueId to) {
  return graph.storage(from) != graph.storage(to) && laziness_is_seen(graph, from) &&
         laziness(graph, from) != laziness(graph, to);
}
}  // namespace

Refusal may_replace(const Graph& graph, AliasClasses& aliases, ValueId from, ValueId to) {
  if (&graph.type(from) != &graph.type(to)) return Refusal::type;
  if (reads_otherwise(graph, from, to)) return Refusal::type;
  if (aliases.shared(from, to)) return Refusal::none;
  if (aliases.is_written(from) || aliases.is_written(to)) return Refusal::written;
  return aliases.may_merge(from, to) ? Refusal::none : Refusal::aliasing;
}

void replace_value(Graph& graph, AliasClasses& aliases, ValueId from, ValueId to) {
  aliases.merge(from, to);
  graph.replace_uses(from, to);
  NameId old = graph.value(from).name;
  if (old != kNone && graph.value(to).name == kNone && graph.value(to).producer != kNone) {
    graph.set_name(to, old);
    graph.set_name(from, kNone);
  }
}

uint32_t provenance(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  SmallVec<NameId, 4> names;
  for (uint16_t i = 0; i < node.result_count; ++i)
    if (NameId n = graph.value(node.result(i)).name; n != kNone) names.push_back(n);
  return graph.context().merge_origins(node.origin, graph.context().origin(names));
}

namespace {

// Places in the list of nodes as numbers with gaps, for "stands before".
class Order {
 public:
  explicit Order(const Graph& graph) : graph_(graph) { number(); }
  bool before(NodeId a, NodeId b) { return at(a) < at(b); }

 private:
  static constexpr uint64_t kGap = uint64_t{1} << 24;

  uint64_t at(NodeId id) {
    if (id >= place_.size() || place_[id] == 0) place(id);
    return place_[id];
  }
  // Nodes that were inserted since share the gap between their old neighbours.
  void place(NodeId id) {
    place_.resize(graph_.node_capacity(), 0);
    NodeId begin = id, end = graph_.node(id).next;
    for (NodeId p = graph_.previous(id); p != kNone && place_[p] == 0; p = graph_.previous(p)) begin = p;
    uint64_t count = 1;
    while (end != kNone && place_[end] == 0) end = graph_.node(end).next;
    for (NodeId n = begin; n != end; n = graph_.node(n).next) ++count;
    NodeId prev = graph_.previous(begin);
    uint64_t low = prev == kNone ? 0 : place_[prev];
    uint64_t step = end == kNone ? kGap : (place_[end] - low) / count;
    if (step == 0) return number();
    for (NodeId n = begin; n != end; n = graph_.node(n).next) place_[n] = low += step;
  }
  void number() {
    place_.assign(graph_.node_capacity(), 0);
    uint64_t next = 0;
    graph_.for_each_node([&](NodeId id) { place_[id] = next += kGap; });
  }

  const Graph& graph_;
  std::vector<uint64_t> place_;
};

class Rewriter {
 public:
  Rewriter(Graph& graph, const RuleSet& rules, const RewriteOptions& options)
      : graph_(graph), rules_(rules), options_(options), aliases_(graph), order_(graph) {
    report_.rules.resize(rules.rules().size());
    shrinks_ = std::ranges::all_of(rules.rules(), &Rule::shrinks);
    budget_ = options.budget ? options.budget : 8 * graph.node_count() + 1000;
  }

  RewriteReport run() {
    do {  // a rewrite can enable one far away, by taking a use: so until a look at every node changes nothing
      changed_ = false;
      graph_.for_each_node([&](NodeId id) { push(id); });
      while (!queue_.empty() && report_.stop == RewriteReport::fixpoint) {
        NodeId id = queue_.front();
        queue_.pop_front();
        queued_[id] = false;
        if (!graph_.node(id).erased) visit(id);
      }
    } while (changed_ && report_.stop == RewriteReport::fixpoint);
    return std::move(report_);
  }

  // What `allow` says of it, if it is asked at all.
  void ask(const Rule& rule, NodeId root) {
    if (auto found = match(graph_, rules_, rule, root)) try_apply(rule, *found);
  }

 private:
  static constexpr size_t kUsersPushed = 64;
  static constexpr int kUserDepth = 4;

  void push(NodeId id) {
    if (queued_.size() <= id) queued_.resize(graph_.node_capacity(), false);
    if (queued_[id]) return;
    queued_[id] = true;
    queue_.push_back(id);
  }

  // The users of a new value, and theirs: roots of matches that it may complete.
  void push_users(ValueId value) {
    SmallVec<ValueId, 16> around{value};
    size_t begin = 0, pushed = 0;
    for (int depth = 0; depth < kUserDepth; ++depth) {
      size_t end = around.size();
      for (; begin < end; ++begin)
        for (NodeId user : graph_.value(around[begin]).users) {
          if (user == kOutputs) continue;
          if (++pushed > kUsersPushed) return;  // the next look at every node finds the rest
          push(user);
          const Node& node = graph_.node(user);
          for (uint16_t i = 0; i < node.result_count; ++i) around.push_back(node.result(i));
        }
    }
  }

  void visit(NodeId id) {
    for (uint32_t index : rules_.rooted_at(*graph_.node(id).op)) {
      const Rule& rule = rules_.rules()[index];
      auto found = match(graph_, rules_, rule, id);
      if (!found) continue;
      uint64_t before = shrinks_ ? 0 : term(graph_.node(id).result(), kTermDepth);
      Refusal refusal = try_apply(rule, *found);
      if (refusal != Refusal::none) {
        ++report_.rules[index].refused[static_cast<size_t>(refusal)];
        continue;
      }
      ++report_.rules[index].applied;
      ++report_.applied;
      changed_ = true;
      if (!shrinks_) watch(id, index, before, *found);
      if (!shrinks_ && report_.stop == RewriteReport::fixpoint && report_.applied >= budget_) {
        report_.stop = RewriteReport::budget;
        report_.why = "stopped after " + std::to_string(report_.applied) + " rewrites, the last by " + rule.name;
      }
      if (graph_.node(id).erased || report_.stop != RewriteReport::fixpoint) return;
    }
  }

  // --- one rewrite
  Refusal try_apply(const Rule& rule, Match& m) {
    NodeId last = m.nodes[0];
    for (NodeId n : m.nodes)
      if (n != last && order_.before(last, n)) last = n;
    if (Refusal r = reads_may_move(m, last); r != Refusal::none) return r;
    for (Slot slot : rule.replaced) {
      const Value& old = graph_.value(m.bound.values[slot]);
      if (old.producer == last) continue;  // its users come later
      for (NodeId user : old.users)
        if (user != kOutputs && !order_.before(last, user) && std::ranges::find(m.nodes, user) == m.nodes.end())
          return Refusal::order;
    }

    auto saved = graph_.context().syms.node_count() ? std::optional(graph_.assumptions) : std::nullopt;
    auto first_new = static_cast<ValueId>(graph_.value_count());
    std::vector<NodeId> fresh;
    Refusal refusal = build(rule, m, graph_.node(last).next, fresh);
    if (saved && saved->relied().size() != graph_.assumptions.relied().size()) refusal = Refusal::inference;
    if (refusal == Refusal::none) refusal = results_fit(rule, m, first_new);
    if (refusal == Refusal::none && !allowed(rule, m, last)) refusal = Refusal::denied;
    if (refusal != Refusal::none) {
      for (size_t i = fresh.size(); i-- > 0;) graph_.erase(fresh[i]);
      if (saved) graph_.assumptions = std::move(*saved);
      return refusal;
    }
    commit(rule, m, fresh);
    return Refusal::none;
  }

  // Asks once about one place: who counts the questions wants them to be different ones.
  bool allowed(const Rule& rule, const Match& m, NodeId at) {
    if (!options_.allow) return true;
    uint64_t key = combine(reinterpret_cast<uintptr_t>(&rule), at);  // compared in this run only
    if (denied_.contains(key)) return false;
    if (options_.allow(rule, m)) return true;
    denied_.insert(key);
    return false;
  }

  // The replacement reads at the last node's place what the match read at several: nothing may write in between. Nobody
  // writes to what the inner nodes read or give, then; and none of them does more than compute.
  Refusal reads_may_move(const Match& m, NodeId last) {
    for (NodeId n : m.nodes) {
      const Node& node = graph_.node(n);
      if (effects(graph_, node).any()) return Refusal::effects;
      if (!aliases_.any_writes() || n == last) continue;
      bool written = false;
      for (const Arg& a : node.arguments()) for_each_value(a, [&](ValueId v) { written |= aliases_.is_written(v); });
      for (uint16_t i = 0; i < node.result_count; ++i) written |= aliases_.is_written(node.result(i));
      if (written) return Refusal::written;
    }
    return Refusal::none;
  }

  Refusal build(const Rule& rule, Match& m, NodeId before, std::vector<NodeId>& fresh) {
    uint32_t origin = 0;
    for (NodeId n : m.nodes) origin = graph_.context().merge_origins(origin, provenance(graph_, n));
    for (const NewNode& pattern : rule.fresh) {
      SmallVec<Arg, 8> positional;
      std::vector<Keyword> keywords;
      const Node* copied_from = nullptr;  // by `...`, in the name of a matched call
      for (const Expr& e : pattern.positional) {
        if (e.kind == Expr::rest) {
          if (pattern.op == kNoSlot)
            copied_from = matched_call(rule, m, pattern.op_name);
          else if (!append_rest(rule, m, pattern.op, positional))
            return Refusal::inference;
          if (pattern.op == kNoSlot && !copied_from) return Refusal::inference;
          continue;
        }
        auto a = evaluate(graph_, rules_, e, m.bound);
        if (!a) return Refusal::inference;
        positional.push_back(copied(*a));
      }
      for (const auto& [key, e] : pattern.keywords) {
        auto a = evaluate(graph_, rules_, e, m.bound);
        if (!a) return Refusal::inference;
        keywords.push_back({key, copied(*a)});
      }
      try {
        const OpDef* op = pattern.op == kNoSlot ? nullptr : m.bound.ops[pattern.op];
        SmallVec<Arg, 8> args = positional;
        if (copied_from) {
          op = copied_from->op;
          if (!replaced_arguments(*copied_from, keywords, args)) return Refusal::inference;
        } else if (!op) {
          Resolved call = resolve(graph_, pattern.op_name, positional, keywords);
          op = call.op;
          args = call.args;
        }
        fresh.push_back(graph_.insert(before, *op, args, origin));
      } catch (const InternalError&) {
        throw;
      } catch (const Error&) {
        return Refusal::inference;
      }
      const Node& node = graph_.node(fresh.back());
      if (node.result_count != pattern.results.size()) return Refusal::inference;
      for (uint16_t i = 0; i < node.result_count; ++i)
        if (pattern.results[i] != kNoSlot) m.bound.values[pattern.results[i]] = node.result(i);
    }
    return Refusal::none;
  }

  const Node* matched_call(const Rule& rule, const Match& m, std::string_view name) const {
    for (size_t i = 0; i < rule.nodes.size(); ++i) {
      const Node& node = graph_.node(m.nodes[i]);
      const Schema& schema = node.op->schema;
      if (rule.nodes[i].op != kNoSlot) continue;
      if (node.op->full_name == name || schema.space + "." + schema.packet == name) return &node;
    }
    return nullptr;
  }

  // The arguments of a matched call, but for its leading ones, which `args` has, and those that keywords give.
  static bool replaced_arguments(const Node& call, std::span<const Keyword> keywords, SmallVec<Arg, 8>& args) {
    std::span<const Arg> all = call.arguments();
    for (size_t k = args.size(); k < all.size(); ++k) args.push_back(all[k]);
    for (const Keyword& keyword : keywords) {
      int at = call.op->schema.find(keyword.name);
      if (at < 0) return false;
      args[static_cast<size_t>(at)] = keyword.arg;
    }
    return true;
  }

  // `...`: the arguments of the matched call of this op that the replacement does not give itself.
  bool append_rest(const Rule& rule, const Match& m, Slot op, SmallVec<Arg, 8>& args) {
    for (size_t i = 0; i < rule.nodes.size(); ++i) {
      if (rule.nodes[i].op != op) continue;
      SmallVec<Arg, 8> all(graph_.node(m.nodes[i]).arguments());
      if (m.exchanged[i]) std::swap(all[0], all[1]);
      for (size_t k = args.size(); k < all.size(); ++k) args.push_back(all[k]);
      return true;
    }
    return false;
  }

  // Lists and strings of a rule live in the rule set; a graph's live in its own context.
  Arg copied(const Arg& a) {
    Context& c = graph_.context();
    switch (a.kind) {
      case ArgKind::string: return c.string(a.string());
      case ArgKind::int_list: return c.dims(a.dim_list());
      case ArgKind::real_list: return c.reals(a.real_list());
      case ArgKind::bool_list: return c.bools(a.bool_list());
      case ArgKind::arg_list: return c.args(a.arg_list());
      default: return a;
    }
  }

  // Whether nobody but the match, and those who get the replacement, knows a storage.
  bool dies_with_match(const Rule& rule, const Match& m, ValueId storage) {
    auto matched = [&](NodeId n) { return n != kOutputs && std::ranges::find(m.nodes, n) != m.nodes.end(); };
    auto replaced = [&](ValueId v) {
      return std::ranges::any_of(rule.replaced, [&](Slot s) { return m.bound.values[s] == v; });
    };
    if (!matched(graph_.value(storage).producer)) return false;
    for (NodeId n : m.nodes)
      for (uint16_t i = 0; i < graph_.node(n).result_count; ++i) {
        ValueId v = graph_.node(n).result(i);
        if (graph_.storage(v) == storage && !replaced(v) && !std::ranges::all_of(graph_.value(v).users, matched))
          return false;
      }
    return true;
  }

  // Types must be the same. Storage that is new stands for the old storage; storage that others know may take its place
  // only where nobody can tell.
  Refusal results_fit(const Rule& rule, const Match& m, ValueId first_new) {
    std::unordered_map<ValueId, ValueId> stands_for;  // new storage: the old class
    for (size_t i = 0; i < rule.replaced.size(); ++i) {
      ValueId from = m.bound.values[rule.replaced[i]], to = m.bound.values[rule.with[i]];
      if (&graph_.type(from) != &graph_.type(to)) return Refusal::type;
      ValueId storage = graph_.storage(to);
      bool owned_by_match = dies_with_match(rule, m, graph_.storage(from));
      if (storage < first_new) {
        if (Refusal r = may_replace(graph_, aliases_, from, to); r != Refusal::none) return r;
        if (!aliases_.shared(from, to) && !owned_by_match && !aliases_.may_leave(from)) return Refusal::aliasing;
        continue;
      }
      if (reads_otherwise(graph_, from, to)) return Refusal::type;
      if (!owned_by_match && !aliases_.may_leave(from)) return Refusal::aliasing;
      auto [at, first] = stands_for.emplace(storage, from);
      if (!first && !aliases_.may_merge(at->second, from)) return Refusal::aliasing;
      for (const auto& [other, old] : stands_for)  // what was shared stays shared
        if (other != storage && aliases_.shared(old, from) && !aliases_.may_leave(from)) return Refusal::aliasing;
    }
    return Refusal::none;
  }

  void commit(const Rule& rule, const Match& m, const std::vector<NodeId>& fresh) {
    for (size_t i = 0; i < rule.replaced.size(); ++i)
      replace_value(graph_, aliases_, m.bound.values[rule.replaced[i]], m.bound.values[rule.with[i]]);
    for (bool again = true; again;) {
      again = false;
      for (NodeId n : m.nodes) {
        const Node& node = graph_.node(n);
        bool dead = !node.erased;
        for (uint16_t r = 0; r < node.result_count && dead; ++r) dead = graph_.value(node.result(r)).users.empty();
        if (!dead) continue;
        graph_.erase(n);
        again = true;
      }
    }
    for (NodeId n : fresh) push(n);
    for (Slot s : rule.with) push_users(m.bound.values[s]);
  }

  // --- going round in circles
  static constexpr int kTermDepth = 6;

  // A term as a hash: ops and arguments down to a depth, values below by their id.
  uint64_t term(ValueId v, int depth) {
    NodeId producer = graph_.value(v).producer;
    if (depth == 0 || producer == kNone) return mix(v);
    const Node& node = graph_.node(producer);
    uint64_t h = combine(reinterpret_cast<uintptr_t>(node.op), graph_.value(v).index);  // compared in this run only
    for (const Arg& a : node.arguments()) {
      bool values = false;
      for_each_value(a, [&](ValueId operand) {
        values = true;
        h = combine(h, term(operand, depth - 1));
      });
      if (!values) h = combine(h, hash_arg(a));
    }
    return h;
  }

  // A rewritten term and what it becomes have one history. A term that comes back twice will do so for ever.
  void watch(NodeId root, uint32_t rule, uint64_t before, const Match& m) {
    const Rule& r = rules_.rules()[rule];
    lineage_.resize(graph_.node_capacity(), 0);
    uint32_t line = lineage_[root];
    if (line == 0) {
      histories_.push_back({{before, rule}});
      line = static_cast<uint32_t>(histories_.size());
    }
    ValueId now = m.bound.values[r.with[0]];
    NodeId producer = graph_.value(now).producer;
    if (producer == kNone) return;
    lineage_[producer] = line;
    auto& history = histories_[line - 1];
    uint64_t after = term(now, kTermDepth);
    auto seen = std::ranges::count(history, after, &Step::term);
    history.push_back({after, rule});
    if (seen < 2) return;
    report_.stop = RewriteReport::cycle;
    report_.why = "rules undo each other at " + graph_.value_name(now) + ":";
    size_t from = history.size() - 1;
    do --from;
    while (history[from].term != after);
    for (size_t i = from + 1; i < history.size(); ++i)
      report_.why += (i > from + 1 ? " -> " : " ") + rules_.rules()[history[i].rule].name;
  }

  struct Step {
    uint64_t term;
    uint32_t rule;
  };

  Graph& graph_;
  const RuleSet& rules_;
  const RewriteOptions& options_;
  AliasClasses aliases_;
  Order order_;
  RewriteReport report_;
  std::deque<NodeId> queue_;
  std::vector<bool> queued_;
  bool changed_ = false, shrinks_ = false;
  size_t budget_ = 0;
  std::vector<uint32_t> lineage_;
  std::vector<std::vector<Step>> histories_;
  std::unordered_set<uint64_t> denied_;
};

}  // namespace

RewriteReport rewrite(Graph& graph, const RuleSet& rules, const RewriteOptions& options) {
  return Rewriter(graph, rules, options).run();
}

bool would_rewrite(Graph& graph, const RuleSet& rules, const Rule& rule, NodeId root) {
  bool asked = false;
  const RewriteOptions options{.allow = [&](const Rule&, const Match&) {
    asked = true;
    return false;
  }};
  Rewriter(graph, rules, options).ask(rule, root);
  return asked;
}

}  // namespace lenz
