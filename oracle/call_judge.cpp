#include "oracle/call_judge.h"

#include <algorithm>

#include "oracle/initialise.h"
#include "oracle/value_refusals.h"

namespace lenz::oracle {

namespace {
bool is_foreign(const RunValue& value) { return look(value).foreign; }

// What rules say of dtypes, whether listed by the row or by one that it computes with.
bool says_no_kernel(std::string_view text) { return text.find("has no kernel") != text.npos; }

// "Could not run 'aten::x' with arguments from the 'Meta' backend", "Cannot copy out of meta tensor".
bool lacks_meta_kernel(std::string_view text) {
  return text.find("Meta") != text.npos || text.find("meta") != text.npos;
}

bool has_no_elements(const RunValue& value) {
  Seen seen = look(value);
  return seen.kind == TypeKind::tensor && std::ranges::find(seen.sizes, 0) != seen.sizes.end();
}
}  // namespace

std::optional<Dtype> leading_dtype(const DrawnCall& call) {
  std::optional<Dtype> found;
  for (const Arg& a : call.args)
    for_each_value(a, [&](ValueId v) {
      if (!found && call.graph->type(v).is_tensor()) found = call.graph->type(v).dtype;
    });
  return found;
}

std::string text_of(const Death& death) {
  constexpr std::string_view where[] = {"while the generator draws a call", "in the row's rule",
                                        "in libtorch, on the meta device", "in libtorch, on the CPU"};
  return death.text() + " " + std::string(where[std::min<uint32_t>(death.place.stage, 3)]);
}

bool too_large(const DrawnCall& call) {
  size_t bytes = 0;
  for (const Input& input : call.graph->inputs())
    if (const Type& t = call.graph->type(input.value); t.is_tensor()) bytes += storage_bytes(t);
  return bytes > size_t{1} << 30;
}

namespace {
// A range up to a broken number may be.
bool too_large(const Prediction& predicted) {
  return std::ranges::any_of(predicted.results, [](const InferredResult& r) {
    if (!r.type->is_tensor()) return false;
    const Dim n = numel(r.type->sizes());
    return n.is_constant() && n.constant() > int64_t{1} << 25;
  });
}
}  // namespace

bool meets_no_kernel(const DrawnCall& call) {
  return std::ranges::any_of(call.graph->inputs(), [&](const Input& input) {
    Dim n = numel(call.graph->type(input.value).sizes());
    return n.is(0) || n.is(1);
  });
}

Outcome CallJudge::run_on(Boxed& device, const DrawnCall& call, std::vector<RunValue>& inputs) {
  at(device.device() == DeviceKind::meta ? Stage::meta : Stage::cpu);
  inputs = device.inputs(*call.graph);
  Outcome seen;
  call.graph->for_each_node([&](NodeId id) {  // views of them, which the call is handed
    const Node& view = call.graph->node(id);
    device.run(*view.op, view.arguments(), inputs, {}, seen);
    LENZ_CHECK(!seen.raised, "a view of an operand: " + seen.text);
    inputs[view.result()] = seen.results[0];
  });
  return device.run(op_, call.args, inputs);
}

std::optional<Difference> CallJudge::on(Boxed& device, DrawnCall& call, const Prediction& predicted, Outcome& outcome) {
  std::vector<RunValue> inputs;
  outcome = run_on(device, call, inputs);
  return compare(call, predicted, outcome, inputs);
}

CallVerdict CallJudge::judge(DrawnCall& call, bool want_cpu) {
  CallVerdict v;
  at(Stage::rule);
  Prediction predicted = predict(call);
  v.refused = predicted.raised;
  if (predicted.broken) {
    v.difference = Difference{Aspect::broken, predicted.text};
    return v;
  }
  Outcome outcome;
  std::optional<Difference> by_meta;
  if (options_.devices != Devices::cpu) {
    v.on_meta = true;
    by_meta = on(meta_, call, predicted, outcome);
    v.without_meta = outcome.raised && !predicted.raised;
    if (by_meta) v.meta_text = v.without_meta ? outcome.text : by_meta->text;
    if (options_.devices == Devices::meta) {
      if (!v.without_meta) v.difference = by_meta;
      return v;
    }
  }
  if (v.on_meta && !by_meta && !want_cpu) return v;
  if (too_large(call)) {
    if (!v.without_meta) v.difference = by_meta;
    return v;
  }
  v.on_cpu = true;
  v.difference = on(cpu_, call, predicted, outcome);
  if (v.difference && v.difference->aspect == Aspect::eager_raises && quotes(op_, outcome.text)) {
    v.eager_excused = true;
    v.difference.reset();
    return v;
  }
  if (!v.difference && by_meta && !v.without_meta) {
    v.excused = speaks_of_meta();
    if (!v.excused)
      v.difference = Difference{Aspect::meta, "libtorch's meta device: " + by_meta->text +
                                                  "\neager on the CPU agrees with the rule; the row's `exception` "
                                                  "must say so"};
  }
  return v;
}

// Whether a clause of the row's exception is more than a quotation of what is or ought to be refused.
bool CallJudge::speaks_of_meta() const {
  for (std::string_view rest = op_.exception; !rest.empty();) {
    std::string_view clause = rest.substr(0, rest.find(';'));
    if (clause.find('`') == clause.npos || clause.find("meta") != clause.npos) return true;
    rest.remove_prefix(std::min(rest.size(), clause.size() + 1));
  }
  return false;
}

CallVerdict CallJudge::judge_broken(DrawnCall& call, const Death* died) {
  CallVerdict v;
  at(Stage::rule);
  Prediction predicted = predict(call);
  if (predicted.broken) return v;  // out of what Lenz can say, and it says so
  v.refused = predicted.raised;
  // What eager forgets to check may write where it should not, and the process would die of it later.
  if (predicted.raised && quotes(op_, predicted.text)) {
    v.eager_excused = true;
    return v;
  }
  if (died) {
    v.eager_died = true;
    // That it takes longer than we wait is no refusal.
    if (!predicted.raised && !died->hung)
      v.difference = Difference{Aspect::eager_raises, "eager dies: " + text_of(*died)};
    return v;
  }
  Outcome outcome;
  if (options_.devices == Devices::meta || (predicted.raised && options_.devices == Devices::both)) {
    v.difference = on(meta_, call, predicted, outcome);
    // What both refuse is refused, though a kernel on the CPU may forget to check. To lack a kernel is no refusal.
    if (options_.devices == Devices::meta || (outcome.raised && !lacks_meta_kernel(outcome.text))) return v;
  }
  if (too_large(call) || too_large(predicted)) return v;
  // The meta device knows no kernels: that it takes a call proves nothing.
  v.difference = on(cpu_, call, predicted, outcome);
  // What values decide no rule can know: then the row says so.
  if (v.difference && quotes(op_, outcome.raised ? outcome.text : v.difference->text)) {
    v.eager_excused = true;
    v.difference.reset();
  }
  // What a rule assumes of values, the values may refute.
  if (v.difference && v.difference->aspect == Aspect::sizes && !call.graph->assumptions.guards().empty())
    v.difference.reset();
  // A row may leave out a dtype that eager takes, if it says so by name.
  auto d = leading_dtype(call);
  if (v.difference && predicted.raised && d && !op_.dtypes.has(*d) &&
      op_.exception.find(name(*d)) != std::string_view::npos) {
    v.eager_excused = true;
    v.difference.reset();
  }
  if (v.difference && v.difference->aspect == Aspect::rule_raises && says_no_kernel(predicted.text) &&
      (meets_no_kernel(call) || std::ranges::all_of(outcome.results, has_no_elements))) {
    v.without_kernel = true;
    v.difference.reset();
  }
  // A limit of ours, not a refusal of eager's.
  if (outcome.out_of_memory()) v.difference.reset();
  return v;
}

bool CallJudge::takes(const DrawnCall& call) {
  std::vector<RunValue> inputs;
  Outcome outcome = run_on(cpu_, call, inputs);
  return !outcome.raised && std::ranges::none_of(outcome.results, is_foreign);
}

}  // namespace lenz::oracle
