#include "fuzz/properties/alone.h"

#include <algorithm>

#include "compiler/base/hash.h"
#include "compiler/graph/text.h"
#include "compiler/ops/op_table.h"
#include "fuzz/graph_calls.h"
#include "fuzz/properties/drawn_calls.h"
#include "oracle/dying_calls.h"

namespace lenz::fuzz {

std::optional<Failure> failure_of_drawn(std::string_view property, std::string_view of, const Graph& graph,
                                        const Setting& setting, CaseRunner& runner) {
  auto failure = runner.run(graph, setting).failure;
  if (!failure) return std::nullopt;
  blame(graph, setting, *failure);
  const std::string text = "# fuzz: " + setting.text() + "\n" + print(graph);
  return Failure{.property = std::string(property),
                 .stage = failure->stage,
                 .symptom = failure->property + " of " + std::string(of) + ": " + failure->symptom,
                 .detail = failure->detail + "\nthe graph by itself:\n" + text,
                 .inner = text,
                 .inner_property = failure->property};
}

namespace {
// By what rows say: it counts to a number that the graph computes, or its kernels for half floats are known to die.
bool may_kill_eager(const Graph& graph) {
  bool may = false;
  graph.for_each_node([&](NodeId id) {
    const Node& node = graph.node(id);
    const bool halves = std::ranges::any_of(node.arguments(), [&](const Arg& a) {
      return a.is_value() && graph.type(a.value()).is_tensor() && is_reduced_float(graph.type(a.value()).dtype);
    });
    const OpDef& row = node.op->base ? *node.op->base : *node.op;
    may = may || counts_to_operand(row) || eager_may_die(row, halves);
  });
  return may;
}

// Of a campaign's cases those that are about this come in these turns.
uint64_t number_about(About what, Chooser& choose) {
  for (;;)
    if (const uint64_t number = choose.below(uint64_t{1} << 32); about(number) == what) return number;
}
}  // namespace

std::optional<Failure> drawn_that_fails(const Drawn& drawn, const Setting& setting, const std::string& scratch) {
  static const Pool pool(op_table());
  const oracle::DyingCalls told_apart;
  RandomChooser choose(combine(setting.seed, hash_bytes(drawn.property)));
  CaseRunner runner(drawn.asked, scratch);
  GrowOptions options;
  options.corpus = options.large = false;
  options.control = drawn.control;
  options.most = drawn.most;
  for (int i = 0; i < drawn.graphs; ++i) {
    Case c = draw_case(choose.below(uint64_t{1} << 32), number_about(drawn.about, choose), pool, options);
    c.setting.number.reset();
    if (may_kill_eager(*c.graph)) continue;
    std::string of;  // the call that it ends with
    c.graph->for_each_node([&](NodeId id) { of = c.graph->node(id).op->full_name; });
    if (auto failure = failure_of_drawn(drawn.property, of, *c.graph, c.setting, runner)) return failure;
  }
  return std::nullopt;
}

}  // namespace lenz::fuzz
