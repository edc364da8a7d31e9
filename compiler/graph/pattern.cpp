// From statements with names to rules with slots, and the plan of how to match them.
#include "compiler/graph/pattern.h"

#include <algorithm>
#include <map>

#include "compiler/graph/pattern_ast.h"
#include "compiler/graph/pattern_functions.h"

namespace lenz {

bool is_dim_param(const Param& param) {
  constexpr std::string_view names[] = {"dim",  "dims",  "dim0",  "dim1",      "dim2",   "start_dim",  "end_dim",
                                        "axis", "axis0", "axis1", "dimension", "source", "destination"};
  return param.type.kind == ParamKind::integer && std::ranges::find(names, param.name) != std::end(names);
}

std::optional<size_t> rank_for_dims(const Graph& graph, const OpDef& op, std::span<const Arg> args,
                                    ValueId first_result) {
  if (!op.infer) return std::nullopt;  // what an extern counts in, and what a negative number tells it, it alone knows
  const Type* type = nullptr;
  if (op.dims_of_result) {
    type = &graph.type(first_result);
  } else {
    for (const Arg& a : args) {
      if (a.is_value()) type = &graph.type(a.value());
      if (a.kind == ArgKind::value_list && a.count && a.value_list()[0] != kNone) type = &graph.type(a.value_list()[0]);
      if (type) break;
    }
  }
  if (type && type->kind == TypeKind::list && type->count) type = type->elements()[0];
  if (!type || !type->is_tensor()) return std::nullopt;
  const size_t rank = std::max<size_t>(type->rank(), 1);
  // Beside a greater operand dims may count in what both are broadcast to: cosine_similarity.
  for (const Arg& a : args)
    if (!op.dims_of_result && a.is_value() && graph.type(a.value()).is_tensor() && graph.type(a.value()).rank() > rank)
      return std::nullopt;
  return rank;
}

namespace {

namespace ast = pattern_ast;

class Compiler {
 public:
  Compiler(const PatternLexer& lexer, const OpTable& ops, Context& literals, std::span<const NamedFunction> functions,
           const ast::RuleText& text, const ast::Statements& statements)
      : lex_(lexer), ops_(ops), literals_(literals), functions_(functions), text_(text), statements_(statements) {}

  Rule compile(std::string name) {
    rule_.name = std::move(name);
    rule_.reason = text_.reason;
    for (const auto& s : statements_)
      if (s.kind == ast::Statement::node) node(s);
    if (rule_.nodes.empty()) lex_.fail_at(text_.at, "the rule has nothing to match");
    const ast::Statement* replace = nullptr;
    std::vector<Condition> conditions;
    for (const auto& s : statements_) switch (s.kind) {
        case ast::Statement::type: conditions.push_back({Condition::type, {}, kNoSlot, type(s.of)}); break;
        case ast::Statement::test: conditions.push_back({Condition::test, expression(s.call), kNoSlot, {}}); break;
        case ast::Statement::let:
          conditions.push_back({Condition::let, expression(s.call), attr(s.names[0]), {}});
          break;
        case ast::Statement::shared:
          for (const auto& v : s.names) rule_.shared.push_back(made(v, s.at));
          break;
        case ast::Statement::replace:
          if (replace) lex_.fail_at(s.at, "one rule, one replace");
          replace = &s;
          break;
        default: break;
      }
    if (!replace) lex_.fail_at(text_.at, "the rule does not say what to replace");
    for (const auto& v : replace->names) rule_.replaced.push_back(made(v, replace->at));
    plan();
    order(std::move(conditions));
    replacement(*replace);
    rule_.value_slots = static_cast<uint32_t>(values_.size());
    rule_.attr_slots = static_cast<uint32_t>(attrs_.size());
    rule_.op_slots = static_cast<uint32_t>(op_holes_.size());
    rule_.value_names.resize(values_.size());
    for (const auto& [v, slot] : values_) rule_.value_names[slot] = v;
    rule_.attr_names.resize(attrs_.size());
    for (const auto& [a, slot] : attrs_) rule_.attr_names[slot] = a;
    rule_.shrinks = rule_.fresh.size() < dying_nodes();
    root_traits();
    return std::move(rule_);
  }

 private:
  static Slot slot(std::map<std::string, Slot>& names, const std::string& name) {
    return names.emplace(name, static_cast<Slot>(names.size())).first->second;
  }
  Slot value(const std::string& name) { return slot(values_, name); }
  Slot attr(const std::string& name) { return slot(attrs_, name); }
  Slot op_hole(const std::string& name) { return slot(op_holes_, name); }

  Slot made(const std::string& name, size_t at) {
    Slot s = value(name);
    if (!producers_.contains(s)) lex_.fail_at(at, "`%" + name + "` is not made by a node of the match");
    return s;
  }

  // --- nodes to find
  void node(const ast::Statement& s) {
    NodePattern n;
    for (const auto& r : s.names) {
      n.results.push_back(r == "_" ? kNoSlot : value(r));
      if (r != "_" && !producers_.emplace(n.results.back(), rule_.nodes.size()).second)
        lex_.fail_at(s.at, "`%" + r + "` is made twice");
    }
    if (s.call.kind == Expr::op) {
      n.op = op_hole(s.call.text);
      for (const ast::Node& a : s.call.operands) {
        if (!a.keyword.empty()) lex_.fail_at(a.at, "an op that is a hole has no names for its arguments");
        if (a.kind == Expr::rest) {
          n.rest = true;
          if (!a.text.empty()) n.rest_slot = attr(a.text);
        } else {
          n.positional.push_back(argument(a, nullptr));
        }
      }
    } else {
      std::string why;
      for (const OpDef* op : candidates(s.call.text, s.call.at)) choice(n, *op, s.call, why);
      if (n.choices.empty()) lex_.fail_at(s.call.at, "no overload of `" + s.call.text + "` takes these arguments", why);
    }
    rule_.nodes.push_back(std::move(n));
  }

  std::vector<const OpDef*> candidates(const std::string& name, size_t at) {
    constexpr std::string_view kUnnamed = ".default";  // the overload without a name
    bool unnamed = name.ends_with(kUnnamed);
    const OpDef* exact = ops_.find(unnamed ? std::string_view(name).substr(0, name.size() - kUnnamed.size()) : name);
    if (exact && (unnamed || !exact->schema.overload.empty())) return {exact};
    std::vector<const OpDef*> all;
    for (const OpDef* op : ops_.packet(name))
      if (op->variant == VariantKind::functional || op == exact) all.push_back(op);
    if (all.empty()) lex_.fail_at(at, "there is no op `" + name + "`");
    return all;
  }

  void choice(NodePattern& n, const OpDef& op, const ast::Node& call, std::string& why) {
    const auto& params = op.schema.params;
    NodePattern::Choice c{&op, {}};
    bool rest = false;
    std::vector<const ast::Node*> given(params.size(), nullptr);
    size_t position = 0;
    for (const ast::Node& a : call.operands) {
      if (a.kind == Expr::rest) {
        if (!a.text.empty()) lex_.fail_at(a.at, "only a call of an op that is a hole binds its other arguments");
        rest = true;
        continue;
      }
      size_t at = position;
      if (!a.keyword.empty()) {
        int found = op.schema.find(a.keyword);
        if (found < 0) return void(why = "it has no parameter `" + a.keyword + "`");
        at = static_cast<size_t>(found);
      } else if (at >= params.size() || params[at].keyword_only) {
        return void(why = "too many positional arguments");
      } else {
        ++position;
      }
      given[at] = &a;
    }
    for (size_t i = 0; i < params.size(); ++i) {
      if (given[i]) {
        if (!plausible(*given[i], params[i])) return void(why = "argument `" + params[i].name + "` has another kind");
        c.args.push_back(argument(*given[i], &params[i]));
      } else if (rest) {
        c.args.emplace_back();
      } else if (params[i].fallback || params[i].type.optional) {
        ArgPattern p;
        p.kind = ArgPattern::literal;
        p.number = default_arg(literals_, params[i]);
        c.args.push_back(p);
      } else {
        return void(why = "argument `" + params[i].name + "` is missing");
      }
    }
    n.choices.push_back(std::move(c));
  }

  // Tells overloads apart: values stand where tensors do, literals where numbers do.
  static bool plausible(const ast::Node& a, const Param& p) {
    bool tensor = p.type.kind == ParamKind::tensor || p.type.kind == ParamKind::any;
    if (a.kind == Expr::value) return p.type.kind != ParamKind::scalar && p.type.kind != ParamKind::string;
    if (a.kind == Expr::literal && a.number.kind != ArgKind::none) return !tensor;
    return true;
  }

  ArgPattern argument(const ast::Node& a, const Param* param) {
    ArgPattern p;
    switch (a.kind) {
      case Expr::value:
        p.kind = ArgPattern::value;
        p.slot = value(a.text);
        return p;
      case Expr::attr:
        p.kind = ArgPattern::attr;
        p.slot = attr(a.text);
        return p;
      case Expr::literal:
        p.kind = ArgPattern::literal;
        p.number = a.number;
        return p;
      case Expr::word:
        if (a.text == "_") return p;
        p.kind = ArgPattern::literal;
        p.number = word(a, param);
        return p;
      case Expr::list:
        p.kind = ArgPattern::list;
        for (const ast::Node& e : a.operands) p.items.push_back(argument(e, param));
        return p;
      default: lex_.fail_at(a.at, "this can't stand in a call to match", "bind it with `$name` and say `where`");
    }
  }

  Arg word(const ast::Node& a, const Param* param) {
    if (auto d = parse_dtype(a.text)) return Arg::of_dtype(*d);
    if (a.text == "contiguous_format") return Arg::of_memory_format(MemoryFormat::contiguous);
    if (a.text == "preserve_format") return Arg::of_memory_format(MemoryFormat::preserve);
    if (a.text == "channels_last") return Arg::of_memory_format(MemoryFormat::channels_last);
    if (a.text == "channels_last_3d") return Arg::of_memory_format(MemoryFormat::channels_last_3d);
    if (a.text == "strided") return Arg::of_layout(Layout::strided);
    if (a.text == "cpu" || a.text == "cuda")
      return Arg::of_device({a.text == "cpu" ? DeviceKind::cpu : DeviceKind::cuda, -1});
    lex_.fail_at(a.at, "unknown word `" + a.text + "`" + (param ? " for `" + param->name + "`" : ""));
  }

  TypePattern type(const ast::Type& t) {
    TypePattern p;
    p.value = value(t.value);
    p.dtypes = t.dtypes;
    p.has_shape = t.has_shape;
    for (const auto& d : t.dims) p.dims.push_back({d.kind, d.number, d.attr.empty() ? kNoSlot : attr(d.attr)});
    return p;
  }

  Expr expression(const ast::Node& a) {
    Expr e;
    e.kind = a.kind;
    e.number = a.number;
    e.text = a.text;
    if (a.kind == Expr::value) e.slot = value(a.text);
    if (a.kind == Expr::attr) e.slot = attr(a.text);
    if (a.kind == Expr::op) e.slot = op_hole(a.text);
    if (a.kind == Expr::word && a.text.find('.') == std::string::npos && !dtype_set(a.text) && !trait(a.text)) {
      e.kind = Expr::literal;
      e.number = word(a, nullptr);
    }
    if (a.kind == Expr::call && !known_function(a.text)) lex_.fail_at(a.at, "unknown function `" + a.text + "`");
    for (const ast::Node& o : a.operands) e.operands.push_back(expression(o));
    return e;
  }

  bool known_function(const std::string& name) const {
    return builtin_function(name) || std::ranges::find(functions_, name, &NamedFunction::name) != functions_.end();
  }

  static std::optional<Trait> trait(std::string_view text) {
    for (Trait t : all_traits())
      if (name(t) == text) return t;
    return std::nullopt;
  }

  // --- the order of the search
  static void slots_of(const ArgPattern& p, std::vector<Slot>& values, std::vector<Slot>& attrs) {
    if (p.kind == ArgPattern::value) values.push_back(p.slot);
    if (p.kind == ArgPattern::attr) attrs.push_back(p.slot);
    for (const ArgPattern& e : p.items) slots_of(e, values, attrs);
  }
  static void slots_of(const NodePattern& n, std::vector<Slot>& values, std::vector<Slot>& attrs) {
    for (const ArgPattern& p : n.positional) slots_of(p, values, attrs);
    if (n.rest_slot != kNoSlot) attrs.push_back(n.rest_slot);
    for (const auto& c : n.choices)
      for (const ArgPattern& p : c.args) slots_of(p, values, attrs);
  }

  void plan() {
    size_t count = rule_.nodes.size();
    std::vector<std::vector<Slot>> uses(count), attrs(count);
    for (size_t i = 0; i < count; ++i) slots_of(rule_.nodes[i], uses[i], attrs[i]);
    auto used_inside = [&](size_t node) {
      for (Slot r : rule_.nodes[node].results)
        for (const auto& u : uses)
          if (r != kNoSlot && std::ranges::find(u, r) != u.end()) return true;
      return false;
    };
    size_t root = producers_.at(rule_.replaced[0]);
    for (Slot r : rule_.replaced)  // what nothing in the match uses pins the match down best
      if (!used_inside(producers_.at(r))) {
        root = producers_.at(r);
        break;
      }
    std::vector<bool> placed(count), bound(values_.size() + 1);
    auto place = [&](MatchStep::Kind kind, size_t node, Slot through) {
      rule_.plan.push_back({kind, static_cast<uint32_t>(node), through, 0});
      placed[node] = true;
      for (Slot s : uses[node]) bound[s] = true;
      for (Slot s : rule_.nodes[node].results)
        if (s != kNoSlot) bound[s] = true;
    };
    place(MatchStep::root, root, kNoSlot);
    while (rule_.plan.size() < count)
      if (!place_next(placed, bound, uses, place))
        lex_.fail_at(text_.at, "the nodes of the match don't hang together",
                     "every node must share a value with another");
    attrs_of_nodes_ = std::move(attrs);
    values_of_nodes_ = std::move(uses);
  }

  template <class Place>
  bool place_next(const std::vector<bool>& placed, const std::vector<bool>& bound,
                  const std::vector<std::vector<Slot>>& uses, const Place& place) {
    for (size_t i = 0; i < placed.size(); ++i)
      if (!placed[i])
        for (Slot r : rule_.nodes[i].results)
          if (r != kNoSlot && bound[r]) return place(MatchStep::producer, i, r), true;
    for (size_t i = 0; i < placed.size(); ++i)
      if (!placed[i])
        for (Slot u : uses[i])
          if (bound[u]) return place(MatchStep::user, i, u), true;
    return false;
  }

  // Each condition as soon as all that it mentions is bound.
  void order(std::vector<Condition> conditions) {
    std::vector<bool> value_bound(values_.size()), attr_bound(attrs_.size()), op_bound(op_holes_.size());
    std::vector<bool> done(conditions.size());
    for (MatchStep& step : rule_.plan) {
      const NodePattern& n = rule_.nodes[step.node];
      for (Slot s : values_of_nodes_[step.node]) value_bound[s] = true;
      for (Slot s : n.results)
        if (s != kNoSlot) value_bound[s] = true;
      for (Slot s : attrs_of_nodes_[step.node]) attr_bound[s] = true;
      if (n.op != kNoSlot) op_bound[n.op] = true;
      for (bool again = true; again;) {
        again = false;
        for (size_t i = 0; i < conditions.size(); ++i) {
          Condition& c = conditions[i];
          bool ready = c.kind == Condition::type ? value_bound[c.type_of.value]
                                                 : is_bound(c.expr, value_bound, attr_bound, op_bound);
          if (done[i] || !ready) continue;
          done[i] = again = true;
          if (c.kind == Condition::let) attr_bound[c.let_slot] = true;
          for (const DimPattern& d : c.type_of.dims)
            if (d.kind == DimPattern::attr) attr_bound[d.slot] = true;
          rule_.conditions.push_back(c);
        }
      }
      step.conditions_end = static_cast<uint32_t>(rule_.conditions.size());
    }
    for (size_t i = 0; i < conditions.size(); ++i)
      if (!done[i]) lex_.fail_at(text_.at, "a condition of this rule mentions what the match does not bind");
    values_bound_ = std::move(value_bound);
    attrs_bound_ = std::move(attr_bound);
    ops_bound_ = std::move(op_bound);
  }

  static bool is_bound(const Expr& e, const std::vector<bool>& values, const std::vector<bool>& attrs,
                       const std::vector<bool>& ops) {
    if (e.kind == Expr::value) return values[e.slot];
    if (e.kind == Expr::attr) return attrs[e.slot];
    if (e.kind == Expr::op) return ops[e.slot];
    return std::ranges::all_of(e.operands, [&](const Expr& o) { return is_bound(o, values, attrs, ops); });
  }

  // --- what the match becomes
  void replacement(const ast::Statement& s) {
    std::vector<bool> ready = values_bound_;
    auto check = [&](const Expr& e, size_t at) {
      std::vector<bool> attrs = attrs_bound_, ops = ops_bound_;
      ready.resize(values_.size());
      attrs.resize(attrs_.size());
      ops.resize(op_holes_.size());
      if (!is_bound(e, ready, attrs, ops)) lex_.fail_at(at, "this mentions what the match does not bind");
    };
    for (const auto& n : s.body) {
      if (n.kind == ast::Statement::result) {
        for (const auto& v : n.names) {
          rule_.with.push_back(value(v));
          ready.resize(values_.size());
          if (!ready[rule_.with.back()]) lex_.fail_at(n.at, "`%" + v + "` is not bound");
        }
        continue;
      }
      NewNode fresh;
      if (n.call.kind == Expr::op) {
        fresh.op = op_hole(n.call.text);
      } else {
        fresh.op_name = n.call.text;
        candidates(n.call.text, n.call.at);
      }
      for (const ast::Node& a : n.call.operands) {
        Expr e = expression(a);
        if (e.kind != Expr::rest) check(e, a.at);
        if (a.keyword.empty()) {
          fresh.positional.push_back(std::move(e));
        } else {
          fresh.keywords.emplace_back(a.keyword, std::move(e));
        }
      }
      for (const auto& r : n.names) {
        Slot made_here = r == "_" ? kNoSlot : value(r);
        ready.resize(values_.size());
        if (made_here != kNoSlot && ready[made_here]) lex_.fail_at(n.at, "`%" + r + "` is bound already");
        if (made_here != kNoSlot) ready[made_here] = true;
        fresh.results.push_back(made_here);
      }
      rule_.fresh.push_back(std::move(fresh));
    }
    if (rule_.with.size() != rule_.replaced.size())
      lex_.fail_at(s.at, "replaces " + std::to_string(rule_.replaced.size()) + " values with " +
                             std::to_string(rule_.with.size()));
  }

  size_t dying_nodes() const {
    return static_cast<size_t>(std::ranges::count_if(rule_.nodes, [&](const NodePattern& n) {
      return std::ranges::none_of(n.results,
                                  [&](Slot r) { return std::ranges::find(rule_.shared, r) != rule_.shared.end(); });
    }));
  }

  void root_traits() {
    Slot root = rule_.nodes[rule_.plan[0].node].op;
    for (const Condition& c : rule_.conditions)
      if (c.kind == Condition::test && c.expr.kind == Expr::binary && c.expr.text == "is" && root != kNoSlot &&
          c.expr.operands[0].kind == Expr::op && c.expr.operands[0].slot == root)
        if (auto t = trait(c.expr.operands[1].text)) rule_.root_traits = rule_.root_traits | *t;
  }

  const PatternLexer& lex_;
  const OpTable& ops_;
  Context& literals_;
  std::span<const NamedFunction> functions_;
  const ast::RuleText& text_;
  const ast::Statements& statements_;
  Rule rule_;
  std::map<std::string, Slot> values_, attrs_, op_holes_;
  std::map<Slot, size_t> producers_;
  std::vector<std::vector<Slot>> values_of_nodes_, attrs_of_nodes_;
  std::vector<bool> values_bound_, attrs_bound_, ops_bound_;
};
}  // namespace

RuleSet RuleSet::parse(std::string_view text, const OpTable& ops, std::string_view source,
                       std::span<const NamedFunction> functions) {
  RuleSet set;
  set.literals_ = std::make_shared<Context>();
  set.functions_.assign(functions.begin(), functions.end());
  PatternLexer lexer(text, source);
  for (const ast::RuleText& rule : ast::parse(lexer, *set.literals_)) {
    size_t count = rule.alternatives.size();
    for (size_t i = 0; i < count; ++i) {
      std::string name = count == 1 ? rule.name : rule.name + "/" + std::to_string(i + 1);
      if (set.find(name)) lexer.fail_at(rule.at, "there are two rules `" + name + "`");
      set.rules_.push_back(
          Compiler(lexer, ops, *set.literals_, functions, rule, rule.alternatives[i]).compile(std::move(name)));
    }
  }
  for (uint32_t i = 0; i < set.rules_.size(); ++i) {
    const Rule& rule = set.rules_[i];
    const NodePattern& root = rule.nodes[rule.plan[0].node];
    for (const auto& c : root.choices) set.by_root_[c.op].push_back(i);
    if (root.op == kNoSlot) continue;
    for (const auto& row : ops.rows())
      if ((row->traits.bits & rule.root_traits.bits) == rule.root_traits.bits) set.by_root_[row.get()].push_back(i);
  }
  return set;
}

const Rule* RuleSet::find(std::string_view name) const {
  for (const Rule& r : rules_)
    if (r.name == name) return &r;
  return nullptr;
}

std::span<const uint32_t> RuleSet::rooted_at(const OpDef& op) const {
  auto found = by_root_.find(&op);
  if (found == by_root_.end()) return {};
  return found->second;
}

PatternFunction RuleSet::function(std::string_view name) const {
  for (const NamedFunction& f : functions_)
    if (f.name == name) return f.function;
  return builtin_function(name);
}

}  // namespace lenz
