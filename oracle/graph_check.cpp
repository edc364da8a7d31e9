#include "oracle/graph_check.h"

#include <map>
#include <nlohmann/json.hpp>

#include "compiler/base/hash.h"
#include "compiler/driver/compile.h"
#include "compiler/graph/alias.h"
#include "compiler/graph/text.h"
#include "compiler/passes/runner.h"
#include "oracle/bounds/reference.h"
#include "oracle/exact.h"
#include "oracle/interpreted.h"
#include "oracle/needless.h"
#include "oracle/relayout.h"
#include "oracle/tensors.h"

namespace lenz::oracle {

namespace {
class GraphCheck {
 public:
  GraphCheck(const Graph& graph, const GraphCheckOptions& options)
      : given_(graph), graph_(&graph), options_(options), boxed_(DeviceKind::cpu) {}

  GraphReport run() {
    for (int i = 0; i < options_.seeds && report_.out_of_memory.empty(); ++i) {
      ++report_.seeds;
      seed_ = options_.first_seed + static_cast<uint64_t>(i);
      values_ = options_.values.value_or(values_of_seed(seed_));
      graph_ = &given_;
      relaid_ = {};
      if (RandomChooser choose(combine(seed_, 0x1A)); options_.layouts && seed_ != 0)
        relaid_ = with_other_layouts(given_, choose);
      if (relaid_.graph) {
        graph_ = relaid_.graph.get();
        ++report_.relaid;
      }
      binding_ = parse_binding(options_.bind, *graph_);
      complete(binding_, *graph_, seed_);
      check_facts(binding_, *graph_);
      ExactPlan plan;
      if (values_ == Values::exact) {
        plan = plan_exact(*graph_, boxed_, binding_);
        ++(plan.possible() ? report_.exact : report_.inexact);
        if (!plan.possible()) values_ = Values::ordinary;
      }
      source_.emplace(*graph_, binding_, values_, seed_, plan.range);
      NodeId failed = kNone;
      Execution expected = execute(*graph_, &failed);
      refusal_.reset();
      needed_ = graph_;
      without_needless_.reset();
      while (expected.ending == Ending::raised && failed != kNone) {
        auto left = without_needless(*needed_, failed);
        if (!left) break;
        if (!refusal_) refusal_ = std::move(expected);
        without_needless_ = std::move(left);
        needed_ = without_needless_.get();
        expected = execute(*needed_, &failed);
      }
      if (refusal_) ++report_.needless;
      if (expected.ending == Ending::out_of_memory) report_.out_of_memory = expected.where + ": " + expected.text;
      if (expected.ending == Ending::raised) ++report_.refused;
      std::span<const PipelineLine> exact = exact_lines();
      for (const PipelineLine& line : options_.together_only ? std::span<const PipelineLine>() : exact)
        check(std::string(line.pass.name), {&line, 1}, expected);
      check("all passes", exact, expected);
      for (const PipelineLine& line : options_.lines)
        if (line.pass.rounds && !options_.together_only)
          check_rounding(std::string(line.pass.name), {&line, 1}, expected);
      if (options_.core && exact.size() < options_.lines.size()) check_rounding("core", options_.lines, expected);
      if (options_.loops) check_loops(expected);
      if (plan.possible() && expected.ending == Ending::finished) check_float64(expected);
      if (options_.bounds && expected.ending == Ending::finished) check_bounds(expected);
      if (options_.progress) options_.progress(i + 1);
    }
    return std::move(report_);
  }

 private:
  ExecuteOptions execute_options() const {
    ExecuteOptions options;
    options.memory_limit = options_.memory_limit;
    options.ambient_seed = seed_;
    options.folder = options_.folder;
    options.guard = true;
    return options;
  }

  // The passes up to the first one that may round otherwise. An op that writes and has a definition alone becomes that
  // where writes become values, and a definition may round otherwise than its op.
  std::span<const PipelineLine> exact_lines() const {
    bool defined_writes = false;
    graph_->for_each_node([&](NodeId id) {
      const OpDef& op = *graph_->node(id).op;
      defined_writes |= op.schema.mutates() && !op.base && !op.decompose.empty();
    });
    auto rounds = std::ranges::find_if(options_.lines, [&](const PipelineLine& l) {
      return l.pass.rounds || (defined_writes && l.pass.name == "functionalise");
    });
    return options_.lines.first(static_cast<size_t>(rounds - options_.lines.begin()));
  }

  // What passes make of the graph that may round otherwise: the same but for the last bits, and these within the
  // bounds.
  void check_rounding(const std::string& path, std::span<const PipelineLine> lines, const Execution& expected) {
    for (const PassFinding& f : report_.findings)
      if (f.path == path) return;
    auto graph = graph_->clone();
    RunStatistics statistics = run_passes(*graph, lines, checked_options());
    if (statistics.rewrites == 0) return;
    Execution got = execute(*graph);
    auto mismatch = compare_outside(*graph_, as_ended(expected, got), got);
    if (mismatch) {
      report_.findings.push_back({path, "", seed_, values_, to_text(binding_, *graph_), relaid_.what,
                                  relaid_.graph ? print(*relaid_.graph) : "", *mismatch});
    } else if (got.ending == Ending::finished) {
      judged(path, Widening::bounds, got);
    }
  }

  // The loops that the graph is lowered to, on the interpreter. Random ones draw from Lenz's own stream: of them only
  // what they look like from outside is held against eager.
  void check_loops(const Execution& expected) {
    loops::Program program;
    try {
      program = to_loops(*graph_, checked_options());
    } catch (const Unsupported& error) {
      report_.not_lowered = error.what();
      return;
    }
    note_externs(program);
    ++report_.runs;
    Execution got = run_interpreted(program, source_->make(boxed_), boxed_, execute_options());
    ++report_.on_loops;
    if (auto mismatch = compare_outside(*graph_, as_ended(expected, got), got))
      report_.findings.push_back({"loops", "", seed_, values_, to_text(binding_, *graph_), relaid_.what,
                                  relaid_.graph ? print(*relaid_.graph) : "", *mismatch});
    else if (got.ending == Ending::finished && program.streams.empty())
      judged("loops", Widening::bounds, got);
  }

  void note_externs(loops::Program& program) {
    loops::for_each_node(program.body, [&](loops::Node& node) {
      auto* e = std::get_if<loops::Extern>(&node.is);
      if (e && std::ranges::find(report_.externs, e->op->full_name) == report_.externs.end())
        report_.externs.push_back(e->op->full_name);
    });
  }

  // Whether memory that is written is also seen in another dtype: the reference holds floats wider, and can't say what
  // their bits become.
  bool reads_written_bits() const {
    AliasClasses classes(*graph_);
    std::map<ValueId, Dtype> seen;  // by class; a complex number's parts count as it
    for (ValueId v = 0; v < graph_->value_count(); ++v) {
      const Type& type = graph_->type(v);
      if (!type.is_tensor() || !classes.is_written(v)) continue;
      if (seen.try_emplace(classes.root(v), to_real(type.dtype)).first->second != to_real(type.dtype)) return true;
    }
    return false;
  }

  // A run by the float64 reference; nothing if that does not run.
  std::optional<Judgement> judged(const std::string& path, Widening widening, const Execution& expected) {
    ExecuteOptions options = execute_options();
    options.guard = false;  // its machine knows tensors by their memory
    if (reads_written_bits()) return std::nullopt;
    Reference reference = Referee(boxed_, options, widening).run(*needed_, source_->make(boxed_), binding_);
    if (reference.ending == Ending::out_of_memory) report_.out_of_memory = reference.where + ": " + reference.text;
    if (reference.ending != Ending::finished) return std::nullopt;
    Judgement j = judge(*needed_, reference, expected);
    if (j.mismatch)
      report_.findings.push_back({path, "", seed_, values_, to_text(binding_, *graph_), relaid_.what,
                                  relaid_.graph ? print(*relaid_.graph) : "", *j.mismatch});
    return j;
  }

  // What is exact in the graph's own dtypes is the same in float64, bit for bit.
  void check_float64(const Execution& expected) { judged("float64 path", Widening::values_only, expected); }

  void check_bounds(const Execution& expected) {
    auto j = judged("float64 reference and its bounds", Widening::bounds, expected);
    if (j && !j->mismatch) ++(j->shares.weak() ? report_.weak : report_.bounded);
  }

  // `failed`: where it raises, the node.
  Execution execute(const Graph& graph, NodeId* failed = nullptr) {
    ++report_.runs;
    ExecuteOptions options = execute_options();
    NodeId next = graph.first();
    if (failed) options.on_node = [&](NodeId node, std::span<const RunValue>) { next = graph.node(node).next; };
    // The given graph says which values its inputs have: that of a pass may read them in other ways.
    Execution run = Executor(boxed_, options).run(graph, source_->make(boxed_), binding_);
    if (failed) *failed = next;
    return run;
  }

  // What a run has to be like: where eager raises at what nobody needs, a run may raise too, or end as without that.
  const Execution& as_ended(const Execution& expected, const Execution& got) const {
    return refusal_ && got.ending == Ending::raised ? *refusal_ : expected;
  }

  // What differs after the first `rewrites` of these passes.
  std::optional<Mismatch> differs(std::span<const PipelineLine> lines, size_t rewrites, const Execution& expected,
                                  size_t* done = nullptr) {
    auto graph = graph_->clone();
    RunnerOptions options = checked_options();
    options.selection = PassSelection::parse("all:" + std::to_string(rewrites), options_.lines);
    RunStatistics statistics = run_passes(*graph, lines, options);
    if (done) *done = statistics.rewrites;
    Execution got = execute(*graph);
    return compare_runs(*graph_, as_ended(expected, got), got);
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
    report_.findings.push_back({path, "all:" + std::to_string(bad), seed_, values_, to_text(binding_, *graph_),
                                relaid_.what, relaid_.graph ? print(*relaid_.graph) : "", *mismatch});
  }

  static constexpr size_t kAll = 1'000'000'000;
  const Graph& given_;
  const Graph* graph_;             // the given one, or it with other layouts
  const Graph* needed_ = nullptr;  // the same without nodes at which eager raises and that nobody needs
  std::unique_ptr<Graph> without_needless_;
  std::optional<Execution> refusal_;  // what eager does with these
  Relayout relaid_;
  const GraphCheckOptions& options_;
  Boxed boxed_;
  GraphReport report_;
  uint64_t seed_ = 0;
  Values values_ = Values::ordinary;
  Binding binding_;
  std::optional<InputSource> source_;
};
}  // namespace

GraphReport check_graph(const Graph& graph, const GraphCheckOptions& options) {
  return GraphCheck(graph, options).run();
}

nlohmann::json GraphReport::to_json() const {
  auto list = nlohmann::json::array();
  for (const PassFinding& f : findings) {
    list.push_back({{"path", f.path},
                    {"selection", f.selection},
                    {"seed", f.seed},
                    {"values", name(f.values)},
                    {"sizes", f.sizes},
                    {"mismatch", f.mismatch.to_json()}});
    if (!f.text.empty()) list.back()["layouts"] = f.layouts;
    if (!f.text.empty()) list.back()["text"] = f.text;
  }
  nlohmann::json j = {{"runs", runs},         {"rewrites", rewrites}, {"seeds", seeds},       {"refused", refused},
                      {"needless", needless}, {"relaid", relaid},     {"exact", exact},       {"inexact", inexact},
                      {"bounded", bounded},   {"weak", weak},         {"on_loops", on_loops}, {"externs", externs},
                      {"findings", list}};
  if (!not_lowered.empty()) j["not_lowered"] = not_lowered;
  if (!out_of_memory.empty()) j["out_of_memory"] = out_of_memory;
  return j;
}

}  // namespace lenz::oracle
