#include "fuzz/idioms.h"

#include <algorithm>
#include <utility>

#include "compiler/driver/pipeline.h"
#include "compiler/graph/alias.h"
#include "compiler/graph/match.h"
#include "compiler/graph/pattern_functions.h"
#include "compiler/ops/op_table.h"
#include "compiler/passes/joint/attention_patterns.h"
#include "compiler/passes/joint/join_patterns.h"

namespace lenz::fuzz {

namespace {
// A rule, and what its conditions say of its holes.
struct Idiom {
  const RuleSet* rules;
  const Rule* rule;
  std::vector<std::vector<const OpDef*>> ops;  // that may stand in a hole for an op
  std::vector<std::vector<Arg>> numbers;       // that an attribute is compared with
};

void attributes_and_numbers(const Expr& e, std::vector<Slot>& attributes, std::vector<Arg>& numbers) {
  if (e.kind == Expr::attr) attributes.push_back(e.slot);
  if (e.kind == Expr::literal && number_of(e.number)) numbers.push_back(e.number);
  for (const Expr& operand : e.operands) attributes_and_numbers(operand, attributes, numbers);
}

bool asks_of_op(const Expr& e, Slot hole) {
  return e.kind == Expr::binary && (e.text == "is" || e.text == "in") && e.operands[0].kind == Expr::op &&
         e.operands[0].slot == hole;
}

Idiom idiom_of(const RuleSet& rules, const Rule& rule) {
  Idiom idiom{&rules, &rule, std::vector<std::vector<const OpDef*>>(rule.op_slots),
              std::vector<std::vector<Arg>>(rule.attr_slots)};
  Graph nothing(std::make_shared<Context>(), op_table(), "none");
  Bindings bound;
  bound.ops.resize(rule.op_slots);
  for (Slot hole = 0; hole < rule.op_slots; ++hole)
    for (const auto& row : op_table().rows()) {
      if (!Pool::takes(*row) || row->schema.mutates() || row->variant != VariantKind::functional) continue;
      bound.ops[hole] = row.get();
      const bool fits = std::ranges::all_of(rule.conditions, [&](const Condition& c) {
        if (c.kind != Condition::test || !asks_of_op(c.expr, hole)) return true;
        const auto truth = evaluate(nothing, rules, c.expr, bound);
        return truth && truth->boolean();
      });
      if (fits) idiom.ops[hole].push_back(row.get());
    }
  for (const Condition& c : rule.conditions) {
    std::vector<Slot> attributes;
    std::vector<Arg> numbers;
    if (c.kind != Condition::type) attributes_and_numbers(c.expr, attributes, numbers);
    for (const Slot slot : attributes)
      idiom.numbers[slot].insert(idiom.numbers[slot].end(), numbers.begin(), numbers.end());
  }
  return idiom;
}

const std::vector<Idiom>& idioms() {
  static const std::vector<Idiom> all = [] {
    std::vector<Idiom> made;
    for (const RuleSet* rules : rule_sets())
      for (const Rule& rule : rules->rules()) made.push_back(idiom_of(*rules, rule));
    return made;
  }();
  return all;
}

// One rule on its way into a graph.
class Instance {
 public:
  Instance(Growth& growth, Chooser& choose, const Idiom& idiom)
      : growth_(growth),
        graph_(*growth.graph),
        c_(choose),
        idiom_(idiom),
        before_(graph_.last()),
        inputs_before_(graph_.inputs().size()),
        values_(idiom.rule->value_slots, kNone),
        attrs_(idiom.rule->attr_slots),
        ops_(idiom.rule->op_slots) {}

  // Before it is made: this stands for what the rule calls so, if it calls anything so.
  void bind(std::string_view name, ValueId v) { bind_to(idiom_.rule->value_names, name, values_, v); }
  void bind(std::string_view name, Arg a) { bind_to(idiom_.rule->attr_names, name, attrs_, std::optional<Arg>(a)); }
  // What the rule would replace.
  ValueId result() const { return idiom_.rule->replaced.empty() ? kNone : values_[idiom_.rule->replaced[0]]; }

  // The rule's nodes, or the first of them.
  std::span<const NodeId> make() {
    for (const NodePattern& pattern : idiom_.rule->nodes) {
      constexpr int kTries = 6;
      NodeId node = kNone;
      for (int i = 0; i < kTries && node == kNone; ++i) node = call(pattern);
      if (node == kNone) break;
      nodes_.push_back(node);
      for (size_t r = 0; r < pattern.results.size() && r < graph_.node(node).result_count; ++r)
        if (pattern.results[r] != kNoSlot)
          values_[pattern.results[r]] = graph_.node(node).result(static_cast<uint16_t>(r));
      for (uint16_t r = 0; r < graph_.node(node).result_count; ++r) growth_.add(graph_.node(node).result(r));
    }
    return nodes_;
  }

  // Whether a rule of the same nodes applies here as things stand: what it asks beside them holds too.
  bool fits(const Rule& rule) const {
    const size_t root = rule.plan[0].node;
    return root < nodes_.size() && match(graph_, *idiom_.rules, rule, nodes_[root]).has_value();
  }

  // As if it had never been made.
  void undo() {
    std::vector<NodeId> since;
    for (NodeId id = graph_.last(); id != before_; id = graph_.previous(id)) since.push_back(id);
    graph_.erase_all(since);
    std::erase_if(growth_.values, [&](ValueId v) {
      const Value& value = graph_.value(v);
      return value.producer == kNone ? value.index >= inputs_before_ : graph_.node(value.producer).erased;
    });
    std::erase_if(growth_.made_for, [&](const auto& made) {
      return graph_.value(made.first).producer == kNone && graph_.value(made.first).index >= inputs_before_;
    });
    while (graph_.inputs().size() > inputs_before_) graph_.remove_input(graph_.inputs().size() - 1);
  }

 private:
  template <class T>
  static void bind_to(std::span<const std::string> names, std::string_view name, std::vector<T>& places, const T& to) {
    const auto at = std::ranges::find(names, name);
    if (at != names.end()) places[static_cast<size_t>(at - names.begin())] = to;
  }

  // kNone: this time it can't be made. What it bound is bound only if it was.
  NodeId call(const NodePattern& pattern) {
    const auto values = values_;
    const auto attrs = attrs_;
    const auto ops = ops_;
    try {
      const OpDef* op = nullptr;
      std::span<const ArgPattern> wanted = pattern.positional;
      if (pattern.op != kNoSlot) {
        if (!ops_[pattern.op] && !idiom_.ops[pattern.op].empty()) ops_[pattern.op] = c_.pick(idiom_.ops[pattern.op]);
        op = ops_[pattern.op];
      } else if (!pattern.choices.empty()) {
        const NodePattern::Choice& choice = c_.pick(pattern.choices);
        op = choice.op;
        wanted = choice.args;
      }
      if (op && Pool::takes(*op)) {
        std::vector<Arg> args = drawn(*op);
        for (size_t i = 0; i < wanted.size() && i < args.size(); ++i)
          args[i] = fitting(op->schema.params[i], as(wanted[i], args[i]));
        for (Arg& a : args)
          if (a.kind == ArgKind::dtype && c_.flip()) a = Arg::of_dtype(a_known_dtype(a.dtype()));
        if (apart(*op, args)) return graph_.append(*op, args);
      }
    } catch (const UserError&) {
    } catch (const Unsupported&) {
    }
    values_ = values;
    attrs_ = attrs;
    ops_ = ops;
    return kNone;
  }

  // What a call writes to is no constant, and it may not read it besides.
  bool apart(const OpDef& op, const std::vector<Arg>& args) const {
    for (size_t w = 0; w < args.size(); ++w) {
      if (!args[w].is_value() || !writes_operand(op, args, w)) continue;
      if (is_constant(graph_, args[w].value())) return false;
      for (size_t i = 0; i < args.size(); ++i)
        if (i != w && args[i].is_value() && graph_.storage(args[i].value()) == graph_.storage(args[w].value()))
          return false;
    }
    return true;
  }

  // A call from the row's generator, of what the rule has made so far where that fits: then shapes agree.
  std::vector<Arg> drawn(const OpDef& op) {
    std::vector<ValueId> all = growth_.values;
    std::vector<ValueId> own;
    for (const ValueId v : all)
      if (std::ranges::find(values_, v) != values_.end()) own.push_back(v);
    if (!own.empty() && c_.below(4) != 3) growth_.values = own;
    const size_t before = growth_.values.size();
    GraphCalls maker(growth_, c_, op);
    std::vector<Arg> args;
    auto keep = [&] {  // what the generator added stays
      if (growth_.values.size() != all.size())
        all.insert(all.end(), growth_.values.begin() + static_cast<ptrdiff_t>(before), growth_.values.end());
      growth_.values = std::move(all);
    };
    try {
      op.generate(maker);
      const std::span<const Arg> made = maker.finish();
      args.assign(made.begin(), made.end());
    } catch (...) {
      keep();
      throw;
    }
    keep();
    return args;
  }

  // What stands in a place: what the rule wants there, and seldom what the generator drew all the same.
  Arg as(const ArgPattern& wanted, const Arg& generated) {
    const bool strays = c_.below(16) == 15;
    switch (wanted.kind) {
      case ArgPattern::any: return generated;
      case ArgPattern::value: {
        if (!generated.is_value()) return generated;
        ValueId& v = values_[wanted.slot];
        if (v == kNone) v = generated.value();
        return strays || growth_.made_for.contains(generated.value()) ? generated : Arg::of_value(v);
      }
      case ArgPattern::attr: {
        std::optional<Arg>& bound = attrs_[wanted.slot];
        if (!bound) bound = strays ? generated : numbered(idiom_.numbers[wanted.slot], generated);
        return strays ? generated : *bound;
      }
      case ArgPattern::literal: return strays ? generated : wanted.number;
      case ArgPattern::list: return listed(wanted, generated);
    }
    return generated;
  }

  // Rules compare dtypes: that of a value which the rule has bound.
  Dtype a_known_dtype(Dtype drawn) {
    std::vector<Dtype> known{drawn};
    for (const ValueId v : values_)
      if (v != kNone && graph_.type(v).is_tensor()) known.push_back(graph_.type(v).dtype);
    return known[known.size() > 1 ? 1 + c_.below(known.size() - 1) : 0];
  }

  // As the parameter's text would be read: 0 where reals stand is 0.0.
  static Arg fitting(const Param& param, const Arg& a) {
    if (param.type.kind == ParamKind::real && !param.type.list && a.kind == ArgKind::integer && number_of(a))
      return Arg::of_real(*number_of(a));
    return a;
  }

  // With the numbers that the rule asks about; a list of integers may come out even as well.
  Arg numbered(const std::vector<Arg>& numbers, const Arg& generated) {
    if (generated.kind == ArgKind::int_list && generated.count > 0 && c_.flip()) {
      Sizes items;
      for (const Dim d : generated.dim_list()) items.push_back(d.is_constant() ? d.constant() : 0);
      if (!numbers.empty() && c_.flip())
        for (int64_t& n : items) n = static_cast<int64_t>(*number_of(c_.pick(numbers)));
      if (items.size() > 1 && c_.flip()) {
        const size_t at = c_.below(items.size() - 1);
        items[at + 1] = -items[at];
        if (items[at] == 0) items[at] = 1, items[at + 1] = -1;
      }
      return graph_.context().ints(items);
    }
    if (numbers.empty() || !number_of(generated) || c_.below(3) == 2) return generated;
    const Arg number = c_.pick(numbers);
    if (generated.kind == ArgKind::integer && number.kind == ArgKind::real) return generated;
    return number;
  }

  Arg listed(const ArgPattern& wanted, const Arg& generated) {
    if (generated.kind == ArgKind::int_list) return listed_numbers(wanted, generated);
    if (generated.kind != ArgKind::value_list) return generated;
    SmallVec<ValueId, 4> items;
    for (const ArgPattern& item : wanted.items) {
      if (item.kind != ArgPattern::value) return generated;
      ValueId& v = values_[item.slot];
      if (v == kNone) v = generated.value_list()[c_.below(generated.count)];
      items.push_back(v);
    }
    return graph_.context().values(items);
  }

  Arg listed_numbers(const ArgPattern& wanted, const Arg& generated) {
    Sizes numbers;
    for (const ArgPattern& item : wanted.items) {
      Arg n = item.number;
      if (item.kind == ArgPattern::attr) {
        std::optional<Arg>& bound = attrs_[item.slot];
        const bool drawn = numbers.size() < generated.count && generated.dim_list()[numbers.size()].is_constant();
        if (!bound) bound = Arg::of_int(drawn ? generated.dim_list()[numbers.size()].constant() : -1);
        n = *bound;
      }
      if (n.kind != ArgKind::integer || n.symbolic) return generated;
      numbers.push_back(n.i);
    }
    return graph_.context().ints(numbers);
  }

  Growth& growth_;
  Graph& graph_;
  Chooser& c_;
  const Idiom& idiom_;
  const NodeId before_;  // the last node that was there
  const size_t inputs_before_;
  std::vector<NodeId> nodes_;
  std::vector<ValueId> values_;
  std::vector<std::optional<Arg>> attrs_;
  std::vector<const OpDef*> ops_;
};
}  // namespace

namespace {
// The same rule that does not ask one of its questions.
Rule without_a_question(const Rule& rule, Chooser& choose) {
  Rule other = rule;
  if (other.conditions.empty()) return other;
  Condition& asked = other.conditions[choose.below(other.conditions.size())];
  if (asked.kind == Condition::let) return other;
  asked = {};
  asked.expr.number = Arg::of_bool(true);
  return other;
}
}  // namespace

bool grow_idiom(Growth& growth, Chooser& choose, const NodeMade& made, std::optional<size_t> which) {
  const Idiom& idiom = which ? idioms()[*which] : choose.pick(idioms());
  // One to which the rule applies, if a few attempts give one; one that lacks a single thing that the rule asks for, so
  // that a rule which forgot to ask is led on; or as it comes.
  constexpr size_t kAttempts = 24;
  enum : uint8_t { applies, nearly, any };
  const auto wanted = choose.any_of({applies, any, nearly, applies, nearly});
  const size_t attempts = wanted == any ? 1 : kAttempts;
  const Rule lax = wanted == nearly ? without_a_question(*idiom.rule, choose) : Rule();
  const uint32_t adapt = growth.habits.adapt;
  const bool parameters = growth.habits.parameters;
  for (size_t i = 1;; ++i) {
    growth.habits.adapt = choose.flip() ? adapt : 0;  // rules that ask for parameters want inputs as they are
    growth.habits.parameters = choose.below(4) == 3 || parameters;  // or constants
    growth.wants_input = true;
    Instance instance(growth, choose, idiom);
    const std::span<const NodeId> nodes = instance.make();
    const bool fits = wanted == any || (wanted == nearly ? instance.fits(lax) && !instance.fits(*idiom.rule)
                                                         : instance.fits(*idiom.rule));
    if (i < attempts && !fits) {
      instance.undo();
      continue;
    }
    growth.habits.adapt = adapt;
    growth.habits.parameters = parameters;
    for (const NodeId id : nodes) made(id);
    return !nodes.empty();
  }
}

size_t idiom_count() { return idioms().size(); }

namespace {
std::vector<const Idiom*> idioms_of(const RuleSet& rules) {
  std::vector<const Idiom*> own;
  for (const Idiom& idiom : idioms())
    if (idiom.rules == &rules) own.push_back(&idiom);
  return own;
}

// One rule after the other, each done to what the one before would replace. A link that can't be made is left out.
class Chain {
 public:
  Chain(Growth& growth, Chooser& choose, const NodeMade& made) : growth_(growth), c_(choose), made_(made) {}

  void add(const RuleSet& rules, std::optional<size_t> which = {}, std::optional<int64_t> dim = {}) {
    constexpr int kTries = 12;
    const std::vector<const Idiom*> own = idioms_of(rules);
    for (int i = 0; i < kTries; ++i) {
      const Idiom& idiom = *own[which ? *which % own.size() : c_.below(own.size())];
      growth_.wants_input = true;
      Instance instance(growth_, c_, idiom);
      if (end_ != kNone) instance.bind("x", end_);
      if (dim) instance.bind("d", Arg::of_int(*dim));
      const std::span<const NodeId> nodes = instance.make();
      if (!instance.fits(*idiom.rule)) {
        instance.undo();
        continue;
      }
      end_ = instance.result();
      for (const NodeId id : nodes) made_(id);
      return;
    }
  }

 private:
  Growth& growth_;
  Chooser& c_;
  const NodeMade& made_;
  ValueId end_ = kNone;
};
}  // namespace

void grow_attention(Growth& growth, Chooser& choose, const NodeMade& made, size_t which) {
  const AttentionPatterns& patterns = attention_patterns();
  const DtypeSet liked = std::exchange(
      growth.habits.dtypes, dtypes::wide_floats | (choose.flip() ? dtypes::half | dtypes::bfloat : DtypeSet()));
  Chain chain(growth, choose, made);
  chain.add(patterns.products);
  const uint64_t steps = 1 + choose.below(3), in_turn = choose.below(steps);
  for (uint64_t i = 0; i < steps; ++i)
    chain.add(patterns.scores, i == in_turn ? std::optional<size_t>(which) : std::nullopt);
  chain.add(patterns.softmax, {}, -1);
  if (choose.below(4) == 3) chain.add(patterns.weights);
  chain.add(patterns.products);
  growth.habits.dtypes = liked;
}

size_t attention_count() { return idioms_of(attention_patterns().scores).size(); }

namespace {
// Something taken apart along a dim, its parts exchanged, dropped or mixed with others, and joined again.
class Parts {
 public:
  Parts(Growth& growth, Chooser& choose, const NodeMade& made)
      : growth_(growth), graph_(*growth.graph), c_(choose), made_(made) {}

  void make() {
    std::vector<ValueId> whole;
    for (const ValueId v : growth_.values)
      if (std::ranges::any_of(graph_.type(v).sizes(), [](Dim n) { return n.constant() > 1; })) whole.push_back(v);
    if (whole.empty()) return;
    const ValueId base = c_.pick(whole);
    const Type& type = graph_.type(base);
    std::vector<size_t> long_enough;
    for (size_t d = 0; d < type.rank(); ++d)
      if (type.sizes()[d].constant() > 1) long_enough.push_back(d);
    dim_ = c_.pick(long_enough);
    std::vector<ValueId> parts = cut(base);
    // Of another tensor of that type, if there is one: then the parts are of several.
    for (const ValueId v : growth_.values)
      if (v != base && &graph_.type(v) == &type && c_.flip()) {
        const std::vector<ValueId> more = cut(v);
        parts.insert(parts.end(), more.begin(), more.end());
        break;
      }
    if (parts.size() > 1 && c_.below(3) == 2) std::swap(parts[0], parts[1 + c_.below(parts.size() - 1)]);
    if (parts.size() > 2 && c_.below(3) == 2)
      parts.erase(parts.begin() + static_cast<ptrdiff_t>(c_.below(parts.size())));
    const Arg joined[] = {graph_.context().values(parts), Arg::of_int(static_cast<int64_t>(dim_))};
    const ValueId all = call(join_forms().cat, joined);
    const int64_t size = graph_.type(all).sizes()[dim_].constant(), from = c_.between(0, size - 1);
    if (c_.below(3) != 0) slice(all, from, c_.between(from + 1, size));
  }

 private:
  std::vector<ValueId> cut(ValueId v) {
    const int64_t size = graph_.type(v).sizes()[dim_].constant();
    std::vector<ValueId> parts;
    for (int64_t from = c_.below(4) == 3 ? 1 : 0; from < size && parts.size() < 4;) {
      const int64_t to = c_.flip() ? c_.between(from + 1, size) : std::min(size, from + (size + 1) / 2);
      parts.push_back(slice(v, from, to));
      from = to;
    }
    return parts;
  }

  ValueId slice(ValueId v, int64_t from, int64_t to) {
    const Arg args[] = {Arg::of_value(v), Arg::of_int(static_cast<int64_t>(dim_)), Arg::of_int(from), Arg::of_int(to)};
    return call(join_forms().slice, args);
  }

  ValueId call(std::string_view op, std::span<const Arg> args) {
    Resolved r = resolve(graph_, op, args, {});
    const NodeId id = graph_.append(*r.op, r.args);
    made_(id);
    return graph_.node(id).result();
  }

  Growth& growth_;
  Graph& graph_;
  Chooser& c_;
  const NodeMade& made_;
  size_t dim_ = 0;
};
}  // namespace

void grow_parts(Growth& growth, Chooser& choose, const NodeMade& made) { Parts(growth, choose, made).make(); }

}  // namespace lenz::fuzz
