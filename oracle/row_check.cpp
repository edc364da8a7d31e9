#include "oracle/row_check.h"

#include <algorithm>

#include "compiler/base/hash.h"
#include "compiler/ops/break_call.h"
#include "compiler/ops/decompose.h"
#include "compiler/ops/lazily_read.h"
#include "compiler/ops/symbolic_check.h"
#include "oracle/call_judge.h"
#include "oracle/definition_check.h"
#include "oracle/value_refusals.h"

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
class RowChecker {
 public:
  RowChecker(const OpDef& op, const OpTable& table, const CheckOptions& options, Place& place,
             std::span<const Death> deaths)
      : op_(op), table_(table), options_(options), place_(place), deaths_(deaths), judge_(op, options, place) {
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
    judge_.at(Stage::drawing);
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

  // --- legal calls
  void legal(int i) {
    RandomChooser random(seed_of("call", i));
    RecordingChooser recording(random);
    if (const Death* died = death(Phase::legal, i)) {
      DrawnCall call;
      if (died->place.stage != static_cast<uint32_t>(Stage::drawing)) draw(recording, call, op_);
      report_.calls += 1;
      died_on(*died, call.graph ? describe(call, in_libtorch(*died)) : "");
      return;
    }
    enter(Phase::legal, i);
    CallVerdict v = judge_drawn(recording, wants_cpu(i), nullptr);
    count(v);
    if (v.difference) found(*v.difference, recording.record(), i, v.on_cpu);
  }

  // A process that a legal call killed. What the row's exception says of eager's own deaths is no finding.
  void died_on(const Death& died, const std::string& call) {
    if (in_libtorch(died) && quotes(op_, text_of(died))) {
      report_.eager_crashes += 1;
    } else {
      add({Aspect::crash, text_of(died)}, call, false);
    }
  }

  bool wants_cpu(int i) const { return options_.devices == Devices::cpu || i % options_.cpu_every == 0; }

  void count(const CallVerdict& v) {
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
      died_on(*died, text.text);
      return;
    }
    enter(Phase::legal, i);
    DrawnCall call;
    CallVerdict v;
    try {
      judge_.at(Stage::rule);
      call = read_unjudged_call(text, table_);
      if (auto d = leading_dtype(call)) report_.reached = report_.reached | DtypeSet::of(*d);
      v = judge_.judge(call, true);
      if (v.difference) {
        CallVerdict again = judge_.judge_broken(call, nullptr);
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
  CallVerdict judge_drawn(Chooser& chooser, bool want_cpu, std::string* text) {
    DrawnCall call;
    CallVerdict v;
    v.difference = draw(chooser, call, op_);
    if (!v.difference && chooser.below(4) == 3) read_lazily(call, chooser);
    if (!v.difference) {
      auto d = leading_dtype(call);
      if (d && !text) {
        report_.reached = report_.reached | DtypeSet::of(*d);
        // The meta device knows nothing of kernels: some calls of each dtype must meet one.
        int& met = met_kernel_[static_cast<size_t>(*d)];
        if (met < 4 && !meets_no_kernel(call)) want_cpu = ++met > 0;
      }
      v = judge_.judge(call, want_cpu);
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
      CallVerdict v = judge_drawn(replay, want_cpu, &text);
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
    judge_.at(Stage::rule);
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
    judge_.at(Stage::cpu);
    DefinitionVerdict v;
    try {
      v = check_definition(call, judge_.cpu());
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
    const std::vector<Arg> whole = call.args;
    std::string what = break_call(call, random);
    if (what.empty()) return;
    if (random.chance(1, 8)) read_lazily(call, random);
    CallVerdict v = judge_.judge_broken(call, died);
    report_.illegal += 1;
    report_.eager_crashes += v.eager_died;
    report_.refused += v.refused;
    report_.eager_excused += v.eager_excused;
    report_.without_kernel += v.without_kernel;
    if (!v.difference && !v.refused && !died && number_differs(call, whole)) v.difference = refused_by_definition(call);
    if (v.difference) add(*v.difference, describe(call) + "\nafter the change: " + what, true);
  }

  static bool number_differs(const DrawnCall& call, std::span<const Arg> before) {
    for (size_t i = 0; i < before.size(); ++i) {
      const ParamKind kind = call.op->schema.params[i].type.kind;
      if ((kind == ParamKind::scalar || kind == ParamKind::real) && !(call.args[i] == before[i])) return true;
    }
    return false;
  }

  // What rule and eager take, the row's definition must not refuse.
  std::optional<Difference> refused_by_definition(const DrawnCall& call) const {
    const OpDef& row = op_.base && !op_.redefined() ? *op_.base : op_;
    if (row.decompose.empty()) return std::nullopt;
    std::unique_ptr<Graph> graph = call.graph->clone();
    try {
      expand(*graph, kNone, row, std::span<const Arg>(call.args).first(row.schema.params.size()));
    } catch (const Unsupported&) {  // a form that it has not, and says so
    } catch (const UserError& error) {
      return Difference{Aspect::definition, "its definition refuses what eager takes: " + error.message()};
    }
    return std::nullopt;
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
      tried += 1;
      if (!judge_.takes(call)) continue;
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

  const OpDef& op_;
  const OpTable& table_;
  const CheckOptions& options_;
  Place& place_;
  std::span<const Death> deaths_;
  CallJudge judge_;
  int met_kernel_[kDtypeCount] = {};  // calls of each leading dtype that ran on the CPU
  RowReport report_;
};
}  // namespace

RowReport check_row(const OpDef& op, const OpTable& table, const CheckOptions& options, Place& place,
                    std::span<const Death> deaths) {
  return RowChecker(op, table, options, place, deaths).run();
}

}  // namespace lenz::oracle
