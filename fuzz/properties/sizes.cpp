#include "fuzz/properties/sizes.h"

#include <algorithm>
#include <cstdlib>

#include "compiler/base/hash.h"
#include "compiler/graph/text.h"
#include "compiler/graph/verify.h"
#include "compiler/ops/op_table.h"
#include "fuzz/properties/sizes_used.h"
#include "fuzz/properties/texts.h"

namespace lenz::fuzz {

namespace {
constexpr int64_t kFar = int64_t{1} << 40;  // what is farther out may overflow on the compiler's way to it
constexpr int64_t kMost = 40;               // of a symbol
constexpr std::string_view kSigns[] = {" + ", " - ", " * ", " // ", " % "};
constexpr std::string_view kRelations[] = {" == ", " != ", " < ", " <= "};

std::string name_of(int64_t symbol) { return "s" + std::to_string(symbol); }

PlainSize number(int64_t value) { return {.op = PlainSize::number, .value = value}; }
PlainSize symbol(int64_t which) { return {.op = PlainSize::symbol, .value = which}; }
PlainSize call(PlainSize::Op op, PlainSize a, PlainSize b) {
  return {.op = op,
          .a = std::make_shared<const PlainSize>(std::move(a)),
          .b = std::make_shared<const PlainSize>(std::move(b))};
}
PlainSize some_symbol(Chooser& choose) { return symbol(static_cast<int64_t>(choose.below(kSizeSymbols))); }

std::string text(const SizePoint& point) {
  std::string out;
  for (size_t i = 0; i < point.size(); ++i)
    out += (i ? ", s" : "s") + std::to_string(i) + "=" + std::to_string(point[i]);
  return out;
}

bool keeps(const PlainFacts& facts, const SizePoint& point) {
  for (size_t i = 0; i < point.size(); ++i)
    if (point[i] < facts.low[i] || point[i] > facts.high[i]) return false;
  return std::ranges::all_of(facts.conditions, [&](const PlainCond& c) { return c.at(point).value_or(false); });
}

// A condition that the point keeps.
PlainCond draw_fact(Chooser& choose, const SizePoint& point) {
  constexpr uint32_t kWeights[] = {4, 4, 2, 2, 3, 3, 4, 2};
  const int64_t s = static_cast<int64_t>(choose.below(kSizeSymbols));
  switch (choose.weighted(kWeights)) {
    case 0: {  // a remainder, of a symbol that may have another one
      const int64_t m = choose.between(2, 9);
      return {PlainCond::eq, call(PlainSize::mod, symbol(s), number(m)), number(point[static_cast<size_t>(s)] % m)};
    }
    case 1: {  // a bound beside what is known
      const int64_t at = point[static_cast<size_t>(s)], by = choose.any_of<int64_t>({0, 1, 5, 60});
      if (choose.flip()) return {PlainCond::le, symbol(s), number(at + by)};
      return {PlainCond::le, number(at - by), symbol(s)};
    }
    case 2: {  // a remainder of an extreme, a sum or a product
      const auto op = choose.any_of({PlainSize::min, PlainSize::max, PlainSize::add, PlainSize::multiply});
      const PlainSize both = call(op, symbol(s), some_symbol(choose));
      const int64_t m = choose.between(2, 8);
      return {PlainCond::eq, call(PlainSize::mod, both, number(m)), number(*both.at(point) % m)};
    }
    case 3: {  // what it is
      const PlainSize size = draw_size(choose, 2);
      const auto value = size.at(point);
      if (!value) return {PlainCond::le, number(0), symbol(s)};
      return {choose.flip() ? PlainCond::eq : PlainCond::le, size, number(*value)};
    }
    case 4: {  // an equation that says what a symbol is: what others were is put in terms of it
      const PlainSize other = some_symbol(choose);
      const PlainSize scaled = call(PlainSize::multiply, number(choose.any_of<int64_t>({1, 2, 3, -1, -2})), other);
      const int64_t rest = point[static_cast<size_t>(s)] - *scaled.at(point);
      return {PlainCond::eq, symbol(s), call(PlainSize::add, scaled, number(rest))};
    }
    case 5: {  // of products and quotients, which none replaces; or a bound of one by the other
      auto draw = [&] {
        const PlainSize one = some_symbol(choose);
        if (choose.chance(1, 3)) return call(PlainSize::multiply, number(choose.between(1, 4)), one);
        if (choose.flip()) return call(PlainSize::multiply, one, some_symbol(choose));
        return call(PlainSize::floor_div, call(PlainSize::add, one, number(choose.between(0, 3))),
                    number(choose.between(2, 4)));
      };
      const PlainSize a = draw(), b = draw();
      const int64_t gap = *a.at(point) - *b.at(point);
      if (choose.chance(1, 3)) return gap <= 0 ? PlainCond{PlainCond::le, a, b} : PlainCond{PlainCond::le, b, a};
      return {PlainCond::eq, a, gap == 0 ? b : call(PlainSize::add, b, number(gap))};
    }
    case 6: {  // a bound of a few symbols by others, as tight as it may be or nearly so
      auto draw = [&] {
        const PlainSize one = call(PlainSize::multiply, number(choose.between(1, 3)), some_symbol(choose));
        return choose.chance(1, 3) ? call(PlainSize::add, one, some_symbol(choose)) : one;
      };
      const PlainSize a = draw(), b = draw();
      const int64_t gap = *a.at(point) - *b.at(point);
      const bool above = gap > 0 && choose.flip();
      const int64_t slack = choose.any_of<int64_t>({0, 0, 1, 7});
      if (above) return {PlainCond::le, b, a};
      return {PlainCond::le, a, gap <= 0 && choose.flip() ? b : call(PlainSize::add, b, number(gap + slack))};
    }
    default: {
      PlainCond cond = draw_condition(choose);
      const auto holds = cond.at(point);
      if (!holds) return {PlainCond::le, number(0), symbol(s)};
      if (*holds) return cond;
      if (cond.rel == PlainCond::eq) return {PlainCond::ne, cond.a, cond.b};
      if (cond.rel == PlainCond::ne) return {PlainCond::eq, cond.a, cond.b};
      return {cond.rel == PlainCond::lt ? PlainCond::le : PlainCond::lt, cond.b, cond.a};
    }
  }
}

}  // namespace

int64_t floor_of(int64_t x, int64_t by) {
  const int64_t q = x / by;
  return q * by != x && (x < 0) != (by < 0) ? q - 1 : q;
}
size_t which(const SymNode* symbol) { return static_cast<size_t>(symbol_name(symbol)[1] - '0'); }
SymValues values_at(const SizePoint& point) {
  return [&point](const SymNode* s) -> std::optional<int64_t> { return point[which(s)]; };
}
std::string where_it_stands(const PlainFacts& facts, const SizePoint& point) {
  return ", at " + text(point) + ", in\n" + facts.graph();
}
std::string shown(std::optional<int64_t> x) { return x ? std::to_string(*x) : "nothing"; }

std::optional<int64_t> PlainSize::at(const SizePoint& point) const {
  if (op == number) return value;
  if (op == symbol) return point[static_cast<size_t>(value)];
  const auto x = a->at(point), y = b->at(point);
  if (!x || !y || ((op == floor_div || op == mod) && *y == 0)) return std::nullopt;
  int64_t result = 0;
  switch (op) {
    case add: result = *x + *y; break;
    case subtract: result = *x - *y; break;
    case multiply:
      if (std::abs(*x) >= int64_t{1} << 20 || std::abs(*y) >= int64_t{1} << 20) return std::nullopt;
      result = *x * *y;
      break;
    case floor_div: result = floor_of(*x, *y); break;
    case mod: result = *x - *y * floor_of(*x, *y); break;
    case min: result = std::min(*x, *y); break;
    default: result = std::max(*x, *y); break;
  }
  return std::abs(result) < kFar ? std::optional(result) : std::nullopt;
}

std::string PlainSize::text() const {
  if (op == number) return std::to_string(value);
  if (op == symbol) return name_of(value);
  if (op == min || op == max) return (op == min ? "min(" : "max(") + a->text() + ", " + b->text() + ")";
  return "(" + a->text() + std::string(kSigns[op - add]) + b->text() + ")";
}

std::optional<bool> PlainCond::at(const SizePoint& point) const {
  const auto x = a.at(point), y = b.at(point);
  if (!x || !y) return std::nullopt;
  return rel == eq ? *x == *y : rel == ne ? *x != *y : rel == lt ? *x < *y : *x <= *y;
}
std::string PlainCond::text() const { return a.text() + std::string(kRelations[rel]) + b.text(); }

// Conditions are facts, not guards: whoever asks the facts has all of them.
std::string PlainFacts::graph() const {
  std::string sizes, known;
  for (size_t i = 0; i < low.size(); ++i) {
    const std::string name = name_of(static_cast<int64_t>(i)), comma = i ? ", " : "";
    sizes += comma + name;
    known += comma + name + " in " + std::to_string(low[i]) + ".." + std::to_string(high[i]);
  }
  for (const PlainCond& c : conditions) known += ", " + c.text();
  return "graph @g(%x: f32[" + sizes + "]) where " + known + " {\n  return %x\n}\n";
}

PlainSize draw_size(Chooser& choose, int depth) {
  if (depth <= 0 || choose.chance(1, 5))
    return choose.chance(1, 4) ? number(choose.between(-9, 12)) : some_symbol(choose);
  const auto op = static_cast<PlainSize::Op>(choose.between(PlainSize::add, PlainSize::max));
  PlainSize a = draw_size(choose, depth - 1);
  if ((op == PlainSize::floor_div || op == PlainSize::mod) && !choose.chance(1, 6))
    return call(op, std::move(a), number(choose.any_of<int64_t>({2, 3, 4, 5, 8, 12, -3})));
  return call(op, std::move(a), draw_size(choose, depth - 1));
}

PlainCond draw_condition(Chooser& choose) {
  if (choose.flip()) {
    const int64_t m = choose.between(2, 15);
    return {choose.flip() ? PlainCond::eq : PlainCond::ne,
            call(PlainSize::mod, draw_size(choose, static_cast<int>(choose.below(3))), number(m)),
            number(choose.between(0, m - 1))};
  }
  return {static_cast<PlainCond::Rel>(choose.below(4)), draw_size(choose, 2),
          draw_size(choose, static_cast<int>(choose.below(3)))};
}

PlainFacts draw_facts(Chooser& choose) {
  PlainFacts facts;
  SizePoint first;
  for (size_t i = 0; i < kSizeSymbols; ++i) {
    first.push_back(choose.between(0, kMost));
    facts.low.push_back(choose.flip() ? 0 : choose.between(0, first[i]));
    facts.high.push_back(choose.flip() ? 2 * kMost : choose.between(first[i], 2 * kMost));
  }
  for (uint64_t n = 1 + choose.below(7); n > 0; --n) facts.conditions.push_back(draw_fact(choose, first));
  facts.points.push_back(first);
  // Far steps keep remainders.
  constexpr int kTries = 48;
  constexpr int64_t kSteps[] = {1, 2, 4, 6, 12, 15, 20, 24};
  for (int i = 0; i < kTries; ++i) {
    SizePoint point = choose.pick(facts.points);
    int64_t& moved = point[choose.below(kSizeSymbols)];
    moved = choose.chance(1, 4) ? choose.between(0, 2 * kMost) : moved + choose.pick(kSteps) * (choose.flip() ? 1 : -1);
    for (const PlainCond& c : facts.conditions)  // equations that say what a symbol is
      if (c.rel == PlainCond::eq && c.a.op == PlainSize::symbol)
        if (const auto value = c.b.at(point)) point[static_cast<size_t>(c.a.value)] = *value;
    if (keeps(facts, point)) facts.points.push_back(point);
  }
  return facts;
}

std::string wrong_dim(const PlainFacts& facts, const PlainSize& size, Dim dim) {
  for (const SizePoint& point : facts.points) {
    const auto value = size.at(point), got = evaluate(dim, values_at(point));
    if (value && value != got)
      return size.text() + " is " + to_string(dim) + ": " + shown(got) + " instead of " + shown(value) +
             where_it_stands(facts, point);
  }
  return {};
}

std::string wrong_range(const PlainFacts& facts, const PlainSize& size, const Range& range) {
  for (const SizePoint& point : facts.points) {
    const auto value = size.at(point);
    if (value && ((range.low && *value < *range.low) || (range.high && *value > *range.high)))
      return size.text() + " lies in " + shown(range.low) + ".." + shown(range.high) + ", and is " + shown(value) +
             where_it_stands(facts, point);
  }
  return {};
}

std::string wrong_congruence(const PlainFacts& facts, const PlainSize& size, const Congruence& congruence) {
  for (const SizePoint& point : facts.points) {
    const auto value = size.at(point);
    const int64_t m = congruence.modulus;
    if (value && (m == 0 ? *value != congruence.residue : (*value - congruence.residue) % m != 0))
      return size.text() + " is " + std::to_string(congruence.residue) + " modulo " + std::to_string(m) + ", and is " +
             shown(value) + where_it_stands(facts, point);
  }
  return {};
}

std::string wrong_truth(const PlainFacts& facts, const PlainCond& cond, Truth truth) {
  if (truth == Truth::unknown) return {};
  for (const SizePoint& point : facts.points) {
    const auto holds = cond.at(point);
    if (holds && *holds != (truth == Truth::yes))
      return cond.text() + (*holds ? " is refuted, and holds" : " is proved, and does not hold") +
             where_it_stands(facts, point);
  }
  return {};
}

namespace {
WrongSizes wrong_sizes_of(Chooser& choose, const PlainFacts& known, Graph& graph) {
  constexpr int kSizes = 6, kConditions = 8;
  const Facts& facts = graph.assumptions.facts();
  SymPool& pool = graph.context().syms;
  auto defined = [&](const auto& what) {  // else it may be refused
    return std::ranges::all_of(known.points, [&](const SizePoint& p) { return what.at(p).has_value(); });
  };
  for (int i = 0; i < kSizes; ++i) {
    const PlainSize size = draw_size(choose, 3);
    if (!defined(size)) continue;
    const Dim dim = parse_dim(size.text(), pool);
    const Dim simple = facts.simplify(dim);
    const std::pair<const char*, std::string> wrongs[] = {
        {"arithmetic", wrong_dim(known, size, dim)},
        {"simplification", wrong_dim(known, size, simple)},
        {"text", wrong_dim(known, size, parse_dim(to_string(simple), pool))},
        {"range", wrong_range(known, size, facts.range(dim))},
        {"congruence", wrong_congruence(known, size, facts.congruence(dim))},
        {"divisor", wrong_congruence(known, size, {facts.divisor(dim), 0})},
    };
    for (const auto& [step, text] : wrongs)
      if (!text.empty()) return {step, text};
  }
  for (int i = 0; i < kConditions; ++i) {
    const PlainCond cond = draw_condition(choose);
    if (!defined(cond)) continue;
    const Cond asked = parse_cond(cond.text(), pool);
    if (std::string text = wrong_truth(known, cond, facts.prove(asked)); !text.empty()) return {"proof", text};
    const Truth otherwise = facts.prove(negate(asked));
    const Truth turned = otherwise == Truth::yes ? Truth::no : otherwise == Truth::no ? Truth::yes : Truth::unknown;
    if (std::string text = wrong_truth(known, cond, turned); !text.empty()) return {"negation", text};
    // A question that facts leave open makes a guard: what is proved behind it holds where it does.
    graph.assumptions.restart();
    const bool taken = graph.assumptions.decide(asked);
    PlainFacts guarded = known;
    std::erase_if(guarded.points, [&](const SizePoint& p) { return cond.at(p) != taken; });
    const PlainCond next = draw_condition(choose);
    if (!defined(next)) continue;
    const Truth truth = graph.assumptions.prove(parse_cond(next.text(), pool));
    if (std::string text = wrong_truth(guarded, next, truth); !text.empty())
      return {"guard", text + "behind " + std::string(taken ? "" : "not ") + cond.text()};
  }
  return {};
}
}  // namespace

WrongSizes wrong_sizes(Chooser& choose) {
  const PlainFacts known = draw_facts(choose);
  const std::string text = known.graph();
  try {
    const auto graph = parse_graph(text, op_table());
    for (const Violation& v : verify(*graph)) return {"verifier", to_string(v) + "\n" + text};
    if (std::string lost = lost_in_text(*graph, {}); !lost.empty()) return {"text of facts", lost};
    if (WrongSizes wrong = wrong_uses(choose, known, *graph); !wrong.step.empty()) return wrong;
    return wrong_sizes_of(choose, known, *graph);
  } catch (const UserError& error) {
    return {"refused", std::string(error.what()) + "\n" + text};
  }
}

namespace {
std::optional<Failure> holds(Subject& subject) {
  constexpr int kDraws = 6;  // in each case, of half a millisecond
  RandomChooser choose(combine(subject.setting().seed, 0x512E));
  for (int i = 0; i < kDraws; ++i)
    if (const WrongSizes wrong = wrong_sizes(choose); !wrong.step.empty())
      return Failure{"sizes", wrong.step, "differs", wrong.text};
  return std::nullopt;
}
}  // namespace

Property sizes() {
  return {.name = "sizes",
          .contract = "what is made, known and proved of sizes is what plain arithmetic gives wherever the facts hold",
          .holds = holds,
          .every = 3,
          .of_graph = true};
}

}  // namespace lenz::fuzz
