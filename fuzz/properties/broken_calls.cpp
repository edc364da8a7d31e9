// What eager refuses no rule may take: graphs that grow are legal, so that a rule which asks too little shows in none.
// Each case breaks a few calls of any rows, in one thing. What the rule takes then, eager has to take, with results
// that look as the rule says: on the meta device, which knows no kernels and touches no memory, or else on the CPU.
// That a rule refuses too much, legal calls show (drawn_calls).
#include "fuzz/properties/broken_calls.h"

#include <algorithm>

#include "compiler/base/hash.h"
#include "compiler/ops/break_call.h"
#include "compiler/ops/lazily_read.h"
#include "fuzz/properties/drawn_calls.h"
#include "fuzz/properties/list.h"
#include "oracle/call_judge.h"
#include "oracle/type_check.h"
#include "oracle/workers.h"

namespace lenz::fuzz {

namespace {
std::optional<oracle::Difference> difference(const OpDef& op, DrawnCall& call, oracle::Devices devices) {
  oracle::CheckOptions options;
  options.devices = devices;
  oracle::Place place;
  return oracle::CallJudge(op, options, place).judge_broken(call, nullptr).difference;
}

// How many places a mask takes its values say: whether that suits the other indices the run asks.
bool indexes_by_masks(const OpDef& op, const DrawnCall& call) {
  const std::span<const Input> inputs = call.graph->inputs();
  return op.has(Trait::indexing) && inputs.size() > 2 && std::ranges::any_of(inputs.subspan(1), [&](const Input& i) {
           const Type& t = call.graph->type(i.value);
           return t.is_tensor() && (t.dtype == Dtype::b8 || t.dtype == Dtype::u8);
         });
}

// What a rule says of a call that it takes, and eager doesn't.
std::optional<oracle::Difference> taken_otherwise(const OpDef& op, DrawnCall& call) {
  const oracle::Prediction predicted = oracle::predict(call);
  if (predicted.raised || predicted.broken || oracle::too_large(call)) return std::nullopt;  // eager may die of it
  if (eager_may_die(op, call) || !difference(op, call, oracle::Devices::meta)) return std::nullopt;
  const auto differs = difference(op, call, oracle::Devices::cpu);
  if (differs && differs->aspect == oracle::Aspect::eager_raises && indexes_by_masks(op, call)) return std::nullopt;
  return differs;
}
}  // namespace

std::optional<Failure> wrongly_taken_call(std::span<const OpDef* const> rows, uint64_t seed, int calls) {
  RandomChooser choose(seed);
  for (int i = 0; i < calls; ++i) {
    const OpDef& op = *choose.pick(rows);
    try {
      DrawnCall call = draw_call(op, op_table(), choose);
      const std::string change = break_call(call, choose);
      if (change.empty()) continue;
      if (choose.chance(1, 8)) read_lazily(call, choose);
      if (const auto differs = taken_otherwise(op, call))
        return Failure{"broken_calls", "rule of " + op.full_name, std::string(name(differs->aspect)),
                       differs->text + "\n" + oracle::describe(call) + "\nafter the change: " + change};
    } catch (const Error&) {  // of legal calls' own: drawn_calls
    }
  }
  return std::nullopt;
}

namespace {
constexpr int kCalls = 32;  // in each case: a twentieth of what it costs; there are 1,200 rows, with many ways to err

std::optional<Failure> holds(Subject& subject) {
  return wrongly_taken_call(rows_that_are_drawn(), combine(subject.setting().seed, hash_bytes("broken_calls")), kCalls);
}
}  // namespace

Property broken_calls() {
  return {.name = "broken_calls",
          .contract = "of broken calls rules take none that eager refuses, whatever the graph",
          .holds = holds,
          .of_graph = true};
}

}  // namespace lenz::fuzz
