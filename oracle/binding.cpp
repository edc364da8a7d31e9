#include "oracle/binding.h"

#include <algorithm>
#include <charconv>
#include <functional>
#include <optional>
#include <sstream>
#include <unordered_set>

#include "compiler/base/hash.h"
#include "compiler/base/sym_parts.h"
#include "oracle/equations.h"

namespace lenz::oracle {

std::optional<int64_t> Binding::value(const SymNode* symbol) const {
  auto found = values_.find(symbol);
  return found == values_.end() ? std::nullopt : std::optional(found->second);
}

SymValues Binding::lookup() const {
  return [this](const SymNode* symbol) { return value(symbol); };
}

bool Binding::match(Dim claimed, int64_t seen) {
  if (claimed.is_constant()) return claimed.constant() == seen;
  if (auto known = evaluate(claimed, lookup())) return *known == seen;
  const SymNode* alone = nullptr;
  for_each_symbol(claimed, [&](const SymNode* s) {
    if (Dim(s) == claimed) alone = s;
  });
  return !alone || set(alone, seen);  // of an expression whose symbols come later nothing can be said yet
}

bool Binding::match(const Type& claimed, const Seen& seen) {
  if (claimed.kind == TypeKind::sym_int) return seen.kind != TypeKind::sym_int || match(claimed.offset, seen.integer);
  if (claimed.kind == TypeKind::list) {
    auto elements = claimed.elements();
    for (size_t i = 0; i < elements.size() && i < seen.elements.size(); ++i)
      if (!match(*elements[i], seen.elements[i])) return false;
    return true;
  }
  if (!claimed.is_tensor()) return true;
  if (!match_sizes(claimed, seen) || claimed.device.kind != seen.device.kind) return false;
  for (size_t d = 0; d < claimed.rank(); ++d)
    if (!match(claimed.strides()[d], seen.strides[d])) return false;
  // Where nothing is, it is nowhere: eager forgets the offset of an empty copy if its memory is empty too.
  return match(claimed.offset, seen.offset) || std::ranges::find(seen.sizes, 0) != seen.sizes.end();
}

bool Binding::match_sizes(const Type& claimed, const Seen& seen) {
  if (!claimed.is_tensor()) return match(claimed, seen);
  if (seen.kind != TypeKind::tensor || seen.foreign || claimed.dtype != seen.dtype ||
      claimed.rank() != seen.sizes.size())
    return false;
  for (size_t d = 0; d < claimed.rank(); ++d)
    if (!match(claimed.sizes()[d], seen.sizes[d])) return false;
  return true;
}

namespace {
template <class F>
void for_each_input_dim(const Graph& graph, F&& visit) {
  for (const Input& input : graph.inputs()) {
    const Type& t = graph.type(input.value);
    if (t.kind == TypeKind::sym_int) visit(t.offset);
    if (!t.is_tensor()) continue;
    for (Dim d : t.sizes()) visit(d);
    for (Dim d : t.strides()) visit(d);
    visit(t.offset);
  }
}
}  // namespace

namespace {
UserError without_value(Dim size, const SymValues& values) {
  if (values)
    if (const std::string why = why_no_value(size, values); !why.empty()) return UserError(why);
  return UserError("the size " + lenz::to_string(size) + " has no value", {}, "bind its symbols");
}
}  // namespace

NoValue::NoValue(Dim of, const SymValues& values) : UserError(without_value(of, values)), size(of) {}

Binding parse_binding(const std::string& text, const Graph& graph) {
  Binding binding;
  std::stringstream items(text);
  for (std::string item; std::getline(items, item, ',');) {
    size_t equals = item.find('=');
    std::string name = item.substr(0, equals);
    std::string number = equals == std::string::npos ? "" : item.substr(equals + 1);
    int64_t value = 0;
    auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), value);
    if (error == std::errc::result_out_of_range)
      throw UserError("`" + item + "`: the number overflows 64 bits", "--bind", "sizes go up to 9223372036854775807");
    if (number.empty() || error != std::errc() || end != number.data() + number.size())
      throw UserError("`" + item + "` binds no symbol", "--bind", "write --bind s0=17,s1=3");
    const SymNode* symbol = nullptr;
    std::vector<std::string> names;
    for_each_input_dim(graph, [&](Dim d) {
      for_each_symbol(d, [&](const SymNode* s) {
        names.emplace_back(symbol_name(s));
        if (symbol_name(s) == name) symbol = s;
      });
    });
    if (!symbol)
      throw UserError(graph.spelled_name() + " has no symbol " + name, "--bind",
                      names.empty() ? "all of its sizes are constants" : "its first symbol is " + names[0]);
    if (!binding.set(symbol, value)) throw UserError(name + " is bound twice, to two values", "--bind");
  }
  return binding;
}

namespace {
std::vector<const SymNode*> input_symbols(const Graph& graph) {
  std::vector<const SymNode*> symbols;
  std::unordered_set<const SymNode*> seen;
  for_each_input_dim(graph, [&](Dim d) {
    for_each_symbol(d, [&](const SymNode* s) {
      if (seen.insert(s).second) symbols.push_back(s);
    });
  });
  return symbols;
}

bool may_hold(const SharedList<Cond>& conditions, const Binding& binding) {
  return std::ranges::all_of(conditions, [&](const Cond& c) { return evaluate(c, binding.lookup()) != false; });
}

bool holds(const Binding& binding, const Graph& graph) {
  return may_hold(graph.assumptions.facts().conditions(), binding) && may_hold(graph.assumptions.guards(), binding);
}

// What equations say of the inputs' symbols that have no value yet.
class Equations {
 public:
  explicit Equations(const Graph& graph) {
    for (const SymNode* s : input_symbols(graph)) symbols_.insert(s);
    for (const SharedList<Cond>* conditions : {&graph.assumptions.facts().conditions(), &graph.assumptions.guards()})
      for (const Cond& c : *conditions)
        if (c.rel == Rel::eq) equations_.push_back(c);
  }

  void derive(Binding& binding) const {
    auto is_open = [&](Dim d) { return !d.is_constant() && symbols_.contains(d.node()) && !binding.value(d.node()); };
    for (bool changed = true; changed;) {
      changed = false;
      for (const Cond& c : equations_)
        for (auto [open, known] : {std::pair(c.lhs, c.rhs), std::pair(c.rhs, c.lhs)}) {
          if (!is_open(open)) continue;
          const auto value = evaluate(known, binding.lookup());
          if (!value) continue;
          binding.set(open.node(), *value);
          changed = true;
        }
    }
  }

 private:
  std::unordered_set<const SymNode*> symbols_;
  std::vector<Cond> equations_;
};
}  // namespace

void derive(Binding& binding, const Graph& graph) { Equations(graph).derive(binding); }

void complete(Binding& binding, const Graph& graph, uint64_t seed) {
  constexpr int kTries = 100;
  constexpr int64_t kSpread = 24;  // sizes beyond it cost time and show little
  const Equations equations(graph);
  equations.derive(binding);
  std::vector<const SymNode*> open;
  for (const SymNode* s : input_symbols(graph))
    if (!binding.value(s)) open.push_back(s);
  for (int t = 0; seed && t < kTries; ++t) {
    Binding drawn = binding;
    for (size_t i = 0; i < open.size(); ++i) {
      if (drawn.value(open[i])) continue;  // an equation says it
      Range range = graph.assumptions.known().range(Dim(open[i]));
      int64_t low = range.low.value_or(0), high = std::min(range.high.value_or(low + kSpread), low + kSpread);
      uint64_t bits = mix(combine(combine(seed, static_cast<uint64_t>(t)), i));
      drawn.set(open[i], low + static_cast<int64_t>(bits % static_cast<uint64_t>(high - low + 1)));
      equations.derive(drawn);
    }
    if (!holds(drawn, graph)) continue;
    binding = drawn;
    return;
  }
  for (const SymNode* s : open) {
    if (!binding.value(s)) binding.set(s, graph.assumptions.known().hint(s));
    equations.derive(binding);
  }
}

namespace {
// Gives these symbols sizes near the wanted ones, one after the other; nothing where the later ones find no place.
std::optional<Binding> sizes_near(Binding sizes, const Graph& graph, const Equations& equations,
                                  std::span<const SymNode* const> symbols,
                                  const std::function<int64_t(size_t)>& wanted) {
  constexpr int64_t kReach = 64;
  size_t number = 0;
  for (const SymNode* s : symbols) {
    if (sizes.value(s)) continue;
    Range range = graph.assumptions.known().range(Dim(s));
    int64_t low = std::max(wanted(number++), range.low.value_or(0));
    int64_t high = std::min(range.high.value_or(low + kReach), low + kReach);
    bool found = false;
    for (int64_t v = std::min(low, high); v <= high && !found; ++v) {
      Binding next = sizes;
      next.set(s, v);
      equations.derive(next);
      found = holds(next, graph);
      if (found) sizes = next;
    }
    if (!found) return std::nullopt;
  }
  return sizes;
}
}  // namespace

std::vector<Binding> various_sizes(const Binding& given, const Graph& graph) {
  constexpr int64_t kWanted[] = {0, 1, 2, 7, 13, 9};
  constexpr size_t kRounds = std::size(kWanted);
  std::vector<const SymNode*> symbols = input_symbols(graph);
  const std::vector<const SymNode*> backwards(symbols.rbegin(), symbols.rend());
  const Equations equations(graph);
  Binding derived = given;
  equations.derive(derived);
  std::vector<Binding> all;
  std::vector<std::string> seen;
  for (size_t round = 0; round < kRounds && !symbols.empty(); ++round) {
    auto wanted = [&](size_t k) { return kWanted[round < 2 ? round : (round + k) % kRounds]; };  // all 0, all 1, mixed
    auto sizes = sizes_near(derived, graph, equations, symbols, wanted);
    if (!sizes)
      sizes = sizes_near(derived, graph, equations, backwards, wanted);  // where the later ones say what the first are
    if (!sizes || std::ranges::find(seen, to_text(*sizes, graph)) != seen.end()) continue;
    seen.push_back(to_text(*sizes, graph));
    all.push_back(*sizes);
  }
  return all;
}

std::vector<Binding> sizes_beside_guards(const Binding& given, const Graph& graph) {
  std::vector<Binding> all;
  std::vector<std::string> seen;
  for (const SymNode* s : input_symbols(graph))
    for (int64_t small : {0, 1}) {
      const Range range = graph.assumptions.facts().range(Dim(s));
      if (given.value(s) || small < range.low.value_or(0) || small > range.high.value_or(small)) continue;
      Binding sizes = given;
      sizes.set(s, small);
      complete(sizes, graph);
      if (!may_hold(graph.assumptions.facts().conditions(), sizes) || holds(sizes, graph)) continue;
      if (std::string text = to_text(sizes, graph); std::ranges::find(seen, text) == seen.end()) {
        seen.push_back(text);
        all.push_back(sizes);
      }
    }
  return all;
}

std::string to_text(const Binding& binding, const Graph& graph) {
  std::string text;
  for (const SymNode* s : input_symbols(graph))
    if (auto v = binding.value(s))
      text += (text.empty() ? "" : ",") + std::string(symbol_name(s)) + "=" + std::to_string(*v);
  return text;
}

namespace {
void check(const Cond& cond, const Binding& binding, const Graph& graph, const std::string& clause) {
  if (evaluate(cond, binding.lookup()) == false)
    throw UserError("these sizes contradict " + lenz::to_string(cond), graph.spelled_name(),
                    "the graph's " + clause + " says which sizes it is for");
}
}  // namespace

void check_facts(const Binding& binding, const Graph& graph) {
  for (const auto& [symbol, range] : graph.assumptions.facts().ranges())
    if (auto v = binding.value(symbol); v && ((range.low && *v < *range.low) || (range.high && *v > *range.high)))
      throw UserError(std::string(symbol_name(symbol)) + " = " + std::to_string(*v) + " is out of its range",
                      graph.spelled_name(), "the graph's `where` says which values it may have");
  for (const Input& input : graph.inputs()) {
    const Type& t = graph.type(input.value);
    if (!t.is_tensor()) continue;
    auto refuse_negative = [&](std::string_view what, Dim d) {
      if (auto value = evaluate(d, binding.lookup()); value && *value < 0)
        throw UserError("the " + std::string(what) + " " + std::to_string(*value) + " of " +
                            graph.value_name(input.value) + " is negative",
                        graph.spelled_name(), "bind its symbols to other sizes");
    };
    for (Dim d : t.sizes()) refuse_negative("size", d);
    for (Dim d : t.strides()) refuse_negative("stride", d);
    refuse_negative("offset", t.offset);
  }
  for (const Cond& fact : graph.assumptions.facts().conditions()) check(fact, binding, graph, "`where`");
}

void check_guards(const Binding& binding, const Graph& graph) {
  for (const Cond& guard : graph.assumptions.guards()) check(guard, binding, graph, "`assuming`");
}

}  // namespace lenz::oracle
