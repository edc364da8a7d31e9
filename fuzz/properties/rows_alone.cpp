// In a campaign of a minute a graph of few nodes has each row once or never, and a row has modes: a reduction, a dtype
// of its result, a flag. So each case also runs calls that stand alone, of rows by chance: some 0.7 ms each.
#include "fuzz/properties/rows_alone.h"

#include <algorithm>

#include "compiler/base/hash.h"
#include "compiler/ops/call_maker.h"
#include "compiler/ops/symbolic_call.h"
#include "fuzz/graph_calls.h"
#include "fuzz/properties/alone.h"
#include "fuzz/properties/drawn_calls.h"
#include "fuzz/properties/list.h"
#include "oracle/binding.h"
#include "oracle/call_judge.h"
#include "oracle/dying_calls.h"

namespace lenz::fuzz {

namespace {
constexpr uint64_t kOpenEvery = 4;  // calls: the sizes of one are symbols

// The sizes that the call was drawn with: typical ones of symbols are greater, and took a third of the time. Nothing
// where the rules' guards say others.
std::string drawn_sizes(const Graph& open, const Graph& drawn) {
  oracle::Binding sizes;
  for (size_t i = 0; i < open.inputs().size(); ++i) {
    const Type &symbols = open.type(open.inputs()[i].value), &numbers = drawn.type(drawn.inputs()[i].value);
    for (size_t d = 0; symbols.is_tensor() && d < symbols.rank(); ++d)
      sizes.match(symbols.sizes()[d], numbers.sizes()[d].constant());
  }
  const SymValues at = sizes.lookup();
  const bool serves =
      std::ranges::all_of(open.assumptions.guards(), [&](const Cond& c) { return evaluate(c, at) == true; });
  return serves ? to_text(sizes, open) : std::string();
}

// At typical sizes: twice the product of all of them is too many.
bool is_small(const Graph& graph) {
  oracle::Binding sizes;
  complete(sizes, graph);
  const SymValues at = sizes.lookup();
  constexpr int64_t kMost = int64_t{1} << 16;
  for (ValueId v = 0; v < graph.value_count(); ++v)
    if (graph.type(v).is_tensor() && evaluate(numel(graph.type(v).sizes()), at).value_or(0) > kMost) return false;
  return true;
}

// Null: none whose values anybody may ask for.
std::unique_ptr<Graph> drawn_alone(const OpDef& op, Chooser& choose, Setting& setting) {
  DrawnCall call = draw_call(op, op_table(), choose);
  if (!call.graph || eager_may_die(op, call) || oracle::too_large(call)) return nullptr;
  if (choose.below(kOpenEvery) == 0)
    if (auto open = with_symbolic_sizes(call)) {
      setting.sizes = drawn_sizes(*open, *call.graph);
      if (!setting.sizes.empty() || is_small(*open)) return open;
    }
  return as_graph(op, std::move(call));
}

}  // namespace

std::optional<Failure> call_that_fails(std::span<const OpDef* const> rows, const Setting& setting,
                                       const std::string& scratch, int calls) {
  const oracle::DyingCalls told_apart;  // of the least integer by -1
  RandomChooser choose(combine(setting.seed, hash_bytes("rows_alone")));
  // What rules, definitions and passes do wrong shows behind them, and of a definition that misleads the reference too
  // in what eager gives; blame() says where it began, but of texts.
  CaseRunner runner({find_property("text_round_trip"), find_property("loops_interpreted"), find_property("reference")},
                    scratch);
  for (int i = 0; i < calls; ++i) {
    const OpDef& op = *choose.pick(rows);
    Setting alone;
    alone.values = setting.values;
    alone.seed = choose.below(uint64_t{1} << 32);
    std::unique_ptr<Graph> graph;
    try {
      graph = drawn_alone(op, choose, alone);
    } catch (const UserError&) {  // drawn_calls asks for what rules refuse
    } catch (const Unsupported&) {
    }
    if (!graph || is_costly(op)) continue;
    if (auto failure = failure_of_drawn("rows_alone", op.full_name, *graph, alone, runner)) return failure;
  }
  return std::nullopt;
}

namespace {
constexpr int kCalls = 6;  // in each case

std::optional<Failure> holds(Subject& subject) {
  return call_that_fails(rows_that_are_drawn(), subject.setting(), subject.scratch(), kCalls);
}
}  // namespace

Property rows_alone() {
  return {.name = "rows_alone",
          .contract = "calls that stand alone, of rows by chance, hold through passes and loops",
          .holds = holds,
          .of_graph = true};
}

}  // namespace lenz::fuzz
