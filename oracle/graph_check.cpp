#include "oracle/graph_check.h"

#include <nlohmann/json.hpp>

#include "compiler/base/hash.h"
#include "compiler/passes/runner.h"
#include "oracle/tensors.h"

namespace lenz::oracle {

namespace {
class GraphCheck {
 public:
  GraphCheck(const Graph& graph, const GraphCheckOptions& options)
      : graph_(graph), options_(options), boxed_(DeviceKind::cpu) {}

  GraphReport run() {
    for (int i = 0; i < options_.seeds && report_.out_of_memory.empty(); ++i) {
      ++report_.seeds;
      seed_ = options_.first_seed + static_cast<uint64_t>(i);
      binding_ = parse_binding(options_.bind, graph_);
      complete(binding_, graph_, seed_);
      check_facts(binding_, graph_);
      Execution expected = execute(graph_);
      if (expected.ending == Ending::out_of_memory) report_.out_of_memory = expected.where + ": " + expected.text;
      if (expected.ending == Ending::raised) ++report_.refused;
      for (const PipelineLine& line : options_.together_only ? std::span<const PipelineLine>() : options_.lines)
        check(std::string(line.pass.name), {&line, 1}, expected);
      check("all passes", options_.lines, expected);
      if (options_.progress) options_.progress(i + 1);
    }
    return std::move(report_);
  }

 private:
  Execution execute(const Graph& graph) {
    ++report_.runs;
    ExecuteOptions options;
    options.memory_limit = options_.memory_limit;
    options.ambient_seed = seed_;
    options.folder = options_.folder;
    std::vector<RunValue> inputs = initial_inputs(graph, boxed_, binding_, seed_);
    return Executor(boxed_, options).run(graph, inputs, binding_);
  }

  // What differs after the first `rewrites` of these passes.
  std::optional<Mismatch> differs(std::span<const PipelineLine> lines, size_t rewrites, const Execution& expected,
                                  size_t* done = nullptr) {
    auto graph = graph_.clone();
    RunnerOptions options = checked_options();
    options.selection = PassSelection::parse("all:" + std::to_string(rewrites), options_.lines);
    RunStatistics statistics = run_passes(*graph, lines, options);
    if (done) *done = statistics.rewrites;
    return compare_runs(graph_, expected, execute(*graph));
  }

  void check(const std::string& path, std::span<const PipelineLine> lines, const Execution& expected) {
    for (const PassFinding& f : report_.findings)
      if (f.path == path) return;
    size_t rewrites = 0;
    auto mismatch = differs(lines, kAll, expected, &rewrites);
    report_.rewrites += rewrites;
    if (!mismatch) return;
    size_t good = 0, bad = rewrites;  // the first rewrite with which it differs
    while (bad - good > 1) {
      size_t middle = good + (bad - good) / 2;
      (differs(lines, middle, expected) ? bad : good) = middle;
    }
    report_.findings.push_back({path, "all:" + std::to_string(bad), seed_, to_text(binding_, graph_), *mismatch});
  }

  static constexpr size_t kAll = 1'000'000'000;
  const Graph& graph_;
  const GraphCheckOptions& options_;
  Boxed boxed_;
  GraphReport report_;
  uint64_t seed_ = 0;
  Binding binding_;
};
}  // namespace

GraphReport check_graph(const Graph& graph, const GraphCheckOptions& options) {
  return GraphCheck(graph, options).run();
}

nlohmann::json GraphReport::to_json() const {
  auto list = nlohmann::json::array();
  for (const PassFinding& f : findings)
    list.push_back({{"path", f.path},
                    {"selection", f.selection},
                    {"seed", f.seed},
                    {"sizes", f.sizes},
                    {"mismatch", f.mismatch.to_json()}});
  nlohmann::json j = {
      {"runs", runs}, {"rewrites", rewrites}, {"seeds", seeds}, {"refused", refused}, {"findings", list}};
  if (!out_of_memory.empty()) j["out_of_memory"] = out_of_memory;
  return j;
}

}  // namespace lenz::oracle
