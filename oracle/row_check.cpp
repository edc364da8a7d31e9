#include "oracle/row_check.h"

#include <algorithm>

#include "compiler/base/hash.h"
#include "compiler/ops/break_call.h"
#include "compiler/ops/symbolic_check.h"
#include "oracle/definition_check.h"
#include "oracle/initialise.h"

namespace lenz::oracle {

int RowReport::disagreements() const {
  int n = 0;
  for (const Finding& f : findings) n += f.on_broken_call ? 0 : f.count;
  return n;
}

int RowReport::refusals() const {
  int n = 0;
  for (const Finding& f : findings) n += f.on_broken_call ? f.count : 0;
  return n;
}

namespace {
// What one call showed.
struct Verdict {
  std::optional<Difference> difference;
  bool on_meta = false, on_cpu = false, without_meta = false, excused = false, eager_excused = false, refused = false;
  bool without_kernel = false;
  std::string meta_text;
};

// The dtype of the first tensor that is handed over, in a list too.
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

class RowChecker {
 public:
  RowChecker(const OpDef& op, const OpTable& table, const CheckOptions& options, Place& place,
             std::span<const Death> deaths)
      : op_(op),
        table_(table),
        options_(options),
        place_(place),
        deaths_(deaths),
        meta_(DeviceKind::meta),
        cpu_(DeviceKind::cpu) {
    report_.op = &op;
  }

  RowReport run() {
    if (op_.schema.space != "aten" || op_.has(Trait::structural)) {
      report_.state = RowReport::structural;
      return report_;
    }
    if (auto d = check_schema(op_)) {
      report_.findings.push_back({*d, {}, false, 1});
      return report_;  // calls would say the same, less clearly
    }
    if (options_.given) {
      auto calls = options_.given->find(op_.full_name);
      if (calls != options_.given->end())
        for (size_t i = 0; i < calls->second.size(); ++i) given(calls->second[i], static_cast<int>(i));
      return report_;
    }
    if (!op_.infer || !op_.generate) {
      report_.state = op_.generate ? RowReport::no_rule : RowReport::no_generator;
      return report_;
    }
    for (int i = 0; i < options_.calls; ++i) legal(i);
    for (int i = 0; i < options_.symbolic && i < options_.calls; ++i) symbolic(i);
    for (int i = 0; i < options_.illegal; ++i) broken(i);
    if (options_.devices != Devices::meta && has_checkable_definition(op_)) {
      OpDef precise = in_precise_dtypes(op_);
      for (int i = 0; i < options_.definitions; ++i) definition(precise, i);
    }
    if (options_.devices != Devices::meta && !report_.reached.empty()) {
      for (int d = 0; d < kDtypeCount; ++d)
        if (!op_.dtypes.has(static_cast<Dtype>(d))) probe(static_cast<Dtype>(d));
    }
    return report_;
  }

 private:
  uint64_t seed_of(std::string_view what, int i) const {
    return combine(hash_bytes(what, hash_bytes(op_.full_name, options_.seed)), static_cast<uint64_t>(i));
  }

  // --- where we are, and where a process died
  void enter(Phase phase, int index) {
    place_.phase = static_cast<uint32_t>(phase);
    place_.index = static_cast<uint32_t>(index);
    at(Stage::drawing);
  }
  void at(Stage stage) {
    place_.stage = static_cast<uint32_t>(stage);
    place_.steps += 1;
  }
  const Death* death(Phase phase, int index) const {
    for (const Death& d : deaths_)
      if (d.place.phase == static_cast<uint32_t>(phase) && d.place.index == static_cast<uint32_t>(index)) return &d;
    return nullptr;
  }
  static bool in_libtorch(const Death& d) { return d.place.stage >= static_cast<uint32_t>(Stage::meta); }

  // --- one call
  // Draws the call that a chooser gives. A generator or rule that fails on its own call is a finding.
  std::optional<Difference> draw(Chooser& chooser, DrawnCall& call, const OpDef& op) const {
    try {
      call = draw_call(op, table_, chooser);
      return std::nullopt;
    } catch (const UserError& error) {
      return Difference{Aspect::rule_raises, "the rule refuses its own generator's call: " + error.message()};
    } catch (const Error& error) {
      return Difference{Aspect::broken, error.what()};
    }
  }

  Outcome run_on(Boxed& device, const DrawnCall& call, std::vector<RunValue>& inputs) {
    at(device.device() == DeviceKind::meta ? Stage::meta : Stage::cpu);
    inputs = device.inputs(*call.graph);
    return device.run(op_, call.args, inputs);
  }

  std::optional<Difference> on(Boxed& device, DrawnCall& call, const Prediction& predicted, Outcome& outcome) {
    std::vector<RunValue> inputs;
    outcome = run_on(device, call, inputs);
    return compare(call, predicted, outcome, inputs);
  }

  // The CPU is what a row follows. The meta device may lack a kernel; where it differs otherwise the row must say why.
  Verdict judge(DrawnCall& call, bool want_cpu) {
    Verdict v;
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
  bool speaks_of_meta() const {
    for (std::string_view rest = op_.exception; !rest.empty();) {
      std::string_view clause = rest.substr(0, rest.find(';'));
      if (clause.find('`') == clause.npos || clause.find("meta") != clause.npos) return true;
      rest.remove_prefix(std::min(rest.size(), clause.size() + 1));
    }
    return false;
  }

  Verdict judge_broken(DrawnCall& call, const Death* died) {
    Verdict v;
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
      report_.eager_crashes += 1;
      if (!predicted.raised) v.difference = Difference{Aspect::eager_raises, "eager dies: " + text_of(*died)};
      return v;
    }
    Outcome outcome;
    if (options_.devices == Devices::meta || (predicted.raised && options_.devices == Devices::both)) {
      v.difference = on(meta_, call, predicted, outcome);
      // What both refuse is refused, though a kernel on the CPU may forget to check. To lack a kernel is no refusal.
      if (options_.devices == Devices::meta || (outcome.raised && !lacks_meta_kernel(outcome.text))) return v;
    }
    if (too_large(call)) return v;
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

  // --- legal calls
  void legal(int i) {
    RandomChooser random(seed_of("call", i));
    RecordingChooser recording(random);
    if (const Death* died = death(Phase::legal, i)) {
      DrawnCall call;
      if (died->place.stage != static_cast<uint32_t>(Stage::drawing)) draw(recording, call, op_);
      report_.calls += 1;
      add({Aspect::crash, text_of(*died)}, call.graph ? describe(call, in_libtorch(*died)) : "", false);
      return;
    }
    enter(Phase::legal, i);
    Verdict v = judge_drawn(recording, wants_cpu(i), nullptr);
    count(v);
    if (v.difference) found(*v.difference, recording.record(), i, v.on_cpu);
  }

  bool wants_cpu(int i) const { return options_.devices == Devices::cpu || i % options_.cpu_every == 0; }

  void count(const Verdict& v) {
    report_.calls += 1;
    report_.on_meta += v.on_meta;
    report_.on_cpu += v.on_cpu;
    report_.without_meta += v.without_meta && v.on_cpu;
    report_.meta_excused += v.excused;
    report_.eager_excused += v.eager_excused;
    if ((v.without_meta || v.excused) && report_.meta_text.empty()) report_.meta_text = v.meta_text;
  }

  void given(const CallText& text, int i) {
    if (const Death* died = death(Phase::legal, i)) {
      report_.calls += 1;
      add({Aspect::crash, text_of(*died)}, text.text, false);
      return;
    }
    enter(Phase::legal, i);
    DrawnCall call;
    Verdict v;
    try {
      at(Stage::rule);
      call = read_unjudged_call(text, table_);
      if (auto d = leading_dtype(call)) report_.reached = report_.reached | DtypeSet::of(*d);
      v = judge(call, true);
      if (v.difference) {
        Verdict again = judge_broken(call, nullptr);
        v.difference = again.difference;
        v.eager_excused |= again.eager_excused;
        report_.without_kernel += again.without_kernel;
      }
      report_.refused += v.refused && !v.difference;
    } catch (const UserError& error) {
      v.difference = Difference{Aspect::rule_raises, error.message()};
    } catch (const Error& error) {
      v.difference = Difference{Aspect::broken, error.what()};
    }
    count(v);
    if (v.difference) add(*v.difference, text.text, false);
  }

  // Without `text` the call counts; with it, it is one more look at a call that counted already.
  Verdict judge_drawn(Chooser& chooser, bool want_cpu, std::string* text) {
    DrawnCall call;
    Verdict v;
    v.difference = draw(chooser, call, op_);
    if (!v.difference) {
      auto d = leading_dtype(call);
      if (d && !text) {
        report_.reached = report_.reached | DtypeSet::of(*d);
        // The meta device knows nothing of kernels: some calls of each dtype must meet one.
        int& met = met_kernel_[static_cast<size_t>(*d)];
        if (met < 4 && !meets_no_kernel(call)) want_cpu = ++met > 0;
      }
      v = judge(call, want_cpu);
    }
    if (text && call.graph) *text = describe(call);
    return v;
  }

  // Counts a difference that is known by its aspect; the first of each is kept whole.
  Finding* add(Difference difference, std::string call, bool on_broken_call) {
    for (Finding& f : report_.findings)
      if (f.difference.aspect == difference.aspect && f.on_broken_call == on_broken_call) {
        f.count += 1;
        return nullptr;
      }
    report_.findings.push_back({std::move(difference), std::move(call), on_broken_call, 1});
    return &report_.findings.back();
  }

  void found(const Difference& difference, const std::vector<uint64_t>& record, int index, bool want_cpu) {
    Finding* f = add(difference, {}, false);
    if (!f) return;
    auto still = [&](const std::vector<uint64_t>& choices) {
      ReplayChooser replay(choices);
      std::string text;
      Verdict v = judge_drawn(replay, want_cpu, &text);
      if (!v.difference || v.difference->aspect != difference.aspect) return false;
      f->difference = *v.difference;
      f->call = text;
      return true;
    };
    still(record);
    if (!options_.shrink || death(Phase::shrink, index)) return;
    enter(Phase::shrink, index);
    shrink(record, still);
  }

  // Makes choices smaller, one at a time, as long as it shows the same. What `still` took last is the smallest.
  template <class F>
  static void shrink(std::vector<uint64_t> record, F&& still) {
    int budget = 300;
    for (bool progress = true; progress && budget > 0;) {
      progress = false;
      for (size_t i = 0; i < record.size() && budget > 0; ++i)
        for (uint64_t smaller : {uint64_t{0}, record[i] / 2, record[i] - 1}) {
          if (smaller >= record[i]) continue;
          std::vector<uint64_t> shorter = record;
          shorter[i] = smaller;
          --budget;
          if (!still(shorter)) continue;
          record = std::move(shorter);
          progress = true;
          break;
        }
    }
  }

  // --- the same calls with symbols
  void symbolic(int i) {
    const Death* died = death(Phase::symbolic, i);
    enter(Phase::symbolic, i);
    RandomChooser random(seed_of("call", i));
    DrawnCall call;
    if (draw(random, call, op_)) return;  // found already
    if (died) {
      add({Aspect::symbolic, text_of(*died) + " with symbols for sizes"}, describe(call), false);
      return;
    }
    at(Stage::rule);
    Prediction predicted = predict(call);
    if (predicted.raised || predicted.broken) return;
    RandomChooser symbols(seed_of("symbols", i));
    SymbolicVerdict v;
    try {
      v = check_symbolic(call, symbols);
    } catch (const Unsupported&) {  // a form that needs its sizes known, and says so
      v = {SymbolicVerdict::guarded, {}};
    } catch (const Error& error) {
      v = {SymbolicVerdict::differs, std::string("fails with symbols for sizes: ") + error.what()};
    }
    report_.symbolic += v.kind == SymbolicVerdict::same || v.kind == SymbolicVerdict::differs;
    report_.guarded += v.kind == SymbolicVerdict::guarded;
    if (v.kind == SymbolicVerdict::differs) add({Aspect::symbolic, v.text}, describe(call), false);
  }

  // --- the row's definition beside its op
  void definition(const OpDef& precise, int i) {
    const Death* died = death(Phase::definition, i);
    enter(Phase::definition, i);
    RandomChooser random(seed_of("definition", i));
    DrawnCall call;
    if (draw(random, call, precise)) return;  // found already
    if (died) {
      add({Aspect::definition, text_of(*died) + " with its definition"}, describe(call, false), false);
      return;
    }
    std::string text = describe(call);
    at(Stage::cpu);
    DefinitionVerdict v;
    try {
      v = check_definition(call, cpu_);
    } catch (const Error& error) {
      v = {true, Difference{Aspect::definition, std::string("its definition fails: ") + error.what()}};
    }
    report_.defined += v.compared;
    report_.by_layout += v.eager_looks_at_layouts;
    if (v.difference) add(*v.difference, text, false);
  }

  // --- broken calls
  void broken(int i) {
    const Death* died = death(Phase::broken, i);
    if (died && !in_libtorch(*died)) {
      report_.illegal += 1;
      add({Aspect::crash, text_of(*died)}, {}, true);
      return;
    }
    enter(Phase::broken, i);
    RandomChooser random(seed_of("broken", i));
    DrawnCall call;
    if (draw(random, call, op_)) return;
    std::string what = break_call(call, random);
    if (what.empty()) return;
    Verdict v = judge_broken(call, died);
    report_.illegal += 1;
    report_.refused += v.refused;
    report_.eager_excused += v.eager_excused;
    report_.without_kernel += v.without_kernel;
    if (v.difference) add(*v.difference, describe(call) + "\nafter the change: " + what, true);
  }

  // --- dtypes that the row does not list must fail on the CPU. Where eager takes some calls and refuses others, the
  // dtype is half supported at most, and a row that leaves it out is right.
  void probe(Dtype dtype) {
    OpDef wider = op_;
    wider.dtypes = DtypeSet::of(dtype);
    int tried = 0, accepted = 0;
    std::string example;
    for (int i = 0; i < 40 && tried < 8; ++i) {
      int index = 64 * static_cast<int>(dtype) + i;
      if (const Death* died = death(Phase::probe, index)) {
        tried += in_libtorch(*died);
        report_.eager_crashes += in_libtorch(*died);
        continue;
      }
      enter(Phase::probe, index);
      RandomChooser random(seed_of("dtype", index));
      DrawnCall call;
      if (draw(random, call, wider) || leading_dtype(call) != dtype || meets_no_kernel(call) || too_large(call))
        continue;
      std::vector<RunValue> inputs;
      tried += 1;
      Outcome outcome = run_on(cpu_, call, inputs);
      if (outcome.raised || std::ranges::any_of(outcome.results, is_foreign)) continue;
      accepted += 1;
      if (example.empty()) example = describe(call);
    }
    if (tried) report_.probed = report_.probed | wider.dtypes;
    // A row may leave out what eager takes, if it says so by the dtype's name.
    if (tried && accepted == tried && op_.exception.find(name(dtype)) == std::string_view::npos)
      report_.findings.push_back(
          {{Aspect::dtypes, "eager takes " + std::string(name(dtype)) + ", which is not among the row's dtypes"},
           example,
           false,
           1});
  }

  // Layouts with gaps may span more than a process ought to take: the meta device judges such calls alone.
  static bool too_large(const DrawnCall& call) {
    size_t bytes = 0;
    for (const Input& input : call.graph->inputs())
      if (const Type& t = call.graph->type(input.value); t.is_tensor()) bytes += storage_bytes(t);
    return bytes > size_t{1} << 30;
  }

  static bool is_foreign(const RunValue& value) { return look(value).foreign; }

  // What rules say of dtypes, whether listed by the row or by one that it computes with.
  static bool says_no_kernel(std::string_view text) { return text.find("has no kernel") != text.npos; }

  // "Could not run 'aten::x' with arguments from the 'Meta' backend", "Cannot copy out of meta tensor".
  static bool lacks_meta_kernel(std::string_view text) {
    return text.find("Meta") != text.npos || text.find("meta") != text.npos;
  }

  static bool has_no_elements(const RunValue& value) {
    Seen seen = look(value);
    return seen.kind == TypeKind::tensor && std::ranges::find(seen.sizes, 0) != seen.sizes.end();
  }

  // Eager answers for empty tensors and for single elements without asking what the kernel supports.
  static bool meets_no_kernel(const DrawnCall& call) {
    return std::ranges::any_of(call.graph->inputs(), [&](const Input& input) {
      Dim n = numel(call.graph->type(input.value).sizes());
      return n.is(0) || n.is(1);
    });
  }

  const OpDef& op_;
  const OpTable& table_;
  const CheckOptions& options_;
  Place& place_;
  std::span<const Death> deaths_;
  Boxed meta_, cpu_;
  int met_kernel_[kDtypeCount] = {};  // calls of each leading dtype that ran on the CPU
  RowReport report_;
};
}  // namespace

bool quotes(const OpDef& op, std::string_view said) {
  for (std::string_view rest = op.exception; !rest.empty();) {
    size_t open = rest.find('`'), close = open == rest.npos ? open : rest.find('`', open + 1);
    if (close == rest.npos) return false;
    std::string_view quote = rest.substr(open + 1, close - open - 1);
    if (!quote.empty() && said.find(quote) != said.npos) return true;
    rest.remove_prefix(close + 1);
  }
  return false;
}

RowReport check_row(const OpDef& op, const OpTable& table, const CheckOptions& options, Place& place,
                    std::span<const Death> deaths) {
  return RowChecker(op, table, options, place, deaths).run();
}

}  // namespace lenz::oracle
