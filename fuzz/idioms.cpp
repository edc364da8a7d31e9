#include "fuzz/idioms.h"

#include <algorithm>
#include <set>
#include <utility>

#include "compiler/driver/pipeline.h"
#include "compiler/graph/alias.h"
#include "compiler/graph/match.h"
#include "compiler/graph/pattern_functions.h"
#include "compiler/graph/rewrite.h"
#include "compiler/ops/op_table.h"
#include "compiler/passes/joint/attention_patterns.h"
#include "fuzz/adapt.h"
#include "fuzz/rule_dtypes.h"

namespace lenz::fuzz {

namespace {
// A rule, and what its conditions say of its holes.
struct Idiom {
  const RuleSet* rules;
  const Rule* rule;
  std::vector<std::vector<const OpDef*>> ops;     // that may stand in a hole for an op
  std::vector<std::vector<const OpDef*>> others;  // that may not, though they take as many operands
  std::vector<std::vector<Arg>> numbers;          // that an attribute is compared with
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

// Whether a call of one, as far as the rule says what stands in it, can be one of the other.
bool stands_for(const OpDef& a, const OpDef& b, size_t arguments) {
  if (a.schema.params.size() < arguments || b.schema.params.size() < arguments) return false;
  for (size_t i = 0; i < arguments; ++i) {
    const ParamType &one = a.schema.params[i].type, &other = b.schema.params[i].type;
    if (one.kind != other.kind || one.list != other.list || one.optional != other.optional) return false;
  }
  for (size_t i = arguments; i < b.schema.params.size(); ++i)
    if (!b.schema.params[i].fallback && !b.schema.params[i].type.optional) return false;
  return a.schema.returns.size() == b.schema.returns.size() && a.schema.returns_list() == b.schema.returns_list();
}

Idiom idiom_of(const RuleSet& rules, const Rule& rule) {
  Idiom idiom{&rules, &rule, std::vector<std::vector<const OpDef*>>(rule.op_slots),
              std::vector<std::vector<const OpDef*>>(rule.op_slots), std::vector<std::vector<Arg>>(rule.attr_slots)};
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
      if (fits)
        idiom.ops[hole].push_back(row.get());
      else if (!row->has(Trait::data_dependent))  // sizes that are named stay named when the call is undone
        idiom.others[hole].push_back(row.get());
    }
  for (Slot hole = 0; hole < rule.op_slots; ++hole) {
    size_t arguments = 1;
    for (const NodePattern& pattern : rule.nodes)
      if (pattern.op == hole) arguments = std::max(arguments, pattern.positional.size());
    std::erase_if(idiom.others[hole], [&](const OpDef* other) {
      return std::ranges::none_of(idiom.ops[hole], [&](const OpDef* op) { return stands_for(*op, *other, arguments); });
    });
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

// Half of its choices are the plainest one: a call that has to be plain in many ways at once comes up.
class PlainerChooser final : public Chooser {
 public:
  explicit PlainerChooser(Chooser& inner) : inner_(inner) {}
  uint64_t below(uint64_t n) override { return n > 1 && inner_.flip() ? 0 : inner_.below(n); }

 private:
  Chooser& inner_;
};

bool is_bound(const Expr& e, const Bindings& bound) {
  if (e.kind == Expr::value && bound.values[e.slot] == kNone) return false;
  if ((e.kind == Expr::attr || e.kind == Expr::rest) && (e.slot == kNoSlot || !bound.attr_bound[e.slot])) return false;
  if (e.kind == Expr::op && !bound.ops[e.slot]) return false;
  return std::ranges::all_of(e.operands, [&](const Expr& operand) { return is_bound(operand, bound); });
}

// Whether a rule says what stands in this place of a call.
bool is_place(const ArgPattern& p) {
  return p.kind == ArgPattern::value || p.kind == ArgPattern::attr || p.kind == ArgPattern::literal;
}
// Of all places those in which not anything may stand: a number, or what has been named before.
std::vector<size_t> fixed_places(const Rule& rule) {
  std::vector<size_t> fixed;
  std::set<std::pair<ArgPattern::Kind, Slot>> named;
  size_t place = 0;
  for (const NodePattern& pattern : rule.nodes) {
    for (const ArgPattern& p : pattern.choices.empty() ? pattern.positional : pattern.choices[0].args) {
      if (!is_place(p)) continue;
      if (p.kind == ArgPattern::literal || !named.emplace(p.kind, p.slot).second) fixed.push_back(place);
      ++place;
    }
    for (const Slot result : pattern.results) named.emplace(ArgPattern::value, result);
  }
  return fixed;
}

// One rule on its way into a graph.
class Instance {
 public:
  // What it is to be: as its conditions want it, as far as they can be asked before it is whole; but for one place, in
  // which something else stands; or as it comes.
  struct Wanted {
    std::span<const Condition> conditions = {};
    std::optional<size_t> astray = {};
    bool some_astray = false;
    Slot other_op = kNoSlot;            // a hole for an op with one that the rule does not name
    const Condition* denied = nullptr;  // what shall not hold
    bool promotes = false;              // operands of its nodes are of other dtypes than what stands already
  };

  Instance(Growth& growth, Chooser& choose, const Idiom& idiom, Wanted wanted)
      : growth_(growth),
        graph_(*growth.graph),
        c_(choose),
        plainer_(choose),
        idiom_(idiom),
        wanted_(wanted),
        begin_(here()),
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
      const NodeId node = made(pattern);
      if (node == kNone) break;
      nodes_.push_back(node);
      for (uint16_t r = 0; r < graph_.node(node).result_count; ++r) growth_.add(graph_.node(node).result(r));
    }
    return nodes_;
  }

  // Whether a rule of the same nodes matches here: what it asks beside them holds too.
  bool matches(const Rule& rule) const {
    return has_root(rule) && match(graph_, *idiom_.rules, rule, nodes_[rule.plan[0].node]);
  }
  // And nothing else, such as a type that would be another one, keeps it from being applied.
  bool applies(const Rule& rule) const {
    return has_root(rule) && would_rewrite(graph_, *idiom_.rules, rule, nodes_[rule.plan[0].node]);
  }

  // As if it had never been made.
  void undo() { back_to(begin_); }

 private:
  bool has_root(const Rule& rule) const { return rule.plan[0].node < nodes_.size(); }
  template <class T>
  static void bind_to(std::span<const std::string> names, std::string_view name, std::vector<T>& places, const T& to) {
    const auto at = std::ranges::find(names, name);
    if (at != names.end()) places[static_cast<size_t>(at - names.begin())] = to;
  }

  struct Mark {
    NodeId last;
    size_t inputs;
  };
  Mark here() const { return {graph_.last(), graph_.inputs().size()}; }

  void back_to(const Mark& mark) {
    std::vector<NodeId> since;
    for (NodeId id = graph_.last(); id != mark.last; id = graph_.previous(id)) since.push_back(id);
    graph_.erase_all(since);
    auto is_gone = [&](ValueId v) {
      const Value& value = graph_.value(v);
      return value.producer == kNone ? value.index >= mark.inputs : graph_.node(value.producer).erased;
    };
    std::erase_if(growth_.values, is_gone);
    std::erase_if(growth_.made_for, [&](const auto& made) { return is_gone(made.first); });
    while (graph_.inputs().size() > mark.inputs) graph_.remove_input(graph_.inputs().size() - 1);
  }

  // A node of the rule, again and again until what the rule asks of those that are there holds. kNone: it can't be
  // made.
  NodeId made(const NodePattern& pattern) {
    constexpr int kTries = 8;
    for (int i = 0; i < kTries; ++i) {
      const Mark mark = here();
      const auto values = values_;
      const auto attrs = attrs_;
      const auto ops = ops_;
      const size_t places = places_;
      const NodeId node = call(pattern, i % 2 == 1 ? plainer_ : c_);
      if (node != kNone) {
        for (size_t r = 0; r < pattern.results.size() && r < graph_.node(node).result_count; ++r)
          if (pattern.results[r] != kNoSlot)
            values_[pattern.results[r]] = graph_.node(node).result(static_cast<uint16_t>(r));
        if (i + 1 == kTries || holds_so_far()) return node;
      }
      values_ = values;
      attrs_ = attrs;
      ops_ = ops;
      places_ = places;
      back_to(mark);
    }
    return kNone;
  }

  bool holds_so_far() const {
    Bindings bound{values_, {}, {}, ops_};
    for (const std::optional<Arg>& a : attrs_) {
      bound.attrs.push_back(a.value_or(Arg::none()));
      bound.attr_bound.push_back(a.has_value());
    }
    auto known = [&](const Condition& c) { return c.kind == Condition::test && is_bound(c.expr, bound); };
    auto holds = [&](const Condition& c) {
      const auto truth = evaluate(graph_, *idiom_.rules, c.expr, bound);
      return truth && truth->boolean();
    };
    if (wanted_.denied && known(*wanted_.denied) && holds(*wanted_.denied)) return false;
    return std::ranges::all_of(wanted_.conditions, [&](const Condition& c) { return !known(c) || holds(c); });
  }

  // kNone: this time it can't be made.
  NodeId call(const NodePattern& pattern, Chooser& choose) {
    try {
      const OpDef* op = nullptr;
      std::span<const ArgPattern> wanted = pattern.positional;
      if (pattern.op != kNoSlot) {
        const auto& rows = (wanted_.other_op == pattern.op ? idiom_.others : idiom_.ops)[pattern.op];
        if (!ops_[pattern.op] && !rows.empty()) ops_[pattern.op] = c_.pick(rows);
        op = ops_[pattern.op];
      } else if (!pattern.choices.empty()) {
        const NodePattern::Choice& choice = c_.pick(pattern.choices);
        op = choice.op;
        wanted = choice.args;
      }
      if (op && Pool::takes(*op)) {
        std::vector<Arg> args = drawn(*op, choose);
        for (size_t i = 0; i < wanted.size() && i < args.size(); ++i)
          args[i] = fitting(op->schema.params[i], as(wanted[i], args[i]));
        for (size_t i = wanted.size(); i < args.size() && (!pattern.rest || wanted_.other_op != kNoSlot); ++i)
          if (const Param& param = op->schema.params[i]; param.fallback || param.type.optional)
            args[i] = default_arg(graph_.context(), param);
        for (Arg& a : args)
          if (a.kind == ArgKind::dtype) a = Arg::of_dtype(a_dtype_beside(a.dtype(), args[0]));
        if (!apart(*op, args) || do_not_meet(graph_, *op, args)) return kNone;
        const NodeId made = graph_.try_append(*op, args).value_or(kNone);
        if (made == kNone || !growth_.has_too_many(graph_.node(made))) return made;
        graph_.erase(made);
      }
    } catch (const UserError&) {
    } catch (const Unsupported&) {
    }
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
  std::vector<Arg> drawn(const OpDef& op, Chooser& choose) {
    std::vector<ValueId> all = growth_.values;
    std::vector<ValueId> own;
    for (const ValueId v : all)
      if (std::ranges::find(values_, v) != values_.end()) own.push_back(v);
    if (!own.empty() && c_.below(4) != 3) growth_.values = own;
    const size_t before = growth_.values.size();
    const Habits habits = growth_.habits;
    if (wanted_.promotes && !own.empty() && c_.below(4) != 3) {  // of the shape that is there, but an input of its own
      growth_.habits.fresh = 16;
      growth_.habits.common.clear();
      for (const Dim d : graph_.type(own.back()).sizes()) growth_.habits.common.push_back(d.constant());
    }
    GraphCalls maker(growth_, choose, op);
    std::vector<Arg> args;
    auto keep = [&] {  // what the generator added stays
      growth_.habits = habits;
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

  // What stands in a place: what the rule wants there, or what the generator drew all the same.
  Arg as(const ArgPattern& wanted, const Arg& generated) {
    const size_t place = places_;
    places_ += is_place(wanted) ? 1 : 0;
    const bool strays = wanted_.some_astray ? c_.below(16) == 15 : places_ > place && wanted_.astray == place;
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

  // What is cast to its own dtype stays as it is: most casts are to another one, narrower or wider, or back.
  Dtype a_dtype_beside(Dtype drawn, const Arg& operand) {
    const Dtype made = c_.flip() ? a_known_dtype(drawn, operand) : drawn;
    const bool nothing = operand.is_value() && made == dtype_of(operand);
    return nothing && c_.below(4) != 3 ? static_cast<Dtype>(c_.below(kDtypeCount)) : made;
  }

  // Rules compare dtypes: that of a value which the rule has bound, if that is not the operand's, which would make
  // nothing of it.
  Dtype a_known_dtype(Dtype drawn, const Arg& operand) {
    std::vector<Dtype> known;
    for (const ValueId v : values_)
      if (v != kNone && graph_.type(v).is_tensor() &&
          (!operand.is_value() || graph_.type(v).dtype != dtype_of(operand)))
        known.push_back(graph_.type(v).dtype);
    return known.empty() ? drawn : c_.pick(known);
  }
  Dtype dtype_of(const Arg& a) const {
    const Type& t = graph_.type(a.value());
    return t.is_tensor() ? t.dtype : Dtype::b8;
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
        const bool all = c_.flip();  // of each dim, so that the whole comes out even
        for (size_t at = all ? 0 : c_.below(items.size() - 1); at + 1 < items.size(); at += all ? 2 : items.size()) {
          items[at + 1] = -items[at];
          if (items[at] == 0 && at == 0) items[at] = 1, items[at + 1] = -1;
        }
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
  PlainerChooser plainer_;
  const Idiom& idiom_;
  const Wanted wanted_;
  const Mark begin_;
  size_t places_ = 0;  // of arguments that stand already
  std::vector<NodeId> nodes_;
  std::vector<ValueId> values_;
  std::vector<std::optional<Arg>> attrs_;
  std::vector<const OpDef*> ops_;
};

// The same rule that does not ask one of its questions.
Rule without(const Rule& rule, size_t question) {
  Rule other = rule;
  Condition& asked = other.conditions[question];
  if (asked.kind == Condition::let) return other;
  asked = {};
  asked.expr.number = Arg::of_bool(true);
  return other;
}

// The hole of whose op it asks.
Slot asked_op(const Rule& rule, size_t question) {
  const Condition& asked = rule.conditions[question];
  for (Slot hole = 0; hole < rule.op_slots; ++hole)
    if (asked.kind == Condition::test && asks_of_op(asked.expr, hole)) return hole;
  return kNoSlot;
}

// What comes when a rule's turn comes for the n-th time: now what it applies to, then what lacks one of the things that
// it asks for, one after the other, so that a rule which forgot to ask is led on; or as it comes.
struct Lacking {
  std::optional<size_t> question = {}, place = {};
  bool any = false;
};
Lacking lacking(const Rule& rule, uint64_t time) {
  if (time % 2 == 0) return {};
  const std::vector<size_t> places = fixed_places(rule);
  const size_t questions = rule.conditions.size(), which = time / 2 % (questions + places.size() + 1);
  if (which < questions) return {.question = which};
  if (which < questions + places.size()) return {.place = places[which - questions]};
  return {.any = true};
}
}  // namespace

bool grow_idiom(Growth& growth, Chooser& choose, const NodeMade& made, std::optional<IdiomTurn> turn) {
  const Idiom& idiom = turn ? idioms()[turn->which] : choose.pick(idioms());
  const Rule& rule = *idiom.rule;
  const Lacking lacks = lacking(rule, turn ? turn->time : choose.below(64));
  constexpr size_t kAttempts = 4, kAttemptsAtLack = 10, kOfAnyDtype = 2;
  const size_t attempts = lacks.any ? 1 : lacks.question ? kAttemptsAtLack : kAttempts;
  const Rule lax = lacks.question ? without(rule, *lacks.question) : Rule();
  Instance::Wanted wanted{.conditions = lacks.any        ? std::span<const Condition>()
                                        : lacks.question ? std::span<const Condition>(lax.conditions)
                                                         : std::span<const Condition>(rule.conditions),
                          .astray = lacks.place,
                          .some_astray = lacks.any,
                          .other_op = lacks.question ? asked_op(rule, *lacks.question) : kNoSlot,
                          .denied = lacks.question ? &rule.conditions[*lacks.question] : nullptr};
  const uint32_t adapt = growth.habits.adapt;
  const bool parameters = growth.habits.parameters;
  const DtypeSet liked = growth.habits.dtypes;
  const uint32_t fresh = growth.habits.fresh;
  const uint64_t first_dtype = turn ? turn->time : choose.below(kDtypeCount);
  for (size_t i = 1;; ++i) {
    if (lacks.question && i > kOfAnyDtype) {  // much of what rules ask is asked of dtypes: one after the other
      growth.habits.dtypes = DtypeSet::of(static_cast<Dtype>((first_dtype + i) % kDtypeCount));
      growth.habits.fresh = 16;
    } else if (!lacks.question) {
      growth.habits.dtypes = dtypes_of_rule(liked, choose, wanted.promotes);
      growth.habits.fresh = choose.below(4) == 3 ? std::max<uint32_t>(fresh, 8) : fresh;  // so that two meet
    }
    growth.habits.adapt = choose.flip() ? adapt : 0;      // rules that ask for parameters want inputs as they are
    growth.habits.parameters = parameters || i % 2 == 0;  // or constants
    growth.wants_input = true;
    Instance instance(growth, choose, idiom, wanted);
    const std::span<const NodeId> nodes = instance.make();
    const bool fits = lacks.question ? !instance.matches(rule) && instance.applies(lax)
                      : lacks.place  ? !instance.matches(rule)
                                     : instance.matches(rule);
    if (i < attempts && !fits) {
      instance.undo();
      continue;
    }
    growth.habits.adapt = adapt;
    growth.habits.parameters = parameters;
    growth.habits.dtypes = liked;
    growth.habits.fresh = fresh;
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
      Instance instance(growth_, c_, idiom, {.conditions = idiom.rule->conditions});
      if (end_ != kNone) instance.bind("x", end_);
      if (dim) instance.bind("d", Arg::of_int(*dim));
      const std::span<const NodeId> nodes = instance.make();
      if (!instance.matches(*idiom.rule)) {
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
  const uint64_t steps = 1 + choose.below(4), in_turn = choose.below(steps);
  for (uint64_t i = 0; i < steps; ++i)
    chain.add(patterns.scores, i == in_turn ? std::optional<size_t>(which) : std::nullopt);
  chain.add(patterns.softmax, {}, -1);
  if (choose.below(4) == 3) chain.add(patterns.weights);
  chain.add(patterns.products);
  growth.habits.dtypes = liked;
}

size_t attention_count() { return idioms_of(attention_patterns().scores).size(); }

}  // namespace lenz::fuzz
