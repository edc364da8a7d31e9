// What eager refuses no rule may take: graphs that grow are legal, so that a rule which asks too little shows in none.
// Each case breaks a few calls of any rows, in one thing. What the rule takes then, eager has to take, with results
// that look as the rule says: on the meta device, which knows no kernels and touches no memory, or else on the CPU.
// That a rule refuses too much, legal calls show (drawn_calls).
#include "fuzz/properties/broken_calls.h"

#include "compiler/base/hash.h"
#include "compiler/ops/break_call.h"
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
  oracle::CallVerdict verdict = oracle::CallJudge(op, options, place).judge_broken(call, nullptr);
  return verdict.refused ? std::nullopt : std::move(verdict.difference);
}
}  // namespace

std::optional<Failure> wrongly_taken_call(std::span<const OpDef* const> rows, uint64_t seed, int calls) {
  RandomChooser choose(seed);
  for (int i = 0; i < calls; ++i) {
    const OpDef& op = *choose.pick(rows);
    try {
      DrawnCall call = draw_call(op, op_table(), choose);
      const std::string change = break_call(call, choose);
      if (change.empty() || oracle::too_large(call)) continue;
      if (!difference(op, call, oracle::Devices::meta)) continue;
      if (const auto differs = difference(op, call, oracle::Devices::cpu))
        return Failure{"broken_calls", "rule of " + op.full_name, std::string(name(differs->aspect)),
                       differs->text + "\n" + oracle::describe(call) + "\nafter the change: " + change};
    } catch (const Error&) {  // of legal calls' own: drawn_calls
    }
  }
  return std::nullopt;
}

namespace {
constexpr int kCalls = 4;  // in each case: a tenth of what passes and interpreter take for it

std::optional<Failure> holds(Subject& subject) {
  static const std::vector<const OpDef*> rows = [] {
    std::vector<const OpDef*> all;
    for (const auto& row : op_table().rows())
      if (row->generate && row->infer) all.push_back(row.get());
    return all;
  }();
  return wrongly_taken_call(rows, combine(subject.setting().seed, hash_bytes("broken_calls")), kCalls);
}
}  // namespace

Property broken_calls() {
  return {.name = "broken_calls",
          .contract = "of broken calls rules take none that eager refuses, whatever the graph",
          .holds = holds,
          .of_graph = true};
}

}  // namespace lenz::fuzz
