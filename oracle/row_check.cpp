#include "oracle/row_check.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "compiler/base/hash.h"
#include "compiler/ops/break_call.h"
#include "compiler/ops/symbolic_check.h"

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
  bool on_meta = false, on_cpu = false, without_meta = false, excused = false, refused = false;
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

class RowChecker {
 public:
  RowChecker(const OpDef& op, const OpTable& table, const CheckOptions& options)
      : op_(op), table_(table), options_(options), meta_(DeviceKind::meta), cpu_(DeviceKind::cpu) {
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
    if (!op_.infer || !op_.generate) {
      report_.state = op_.generate ? RowReport::no_rule : RowReport::no_generator;
      return report_;
    }
    for (int i = 0; i < options_.calls; ++i) legal(i);
    for (int i = 0; i < options_.symbolic && i < options_.calls; ++i) symbolic(i);
    for (int i = 0; i < options_.illegal; ++i) illegal(i);
    probe_dtypes();
    return report_;
  }

 private:
  uint64_t seed_of(std::string_view what, int i) const {
    return combine(hash_bytes(what, hash_bytes(op_.full_name, options_.seed)), static_cast<uint64_t>(i));
  }

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

  std::optional<Difference> on(Boxed& device, DrawnCall& call, const Prediction& predicted, Outcome& outcome) const {
    std::vector<RunValue> inputs = device.inputs(*call.graph);
    outcome = device.run(*call.op, call.args, inputs);
    return compare(call, predicted, outcome, inputs);
  }

  // The CPU is what a row follows. The meta device may lack a kernel; where it differs otherwise the row must say why.
  Verdict judge(DrawnCall& call, bool want_cpu) {
    Verdict v;
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
    if (!v.on_meta || by_meta || want_cpu) {
      v.on_cpu = true;
      v.difference = on(cpu_, call, predicted, outcome);
      if (!v.difference && by_meta && !v.without_meta) {
        v.excused = !op_.exception.empty();
        if (!v.excused)
          v.difference =
              Difference{Aspect::meta, "libtorch's meta device: " + by_meta->text +
                                           "\n  eager on the CPU agrees with the rule; the row's `exception` "
                                           "must say so"};
      }
    }
    return v;
  }

  // The row as a call judges it also refuses dtypes that it does not list.
  Verdict judge_broken(DrawnCall& call) {
    Verdict v;
    Prediction predicted = predict(call);
    if (predicted.broken) return v;  // out of what Lenz can say, and it says so
    auto dtype = leading_dtype(call);
    if (!predicted.raised && dtype && !op_.dtypes.has(*dtype)) {
      predicted.raised = true;
      predicted.text = std::string(name(*dtype)) + " is not among the row's dtypes";
    }
    v.refused = predicted.raised;
    Outcome outcome;
    if (options_.devices != Devices::cpu) {
      v.difference = on(meta_, call, predicted, outcome);
      if (!v.difference || options_.devices == Devices::meta) return v;
    }
    v.difference = on(cpu_, call, predicted, outcome);
    return v;
  }

  void legal(int i) {
    RandomChooser random(seed_of("call", i));
    RecordingChooser recording(random);
    bool want_cpu = options_.devices == Devices::cpu || i % options_.cpu_every == 0;
    Verdict v = judge_drawn(recording, op_, want_cpu);
    report_.calls += 1;
    report_.on_meta += v.on_meta;
    report_.on_cpu += v.on_cpu;
    report_.without_meta += v.without_meta && v.on_cpu;
    report_.meta_excused += v.excused;
    if ((v.without_meta || v.excused) && report_.meta_text.empty()) report_.meta_text = v.meta_text;
    if (v.difference) found(*v.difference, recording.record(), want_cpu);
  }

  Verdict judge_drawn(Chooser& chooser, const OpDef& op, bool want_cpu, std::string* text = nullptr) {
    DrawnCall call;
    Verdict v;
    v.difference = draw(chooser, call, op);
    if (!v.difference) {
      if (auto d = leading_dtype(call)) report_.reached = report_.reached | DtypeSet::of(*d);
      v = judge(call, want_cpu);
    }
    if (text && call.graph) *text = describe(call);
    return v;
  }

  void found(const Difference& difference, const std::vector<uint64_t>& record, bool want_cpu) {
    if (Finding* known = finding(difference.aspect, false)) {
      known->count += 1;
      return;
    }
    Finding f{difference, {}, false, 1};
    DtypeSet reached = report_.reached;
    shrink(record, difference.aspect, [&](const std::vector<uint64_t>& shorter) -> std::optional<Aspect> {
      ReplayChooser replay(shorter);
      std::string text;
      Verdict v = judge_drawn(replay, op_, want_cpu, &text);
      if (!v.difference || v.difference->aspect != difference.aspect) return std::nullopt;
      f.difference = *v.difference;
      f.call = text;
      return v.difference->aspect;
    });
    report_.reached = reached;
    report_.findings.push_back(std::move(f));
  }

  Finding* finding(Aspect aspect, bool on_broken_call) {
    for (Finding& f : report_.findings)
      if (f.difference.aspect == aspect && f.on_broken_call == on_broken_call) return &f;
    return nullptr;
  }

  // Makes choices smaller, one at a time, as long as the same aspect differs. Ends on the smallest that does.
  template <class F>
  void shrink(std::vector<uint64_t> record, Aspect aspect, F&& still) const {
    int budget = options_.shrink ? 300 : 0;
    auto accept = [&](std::vector<uint64_t> shorter) {
      if (budget <= 0) return false;
      --budget;
      if (still(shorter) != aspect) return false;
      record = std::move(shorter);
      return true;
    };
    for (bool progress = true; progress && budget > 0;) {
      progress = false;
      for (size_t i = 0; i < record.size(); ++i) {
        if (record[i] == 0) continue;
        for (uint64_t smaller : {uint64_t{0}, record[i] / 2, record[i] - 1}) {
          if (smaller >= record[i]) continue;
          std::vector<uint64_t> shorter = record;
          shorter[i] = smaller;
          if (accept(std::move(shorter))) {
            progress = true;
            break;
          }
        }
      }
    }
    still(record);  // leaves the text of the smallest behind
  }

  void symbolic(int i) {
    RandomChooser random(seed_of("call", i));
    DrawnCall call;
    if (draw(random, call, op_)) return;  // found already
    Prediction predicted = predict(call);
    if (predicted.raised || predicted.broken) return;
    RandomChooser symbols(seed_of("symbols", i));
    SymbolicVerdict v;
    try {
      v = check_symbolic(call, symbols);
    } catch (const Error& error) {
      v = {SymbolicVerdict::differs, std::string("fails with symbols for sizes: ") + error.what()};
    }
    report_.symbolic += v.kind == SymbolicVerdict::same || v.kind == SymbolicVerdict::differs;
    report_.guarded += v.kind == SymbolicVerdict::guarded;
    if (v.kind != SymbolicVerdict::differs) return;
    if (Finding* known = finding(Aspect::symbolic, false)) {
      known->count += 1;
    } else {
      report_.findings.push_back({{Aspect::symbolic, v.text}, describe(call), false, 1});
    }
  }

  void illegal(int i) {
    RandomChooser random(seed_of("broken", i));
    DrawnCall call;
    if (draw(random, call, op_)) return;
    std::string what = break_call(call, random);
    if (what.empty()) return;
    Verdict v = judge_broken(call);
    report_.illegal += 1;
    report_.refused += v.refused;
    if (!v.difference) return;
    if (Finding* known = finding(v.difference->aspect, true)) {
      known->count += 1;
    } else {
      report_.findings.push_back({*v.difference, describe(call) + "\nafter the change: " + what, true, 1});
    }
  }

  // Dtypes that the row does not list must fail on the CPU. Where eager takes some calls and refuses others, the dtype
  // is no more than half supported, and a row that leaves it out is right.
  void probe_dtypes() {
    if (options_.devices == Devices::meta || report_.reached.empty()) return;
    for (int d = 0; d < kDtypeCount; ++d) {
      auto dtype = static_cast<Dtype>(d);
      if (op_.dtypes.has(dtype)) continue;
      OpDef wider = op_;
      wider.dtypes = DtypeSet::of(dtype);
      int tried = 0, accepted = 0;
      std::string example;
      for (int i = 0; i < 40 && tried < 8; ++i) {
        RandomChooser random(seed_of("dtype", 64 * d + i));
        DrawnCall call;
        if (draw(random, call, wider) || leading_dtype(call) != dtype || meets_no_kernel(call)) continue;
        std::vector<RunValue> inputs = cpu_.inputs(*call.graph);
        tried += 1;
        if (cpu_.run(op_, call.args, inputs).raised) continue;
        accepted += 1;
        if (example.empty()) example = describe(call);
      }
      if (tried) report_.probed = report_.probed | wider.dtypes;
      if (tried && accepted == tried)
        report_.findings.push_back(
            {{Aspect::dtypes, "eager takes " + std::string(name(dtype)) + ", which is not among the row's dtypes"},
             example,
             false,
             1});
    }
  }

  // Eager answers for empty tensors and for single elements without asking what the kernel supports.
  bool meets_no_kernel(const DrawnCall& call) const {
    return std::ranges::any_of(call.graph->inputs(), [&](const Input& input) {
      Dim n = numel(call.graph->type(input.value).sizes());
      return n.is(0) || n.is(1);
    });
  }

  const OpDef& op_;
  const OpTable& table_;
  const CheckOptions& options_;
  Boxed meta_, cpu_;
  RowReport report_;
};
}  // namespace

RowReport check_row(const OpDef& op, const OpTable& table, const CheckOptions& options) {
  return RowChecker(op, table, options).run();
}

std::vector<RowReport> check_rows(std::span<const OpDef* const> rows, const OpTable& table, const CheckOptions& options,
                                  int jobs, const std::function<void(const Progress&)>& progress) {
  quieten_libtorch();
  std::vector<RowReport> reports(rows.size());
  std::atomic<size_t> next = 0;
  std::mutex lock;
  std::condition_variable changed;
  Progress state{0, rows.size(), 0};
  std::vector<std::jthread> threads;
  for (int t = 0; t < jobs; ++t)
    threads.emplace_back([&] {
      for (size_t i = next++; i < rows.size(); i = next++) {
        reports[i] = check_row(*rows[i], table, options);
        std::lock_guard hold(lock);
        state.done += 1;
        state.disagreements += reports[i].disagreements();
        changed.notify_one();
      }
    });
  std::unique_lock hold(lock);
  while (state.done < rows.size()) {
    changed.wait_for(hold, std::chrono::milliseconds(200));
    Progress now = state;
    hold.unlock();
    if (progress) progress(now);
    hold.lock();
  }
  return reports;
}

}  // namespace lenz::oracle
