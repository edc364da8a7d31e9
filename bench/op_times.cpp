#include "bench/op_times.h"

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>

#include "bench/op_calls.h"
#include "compiler/driver/program_set.h"
#include "compiler/graph/text.h"
#include "compiler/ops/op_table.h"
#include "compiler/ops/select.h"
#include "compiler/torch/torch_pool.h"
#include "oracle/boxed.h"
#include "oracle/draw_inputs.h"
#include "oracle/execute.h"
#include "oracle/kept_memory.h"
#include "oracle/native_run.h"
#include "oracle/workers.h"

namespace lenz::bench {

using namespace oracle;

namespace {
// The call's own line of a graph's text.
std::string line_of(const std::string& text) {
  const size_t node = text.find("= ") == std::string::npos ? std::string::npos : text.find("\n  ");
  if (node == std::string::npos) return text;
  std::string line = text.substr(0, text.find('\n')) + " " + text.substr(node + 3);
  return line.substr(0, line.find('\n'));
}

Computed computed_by(const loops::Program& program) {
  Computed by = Computed::nobody;
  loops::for_each_node(program.body, [&](const loops::Node& node) {
    if (std::holds_alternative<loops::Extern>(node.is)) by = Computed::library;
    const bool ours = std::holds_alternative<loops::Kernel>(node.is) || std::holds_alternative<loops::Sort>(node.is);
    if (ours && by == Computed::nobody) by = Computed::ours;
  });
  return by;
}

// What a worker process does with a row.
class Measurement {
 public:
  explicit Measurement(const OpTimesOptions& options)
      : options_(options), pool_(make_torch_pool(1)), boxed_(DeviceKind::cpu) {
    give_libtorch_threads(1);
  }

  void measure(const Graph& graph, OpCallTimes& call) {
    try {
      const std::vector<RunValue> inputs = InputSource(graph, {}, Values::ordinary, 0).make(boxed_);
      Executor executor(boxed_);
      auto eager = [&] {
        const KeepMemory keep;  // as for the program: else it has fresh pages cleared in every call
        return executor.run(graph, inputs);
      };
      if (const Execution first = eager(); first.ending != Ending::finished) {
        call.failed = "eager: " + first.text;
        return;
      }
      const auto executable = build_for(graph, call);
      auto program = [&] { return run_native(*executable, inputs, boxed_); };
      if (const Execution first = program(); first.ending != Ending::finished) {
        call.failed = "the program raises: " + first.text;
        call.our_fault = true;
        return;
      }
      for (int round = 0; round < options_.rounds; ++round) {
        call.ours.keep_better(turn_of(options_.seconds, 1, [&] { program(); }));
        call.eager.keep_better(turn_of(options_.seconds, 1, [&] { eager(); }));
      }
    } catch (const InternalError& error) {
      call.failed = error.what();
      call.our_fault = true;
    } catch (const std::exception& error) {
      call.failed = error.what();
    }
  }

 private:
  std::shared_ptr<runtime::Executable> build_for(const Graph& graph, OpCallTimes& call) const {
    BuildOptions how;
    how.target = options_.target;
    how.threads = 1;
    how.executable.pool = pool_;
    auto executable = ExecutableSet(graph, how, {.products_outside = true}).at(Binding().lookup());
    call.by = computed_by(executable->program());
    return executable;
  }

  const OpTimesOptions& options_;
  std::shared_ptr<runtime::Pool> pool_;
  Boxed boxed_;
};

nlohmann::json number_or_null(double x) { return x > 0 ? nlohmann::json(x) : nlohmann::json(); }

nlohmann::json to_json(const OpCallTimes& call) {
  return {{"name", call.name},
          {"call", call.text},
          {"by", std::string(name(call.by))},
          {"elements", call.elements},
          {"ms", call.ours.best},
          {"eager_ms", call.eager.best},
          {"ratio", number_or_null(call.ratio())},
          {"failed", call.failed},
          {"our_fault", call.our_fault}};
}

OpCallTimes call_from(const nlohmann::json& j) {
  OpCallTimes call;
  call.name = j["name"];
  call.text = j["call"];
  for (const Computed c : {Computed::ours, Computed::library, Computed::nobody})
    if (j["by"] == name(c)) call.by = c;
  call.elements = j["elements"];
  call.ours.best = j["ms"];
  call.eager.best = j["eager_ms"];
  call.failed = j["failed"];
  call.our_fault = j["our_fault"];
  return call;
}

void keep_text(const OpTimesOptions& options, const std::string& name, const std::string& text) {
  if (options.folder.empty()) return;
  std::ofstream out(options.folder + "/" + name + ".lenz");
  out << text;
  if (!out.flush()) throw UserError("can't write to the folder '" + options.folder + "'");
}

// A row in a process of its own, or behind others: its calls as JSON, or why there are none.
std::string row_text(const OpDef& op, const OpTimesOptions& options, oracle::Place& place) {
  static Measurement measurement(options);  // one for all rows of a process
  OpCalls drawn = large_calls(op, op_table(), options.dtype, options.elements, static_cast<size_t>(options.calls));
  nlohmann::json calls = nlohmann::json::array();
  for (const auto& graph : drawn.graphs) {
    ++place.steps;
    OpCallTimes call;
    call.name = op.full_name + "." + std::to_string(calls.size());
    const std::string text = print(*graph);
    call.text = line_of(text);
    call.elements = elements_of(*graph);
    keep_text(options, call.name, text);
    measurement.measure(*graph, call);
    calls.push_back(to_json(call));
  }
  return nlohmann::json{{"none", drawn.none}, {"calls", calls}}.dump();
}
}  // namespace

OpTimesReport run_op_times(const OpTimesOptions& options) {
  OpTimesReport report;
  report.dtype = options.dtype;
  report.elements = options.elements;
  std::vector<const OpDef*> rows = select_rows(op_table(), options.only);
  std::erase_if(rows, [](const OpDef* op) { return op->variant != VariantKind::functional; });
  for (const OpDef* op : rows) report.rows.push_back({op->full_name, {}, {}});
  WorkerCalls calls;
  calls.work = [&](size_t task, oracle::Place& place) { return row_text(*rows[task], options, place); };
  calls.done = [&](size_t task, const std::string& result) {
    const nlohmann::json told = nlohmann::json::parse(result);
    report.rows[task].none = told["none"];
    for (const nlohmann::json& j : told["calls"]) report.rows[task].calls.push_back(call_from(j));
    if (options.progress)
      options.progress(std::to_string(task + 1) + " of " + std::to_string(rows.size()) + ": " + rows[task]->full_name);
  };
  calls.died = [&](size_t task, const Death& death) {
    report.rows[task].none = "its process died: " + death.text();
    return false;
  };
  run_in_workers(rows.size(), 1, {.extra_memory = uint64_t{8} << 30}, calls);
  return report;
}

nlohmann::json OpTimesReport::to_json() const {
  nlohmann::json all = nlohmann::json::array();
  for (const OpRow& row : rows) {
    nlohmann::json made = nlohmann::json::array();
    for (const OpCallTimes& call : row.calls) made.push_back(bench::to_json(call));
    all.push_back({{"op", row.op}, {"none", row.none}, {"calls", made}});
  }
  return {{"dtype", std::string(lenz::name(dtype))}, {"elements", elements}, {"rows", all}};
}

}  // namespace lenz::bench
