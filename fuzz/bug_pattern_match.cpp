#include <algorithm>
#include <cmath>
#include <limits>

#include "compiler/graph/alias.h"
#include "fuzz/bug_pattern.h"
#include "oracle/draw_inputs.h"

namespace lenz::fuzz {

namespace {
using Who = BugPattern::Who;
using Operand = BugPattern::Operand;
using Condition = BugPattern::Condition;
using Through = BugPattern::Through;
using Bits = std::vector<bool>;

double greatest_of(Dtype d) {
  if (is_floating(d) || is_complex(d)) return 1e10;  // where a few products are infinite, or integers no more
  const int bits = info(d).bits - (info(d).is_signed ? 1 : 0);
  return d == Dtype::b8 ? 2 : std::ldexp(1.0, bits) - 1;
}

bool is_permuted(const Type& t) {
  for (size_t i = 0; i + 1 < t.rank(); ++i) {
    const Dim a = t.strides()[i], b = t.strides()[i + 1];
    if (t.sizes()[i].is(1) || t.sizes()[i + 1].is(1)) continue;
    if (a.is_constant() ? a.constant() != 0 && (!b.is_constant() || b.constant() > a.constant()) : false) return true;
  }
  return false;
}

bool is_channels_last(const Type& t) {
  if (t.rank() != 4 && t.rank() != 5) return false;
  Dim stride = 1;
  if (t.sizes()[1].is(1)) return false;
  for (size_t i = 0; i < t.rank(); ++i) {
    const size_t d = i == 0 ? 1 : i + 1 == t.rank() ? 0 : t.rank() - i;
    if (!(t.strides()[d] == stride)) return false;
    stride = stride * t.sizes()[d];
  }
  return true;
}

bool is_expanded(const Type& t) {
  for (size_t d = 0; d < t.rank(); ++d)
    if (t.strides()[d].is(0) && !t.sizes()[d].is(1)) return true;
  return false;
}
}  // namespace

struct BugPatternMatcher::Looked {
  Looked(const Graph& g, const Setting& s) : graph(g), setting(s), classes(g) {
    const size_t places = g.node_capacity() + g.inputs().size();
    depends.resize(g.node_capacity());
    g.for_each_node([&](NodeId id) {
      const Node& node = g.node(id);
      Call call{.id = id};
      Bits on(places, false);
      on[id] = true;
      for (size_t i = 0; i < node.arg_count; ++i) {
        const bool written = writes_operand(*node.op, node.arguments(), i);
        for_each_value(node.args[i], [&](ValueId v) {
          if (v == kNone) return;
          const bool named = i < node.op->schema.params.size();
          call.operands.push_back({v, written, named ? node.op->schema.params[i].name : std::string_view()});
          reads(on, v);
          if (written) writers.push_back({classes.root(v), id});
        });
      }
      depends[id] = std::move(on);
      calls.push_back(std::move(call));
    });
  }

  struct Given {
    ValueId value;
    bool written;
    std::string_view parameter;
  };
  struct Call {
    NodeId id;
    std::vector<Given> operands = {};
  };
  struct Bound {
    ValueId value = kNone;
    NodeId node = kNone;
    bool known = false;
  };
  struct Writer {
    ValueId root;
    NodeId node;
  };

  size_t place(ValueId v) const {
    const Value& value = graph.value(v);
    return value.producer == kNone ? graph.node_capacity() + value.index : value.producer;
  }
  // All that a value depends on, through its memory too.
  void reads(Bits& on, ValueId v) {
    on[place(v)] = true;
    auto add = [&](NodeId id) {
      for (size_t i = 0; i < on.size(); ++i)
        if (depends[id][i]) on[i] = true;
    };
    if (graph.value(v).producer != kNone) add(graph.value(v).producer);
    const ValueId root = classes.root(v);
    for (const Writer& w : writers)
      if (w.root == root && !depends[w.node].empty()) add(w.node);
  }

  bool step(const BugPattern& p, size_t number, size_t from) {
    if (number == p.steps.size()) return true;
    const BugPattern::Step& s = p.steps[number];
    if (s.who[0].kind == Who::input) {
      for (const Input& input : graph.inputs()) {
        bound[s.name] = {.value = input.value, .known = true};
        if (holds(s.conditions) && step(p, number + 1, from)) return true;
      }
      bound[s.name] = {};
      return false;
    }
    for (size_t at = from; at < calls.size(); ++at) {
      const Node& node = graph.node(calls[at].id);
      if (std::ranges::none_of(s.who, [&](const Who& w) { return is(node, w); })) continue;
      bound[s.name] = {node.result_count ? node.result() : kNone, calls[at].id, true};
      std::vector<bool> taken(calls[at].operands.size(), false);
      if (operands(p, number, at, 0, taken)) return true;
    }
    bound[s.name] = {};
    return false;
  }

  // Operands from the given one on; then conditions, then the next steps.
  bool operands(const BugPattern& p, size_t number, size_t at, size_t which, std::vector<bool>& taken) {
    const BugPattern::Step& s = p.steps[number];
    if (which == s.operands.size()) return holds(s.conditions) && step(p, number + 1, at + 1);
    const Operand& wanted = s.operands[which];
    const std::vector<Given>& given = calls[at].operands;
    for (size_t i = 0; i < given.size(); ++i) {
      if (taken[i] || given[i].written != wanted.written) continue;
      if (!wanted.parameter.empty() && wanted.parameter != given[i].parameter) continue;
      const Bound before = bound[wanted.name];
      if (before.known ? !linked(given[i].value, wanted, before, at) : false) continue;
      if (!before.known) bound[wanted.name] = {given[i].value, graph.value(given[i].value).producer, true};
      taken[i] = true;
      if (operands(p, number, at, which + 1, taken)) return true;
      taken[i] = false;
      bound[wanted.name] = before;
    }
    return false;
  }

  bool linked(ValueId v, const Operand& wanted, const Bound& to, size_t at) {
    switch (wanted.through) {
      case Through::itself: return v == to.value || (to.node != kNone && graph.value(v).producer == to.node);
      case Through::memory: return to.value != kNone && classes.shared(v, to.value);
      case Through::computed: {
        const size_t bit = to.node != kNone ? to.node : place(to.value);
        if (place(v) == bit) return true;
        if (graph.value(v).producer != kNone && depends[graph.value(v).producer][bit]) return true;
        const ValueId root = classes.root(v);
        const NodeId here = calls[at].id;
        return std::ranges::any_of(writers, [&](const Writer& w) {
          return w.root == root && w.node != here && depends[here][w.node] && depends[w.node][bit];
        });
      }
    }
    return false;
  }

  static bool is(const Node& node, const Who& w) {
    const OpDef& op = *node.op;
    switch (w.kind) {
      case Who::input: return false;
      case Who::any: return true;
      case Who::external: return op.infer == nullptr || op.lowering.kind == LoweringKind::external;
      case Who::transcendental: return op.accuracy >= Accuracy::ulp1 && op.accuracy <= Accuracy::ulp16;
      case Who::trait: return op.has(w.which);
      case Who::op:
        return std::ranges::any_of(w.ops, [&](const OpDef* other) { return &op == other || op.base == other; });
    }
    return false;
  }

  // --- conditions

  bool holds(const std::vector<Condition>& conditions) {
    return std::ranges::all_of(conditions, [&](const Condition& c) { return holds(c); });
  }

  bool holds(const Condition& c) {
    const Bound &a = bound[c.name], &b = bound[c.other];
    switch (c.kind) {
      case Condition::is:
      case Condition::is_not: {
        const bool some = std::ranges::any_of(c.words, [&](std::string_view word) { return is_called(a, word); });
        return some == (c.kind == Condition::is);
      }
      case Condition::same:
        return tensors(a, b) && std::ranges::equal(type(a).sizes(), type(b).sizes()) && type(a).dtype == type(b).dtype;
      case Condition::recast: return tensors(a, b) && type(a).dtype != type(b).dtype;
      case Condition::apart: return a.value != b.value;
      case Condition::wider: return tensors(a, b) && info(type(a).dtype).bits > info(type(b).dtype).bits;
      case Condition::compare:
        for (const double left : numbers(a, c.attribute)) {
          if (c.other_attribute.empty()) {
            if (compared(left, c.comparison, c.number)) return true;
            continue;
          }
          for (const double right : numbers(b, c.other_attribute))
            if (compared(left, c.comparison, right)) return true;
        }
        return false;
    }
    return false;
  }

  static bool compared(double a, std::string_view how, double b) {
    if (how == "==") return a == b;
    if (how == "!=") return a != b;
    if (how == "<=") return a <= b;
    if (how == ">=") return a >= b;
    return how == "<" ? a < b : a > b;
  }

  const Type& type(const Bound& b) const { return graph.type(b.value); }
  bool tensor(const Bound& b) const { return b.value != kNone && type(b).is_tensor(); }
  bool tensors(const Bound& a, const Bound& b) const { return tensor(a) && tensor(b); }

  bool is_called(const Bound& b, std::string_view word) {
    if (word == "fractional")
      return b.node != kNone && std::ranges::any_of(numbers(b, "number"), [](double n) { return n != std::floor(n); });
    if (b.value == kNone) return false;
    const auto& users = graph.value(b.value).users;
    if (word == "used") return !users.empty();
    if (word == "output") return std::ranges::find(users, kOutputs) != users.end();
    if (word == "input") return classes.is_external(b.value);
    if (word == "written") return classes.is_written(b.value);
    if (word == "shared" || word == "negative" || word == "mutated") {
      const Value& value = graph.value(b.value);
      if (value.producer != kNone) return false;
      const Input& input = graph.inputs()[value.index];
      if (word == "shared") return input.alias.has_value();
      if (word == "mutated") return input.mutated;
      return input.init.kind == Initialiser::integers && input.init.low < 0;
    }
    if (!tensor(b)) return false;
    const Type& t = type(b);
    if (const auto set = dtypes_called(word)) return set->has(t.dtype);
    if (word == "strided") return !std::ranges::equal(t.strides(), contiguous_strides(t.sizes()));
    if (word == "permuted") return is_permuted(t);
    if (word == "channels_last") return is_channels_last(t);
    if (word == "expanded") return is_expanded(t);
    if (word == "offset") return !t.offset.is(0);
    if (word == "open") {
      bool open = false;
      for_each_symbolic_dim(t, [&](Dim) { open = true; });
      return open;
    }
    return false;
  }

  std::vector<double> numbers(const Bound& b, std::string_view attribute) const {
    std::vector<double> all;
    if (attribute == "number") {
      if (b.node == kNone) return all;
      for (const Arg& a : graph.node(b.node).arguments()) {
        if (a.kind == ArgKind::integer && !a.symbolic) all.push_back(static_cast<double>(a.i));
        if (a.kind == ArgKind::real) all.push_back(a.d);
      }
      return all;
    }
    if (!tensor(b)) return all;
    const Type& t = type(b);
    if (attribute == "rank") return {static_cast<double>(t.rank())};
    double elements = 1;
    for (const Dim d : t.sizes()) {
      const auto most = graph.assumptions.facts().range(d).high;
      all.push_back(d.is_constant() ? static_cast<double>(d.constant())
                    : most          ? static_cast<double>(*most)
                                    : std::numeric_limits<double>::infinity());
      elements *= all.back();
    }
    return attribute == "size" ? all : std::vector{elements};
  }

  // --- the case

  bool has_values(const BugPattern& p) const {
    return p.values.empty() || std::ranges::any_of(p.values, [&](std::string_view word) { return has_values(word); });
  }
  bool has_values(std::string_view word) const {
    if (setting.values == oracle::Values::special && (word == "extreme" || word == "zeros")) return true;
    for (const Input& input : graph.inputs()) {
      const Type& t = graph.type(input.value);
      if (!t.is_tensor()) continue;
      const Initialiser& init = input.init;
      if (word == "zeros" && init.kind == Initialiser::zeros) return true;
      const bool ranges = init.kind == Initialiser::uniform || init.kind == Initialiser::integers;
      if (word == "extreme" && ranges && std::max(std::abs(init.low), std::abs(init.high)) * 2 >= greatest_of(t.dtype))
        return true;
    }
    return word == oracle::name(setting.values);
  }

  const Graph& graph;
  const Setting& setting;
  AliasClasses classes;
  std::vector<Call> calls;  // in order
  std::vector<Bits> depends;
  std::vector<Writer> writers;
  std::vector<Bound> bound;
};

BugPatternMatcher::BugPatternMatcher(const Graph& graph, const Setting& setting)
    : looked_(std::make_unique<Looked>(graph, setting)) {}
BugPatternMatcher::~BugPatternMatcher() = default;

bool BugPatternMatcher::matches(const BugPattern& pattern) {
  if (pattern.steps.empty() || !looked_->has_values(pattern)) return false;
  looked_->bound.assign(pattern.names, {});
  return looked_->step(pattern, 0, 0);
}

}  // namespace lenz::fuzz
