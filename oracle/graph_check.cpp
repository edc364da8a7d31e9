#include "oracle/graph_check.h"

#include <algorithm>
#include <fstream>

#include "compiler/backend/llvm/native_kernels.h"
#include "compiler/base/hash.h"
#include "compiler/driver/program_set.h"
#include "compiler/graph/alias.h"
#include "compiler/graph/rebuild.h"
#include "compiler/graph/text.h"
#include "compiler/loops/points.h"
#include "compiler/loops/verify.h"
#include "compiler/passes/runner.h"
#include "compiler/schedule/proved.h"
#include "oracle/decisions.h"
#include "oracle/exact.h"
#include "oracle/interpreted.h"
#include "oracle/parts.h"
#include "oracle/relayout.h"
#include "oracle/rewritten.h"
#include "oracle/scratch.h"
#include "oracle/values_file.h"

namespace lenz::oracle {

namespace {
class GraphCheck {
 public:
  GraphCheck(const Graph& graph, const GraphCheckOptions& options)
      : given_(graph),
        graph_(&graph),
        options_(options),
        boxed_(DeviceKind::cpu),
        programs_(graph, checked_options(), {}, options.lines),
        for_users_(graph, checked_options(), {.proved = true}, options.lines) {}

  GraphReport run() {
    for (int i = 0; i < options_.seeds && report_.out_of_memory.empty(); ++i) {
      ++report_.seeds;
      check_seed(options_.first_seed + static_cast<uint64_t>(i));
      tell(std::to_string(i + 1) + " of " + std::to_string(options_.seeds) + " inputs");
    }
    if (options_.loops && options_.rebind && !options_.given) rebind();
    if (options_.parts && weak_seed_ && report_.findings.empty() && report_.out_of_memory.empty()) check_in_parts();
    report_.programs = programs_.size();
    return std::move(report_);
  }

 private:
  void check_seed(uint64_t seed) {
    seed_ = seed;
    values_ = options_.given ? Values::ordinary : options_.values.value_or(values_of_seed(seed_));
    const Binding binding = sizes_of_seed();
    take(binding);
    if (RandomChooser choose(combine(seed_, 0x1A)); options_.layouts && seed_ != 0)
      relaid_ = with_other_layouts(*graph_, choose);
    if (relaid_.graph) {
      graph_ = relaid_.graph.get();
      ++report_.relaid;
    }
    ExactPlan plan;
    if (values_ == Values::exact) {
      plan = plan_exact(*graph_, boxed_, binding);
      ++(plan.possible() ? report_.exact : report_.inexact);
      if (report_.inexact == 1 && !plan.possible()) report_.inexact_why = plan.why;
    }
    begin(binding, plan.range);
    if (!report_.out_of_memory.empty()) return;
    trial_->exact = plan.possible();
    trial_->asks_likeness = values_ == Values::ordinary && !decides_by_floats(*graph_);
    if (trial_->needless()) ++report_.needless;
    if (trial_->expected().ending == Ending::raised) ++report_.refused;
    size_t findings = report_.findings.size();
    std::span<const PipelineLine> exact = exact_lines();
    for (const PipelineLine& line : options_.together_only ? std::span<const PipelineLine>() : exact)
      check(std::string(line.pass.name), {&line, 1});
    check("all passes", exact);
    for (const PipelineLine& line : options_.lines)
      if (line.pass.rounds && !options_.together_only) check_rounding(std::string(line.pass.name), {&line, 1});
    if (options_.core && exact.size() < options_.lines.size()) check_rounding("core", options_.lines);
    if (options_.loops) attempt("loops", [&] { check_loops(); });
    bool finished = trial_->expected().ending == Ending::finished;
    // What is exact in the graph's own dtypes is the same in float64, bit for bit.
    if (plan.possible() && finished) judged("float64 path", Widening::values_only, trial_->expected());
    if (options_.bounds && finished) check_bounds();
    if (trial_->alike > 0) ++report_.alike;
    if (!trial_->unasked.empty()) {
      report_.unasked_of = trial_->unasked;
      report_.unasked += trial_->expected().ending == Ending::raised;
    }
    if (report_.findings.size() > findings) blame();
  }

  Binding sizes_of_seed() {
    Binding binding = parse_binding(options_.bind, given_);
    if (options_.given) static_cast<void>(options_.given(given_, boxed_, binding));
    complete(binding, given_, seed_);
    check_facts(binding, given_);
    return binding;
  }

  void tell(const std::string& done) const {
    if (options_.progress) options_.progress(done);
  }

  // Of the whole the bounds say too little: of its parts they may say enough.
  void check_in_parts() {
    seed_ = *weak_seed_;
    values_ = Values::ordinary;
    const Binding binding = sizes_of_seed();
    take(binding);
    begin(binding, 0);
    if (std::ranges::any_of(graph_->inputs(), [](const Input& i) { return i.alias.has_value(); })) {
      report_.no_parts = "inputs share memory";
      return;
    }
    PartsWalk walk(*graph_, boxed_, source_->make(boxed_), binding, execute_options());
    while (auto part = walk.next()) {
      tell("in parts: " + part->where);
      const std::string file = save(*part);
      GraphCheckOptions of_part = options_;
      of_part.seeds = 1;
      of_part.values = values_;
      of_part.bind = to_text(binding, *graph_);
      of_part.parts = of_part.layouts = of_part.rebind = false;
      of_part.progress = {};
      of_part.given = [&](const Graph& graph, Boxed&, const Binding& sizes) {
        return laid_inputs(graph, part->values, sizes);
      };
      GraphReport report = check_graph(*part->part.graph, of_part);
      add_part(part->where + (file.empty() ? "" : " (" + file + ")"), *part->part.graph, std::move(report));
    }
    if (!walk.stopped().empty()) report_.weak_parts.push_back(walk.stopped());
  }

  void add_part(const std::string& where, const Graph& part, GraphReport report) {
    ++report_.parts;
    report_.runs += report.runs;
    // Weak, refused, beyond the reference's means: whatever it is, no bounds were held to.
    if (!report.bounded && report.findings.empty()) report_.weak_parts.push_back(where);
    if (report_.out_of_memory.empty()) report_.out_of_memory = report.out_of_memory;
    for (PassFinding& f : report.findings) {
      f.path = where + ": " + f.path;
      f.text = print(part);
      f.layouts = "the part of the graph";
      report_.findings.push_back(std::move(f));
    }
  }

  // As `lenz check --inputs` reads it again; the name of its files.
  std::string save(const PartRun& part) const {
    if (options_.save_parts.empty()) return {};
    const std::string file = options_.save_parts + "/part" + std::to_string(report_.parts);
    std::ofstream text(file + ".lenz");
    text << print(*part.part.graph);
    if (!text.flush())
      throw UserError("cannot write to " + file + ".lenz", "lenz check --save-parts",
                      "name a folder that is there, with room in it");
    write_inputs(file + ".npz", *part.part.graph, part.values);
    return file + ".lenz";
  }

  // The same loops at other sizes.
  void rebind() {
    seed_ = options_.first_seed;
    values_ = options_.values.value_or(Values::ordinary);
    const Binding given = parse_binding(options_.bind, given_);
    for (const Binding& sizes : various_sizes(given, given_)) rebind(sizes);
    for (const Binding& sizes : sizes_beside_guards(given, given_)) rebind(sizes);
  }

  void rebind(const Binding& sizes) {
    built_.clear();
    if (!report_.out_of_memory.empty() || !report_.not_lowered.empty()) return;
    try {
      take(sizes);
    } catch (const UserError&) {  // for which the graph is none
      return;
    }
    begin(sizes, 0);
    if (!report_.out_of_memory.empty()) return;
    ++report_.rebound;
    size_t findings = report_.findings.size();
    attempt("loops", [&] { check_loops(); });
    if (report_.findings.size() > findings) blame();
  }

  // The graph for these sizes.
  void take(const Binding& sizes) {
    trial_.reset();  // of the graph before
    relaid_ = {};
    specialised_ = specialised(given_, sizes.lookup());
    graph_ = specialised_ ? specialised_.get() : &given_;
  }

  void begin(const Binding& binding, int exact_range) {
    trial_.reset();
    if (options_.given) {
      source_.emplace(*graph_, [this, binding](Boxed& boxed) {
        Binding known = binding;
        return options_.given(*graph_, boxed, known);
      });
    } else {
      source_.emplace(*graph_, binding, values_, seed_, exact_range);
    }
    ++report_.runs;
    trial_.emplace(*graph_, boxed_, *source_, binding, execute_options());
    const Execution& expected = trial_->expected();
    if (expected.ending == Ending::out_of_memory) report_.out_of_memory = expected.where + ": " + expected.text;
  }

  ExecuteOptions execute_options() const {
    ExecuteOptions options;
    options.memory_limit = options_.memory_limit;
    options.ambient_seed = seed_;
    options.folder = options_.folder;
    options.guard = true;
    return options;
  }

  std::span<const PipelineLine> exact_lines() const { return oracle::exact_lines(*graph_, options_.lines); }

  // --- findings

  PassFinding here(const std::string& path, const Mismatch& mismatch, std::string selection = {}) const {
    return {path,
            std::move(selection),
            seed_,
            values_,
            to_text(trial_->binding(), *graph_),
            relaid_.what,
            relaid_.graph ? print(*relaid_.graph) : "",
            mismatch};
  }
  void find(const std::string& path, const Mismatch& mismatch, std::string selection = {}) {
    if (!found(path)) report_.findings.push_back(here(path, mismatch, std::move(selection)));
  }
  bool found(const std::string& path) const {
    return std::ranges::any_of(report_.findings, [&](const PassFinding& f) { return f.path == path; });
  }

  // Where a step is asked for, an error of Lenz's own leads to it too.
  template <class F>
  void attempt(const std::string& path, F&& check) {
    if (!options_.bisect) return check();
    try {
      check();
    } catch (const InternalError& error) {
      find(path, broken(error));
    }
  }

  void blame() {
    if (!options_.bisect || report_.culprit) return;
    report_.culprit = bisect(*trial_, options_.lines, exact_lines().size(), options_.known);
    for (size_t i = 0; i < options_.lines.size() && !report_.culprit; ++i)  // a pass that is wrong only by itself
      if (found(std::string(options_.lines[i].pass.name)))
        report_.culprit = bisect(*trial_, options_.lines.subspan(i, 1), 1, options_.known);
    if (report_.culprit) report_.culprit_at = here("", report_.culprit->mismatch);
  }

  // --- passes

  // What differs after the first `rewrites` of these passes.
  std::optional<Mismatch> differs(std::span<const PipelineLine> lines, size_t rewrites, size_t* done = nullptr) {
    RunnerOptions options = checked_options();
    options.selection = PassSelection::parse("all:" + std::to_string(rewrites), options_.lines);
    RunStatistics statistics;
    auto graph = passed_for(*graph_, trial_->binding().lookup(), lines, options, &statistics);
    if (done) *done = statistics.rewrites;
    ++report_.runs;
    auto mismatch = rewritten().differs(*graph, trial_->eager(*graph));
    note_memory();
    return mismatch;
  }

  void check(const std::string& path, std::span<const PipelineLine> lines) {
    if (found(path)) return;
    attempt(path, [&] {
      size_t rewrites = 0;
      auto mismatch = differs(lines, kAll, &rewrites);
      report_.rewrites += rewrites;
      if (!mismatch) return;
      size_t good = 0, bad = rewrites;  // the first rewrite with which it differs
      while (bad - good > 1) {
        size_t middle = good + (bad - good) / 2;
        (differs(lines, middle) ? bad : good) = middle;
      }
      find(path, *mismatch, "all:" + std::to_string(bad));
    });
  }

  // What passes make of the graph that may round otherwise: the same but for the last bits, and these within the
  // bounds.
  void check_rounding(const std::string& path, std::span<const PipelineLine> lines) {
    if (found(path)) return;
    attempt(path, [&] {
      RunStatistics statistics;
      auto graph = passed_for(*graph_, trial_->binding().lookup(), lines, checked_options(), &statistics);
      if (statistics.rewrites == 0) return;
      ++report_.runs;
      if (auto mismatch = rewritten().out_of_bounds(*graph, trial_->eager(*graph))) find(path, *mismatch);
      note_memory();
    });
  }

  // --- loops

  // Where what was asked for leaves results open, and the loops' are others, nobody can tell.
  void find_of_loops(const std::string& path, const Mismatch& mismatch) {
    const bool of_elements = mismatch.rung >= Rung::special;
    const KnownFault* open =
        of_elements ? known_in(known_openings(), *graph_, trial_->binding().lookup(), {}) : nullptr;
    if (!open) return find(path, mismatch);
    report_.open_why = open->row + " " + open->why;
  }

  // The loops that the graph is lowered to, on the interpreter. Random ones draw from Lenz's own stream, and so does
  // the reference then.
  void check_loops() {
    std::optional<loops::Program> relaid;
    const loops::Program* program = nullptr;
    try {
      if (relaid_.graph)
        program = &relaid.emplace(fresh_program());
      else
        program = &programs_.at(trial_->binding().lookup());
    } catch (const Unsupported& error) {
      report_.not_lowered = error.what();
      return;
    }
    if (std::ranges::find(valid_, program) == valid_.end()) {
      if (!loops::require_linear_proofs(*program, "the lowering")) {
        report_.lacks_proofs = true;
        program = relaid ? &relaid.emplace(fresh_program()) : &for_users_.at(trial_->binding().lookup());
      } else if (!relaid) {
        valid_.push_back(program);
      }
    }
    note_externs(*program);
    if (interprets(*program)) {
      tell("loops of seed " + std::to_string(seed_));
      ++report_.runs;
      Execution got = trial_->on_loops(*program);
      ++report_.on_loops;
      if (auto mismatch = out_of_bounds(got, how_run(*program))) find_of_loops("loops", *mismatch);
      note_memory();
    }
    if (!options_.kernels) return;
    tell("kernels of seed " + std::to_string(seed_));
    // Planned and built once for each graph, as neither depends on values; run on all of them. With other layouts it is
    // another graph.
    if (seed_ == options_.first_seed || relaid)
      attempt("kernels", [&] { check_kernels(*program); });
    else
      check_built(*program);
    if (relaid) std::erase_if(built_, [&](const Built& b) { return b.from == program; });
  }

  bool interprets(const loops::Program& program) {
    const double points = loops::points(program, trial_->binding().lookup());
    if (points <= options_.most_points) return true;
    char text[64];
    std::snprintf(text, sizeof text, "its loops have %.2g points", points);
    report_.not_interpreted = text;
    return false;
  }

  void check_built(const loops::Program& program) {
    const bool any = std::ranges::any_of(built_, [&](const Built& b) { return b.from == &program; });
    report_.on_kernels += any ? 1 : 0;
    for (const Built& b : built_) {
      if (b.from != &program || found(b.step)) continue;
      attempt(b.step, [&] {
        ++report_.runs;
        const Execution got = trial_->on_executable(*b.executable);
        if (auto mismatch = out_of_bounds(got, b.how)) find_of_loops(b.step, *mismatch);
        note_memory();
      });
    }
  }

  loops::Program fresh_program(LowerOptions lower = {}) {
    lower.proved = report_.lacks_proofs;
    return program_for(*graph_, trial_->binding().lookup(), checked_options(), lower, options_.lines);
  }

  // What a plan makes of the loops: kernels, then kernels in tiles and lanes, then these as machine code.
  void check_kernels(const loops::Program& from) {
    const schedule::Target target = schedule::cpu_target("avx512", 1);
    auto scheduled = [&](bool tiles) {
      loops::Program program = schedule::schedule(fresh_program(), target, {.tiles = tiles});
      if (loops::require_linear_proofs(program, "scheduling")) return program;
      report_.lacks_proofs = true;
      return schedule::schedule_proved(fresh_program(), target, {.tiles = tiles}).program;
    };
    const bool interpreted = interprets(from);
    if (interpreted) check_program("fused", scheduled(false));
    const loops::Program program = scheduled(true);
    if (interpreted) check_program("realised", program);
    ++report_.on_kernels;
    for (const native::CpuTarget& cpu : native::targets()) {
      if (!cpu.runs_here || (!options_.every_target && cpu.name != native::runnable_target().name)) continue;
      const std::string step = "llvm " + cpu.name;
      try {
        check_executable(from, step, cpu.name, 2, false);
      } catch (const Unsupported& why) {
        if (!interpreted) throw;
        // Kernels that have code, on the interpreter's memory.
        native::NativeKernels kernels(program, cpu, 2);
        check_program(step, program, [&](const loops::KernelCall& call) { return kernels.run(call); });
        if (std::ranges::find(report_.without_code, why.what()) == report_.without_code.end())
          report_.without_code.push_back(why.what());
        continue;
      }
      check_executable(from, step + ", products outside", cpu.name, 1, true);
    }
  }

  // Built as `lenz run --on llvm` builds it; called twice, and again from cached objects: the same bits each time.
  void check_executable(const loops::Program& from, const std::string& step, const std::string& target, int threads,
                        bool products_outside) {
    BuildOptions options;
    options.target = target;
    options.threads = threads;
    if (!products_outside) options.cache = objects_.path();
    options.executable.load_constant = constants_in(options_.folder);
    options.executable.while_limit = ExecuteOptions().loop_limit;
    loops::Program program = fresh_program({.products_outside = products_outside});
    const HowRun how = how_run(program, products_outside);
    std::unique_ptr<runtime::Executable> executable = build(std::move(program), options);
    ++report_.runs;
    Execution first = trial_->on_executable(*executable);
    if (auto mismatch = out_of_bounds(first, how)) return find_of_loops(step, *mismatch);
    auto same = [&](const std::string& path) {
      Execution again = trial_->on_executable(*executable);
      if (first.ending == Ending::finished && again.ending == Ending::finished)
        if (auto mismatch = compare_runs(*graph_, first, again)) find(step + path, *mismatch);
    };
    same(", called again");
    if (!products_outside) {
      BuildReport report;
      executable = build(fresh_program({.products_outside = products_outside}), options, &report);
      if (report.kernels.compiled != 0)
        throw UserError("compiled objects were not found again in " + objects_.path(), "the object cache",
                        "see that there is room in that folder; if there is, this is a bug in lenz");
      same(", from the cache");
    }
    built_.push_back({&from, step, how, std::move(executable)});
    note_memory();
  }

  // But for what eager is known for where libtorch ran a part.
  std::optional<Mismatch> out_of_bounds(const Execution& got, HowRun how) {
    auto mismatch = trial_->out_of_bounds(got, how);
    return mismatch && rewritten().known_of_host(*mismatch, got, how) ? std::nullopt : mismatch;
  }

  void check_program(const std::string& step, const loops::Program& program, KernelRunner kernels = {}) {
    ++report_.runs;
    Execution got = trial_->on_loops(program, std::move(kernels));
    if (auto mismatch = out_of_bounds(got, how_run(program))) find_of_loops(step, *mismatch);
    note_memory();
  }

  void note_externs(const loops::Program& program) {
    loops::for_each_node(program.body, [&](const loops::Node& node) {
      const auto* e = std::get_if<loops::Extern>(&node.is);
      if (e && std::ranges::find(report_.externs, e->op->full_name) == report_.externs.end())
        report_.externs.push_back(e->op->full_name);
    });
  }

  // --- the reference

  void note_memory() {
    if (!trial_->out_of_memory.empty()) report_.out_of_memory = trial_->out_of_memory;
    if (!trial_->no_stream.empty()) report_.no_stream = trial_->no_stream;
  }

  std::optional<Judgement> judged(const std::string& path, Widening widening, const Execution& got) {
    auto j = trial_->judged(widening, got);
    note_memory();
    if (!j || !j->mismatch) return j;
    const KnownFault* known = rewritten().known_of(*graph_, got);
    if (!known) {
      find(path, *j->mismatch);
    } else if (std::exchange(known_at_, report_.seeds) != report_.seeds) {
      ++report_.known;
      report_.known_why = known->row + " " + known->why;
      report_.telling += tells();  // bounds that eager leaves hold the loops
    }
    return j;
  }

  // Whether the inputs are such that a right answer says something of others.
  bool tells() const { return values_ != Values::special && values_ != Values::nan; }

  void check_bounds() {
    auto j = judged("float64 reference and its bounds", Widening::bounds_of_eager, trial_->expected());
    if (!j || j->mismatch) return;
    ++(j->shares.weak() ? report_.weak : report_.bounded);
    if (!j->shares.weak()) {
      report_.elements += j->shares.elements;
      report_.loosely_held += j->shares.elements - j->shares.strong;
      report_.unjudged += j->shares.ambiguous;
    }
    report_.telling += !j->shares.weak() && tells();
    if (j->shares.weak() && report_.weak_why.empty())
      report_.weak_why =
          "of seed " + std::to_string(seed_) + ", " + std::string(name(values_)) + " values, " + j->shares.to_string();
    if (j->shares.weak() && values_ == Values::ordinary && !weak_seed_) weak_seed_ = seed_;
  }

  Rewritten rewritten() { return Rewritten(*trial_, options_.known); }

  static constexpr size_t kAll = 1'000'000'000;
  const Graph& given_;
  const Graph* graph_;  // the given one, or it for other sizes, or with other layouts
  std::unique_ptr<Graph> specialised_;
  Relayout relaid_;
  const GraphCheckOptions& options_;
  Boxed boxed_;
  Scratch objects_;
  struct Built {
    const loops::Program* from;  // what the graph was lowered to
    std::string step;
    HowRun how;
    std::unique_ptr<runtime::Executable> executable;
  };
  ProgramSet programs_;                       // of the given graph
  std::vector<const loops::Program*> valid_;  // of them
  ProgramSet for_users_;                      // where they lack proofs
  std::vector<Built> built_;                  // from them
  GraphReport report_;
  uint64_t seed_ = 0;
  std::optional<uint64_t> weak_seed_;  // the first on whose ordinary values bounds say too little
  size_t known_at_ = 0;                // the last of the seeds where eager was wrong, and known for it
  Values values_ = Values::ordinary;
  std::optional<InputSource> source_;
  std::optional<Trial> trial_;
};
}  // namespace

std::span<const PipelineLine> exact_lines(const Graph& graph, std::span<const PipelineLine> lines) {
  // An op that writes and has a definition alone becomes that where writes become values, and a definition may round
  // otherwise than its op.
  bool defined_writes = false;
  graph.for_each_node([&](NodeId id) {
    const OpDef& op = *graph.node(id).op;
    if (!writes_operands(op, graph.node(id).arguments())) return;
    defined_writes |= !op.base && !op.decompose.empty();
    defined_writes |= op.base && !op.base->unsaid_writes.empty() && !op.base->decompose.empty();
    defined_writes |= op.has(Trait::contraction);  // eager's products of other layouts sum in other orders
  });
  auto rounds = std::ranges::find_if(lines, [&](const PipelineLine& l) {
    return l.pass.rounds || (defined_writes && l.pass.name == "functionalise");
  });
  return lines.first(static_cast<size_t>(rounds - lines.begin()));
}

GraphReport check_graph(const Graph& graph, const GraphCheckOptions& options) {
  return GraphCheck(graph, options).run();
}

}  // namespace lenz::oracle
