// What a row's generator draws is legal by its contract: a rule that refuses it refuses what eager takes, and a graph
// that grows would only go without that call.
#include "fuzz/properties/drawn_calls.h"

#include "compiler/base/hash.h"
#include "compiler/ops/call_maker.h"
#include "fuzz/properties/list.h"
#include "oracle/type_check.h"

namespace lenz::fuzz {

std::span<const OpDef* const> rows_that_are_drawn() {
  static const std::vector<const OpDef*> rows = [] {
    std::vector<const OpDef*> all;
    for (const auto& row : op_table().rows())
      if (row->generate && row->infer) all.push_back(row.get());
    return all;
  }();
  return rows;
}

std::optional<Failure> refused_call(std::span<const OpDef* const> rows, uint64_t seed, int calls) {
  RandomChooser choose(seed);
  for (int i = 0; i < calls; ++i) {
    const OpDef& op = *choose.pick(rows);
    std::string drawn;
    try {
      const DrawnCall call = draw_call(op, op_table(), choose);
      drawn = oracle::describe(call, false);
      call.graph->append(op, call.args);
    } catch (const UserError& error) {
      return Failure{"drawn_calls", "rule of " + op.full_name, "refused", std::string(error.what()) + "\n" + drawn};
    } catch (const Unsupported&) {  // legal, and the row says that it does not serve it
    }
  }
  return std::nullopt;
}

namespace {
constexpr int kCalls = 16;  // in each case: those of a minute draw a dozen of every row

std::optional<Failure> holds(Subject& subject) {
  return refused_call(rows_that_are_drawn(), combine(subject.setting().seed, hash_bytes("drawn_calls")), kCalls);
}
}  // namespace

Property drawn_calls() {
  return {.name = "drawn_calls",
          .contract = "rules take what the rows' generators draw, whatever the graph",
          .holds = holds,
          .of_graph = true};
}

}  // namespace lenz::fuzz
