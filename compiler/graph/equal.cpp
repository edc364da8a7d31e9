#include "compiler/graph/equal.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <unordered_map>

#include "compiler/base/hash.h"
#include "compiler/graph/equal_parts.h"
#include "compiler/graph/text.h"

namespace lenz {

namespace {
bool is_list(const Arg& a) { return a.kind >= ArgKind::value_list && a.kind <= ArgKind::arg_list; }

// Element i of a list, whatever kind holds it.
Arg element(const Arg& a, size_t i) {
  switch (a.kind) {
    case ArgKind::value_list: return a.values[i] == kNone ? Arg::none() : Arg::of_value(a.values[i]);
    case ArgKind::int_list: return Arg::of_dim(a.dims[i]);
    case ArgKind::real_list: return Arg::of_real(a.reals[i]);
    case ArgKind::bool_list: return Arg::of_bool(a.bools[i]);
    default: return a.args[i];
  }
}

// An integer where a float stands is that float.
Arg as_given(const Arg& a, bool for_float) {
  return for_float && a.kind == ArgKind::integer && !a.symbolic ? Arg::of_real(static_cast<double>(a.i)) : a;
}

bool takes_float(const Node& n, size_t i) {
  return i < n.op->schema.params.size() && n.op->schema.params[i].type.kind == ParamKind::real;
}

std::vector<std::string> condition_texts(const SharedList<Cond>& conditions) {
  std::vector<std::string> texts;
  for (const Cond& c : conditions) texts.push_back(to_string(c));
  std::sort(texts.begin(), texts.end());
  texts.erase(std::unique(texts.begin(), texts.end()), texts.end());
  return texts;
}

std::vector<std::string> range_texts(const Facts& facts) {
  std::vector<std::string> texts;
  for (const auto& [symbol, range] : facts.ranges())
    texts.push_back(std::string(symbol_name(symbol)) + " in " + (range.low ? std::to_string(*range.low) : "") + ".." +
                    (range.high ? std::to_string(*range.high) : ""));
  std::sort(texts.begin(), texts.end());
  return texts;
}

// The number of the first input of each input's alias class; its own for one without a class.
std::vector<size_t> alias_leaders(const Graph& g) {
  std::vector<size_t> leaders;
  std::unordered_map<NameId, size_t> first;
  for (size_t i = 0; i < g.inputs().size(); ++i) {
    const Input& input = g.inputs()[i];
    leaders.push_back(input.alias ? first.emplace(*input.alias, i).first->second : i);
  }
  return leaders;
}

bool same_bits(double a, double b) { return std::bit_cast<uint64_t>(a) == std::bit_cast<uint64_t>(b); }

bool same_initialiser(const Initialiser& a, const Initialiser& b) {
  if (a.kind != b.kind) return false;
  if (a.kind == Initialiser::none || a.kind == Initialiser::zeros || a.kind == Initialiser::ones) return true;
  bool bounds = a.kind == Initialiser::permutation || (same_bits(a.low, b.low) && same_bits(a.high, b.high));
  return bounds && a.seed == b.seed && a.sorted == b.sorted;
}

}  // namespace

bool same_op(const OpDef& a, const OpDef& b) {
  return &a == &b || (a.full_name == b.full_name && !a.infer == !b.infer && to_string(a.schema) == to_string(b.schema));
}

bool same_assumptions(const Assumptions& a, const Assumptions& b, std::string& why) {
  bool facts = range_texts(a.facts()) == range_texts(b.facts()) &&
               condition_texts(a.facts().conditions()) == condition_texts(b.facts().conditions());
  bool guards = condition_texts(a.guards()) == condition_texts(b.guards());
  if (facts && guards) return true;
  auto said = [&](const Assumptions& of) {
    std::vector<std::string> texts = facts ? condition_texts(of.guards()) : range_texts(of.facts());
    if (!facts)
      for (std::string& text : condition_texts(of.facts().conditions())) texts.push_back(std::move(text));
    return fmt::format("{}", fmt::join(texts, ", "));
  };
  why = fmt::format("the {} differ: {}\n  against {}", facts ? "guards" : "facts", said(a), said(b));
  return false;
}

bool same_arg(const Arg& given_x, const Arg& given_y, bool for_float,
              const std::function<bool(const Arg&, const Arg&)>& same_reference) {
  Arg x = as_given(given_x, for_float), y = as_given(given_y, for_float);
  if (is_list(x) && is_list(y)) {
    if (x.count != y.count) return false;
    for (size_t i = 0; i < x.count; ++i)
      if (!same_arg(element(x, i), element(y, i), for_float, same_reference)) return false;
    return true;
  }
  if (x.kind != y.kind) return false;
  switch (x.kind) {
    case ArgKind::value:
    case ArgKind::graph: return same_reference(x, y);
    case ArgKind::integer: return compare(x.dim(), y.dim()) == 0;
    default: return x == y;
  }
}

std::vector<uint32_t> value_numbers(const Graph& graph) {
  std::vector<uint32_t> numbers(graph.value_count(), kNone);
  uint32_t next = 0;
  for (const Input& i : graph.inputs()) numbers[i.value] = next++;
  graph.for_each_node([&](NodeId id) {
    for (size_t i = 0; i < graph.node(id).result_count; ++i) numbers[graph.node(id).result(i)] = next++;
  });
  return numbers;
}

bool same_type(const Type& a, const Type& b) {
  if (&a == &b) return true;
  if (a.hash != b.hash || a.kind != b.kind || a.count != b.count || a.dtype != b.dtype || !(a.device == b.device))
    return false;
  if (compare(a.offset, b.offset) != 0) return false;
  for (size_t i = 0; i < a.elements().size(); ++i)
    if (!same_type(*a.elements()[i], *b.elements()[i])) return false;
  if (!a.is_tensor()) return true;
  for (size_t i = 0; i < a.count; ++i)
    if (compare(a.sizes()[i], b.sizes()[i]) != 0 || compare(a.strides()[i], b.strides()[i]) != 0) return false;
  return true;
}

// --- equality

namespace {
class Comparison {
 public:
  Comparison(const Graph& a, const Graph& b, std::string* why)
      : a_(a), b_(b), why_(why), a_numbers_(value_numbers(a)), b_numbers_(value_numbers(b)) {}

  bool run() {
    if (!header()) return false;
    NodeId x = a_.first(), y = b_.first();
    for (; x != kNone && y != kNone; x = a_.node(x).next, y = b_.node(y).next)
      if (!node(x, y)) return false;
    if (x != kNone || y != kNone)
      return differ(x != kNone ? "only one has " + GraphText(a_).node(x)
                               : "only the other has " + GraphText(b_).node(y));
    if (a_.outputs().size() != b_.outputs().size()) return differ("they have different numbers of outputs");
    for (size_t i = 0; i < a_.outputs().size(); ++i)
      if (!argument(a_.outputs()[i], b_.outputs()[i], false)) return differ("output " + std::to_string(i) + " differs");
    return true;
  }

 private:
  bool differ(const std::string& what) {
    if (why_ && why_->empty()) *why_ = a_.spelled_name() + ": " + what;
    return false;
  }

  bool header() {
    if (a_.level != b_.level) return differ("the levels differ");
    if (a_.inputs().size() != b_.inputs().size()) return differ("they have different numbers of inputs");
    for (size_t i = 0; i < a_.inputs().size(); ++i) {
      const Input &x = a_.inputs()[i], &y = b_.inputs()[i];
      if (!same_type(a_.type(x.value), b_.type(y.value)) || x.mutated != y.mutated ||
          x.requires_grad != y.requires_grad || !same_initialiser(x.init, y.init))
        return differ("input " + std::to_string(i) + " differs");
    }
    if (alias_leaders(a_) != alias_leaders(b_)) return differ("their inputs alias differently");
    std::string why;
    if (!same_assumptions(a_.assumptions, b_.assumptions, why)) return differ(why);
    return true;
  }

  bool node(NodeId x, NodeId y) {
    const Node &m = a_.node(x), &n = b_.node(y);
    bool same = same_op(*m.op, *n.op) && m.arg_count == n.arg_count && m.result_count == n.result_count;
    for (size_t i = 0; same && i < m.arg_count; ++i) same = argument(m.args[i], n.args[i], takes_float(m, i));
    for (size_t i = 0; same && i < m.result_count; ++i) {
      ValueId v = m.result(i), w = n.result(i);
      same = same_type(a_.type(v), b_.type(w)) && a_numbers_[a_.storage(v)] == b_numbers_[b_.storage(w)];
    }
    if (same) return true;
    const PrintOptions typed{.types = true};
    if (why_ && why_->empty()) differ(GraphText(a_, typed).node(x) + "\n  against " + GraphText(b_, typed).node(y));
    return false;
  }

  bool argument(const Arg& x, const Arg& y, bool for_float) {
    return same_arg(x, y, for_float, [&](const Arg& m, const Arg& n) {
      if (m.kind == ArgKind::graph) return subgraph(m.graph(), n.graph());
      return number(a_numbers_, m.value()) == number(b_numbers_, n.value());
    });
  }

  static uint32_t number(const std::vector<uint32_t>& numbers, ValueId v) {
    return v < numbers.size() ? numbers[v] : v;
  }

  bool subgraph(uint32_t x, uint32_t y) {
    if (x >= a_.subgraphs.size() || y >= b_.subgraphs.size()) return false;
    auto [at, fresh] = compared_.try_emplace(uint64_t{x} << 32 | y, false);
    if (fresh) at->second = Comparison(*a_.subgraphs[x], *b_.subgraphs[y], why_).run();
    return at->second;
  }

  const Graph &a_, &b_;
  std::string* why_;
  std::vector<uint32_t> a_numbers_, b_numbers_;
  std::unordered_map<uint64_t, bool> compared_;
};
}  // namespace

bool structurally_equal(const Graph& a, const Graph& b, std::string* why) {
  if (why) why->clear();
  return Comparison(a, b, why).run();
}

// --- hash

namespace {
class Hasher {
 public:
  explicit Hasher(const Graph& graph) : graph_(graph), numbers_(graph.value_count(), kNone) {}

  uint64_t run() {
    uint64_t h = combine(static_cast<uint64_t>(graph_.level), graph_.inputs().size());
    for (const Input& i : graph_.inputs()) h = combine(h, input(i));
    for (size_t leader : alias_leaders(graph_)) h = combine(h, leader);
    const Assumptions& facts = graph_.assumptions;
    for (const auto& texts :
         {range_texts(facts.facts()), condition_texts(facts.facts().conditions()), condition_texts(facts.guards())}) {
      h = combine(h, texts.size());
      for (const std::string& text : texts) h = hash_bytes(text, h);
    }
    for (const Input& i : graph_.inputs()) number(i.value);
    graph_.for_each_node([&](NodeId id) { h = combine(h, node(graph_.node(id))); });
    h = combine(h, graph_.outputs().size());
    for (const Arg& a : graph_.outputs()) h = combine(h, argument(a, false));
    return h;
  }

 private:
  uint64_t input(const Input& i) {
    uint64_t h = combine(graph_.type(i.value).hash, i.mutated * 2u + i.requires_grad);
    h = combine(h, i.init.kind);
    bool numbers = i.init.kind == Initialiser::uniform || i.init.kind == Initialiser::normal ||
                   i.init.kind == Initialiser::integers;
    if (numbers) h = combine(combine(h, std::bit_cast<uint64_t>(i.init.low)), std::bit_cast<uint64_t>(i.init.high));
    if (numbers || i.init.kind == Initialiser::permutation) h = combine(combine(h, i.init.seed), i.init.sorted);
    return h;
  }

  uint64_t node(const Node& n) {
    uint64_t h = combine(n.op->name_hash, n.result_count);
    for (size_t i = 0; i < n.arg_count; ++i) {
      const Arg& a = n.args[i];
      h = combine(h, argument(a, (a.kind == ArgKind::integer || is_list(a)) && takes_float(n, i)));
    }
    for (size_t i = 0; i < n.result_count; ++i) number(n.result(i));
    for (size_t i = 0; i < n.result_count; ++i)
      h = combine(combine(h, graph_.type(n.result(i)).hash), numbers_[graph_.storage(n.result(i))]);
    return h;
  }

  void number(ValueId v) { numbers_[v] = next_++; }

  uint64_t argument(const Arg& given, bool for_float) {
    Arg a = as_given(given, for_float);
    if (is_list(a)) {
      uint64_t h = mix(0x4C157 + a.count);
      for (size_t i = 0; i < a.count; ++i) h = combine(h, argument(element(a, i), for_float));
      return h;
    }
    if (a.kind == ArgKind::value)
      return combine(static_cast<uint64_t>(a.kind), a.value() < numbers_.size() ? numbers_[a.value()] : a.value());
    if (a.kind == ArgKind::graph && a.graph() < graph_.subgraphs.size()) {
      auto [at, fresh] = subgraphs_.try_emplace(a.graph(), 0);
      if (fresh) at->second = structural_hash(*graph_.subgraphs[a.graph()]);
      return combine(static_cast<uint64_t>(a.kind), at->second);
    }
    return hash_arg(a);
  }

  const Graph& graph_;
  std::vector<uint32_t> numbers_;  // as value_numbers() has them, of what is defined so far
  uint32_t next_ = 0;
  std::unordered_map<uint32_t, uint64_t> subgraphs_;
};
}  // namespace

uint64_t structural_hash(const Graph& graph) { return Hasher(graph).run(); }

}  // namespace lenz
