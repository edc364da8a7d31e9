// What is made, known and proved of drawn sizes, as words: also what stays open, of which plain arithmetic
// (fuzz/properties/sizes.h) knows nothing. And how the grammar of sizes is read, broken texts too.
#include <cctype>
#include <map>

#include "compiler/base/hash.h"
#include "compiler/base/sym_compiled.h"
#include "compiler/base/sym_parts.h"
#include "compiler/graph/text.h"
#include "compiler/ops/op_table.h"
#include "fuzz/decisions/broken.h"
#include "fuzz/decisions/facts.h"
#include "fuzz/properties/sizes_used.h"

namespace lenz::fuzz {

namespace {
std::string text_of(std::optional<int64_t> x) { return x ? std::to_string(*x) : "?"; }

template <class F>
void say(std::string& all, F&& what) {
  try {
    all += what();
  } catch (const UserError& error) {
    all += error.what();
  }
  all += "\n";
}

// Spelled in each of the ways that say the same, and with one thing wrong.
void read(std::string& all, const PlainCond& cond, SymPool& pool, Chooser& choose) {
  const std::string a = cond.a.text(), b = cond.b.text();
  for (const char* relation : {" == ", " != ", " < ", " <= ", " > ", ">="})
    say(all, [&] { return to_string(parse_cond(a + relation + b, pool)); });
  for (int i = 0; i < 3; ++i)
    say(all, [&] { return to_string(parse_cond(with_one_change(cond.text(), choose), pool)); });
  constexpr std::string_view kFunctions[] = {"floor(0.5*", "ceil(1.25*", "round(3.0*", "min(", "sin(", "- -("};
  say(all, [&] { return to_string(parse_dim(std::string(choose.pick(kFunctions)) + a + ")", pool)); });
}
constexpr int64_t kExtremes[] = {0,         -1,       1 << 16, int64_t{1} << 31, int64_t{1} << 32, int64_t{1} << 62,
                                 INT64_MAX, INT64_MIN};

// Some of its numbers are great ones, and some symbols, where `calls`, are rounded.
std::string with_extremes(std::string_view text, bool calls, Chooser& choose) {
  auto is = [&](size_t at, auto of) { return at < text.size() && of(static_cast<unsigned char>(text[at])) != 0; };
  std::string made;
  for (size_t at = 0; at < text.size();) {
    size_t end = at + 1;
    while (is(at, ::isalnum) && is(end, ::isalnum)) ++end;
    const std::string word(text.substr(at, end - at));
    if (is(at, ::isdigit) && choose.chance(1, 5))
      made += std::to_string(choose.pick(kExtremes));
    else if (calls && word.size() > 1 && word[0] == 's' && is(at + 1, ::isdigit) && choose.chance(1, 4))
      made += choose.any_of<const char*>({"floor(0.5*", "ceil(1.25*", "round(3.0*"}) + word + ")";
    else
      made += word;
    at = end;
  }
  return made;
}

// What sizes are where numbers pass 64 bits on the way, or in the end.
void say_extremes(std::string& all, Chooser& choose) {
  constexpr int kSizes = 6, kConditions = 6, kPoints = 3;
  const PlainFacts plain = draw_facts(choose);
  std::unique_ptr<Graph> graph;
  say(all, [&] {
    graph = parse_graph(with_extremes(plain.graph(), false, choose), op_table());
    return print(*graph);
  });
  if (!graph) graph = parse_graph(plain.graph(), op_table());
  const lenz::Facts& facts = graph->assumptions.facts();
  SymPool& pool = graph->context().syms;
  for (int i = 0; i < kSizes; ++i) {
    const std::string text = with_extremes(draw_size(choose, 3).text(), true, choose);
    say(all, [&] {
      const Dim dim = parse_dim(text, pool);
      all += to_string(dim) + " " + to_string(facts.simplify(dim)) + " ";
      const Range range = facts.range(dim);
      const Congruence c = facts.congruence(dim);
      return text_of(range.low) + " " + text_of(range.high) + " " + std::to_string(c.modulus) + " " +
             std::to_string(c.residue);
    });
    for (int k = 0; k < kPoints; ++k)
      say(all, [&] {
        const Dim dim = parse_dim(text, pool);
        std::map<const SymNode*, int64_t> values;
        std::vector<int64_t> by_id;
        for_each_symbol(dim, [&](const SymNode* s) {
          if (!values.contains(s)) values[s] = choose.chance(1, 2) ? choose.pick(kExtremes) : choose.between(-20, 20);
          by_id.resize(std::max<size_t>(by_id.size(), symbol_id(s) + 1));
          by_id[symbol_id(s)] = values[s];
        });
        const SymValues known = [&](const SymNode* s) { return std::optional(values.at(s)); };
        all += text_of(evaluate(dim, known)) + " ";
        return std::to_string(CompiledDim(dim, [](const SymNode*) { return std::nullopt; })(by_id.data()));
      });
  }
  for (int i = 0; i < kConditions; ++i) {
    const std::string text = with_extremes(draw_condition(choose).text(), true, choose);
    say(all, [&] {
      const Cond asked = parse_cond(text, pool);
      graph->assumptions.restart();
      const Truth truth = facts.prove(asked);
      return std::to_string(static_cast<int>(truth)) + std::to_string(graph->assumptions.decide(asked));
    });
  }
}
}  // namespace

Facts facts_of_sizes(uint64_t number) {
  constexpr int kDraws = 2, kSizes = 6, kConditions = 8;
  RandomChooser choose(combine(number, hash_bytes("sizes")));
  std::string made, known, proved, texts, used;
  for (int draw = 0; draw < kDraws; ++draw) {
    const PlainFacts plain = draw_facts(choose);
    std::unique_ptr<Graph> graph;
    say(made, [&] {
      graph = parse_graph(plain.graph(), op_table());
      return print(*graph);
    });
    if (!graph) continue;
    const lenz::Facts& facts = graph->assumptions.facts();
    SymPool& pool = graph->context().syms;
    for (int i = 0; i < kSizes; ++i)
      say(known, [&] {
        const Dim dim = parse_dim(draw_size(choose, 3).text(), pool), simple = facts.simplify(dim);
        const Range range = facts.range(dim);
        const Congruence c = facts.congruence(dim);
        return to_string(dim) + " " + to_string(simple) + " " + text_of(range.low) + " " + text_of(range.high) + " " +
               std::to_string(c.modulus) + " " + std::to_string(c.residue) + " " + std::to_string(facts.divisor(dim));
      });
    say(used, [&] { return said_of_uses(choose, *graph); });
    for (int i = 0; i < kConditions; ++i) {
      const PlainCond cond = draw_condition(choose);
      say(proved, [&] {
        const Cond asked = parse_cond(cond.text(), pool);
        graph->assumptions.restart();
        const Truth truth = facts.prove(asked);
        const bool taken = graph->assumptions.decide(asked);
        const Truth behind = graph->assumptions.prove(parse_cond(draw_condition(choose).text(), pool));
        return std::to_string(static_cast<int>(truth)) + std::to_string(taken) +
               std::to_string(static_cast<int>(behind));
      });
      if (i < 2) read(texts, cond, pool, choose);
    }
  }
  std::string extremes;
  say_extremes(extremes, choose);
  return {{"sizes/extremes #", digest(extremes)}, {"sizes/made #", digest(made)},   {"sizes/known #", digest(known)},
          {"sizes/proved #", digest(proved)},     {"sizes/texts #", digest(texts)}, {"sizes/used #", digest(used)}};
}

}  // namespace lenz::fuzz
