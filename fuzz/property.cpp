#include "fuzz/property.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "compiler/backend/llvm/target.h"
#include "compiler/base/sym_parts.h"
#include "compiler/driver/program_set.h"
#include "compiler/graph/equal.h"
#include "compiler/graph/rebuild.h"
#include "compiler/graph/text.h"
#include "compiler/loops/points.h"
#include "compiler/scalar/scalar.h"
#include "fuzz/excuses.h"
#include "fuzz/habits.h"
#include "oracle/exact.h"
#include "oracle/graph_check.h"
#include "oracle/native_run.h"
#include "oracle/rewritten.h"

namespace lenz::fuzz {

std::string Setting::text() const {
  std::string out = "values=" + std::string(name(values)) + " seed=" + std::to_string(seed);
  if (!sizes.empty()) out += " sizes=" + sizes;
  if (!passes.empty()) out += " passes=" + passes;
  if (!target.empty()) out += " target=" + target;
  if (number) out += " number=" + std::to_string(*number);
  return out;
}

Setting Setting::parse(std::string_view text) {
  Setting s;
  while (!text.empty()) {
    size_t end = std::min(text.find(' '), text.size());
    std::string_view word = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (word.empty()) continue;
    size_t equals = word.find('=');
    std::string_view key = word.substr(0, equals);
    std::string value(equals == std::string_view::npos ? "" : word.substr(equals + 1));
    if (key == "values") {
      auto mode = oracle::parse_values(value);
      if (!mode) throw UserError("no mode of values is called " + value, "a fuzzer's setting");
      s.values = *mode;
    } else if ((key == "seed" || key == "number") && !value.empty() &&
               value.find_first_not_of("0123456789") == std::string::npos && value.size() < 20) {
      (key == "seed" ? s.seed : s.number.emplace()) = std::stoull(value);
    } else if (key == "sizes") {
      s.sizes = value;
    } else if (key == "passes") {
      s.passes = value;
      PassSelection::parse(value, pipeline());  // throws where there is no such pass
    } else if (key == "target") {
      s.target = native::runnable_target(value).name;
    } else {
      throw UserError("can't read `" + std::string(word) + "`", "a fuzzer's setting",
                      "it is of the kind values=special seed=7 passes=-dead_code target=avx2");
    }
  }
  return s;
}

struct Subject::Run {
  oracle::Binding binding;
  oracle::InputSource::Asked demands;  // of inputs of any values
  std::optional<oracle::InputSource> source;
  std::optional<oracle::Trial> trial;
  SymValues sizes;
};

struct Subject::Other {
  oracle::InputSource source;
  std::optional<oracle::Trial> trial;
};

Subject::Subject(const Graph& graph, const Setting& setting, oracle::Boxed& boxed, std::string scratch)
    : graph_(graph),
      setting_(setting),
      boxed_(boxed),
      scratch_(std::move(scratch)),
      quick_code_(setting.seed / 2 % 32 != 0),
      text_after_each_(setting.seed / 16 % 4 == 0) {}
Subject::~Subject() = default;

oracle::Trial& Subject::trial() {
  if (run_) return *run_->trial;
  auto run = std::make_unique<Run>();
  try {
    run->binding = oracle::parse_binding(setting_.sizes, graph_);
    complete(run->binding, graph_, 0);
    check_facts(run->binding, graph_);
    check_guards(run->binding, graph_);
    // A sub-graph may refuse them, taken or not.
    if (!graph_.subgraphs.empty()) specialised(graph_, run->binding.lookup());
  } catch (const UserError& error) {  // the setting's fault, not the compiler's
    throw Unsupported("no sizes for it: " + error.message());
  }
  run->demands =
      std::make_shared<const std::vector<oracle::Demand>>(oracle::input_demands(graph_, run->binding.lookup()));
  const oracle::Values values = setting_.values;
  const int range =
      values == oracle::Values::exact ? oracle::plan_exact(graph_, boxed_, run->binding, *run->demands).range : 0;
  run->source.emplace(graph_, run->binding, values, setting_.seed, range, run->demands);
  run->trial.emplace(graph_, boxed_, *run->source, run->binding, execute_options());
  run_ = std::move(run);
  run_->sizes = run_->binding.lookup();
  return *run_->trial;
}

oracle::Trial* Subject::trial_with(oracle::Values kind) {
  constexpr int64_t kMany = 1 << 15;
  if (elements(kCostly) >= kMany) return nullptr;
  std::unique_ptr<Other>& other = others_[kind];
  if (!other) {
    const oracle::Binding& sizes = trial().binding();
    auto fresh = std::make_unique<Other>(oracle::InputSource(graph_, sizes, kind, setting_.seed, 0, run_->demands),
                                         std::nullopt);
    if (!fresh->source.hopeless()) fresh->trial.emplace(graph_, boxed_, fresh->source, sizes, execute_options());
    other = std::move(fresh);
  }
  std::optional<oracle::Trial>& made = other->trial;
  // Facts speak of the case's own values, and what refuses others may be needless.
  const bool serves = made && made->expected().ending == oracle::Ending::finished && !made->needless();
  return serves ? &*made : nullptr;
}

Subject::OfPassed& Subject::of_passed(oracle::Trial& trial) {
  const auto known = of_passed_.find(&trial);
  if (known != of_passed_.end()) return known->second;
  return of_passed_.emplace(&trial, OfPassed{trial.eager(*passed().whole)}).first->second;
}

const oracle::Execution& Subject::eager_passed(oracle::Trial& trial) { return of_passed(trial).run; }

bool Subject::passed_keeps_bits(oracle::Trial& trial) {
  OfPassed& of = of_passed(trial);
  if (!of.keeps_bits) of.keeps_bits = trial.same(of.run);
  return *of.keeps_bits;
}

namespace {
// Of a loop: part of a case by itself, its bound may be any number, and eager would go on for minutes.
constexpr uint64_t kRounds = 1 << 12;
}  // namespace

oracle::ExecuteOptions Subject::execute_options() const {
  oracle::ExecuteOptions options;
  options.memory_limit = uint64_t{1} << 30;
  options.ambient_seed = setting_.seed;
  options.folder = setting_.folder;
  options.guard = true;
  options.loop_limit = kRounds;
  return options;
}

const SymValues& Subject::sizes() {
  trial();
  return run_->sizes;
}

RunnerOptions Subject::runner() const {
  RunnerOptions options = checked_options();
  options.check_text = text_after_each_;  // half of what passes take otherwise
  options.selection = PassSelection::parse(setting_.passes, pipeline());
  return options;
}

loops::Program Subject::program(bool products_outside) {
  const Passed& made = passed();
  if (!products_outside) return program_for(*made.whole, sizes(), runner(), {.proved = lacks_proofs_}, {});
  // Who has products matters to passes that may round alone.
  return program_for(*made.exact, sizes(), runner(), {.products_outside = true, .proved = lacks_proofs_},
                     pipeline().subspan(made.exact_runs.size()));
}

bool Subject::proved(const loops::Program& program, std::string_view made_by) {
  const bool all = loops::require_linear_proofs(program, made_by);
  lacks_proofs_ |= !all;
  return all;
}

std::optional<Failure> failure_of(Subject& subject, const ProgramAndWayOut& programs,
                                  const std::function<std::optional<Failure>(const loops::Program&)>& failure) {
  const loops::Program program = programs.made();
  const bool proved = subject.proved(program, programs.made_by);
  if (auto found = failure(program); found || proved) return found;
  return failure(programs.for_users());
}

int64_t Subject::grain() const {
  constexpr int64_t kGrains[] = {1, 8, 64, 1024};
  return kGrains[setting_.seed / 32 % std::size(kGrains)];
}

schedule::Target Subject::loops_target() const {
  schedule::Target target = schedule::cpu_target(setting_.target.empty() ? "avx512" : setting_.target, 1);
  target.grain = grain();
  return target;
}

BuildOptions Subject::build_options(int threads, bool products_outside) const {
  BuildOptions options;
  options.grain = grain();
  options.target = setting_.target;
  options.threads = threads;
  options.quick = quick_code_;
  options.verify = lacks_proofs_;  // properties before this one have, and what lacks proofs is built as for users
  options.products_outside = products_outside;
  options.runner = runner();
  if (kept_) {
    options.kept = kept_;
  } else {
    options.cache = scratch_;
  }
  options.executable.load_constant = oracle::constants_in(setting_.folder);
  options.executable.while_limit = kRounds;
  return options;
}

std::unique_ptr<runtime::Executable> Subject::built(int threads, bool products_outside, BuildReport* report) {
  return build(program(products_outside), build_options(threads, products_outside), report);
}

runtime::Executable& Subject::executable(int threads, bool products_outside) {
  auto& made = executables_[{threads, products_outside}];
  if (!made) made = built(threads, products_outside, nullptr);
  return *made;
}

std::unique_ptr<runtime::Executable> Subject::build_again(int threads, BuildReport& report) {
  return built(threads, false, &report);
}

void Subject::compile_as_users_do() {
  quick_code_ = false;
  executables_.clear();
}

std::unique_ptr<Graph> Subject::passed(std::span<const PipelineLine> lines, RunStatistics* statistics) {
  return passed_for(graph_, sizes(), lines, runner(), statistics);
}

static void require_round_trip(const Graph& made) {
  const std::string text = print(made);
  std::string why;
  try {
    if (structurally_equal(*parse_graph(text, made.ops()), made, &why)) return;
  } catch (const UserError& error) {
    why = error.what();
  }
  throw InternalError("the pipeline made a graph that is another one once printed and parsed: " + why + "\n" + text);
}

const Subject::Passed& Subject::passed() {
  if (passed_) return *passed_;
  const auto exact = oracle::exact_lines(graph_, pipeline());
  Passed made;
  RunStatistics statistics;
  made.exact = passed(exact, &statistics);
  made.exact_runs = made.runs = std::move(statistics.runs);
  made.whole = passed_for(*made.exact, sizes(), pipeline().subspan(exact.size()), runner(), &statistics);
  made.runs.insert(made.runs.end(), statistics.runs.begin(), statistics.runs.end());
  if (!text_after_each_ && any_changed(made.runs)) require_round_trip(*made.whole);
  return passed_.emplace(std::move(made));
}

int64_t Subject::elements(int64_t costly) {
  const Graph& graph = *passed().whole;
  int64_t elements = 0;
  for (ValueId v = 0; v < graph.value_count(); ++v) {
    if (!graph.type(v).is_tensor()) continue;
    const NodeId by = graph.value(v).producer;
    const std::string_view scalar = by == kNone ? std::string_view() : graph.node(by).op->scalar;
    int64_t own = !scalar.empty() && find_scalar(scalar)->has(traits::costly) ? costly : 1;
    for (const Dim d : graph.type(v).sizes()) own *= d.is_constant() ? d.constant() : evaluate(d, sizes()).value_or(1);
    elements += own;
  }
  return elements;
}

bool Subject::has_few_elements() {
  constexpr int64_t kMany = 1 << 14;
  return elements(1) < kMany;
}

bool Subject::has_few_points(const loops::Program& program) {
  constexpr double kMany = 1 << 14;
  return has_few_elements() && loops::points(program, sizes()) < kMany;
}

bool Subject::interprets(Form form, const loops::Program& program) {
  constexpr int64_t kMost = 1 << 21, kMostPoints = 1 << 24;  // beyond that an interpreter takes minutes
  constexpr uint64_t kForms = 4;
  if (has_few_points(program)) return true;
  return setting_.seed / 8 % kForms == static_cast<uint64_t>(form) && elements(kCostly) < kMost &&
         loops::points(program, sizes()) < kMostPoints;
}

bool Subject::any_changed(std::span<const PassRun> runs) {
  return std::ranges::any_of(runs, [](const PassRun& run) { return run.changed; });
}

std::optional<oracle::Mismatch> Subject::wrong(const Graph& passed) {
  return oracle::Rewritten(trial()).out_of_bounds(passed, trial().eager(passed));
}

std::optional<oracle::Mismatch> wrong(oracle::Trial& trial, const loops::Program& program, const oracle::Execution& got,
                                      bool products_outside) {
  const oracle::HowRun how = oracle::how_run(program, products_outside);
  auto mismatch = trial.out_of_bounds(got, how);
  if (mismatch && oracle::Rewritten(trial).known_of_host(*mismatch, got, how)) return std::nullopt;
  return mismatch;
}

namespace {
// Indices were given for the case's own sizes, and not every kernel of eager's looks whether they point beyond.
bool points_beyond(const oracle::Mismatch& mismatch, const oracle::Execution& got) {
  return mismatch.rung == oracle::Rung::ending && got.text.find("is out of range") != std::string::npos;
}
// A size that follows from others may leave its range; and sizes that keep a graph's guards may break those of a
// sub-graph, which are its own.
bool are_sizes_of(const Graph& graph, const oracle::Binding& sizes) {
  try {
    oracle::check_facts(sizes, graph);
    if (!graph.subgraphs.empty()) specialised(graph, sizes.lookup());
    for (ValueId v = 0; v < graph.value_count(); ++v)  // a number of the graph's own may overflow there
      if (const Type& t = graph.type(v); t.kind == TypeKind::sym_int && !why_no_value(t.offset, sizes.lookup()).empty())
        return false;
    return true;
  } catch (const UserError&) {
    return false;
  }
}
}  // namespace

std::optional<Failure> failure_at_sizes(Subject& subject, std::string_view property,
                                        std::span<const oracle::Binding> sizes, const RunsAtSizes& run) {
  const Graph& graph = subject.graph();
  std::string beyond, excuse;
  for (const oracle::Binding& at : sizes) {
    if (!are_sizes_of(graph, at)) continue;
    oracle::InputSource source(graph, at, subject.setting().values, subject.setting().seed);
    if (source.hopeless() || oracle::says_indices_beyond(graph, at.lookup())) continue;
    oracle::ExecuteOptions options;
    options.ambient_seed = subject.setting().seed;
    options.guard = true;
    options.loop_limit = kRounds;
    oracle::Trial trial(graph, subject.boxed(), source, at, options);
    const RunAtSizes one = run(trial, at);
    const auto mismatch = one.program ? wrong(trial, *one.program, one.got) : std::nullopt;
    if (!mismatch) continue;
    if (points_beyond(*mismatch, one.got)) {
      beyond = one.got.text;
      continue;
    }
    if (std::string known = excuse_of(graph, at.lookup(), excused(oracle::name(mismatch->rung), false));
        !known.empty()) {  // of these sizes, whatever the case's own
      excuse = known;
      continue;
    }
    auto failure = subject.failed(property, *mismatch);
    failure->detail += "\n  at " + to_text(at, graph);
    return failure;
  }
  if (!excuse.empty()) throw Unsupported("differs at other sizes, and eager's values are known: " + excuse);
  if (!beyond.empty()) throw Unsupported("indices point beyond the dims at other sizes: " + beyond);
  return std::nullopt;
}

std::optional<oracle::Mismatch> eager_against_reference(oracle::Trial& trial) {
  if (!trial.by_the_reference || oracle::draws(trial.graph())) return std::nullopt;
  if (trial.expected().ending != oracle::Ending::finished) return std::nullopt;
  auto mismatch = trial.eager_beyond_bounds();
  return mismatch && oracle::Rewritten(trial).known_of_host(*mismatch, trial.expected(), {.by_host = true})
             ? std::nullopt
             : mismatch;
}

oracle::Values another_kind(const Setting& setting) {
  using enum oracle::Values;
  const bool first = setting.values == special || (setting.values != ties && setting.seed / 128 % 2 == 0);
  return first ? ties : special;
}

std::optional<Failure> failure_with_values(
    Subject& subject, std::string_view property, std::span<const oracle::Values> kinds,
    const std::function<std::optional<oracle::Mismatch>(oracle::Trial& trial)>& wrong) {
  for (const oracle::Values kind : kinds) {
    if (kind == subject.setting().values) continue;
    oracle::Trial* const trial = subject.trial_with(kind);
    if (!trial) continue;
    auto mismatch = wrong(*trial);
    std::string_view by = property;
    if (!mismatch) {
      mismatch = eager_against_reference(*trial);
      by = "reference";
    }
    if (!mismatch) continue;
    auto failure = subject.failed(by, *mismatch);
    failure->detail += "\n  with values=" + std::string(name(kind));
    failure->values = name(kind);
    return failure;
  }
  return std::nullopt;
}

std::vector<const Property*> leading_to(std::string_view name) {
  std::vector<const Property*> all;
  for (const Property& p : properties()) {
    all.push_back(&p);
    if (p.name == name) return p.looks_back ? all : std::vector<const Property*>{&p};
  }
  return {};
}

std::vector<const Property*> up_to(std::string_view name) {
  std::vector<const Property*> all;
  for (const Property& p : properties()) {
    if (p.name == name && p.foreign) return {&p};
    all.push_back(&p);
    if (p.name == name) break;
  }
  return all;
}

std::optional<Failure> Subject::failed(std::string_view property, const oracle::Mismatch& mismatch) const {
  return Failure{std::string(property), std::string(property), std::string(oracle::name(mismatch.rung)),
                 mismatch.summary()};
}

}  // namespace lenz::fuzz
