#include "compiler/passes/runner.h"

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>

#include "compiler/graph/equal.h"
#include "compiler/graph/infer.h"
#include "compiler/graph/text.h"
#include "compiler/graph/verify.h"

namespace lenz {

namespace {

size_t nodes_of(const Graph& graph) {
  size_t count = graph.node_count();
  for (const auto& sub : graph.subgraphs) count += nodes_of(*sub);
  return count;
}

// What a sub-graph assumes now, its callers have to assume too: a definition in it may have decided what sizes are
// like.
void assume_what_subgraphs_do(Graph& graph) {
  graph.for_each_node([&](NodeId id) {
    const Node& node = graph.node(id);
    if (std::ranges::none_of(node.arguments(), [](const Arg& a) { return a.kind == ArgKind::graph; })) return;
    SmallVec<const Type*, 4> have;
    for (uint16_t i = 0; i < node.result_count; ++i) have.push_back(&graph.type(node.result(i)));
    Infer infer(graph.shared_context(), graph.ops(), *node.op, node.arguments(), graph.types(), graph.assumptions);
    infer.owner = &graph;
    try {
      infer.run_as(have);
    } catch (const UserError& refused) {
      throw Unsupported("a sub-graph relies on what its caller knows not to hold: " + refused.message());
    }
  });
}

void apply(const Pass& pass, Graph& graph, PassContext& context) {
  bool assumes_more = false;
  for (const auto& sub : graph.subgraphs) {
    const size_t before = sub->assumptions.guards().size();
    apply(pass, *sub, context);
    assumes_more = assumes_more || sub->assumptions.guards().size() > before;
  }
  if (assumes_more) assume_what_subgraphs_do(graph);
  pass.run(graph, context);
}

class Runner {
 public:
  Runner(Graph& graph, const RunnerOptions& options) : graph_(graph), options_(options) {}

  RunStatistics run(std::span<const PipelineLine> lines) {
    auto start = std::chrono::steady_clock::now();
    statistics_.level = graph_.level;
    hash_ = structural_hash(graph_);
    nodes_ = nodes_of(graph_);
    for (const PipelineLine& line : lines) run(line.pass);
    statistics_.rewrites = asked_by_all_;
    statistics_.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    return std::move(statistics_);
  }

 private:
  void run(const Pass& pass) {
    PassRun& run = statistics_.runs.emplace_back();
    run.pass = pass.name;
    run.nodes_before = run.nodes_after = nodes_;
    if (!pass.levels.has(graph_.level)) run.skipped = "not for this level";
    if (!options_.selection.enabled(pass.name, graph_.level)) run.skipped = "not selected";
    std::unique_ptr<Graph> before;
    if (options_.on_pass && run.skipped.empty()) before = graph_.clone();
    if (run.skipped.empty()) execute(pass, run);
    if (options_.on_pass) options_.on_pass(run, run.changed ? *before : graph_, graph_);
  }

  void execute(const Pass& pass, PassRun& run) {
    PassContext context;
    context.window = options_.selection.window(pass.name);
    context.total_window = options_.selection.total();
    context.asked = asked_[std::string(pass.name)];
    context.asked_by_all = &asked_by_all_;
    if (options_.evaluator) context.evaluator = &options_.evaluator;
    context.products_outside = options_.products_outside;
    context.attention_in_steps = options_.attention_in_steps;
    context.few_scores = options_.few_scores;
    context.slow_products = options_.slow_products;

    auto start = std::chrono::steady_clock::now();
    apply(pass, graph_, context);
    run.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();

    asked_[std::string(pass.name)] = context.asked;
    run.allowed = context.allowed();
    run.denied = context.denied();
    run.first_denied = context.first_denied();
    run.counters = context.counters();
    run.incomplete = context.why_incomplete();
    uint64_t hash = structural_hash(graph_);
    run.changed = hash != hash_;
    hash_ = hash;
    if (options_.strict && !run.incomplete.empty()) fail(run, "could not finish: " + run.incomplete);
    if (!run.changed) return;
    run.nodes_after = nodes_ = nodes_of(graph_);
    check(run);
  }

  void check(const PassRun& run) {
    if (options_.verify) {
      auto violations = verify(graph_);
      std::string all;
      for (const Violation& v : violations) all += "\n  " + to_string(v);
      if (!all.empty()) fail(run, "made a graph that is not valid:" + all);
    }
    if (options_.check_text) {
      std::string text = print(graph_);
      std::string again, why;
      try {
        auto parsed = parse_graph(text, graph_.ops());
        const bool equal = structurally_equal(*parsed, graph_, &why);
        if (equal && structural_hash(*parsed) == hash_) return;
        if (equal) why = "both are equal, but have two hashes";
        again = print(*parsed);
      } catch (const UserError& e) {
        fail(run, "made a graph whose text does not parse: " + std::string(e.what()) + "\n" + text);
      }
      fail(run,
           "made a graph that is another one once printed and parsed:\n" + text + "\nbecomes\n" + again + "\n" + why);
    }
  }

  [[noreturn]] void fail(const PassRun& run, const std::string& what) {
    throw InternalError("pass " + std::string(run.pass) + " " + what + "\n  its last rewrite is `" +
                        std::string(run.pass) + ":#" + std::to_string(asked_[std::string(run.pass)]) +
                        "`; all up to it are `all:" + std::to_string(asked_by_all_) + "` (lenz opt --select)");
  }

  Graph& graph_;
  const RunnerOptions& options_;
  RunStatistics statistics_;
  std::map<std::string, size_t> asked_;
  size_t asked_by_all_ = 0;
  uint64_t hash_ = 0;
  size_t nodes_ = 0;
};

}  // namespace

RunnerOptions checked_options() {
  RunnerOptions options;
  options.verify = options.check_text = options.strict = true;
  return options;
}

RunStatistics run_passes(Graph& graph, std::span<const PipelineLine> lines, const RunnerOptions& options) {
  return Runner(graph, options).run(lines);
}

nlohmann::json to_json(const RunStatistics& statistics) {
  auto runs = nlohmann::json::array();
  for (const PassRun& r : statistics.runs) {
    auto counters = nlohmann::json::object();
    for (const auto& [what, times] : r.counters) counters[what] = times;
    nlohmann::json run = {{"pass", r.pass},
                          {"ran", r.skipped.empty()},
                          {"changed", r.changed},
                          {"nodes_before", r.nodes_before},
                          {"nodes_after", r.nodes_after},
                          {"seconds", r.seconds},
                          {"rewrites", r.allowed},
                          {"denied", r.denied},
                          {"counters", counters}};
    if (!r.skipped.empty()) run["skipped"] = r.skipped;
    if (!r.incomplete.empty()) run["incomplete"] = r.incomplete;
    runs.push_back(std::move(run));
  }
  return {{"level", name(statistics.level)},
          {"seconds", statistics.seconds},
          {"rewrites", statistics.rewrites},
          {"passes", runs}};
}

}  // namespace lenz
