// What a row's generator draws is legal by its contract: a rule that refuses it refuses what eager takes, and a graph
// that grows would only go without that call. Nor does a graph have each row often enough to show what a rule says of
// its results: that is held to eager here, and to what the same rule says where sizes are left open.
#include "fuzz/properties/drawn_calls.h"

#include "compiler/base/hash.h"
#include "compiler/ops/call_maker.h"
#include "compiler/ops/lazily_read.h"
#include "compiler/ops/symbolic_check.h"
#include "fuzz/properties/list.h"
#include "oracle/call_judge.h"
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

bool eager_may_die(const OpDef& op, bool of_half_floats) {
  if (op.exception.find("SIG") != std::string_view::npos) return true;  // it says of what
  return of_half_floats && op.has(Trait::contraction);
}

bool eager_may_die(const OpDef& op, const DrawnCall& call) {
  const auto dtype = oracle::leading_dtype(call);
  return eager_may_die(op, dtype && is_reduced_float(*dtype));
}

namespace {
// What eager gives that the rule does not say: on the meta device, and on the CPU where that one lacks a kernel or
// says something else too. What is read lazily kernels see alone.
std::optional<oracle::Difference> otherwise_in_eager(const OpDef& op, DrawnCall& call, bool lazily) {
  oracle::CheckOptions options;
  if (lazily) options.devices = oracle::Devices::cpu;
  if (eager_may_die(op, call)) options.devices = oracle::Devices::meta;
  oracle::Place place;
  auto differs = oracle::CallJudge(op, options, place).judge(call, false).difference;
  // The meta device alone may be at fault.
  if (options.devices == oracle::Devices::meta && !op.exception.empty()) return std::nullopt;
  return differs;
}

std::optional<oracle::Difference> otherwise_with_symbols(const DrawnCall& call, Chooser& choose) {
  try {
    const SymbolicVerdict v = check_symbolic(call, choose);
    if (v.kind == SymbolicVerdict::differs) return oracle::Difference{oracle::Aspect::symbolic, v.text};
  } catch (const Unsupported&) {  // a form that needs its sizes known, and says so
  } catch (const Error& error) {
    return oracle::Difference{oracle::Aspect::symbolic, std::string("fails with symbols for sizes: ") + error.what()};
  }
  return std::nullopt;
}
}  // namespace

std::optional<Failure> misjudged_call(std::span<const OpDef* const> rows, uint64_t seed, int calls) {
  RandomChooser choose(seed);
  for (int i = 0; i < calls; ++i) {
    const OpDef& op = *choose.pick(rows);
    DrawnCall call;
    auto failure = [&](std::string_view symptom, const std::string& detail) {
      return Failure{"drawn_calls", "rule of " + op.full_name, std::string(symptom),
                     detail + (call.graph ? "\n" + oracle::describe(call, false) : "")};
    };
    try {
      call = draw_call(op, op_table(), choose);
      const bool lazily = choose.below(4) == 3 && read_lazily(call, choose);
      const oracle::Prediction predicted = oracle::predict(call);
      // Of what is lazy eager refuses some calls, too.
      if (predicted.raised && !lazily) return failure("refused", predicted.text);
      if (predicted.broken) continue;  // legal, and the row says that it does not serve it
      auto differs = otherwise_in_eager(op, call, lazily);
      if (!differs && !lazily && choose.chance(1, 3)) differs = otherwise_with_symbols(call, choose);
      if (differs) return failure(name(differs->aspect), differs->text);
    } catch (const UserError& error) {
      return failure("refused", error.what());
    } catch (const Unsupported&) {
    }
  }
  return std::nullopt;
}

namespace {
constexpr int kCalls = 16;  // in each case: those of a minute draw a dozen of every row

std::optional<Failure> holds(Subject& subject) {
  return misjudged_call(rows_that_are_drawn(), combine(subject.setting().seed, hash_bytes("drawn_calls")), kCalls);
}
}  // namespace

Property drawn_calls() {
  return {.name = "drawn_calls",
          .contract = "rules take what the rows' generators draw, and say what eager gives, also of open sizes",
          .holds = holds,
          .of_graph = true};
}

}  // namespace lenz::fuzz
