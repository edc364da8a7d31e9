// What is made, known and proved of drawn sizes, as words: also what stays open, of which plain arithmetic
// (fuzz/properties/sizes.h) knows nothing. And how the grammar of sizes is read, broken texts too.
#include "compiler/base/hash.h"
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
  return {{"sizes/made #", digest(made)},
          {"sizes/known #", digest(known)},
          {"sizes/proved #", digest(proved)},
          {"sizes/texts #", digest(texts)},
          {"sizes/used #", digest(used)}};
}

}  // namespace lenz::fuzz
