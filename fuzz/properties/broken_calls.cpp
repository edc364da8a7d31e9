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

// Whether masks are among what it reads: how many places they take their values say, and whether that suits the others
// the run asks.
bool indexes_by_masks(const OpDef& op, const DrawnCall& call) {
  const std::span<const Input> inputs = call.graph->inputs();
  return op.has(Trait::indexing) && inputs.size() > 2 && std::ranges::any_of(inputs.subspan(1), [&](const Input& i) {
           const Type& t = call.graph->type(i.value);
           return t.is_tensor() && (t.dtype == Dtype::b8 || t.dtype == Dtype::u8);
         });
}

// A mask of n dims is as n indices, as long as it has trues. Whether eager refuses a call of masks alone with such in
// their places, however long they are.
bool refused_of_any_count(const OpDef& op, const DrawnCall& call) {
  const int at = op.schema.find("indices");
  if (at < 0 || call.args[static_cast<size_t>(at)].kind != ArgKind::value_list) return false;
  constexpr int64_t kMost = 64;  // elements of a mask
  bool any = false;
  for (int64_t count = 0, most = 0; count <= most; ++count) {
    DrawnCall counted{call.op, call.graph->clone(), call.args, {}};
    Graph& graph = *counted.graph;
    SmallVec<ValueId, 8> indices;
    for (const ValueId v : call.args[static_cast<size_t>(at)].value_list()) {
      const Type* t = v == kNone ? nullptr : &call.graph->type(v);
      if (!t) {
        indices.push_back(v);
        continue;
      }
      if (t->dtype != Dtype::b8) return false;  // u8 eager takes of some ops alone; others may point beyond
      any = true;
      most = std::max(most, numel(t->sizes()).constant());
      TensorType index;
      index.dtype = Dtype::i64;
      index.sizes = {Dim(count)}, index.strides = {Dim(1)};
      for (size_t d = 0; d < t->rank(); ++d) {
        indices.push_back(graph.add_input("i" + std::to_string(graph.inputs().size()), graph.context().tensor(index)));
        graph.input(graph.inputs().size() - 1).init = {Initialiser::zeros};
      }
    }
    if (!any || most > kMost) return false;
    counted.args[static_cast<size_t>(at)] = graph.context().values(indices);
    const oracle::CheckOptions options;
    oracle::Place place;
    if (oracle::CallJudge(op, options, place).takes(counted)) return false;
  }
  return true;
}

// What a rule says of a call that it takes, and eager doesn't. `lazily`: some of it is read so, which kernels see
// alone.
std::optional<oracle::Difference> taken_otherwise(const OpDef& op, DrawnCall& call, bool lazily) {
  const oracle::Prediction predicted = oracle::predict(call);
  if (predicted.raised || predicted.broken || oracle::too_large(call)) return std::nullopt;  // eager may die of it
  if (eager_may_die(op, call)) return std::nullopt;
  if (indexes_by_masks(op, call) && refused_of_any_count(op, call))
    return oracle::Difference{oracle::Aspect::eager_raises, "eager raises, however many the masks take"};
  if (!lazily && !difference(op, call, oracle::Devices::meta)) return std::nullopt;
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
      const bool lazily = choose.chance(1, 8) && read_lazily(call, choose);
      if (const auto differs = taken_otherwise(op, call, lazily))
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
