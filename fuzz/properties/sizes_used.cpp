#include "fuzz/properties/sizes_used.h"

#include <algorithm>
#include <cmath>

#include "compiler/base/sym_compiled.h"
#include "compiler/base/sym_eliminate.h"
#include "compiler/base/sym_parts.h"

namespace lenz::fuzz {

namespace {
using Stays = std::function<bool(const SymNode*)>;

// The symbols whose bits are set.
Stays stays_of(uint64_t chosen) {
  return [chosen](const SymNode* s) { return (chosen >> which(s)) % 2 == 1; };
}
// Some go, and some stay.
uint64_t draw_staying(Chooser& choose) { return 1 + choose.below((uint64_t{1} << kSizeSymbols) - 2); }

bool speaks_of(Dim dim, const Stays& stays) {
  bool all = true;
  for_each_symbol(dim, [&](const SymNode* s) { all = all && stays(s); });
  return all;
}
bool speaks_of(const Cond& cond, const Stays& stays) {
  return speaks_of(cond.lhs, stays) && speaks_of(cond.rhs, stays);
}

// A condition that has to hold wherever the facts do.
std::string broken_by(const PlainFacts& known, const Cond& cond) {
  for (const SizePoint& point : known.points)
    if (evaluate(cond, values_at(point)) == std::optional(false))
      return to_string(cond) + where_it_stands(known, point);
  return {};
}

// What is left of facts once symbols are forgotten.
std::string wrongly_left(Chooser& choose, const PlainFacts& known, const Graph& graph) {
  const Stays stays = stays_of(draw_staying(choose));
  for (const Cond& c : said_of_others(graph.assumptions.facts(), {}, stays)) {
    if (!speaks_of(c, stays)) return to_string(c) + " speaks of what is forgotten, of\n" + known.graph();
    if (std::string broken = broken_by(known, c); !broken.empty()) return "it is said that " + broken;
  }
  Assumptions kept = graph.assumptions;
  kept.keep(stays);
  for (const Cond& c : kept.facts().conditions())
    if (std::string broken = broken_by(known, c); !broken.empty()) return "it is kept that " + broken;
  for (const Cond& c : graph.assumptions.facts().conditions())
    if (speaks_of(c, stays) && std::ranges::find(kept.facts().conditions(), c) == kept.facts().conditions().end())
      return to_string(c) + " is forgotten, of\n" + known.graph();
  for (const auto& [symbol, range] : graph.assumptions.facts().ranges()) {
    if (!stays(symbol)) continue;
    const Range left = kept.facts().range(Dim(symbol));
    if ((range.low && (!left.low || *left.low < *range.low)) ||
        (range.high && (!left.high || *left.high > *range.high)))
      return "the range of " + std::string(symbol_name(symbol)) + " is forgotten, of\n" + known.graph();
  }
  return {};
}

// A dim that is to be what the size is where other sizes stand for symbols.
std::string wrongly_replaced(Chooser& choose, const PlainFacts& known, const PlainSize& size, Dim dim, SymPool& pool) {
  std::vector<std::optional<PlainSize>> by(kSizeSymbols);
  for (auto& b : by)
    if (!choose.chance(1, 3)) b = draw_size(choose, 1);
  const Dim made = substitute(dim, pool, [&](const SymNode* s) -> std::optional<Dim> {
    const auto& b = by[which(s)];
    return b ? std::optional(parse_dim(b->text(), pool)) : std::nullopt;
  });
  for (const SizePoint& point : known.points) {
    SizePoint other(point);
    bool defined = true;
    for (size_t i = 0; i < kSizeSymbols && defined; ++i) {
      const auto value = by[i] ? by[i]->at(point) : std::optional(point[i]);
      defined = value.has_value();
      if (value) other[i] = *value;
    }
    const auto value = defined ? size.at(other) : std::nullopt;
    if (value && evaluate(made, values_at(point)) != value)
      return size.text() + " with others for its symbols is " + to_string(made) + where_it_stands(known, point);
  }
  return {};
}

std::optional<int64_t> value_of_parts(const DimParts& parts, const SymValues& values) {
  std::vector<int64_t> all;
  for (const Dim d : parts.operands) {
    const auto value = evaluate(d, values);
    if (!value) return std::nullopt;
    all.push_back(*value);
  }
  int64_t made = parts.kind == SymKind::product ? 1 : parts.constant;
  switch (parts.kind) {
    case SymKind::sum:
      for (size_t i = 0; i < all.size(); ++i) made += parts.coefficients[i] * all[i];
      return made;
    case SymKind::product:
      for (const int64_t x : all) made *= x;
      return made;
    case SymKind::floor_div: return all[1] == 0 ? std::nullopt : std::optional(floor_of(all[0], all[1]));
    case SymKind::mod: return all[1] == 0 ? std::nullopt : std::optional(all[0] - all[1] * floor_of(all[0], all[1]));
    case SymKind::min: return std::ranges::min(all);
    case SymKind::max: return std::ranges::max(all);
    case SymKind::symbol:
    case SymKind::call: return std::nullopt;
  }
  return std::nullopt;
}

// Taken apart, compiled with some symbols fixed, and as one of the values that it has.
std::string wrongly_read(Chooser& choose, const PlainFacts& known, const PlainSize& size, Dim dim) {
  std::vector<const SymNode*> symbols;
  for_each_symbol(dim, [&](const SymNode* s) { symbols.push_back(s); });
  std::vector<const SymNode*> once(symbols);
  std::ranges::sort(once);
  if (std::ranges::adjacent_find(once) != once.end()) return to_string(dim) + " visits a symbol twice";
  const Stays fixed = stays_of(choose.below(uint64_t{1} << kSizeSymbols));
  const DimParts parts = parts_of(dim), terms = terms_of(dim);
  const std::vector<Dim> factors = factors_of(dim);
  for (const SizePoint& point : known.points) {
    const auto value = size.at(point);
    if (!value) continue;
    const SymValues values = values_at(point);
    auto wrong = [&](const std::string& what, std::optional<int64_t> got) {
      return what + " of " + to_string(dim) + ": " + shown(got) + " instead of " + shown(value) +
             where_it_stands(known, point);
    };
    const bool opaque = parts.kind == SymKind::symbol || parts.kind == SymKind::call;
    if (const auto got = value_of_parts(parts, values); got != value && !opaque) return wrong("parts", got);
    if (const auto got = value_of_parts(terms, values); got != value) return wrong("terms", got);
    const auto product = value_of_parts({.kind = SymKind::product, .coefficients = {}, .operands = factors}, values);
    if (product != value) return wrong("factors", product);
    bool none = false;
    for_each_divisor(dim, [&](Dim by) { none = none || evaluate(by, values) == std::optional<int64_t>(0); });
    if (none) return wrong("a divisor that is 0", value);
    const CompiledDim compiled(dim, [&](const SymNode* s) { return fixed(s) ? values(s) : std::nullopt; });
    std::vector<int64_t> by_id;
    for (const SymNode* s : symbols) {
      by_id.resize(std::max<size_t>(by_id.size(), symbol_id(s) + 1), -1000);
      if (!fixed(s)) by_id[symbol_id(s)] = *values(s);
    }
    if (const int64_t got = compiled(by_id.data()); got != *value) return wrong("compiled code", got);
    if (!compiled.is_linear()) continue;
    int64_t sum = compiled.constant();
    for (const CompiledDim::Term& t : compiled.terms()) sum += t.coefficient * by_id[t.slot];
    if (sum != *value) return wrong("a linear form", sum);
  }
  return {};
}

// Of several at a time, and what is asked of reals.
std::string wrongly_joined(Chooser& choose, const PlainFacts& known, SymPool& pool, const lenz::Facts& facts) {
  std::vector<PlainSize> sizes;
  std::vector<Dim> dims;
  for (uint64_t n = 1 + choose.below(4); n > 0; --n) {
    sizes.push_back(draw_size(choose, 1));
    dims.push_back(parse_dim(sizes.back().text(), pool));
  }
  const int64_t by = choose.any_of<int64_t>({1, 2, 3, 7, -2});
  const double factor = choose.any_of({0.5, 1.25, 3.0, 0.3, 1.0});
  const Dim added = sum(dims), least = min(dims), most = max(dims), up = ceil_div(dims[0], by);
  const Dim scaled[] = {call(SymFn::floor_scale, dims[0], factor), call(SymFn::ceil_scale, dims[0], factor),
                        call(SymFn::round_scale, dims[0], factor)};
  for (const SizePoint& point : known.points) {
    std::vector<int64_t> all;
    for (const PlainSize& s : sizes)
      if (const auto value = s.at(point)) all.push_back(*value);
    if (all.size() < sizes.size()) continue;
    int64_t total = 0;
    for (const int64_t x : all) total += x;
    const double real = static_cast<double>(all[0]) * factor;
    const std::pair<Dim, int64_t> expected[] = {
        {added, total},
        {least, std::ranges::min(all)},
        {most, std::ranges::max(all)},
        {up, -floor_of(-all[0], by)},
        {scaled[0], static_cast<int64_t>(std::floor(real))},
        {scaled[1], static_cast<int64_t>(std::ceil(real))},
        {scaled[2], static_cast<int64_t>(std::nearbyint(real))},
    };
    for (const auto& [dim, value] : expected) {
      const Dim simple = facts.simplify(dim), again = parse_dim(to_string(dim), pool);
      const Range range = facts.range(dim);
      for (const Dim d : {dim, simple, again})
        if (const auto got = evaluate(d, values_at(point)); got != value)
          return to_string(d) + " is " + shown(got) + " instead of " + std::to_string(value) +
                 where_it_stands(known, point);
      if ((range.low && value < *range.low) || (range.high && value > *range.high))
        return to_string(dim) + " lies in " + shown(range.low) + ".." + shown(range.high) + ", and is " +
               std::to_string(value) + where_it_stands(known, point);
    }
  }
  return {};
}

// How conditions are read, turned and put in order.
std::string wrongly_spelled(const PlainFacts& known, const PlainCond& plain, SymPool& pool) {
  const Cond cond = parse_cond(plain.text(), pool), other = negate(cond);
  const Cond again = parse_cond(to_string(cond), pool);
  for (const SizePoint& point : known.points) {
    const auto holds = plain.at(point);
    if (!holds) continue;
    const SymValues values = values_at(point);
    if (evaluate(cond, values) != holds || evaluate(again, values) != holds || evaluate(other, values) != !*holds)
      return to_string(cond) + ", or " + to_string(other) + " for what is not so" + where_it_stands(known, point);
  }
  const int order = compare(cond.lhs, cond.rhs), turned = compare(cond.rhs, cond.lhs);
  if ((order < 0) != (turned > 0) || (order == 0) != (turned == 0) || (order == 0) != (cond.lhs == cond.rhs))
    return "no order of " + to_string(cond.lhs) + " and " + to_string(cond.rhs);
  return {};
}

std::string answers(const lenz::Facts& facts, std::span<const Dim> dims, std::span<const Cond> asked) {
  std::string all;
  for (const Dim d : dims) {
    const Range range = facts.range(d);
    const Congruence c = facts.congruence(d);
    all += to_string(facts.simplify(d)) + " in " + shown(range.low) + ".." + shown(range.high) + ", " +
           std::to_string(c.residue) + " modulo " + std::to_string(c.modulus) + "\n";
  }
  for (const Cond& c : asked) all += to_string(c) + ": " + std::to_string(static_cast<int>(facts.prove(c))) + "\n";
  for (const Cond& c : facts.conditions()) all += to_string(c) + "\n";
  for (const auto& [symbol, range] : facts.ranges())
    all += std::string(symbol_name(symbol)) + " in " + shown(range.low) + ".." + shown(range.high) + "\n";
  return all;
}

// One more fact, told to a copy: what it makes of it, and that nobody else knows of it. Sizes are known as dims.
std::string wrongly_learnt(Chooser& choose, const PlainFacts& known, const lenz::Facts& facts, SymPool& pool,
                           std::span<const PlainSize> sizes, std::span<const Dim> dims) {
  std::vector<PlainCond> plain;
  std::vector<Cond> asked;
  for (int i = 0; i < 2; ++i) plain.push_back(draw_condition(choose));
  for (const PlainCond& c : plain) asked.push_back(parse_cond(c.text(), pool));
  const std::string before = answers(facts, dims, asked);
  lenz::Facts more = facts;
  PlainFacts narrower = known;
  bool taken = true;
  std::string what;
  if (choose.chance(1, 4)) {
    const auto symbol = static_cast<size_t>(choose.below(kSizeSymbols));
    const int64_t low = choose.between(0, 60), high = low + choose.between(0, 40);
    std::erase_if(narrower.points, [&](const SizePoint& p) { return p[symbol] < low || p[symbol] > high; });
    what = "s" + std::to_string(symbol) + " in " + std::to_string(low) + ".." + std::to_string(high);
    try {
      more.set_range(pool.symbol("s" + std::to_string(symbol)).node(), {low, high});
    } catch (const UserError&) {
      taken = false;
    }
  } else {
    const PlainCond cond = draw_condition(choose);
    std::erase_if(narrower.points, [&](const SizePoint& p) { return cond.at(p) != std::optional(true); });
    what = cond.text();
    taken = more.add(parse_cond(what, pool));
  }
  if (answers(facts, dims, asked) != before)
    return "a copy learnt " + what + ", and the others know it, of\n" + known.graph();
  if (!taken) {
    if (!narrower.points.empty())
      return what + " is taken for a contradiction" + where_it_stands(known, narrower.points[0]);
    return answers(more, dims, asked) == before ? "" : what + " was refused, and is known, of\n" + known.graph();
  }
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (std::string text = wrong_dim(narrower, sizes[i], more.simplify(dims[i])); !text.empty())
      return text + "knowing " + what;
    if (std::string text = wrong_range(narrower, sizes[i], more.range(dims[i])); !text.empty())
      return text + "knowing " + what;
    if (std::string text = wrong_congruence(narrower, sizes[i], more.congruence(dims[i])); !text.empty())
      return text + "knowing " + what;
  }
  for (size_t i = 0; i < plain.size(); ++i)
    if (std::string text = wrong_truth(narrower, plain[i], more.prove(asked[i])); !text.empty())
      return text + "knowing " + what;
  return {};
}

std::string wrongly_typical(const PlainFacts& known, const lenz::Facts& facts, std::span<const Dim> dims,
                            SymPool& pool) {
  SizePoint point;
  for (size_t i = 0; i < kSizeSymbols; ++i) {
    const Dim symbol = pool.symbol("s" + std::to_string(i));
    point.push_back(facts.hint(symbol.node()));
    // What an equation says by others is what these make it: of products no values may be found that satisfy all.
    const bool free = facts.simplify(symbol) == symbol;
    if (free && (point[i] < known.low[i] || point[i] > known.high[i]))
      return "typical is" + where_it_stands(known, point);
  }
  for (const Dim d : dims)
    if (const auto hint = facts.hint(d), value = evaluate(d, values_at(point)); hint && value && hint != value)
      return to_string(d) + " typically is " + shown(hint) + " instead of " + shown(value) +
             where_it_stands(known, point);
  return {};
}
}  // namespace

WrongSizes wrong_uses(Chooser& choose, const PlainFacts& known, Graph& graph) {
  constexpr int kSizes = 3;
  const lenz::Facts& facts = graph.assumptions.facts();
  SymPool& pool = graph.context().syms;
  auto defined = [&](const auto& what) {  // else it may be refused
    return std::ranges::all_of(known.points, [&](const SizePoint& p) { return what.at(p).has_value(); });
  };
  if (std::string text = wrongly_left(choose, known, graph); !text.empty()) return {"forgotten symbols", text};
  std::vector<PlainSize> sizes;
  std::vector<Dim> dims;
  for (int i = 0; i < kSizes; ++i) {
    PlainSize size = draw_size(choose, 2);
    if (!defined(size)) continue;
    dims.push_back(parse_dim(size.text(), pool));
    const Dim simple = facts.simplify(dims.back());
    if (size_of(simple) > size_of(dims.back()) || facts.simplify(simple) != simple)
      return {"simplification", to_string(dims.back()) + " as " + to_string(simple) + ", of\n" + known.graph()};
    if (std::string text = wrongly_read(choose, known, size, dims.back()); !text.empty()) return {"parts", text};
    sizes.push_back(std::move(size));
  }
  auto attempt = [](auto&& make) -> std::string {
    try {
      return make();
    } catch (const UserError&) {  // it divides by zero, or is too large
      return {};
    }
  };
  const std::pair<const char*, std::string> wrongs[] = {
      {"other symbols",
       attempt([&] { return sizes.empty() ? "" : wrongly_replaced(choose, known, sizes[0], dims[0], pool); })},
      {"several sizes", attempt([&] { return wrongly_joined(choose, known, pool, facts); })},
      {"conditions", attempt([&] { return wrongly_spelled(known, draw_condition(choose), pool); })},
      {"one more fact", attempt([&] { return wrongly_learnt(choose, known, facts, pool, sizes, dims); })},
      {"typical sizes", wrongly_typical(known, facts, dims, pool)},
  };
  for (const auto& [step, text] : wrongs)
    if (!text.empty()) return {step, text};
  return {};
}

std::string said_of_uses(Chooser& choose, Graph& graph) {
  constexpr int kSizes = 4;
  const lenz::Facts& facts = graph.assumptions.facts();
  SymPool& pool = graph.context().syms;
  std::string all;
  for (uint64_t staying = 1; staying + 1 < uint64_t{1} << kSizeSymbols; ++staying) {
    for (const Cond& c : said_of_others(facts, {}, stays_of(staying))) all += to_string(c) + ", ";
    Assumptions kept = graph.assumptions;
    kept.keep(stays_of(staying));
    for (const Cond& c : kept.facts().conditions()) all += to_string(c) + ", ";
    all += "\n";
  }
  std::vector<Dim> dims;
  std::vector<Cond> asked;
  for (int i = 0; i < kSizes; ++i) {
    try {
      const Dim dim = parse_dim(draw_size(choose, 3).text(), pool), by = parse_dim(draw_size(choose, 1).text(), pool);
      const Dim made =
          substitute(dim, pool, [&](const SymNode* s) { return stays_of(1)(s) ? std::optional(by) : std::nullopt; });
      all += to_string(made) + " " + std::to_string(size_of(dim)) + " " + std::to_string(compare(dim, by) < 0) + " " +
             shown(facts.hint(dim)) + "\n";
      dims.push_back(dim);
      asked.push_back(parse_cond(draw_condition(choose).text(), pool));
    } catch (const UserError& error) {
      all += error.what();
    }
  }
  for (size_t i = 0; i < kSizeSymbols; ++i)
    all += std::to_string(facts.hint(pool.symbol("s" + std::to_string(i)).node())) + " ";
  // Step by step: the order in which facts come is another one than a text's.
  lenz::Facts more = facts;
  for (const Cond& c : asked) {
    try {
      all += more.add(c) ? "known " : "refuted ";
    } catch (const UserError& error) {
      all += error.what();
    }
    all += answers(more, dims, asked);
  }
  return all;
}

}  // namespace lenz::fuzz
