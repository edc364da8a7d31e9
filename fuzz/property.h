// What must hold of every graph: one property, one file in properties/. They run in the order of the list, cheapest
// first, and the first that fails names the failure.
// Thread-safety: a subject belongs to one thread; properties are constant data.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/driver/build.h"
#include "compiler/driver/compile.h"
#include "compiler/schedule/target.h"
#include "oracle/trial.h"

namespace lenz::fuzz {

// Everything besides the graph that a case depends on.
struct Setting {
  oracle::Values values = oracle::Values::ordinary;
  uint64_t seed = 0;         // of the values
  std::string sizes;         // of the graph's symbols: "s0=4,s1=2"; those left out are completed
  std::string passes;        // `lenz opt --select`: what is left out; empty: nothing
  std::string target;        // of machine code; empty: the best that runs here
  std::string folder = ".";  // of constants beside the text
  // Of the case, where some parts of what is fixed are looked at beside it (properties/decisions.cpp).
  std::optional<uint64_t> number = {};

  std::string text() const;  // "values=special seed=7", as a line of a .lenz file says it behind "# fuzz: "
  static Setting parse(std::string_view text);  // throws UserError
};

struct Failure {
  std::string property;
  std::string stage;         // the step to blame where it was found: a pass, an op's lowering; else the property's own
  std::string symptom;       // a rung of the ladder, "internal error", "refused", "SIGSEGV", "no answer"
  std::string detail;        // for people
  std::string values = {};   // the kind of values that it takes, if it is not the setting's
  std::string without = {};  // passes that it takes to be left out: "-noop_removal,-dead_code"
  // Of a graph that the case draws beside its own: that case, and the property that it fails with by itself.
  std::string inner = {}, inner_property = {};

  // What the failure is called, before and after reduction: `ops` are the reduced graph's.
  std::string key() const { return property + " | " + stage + " | " + symptom; }
};

// One case on its way through the properties; what one computes, the next ones use.
class Subject {
 public:
  Subject(const Graph& graph, const Setting& setting, oracle::Boxed& boxed, std::string scratch);
  ~Subject();

  const Graph& graph() const { return graph_; }
  const Setting& setting() const { return setting_; }
  oracle::Boxed& boxed() { return boxed_; }
  const std::string& scratch() const { return scratch_; }  // a folder for compiled objects

  bool has_run() const { return run_ != nullptr; }
  // Eager's run of the graph, made when first asked for.
  oracle::Trial& trial();
  // The same at values of another kind, kept for who asks next; null: none serve, eager does not finish with all that
  // it has, or there are so many elements that what goes wrong hangs on their number, not on what they are.
  oracle::Trial* trial_with(oracle::Values kind);
  // What the pipeline makes of the graph, on a trial's values in eager: run once for all who ask.
  const oracle::Execution& eager_passed(oracle::Trial& trial);
  bool passed_keeps_bits(oracle::Trial& trial);  // of what the graph itself gives there; compared once, too
  const SymValues& sizes();
  RunnerOptions runner() const;  // with all checks, and the setting's selection
  // The loops at the trial's sizes, each time a copy of one's own. Once a proof was missing: as users get them.
  loops::Program program(bool products_outside = false);
  // Whether each rule of the program is proved. InternalError where a proof is missing that is to be found; where one
  // is of what is nonlinear (compiler/loops/linear.h), the case is covered in part, and goes on with what users get.
  bool proved(const loops::Program& program, std::string_view made_by);
  bool lacks_proofs() const { return lacks_proofs_; }  // so far
  // As `lenz run` builds it; without products outside into the scratch folder's cache. Built once for each answer.
  runtime::Executable& executable(int threads, bool products_outside);
  std::unique_ptr<runtime::Executable> build_again(int threads, BuildReport& report);  // anew, out of that cache
  bool has_few_elements();                                                             // with what passes made of it
  // And the program few points: a few elements may be sorted, or multiplied, at a million of them.
  bool has_few_points(const loops::Program& program);
  // Whether the interpreter is to run loops of this form: all of them, but one alone of a program of many points or
  // elements, and none of one of millions.
  enum class Form : uint8_t { lowered, fused, realised, passes_off };
  bool interprets(Form form, const loops::Program& program);
  // Most cases have code that is made quickly, in a fifth of the time: what is emitted is the same, but that long rows
  // are called. One in 32 has what users get.
  bool quick_code() const { return quick_code_; }
  // In most cases tiles, parts and what a thread gets are smaller than they should be: few elements reach their ends.
  int64_t grain() const;
  schedule::Target loops_target() const;  // of the setting's processor, or the widest
  void compile_as_users_do();             // from now on
  // Objects are kept here instead of in the scratch folder: who takes none out of a folder need not write files.
  void keep_objects(std::shared_ptr<native::KeptObjects> kept) { kept_ = std::move(kept); }
  BuildOptions build_options(int threads, bool products_outside) const;  // of all of them

  // What the case reached, for the campaign's coverage: "pass dead_code", "op aten.add.Tensor f32".
  std::set<std::string> features;

  // What these passes make of the graph, at the case's sizes; their rewrites are counted, if anybody asks.
  std::unique_ptr<Graph> passed(std::span<const PipelineLine> lines, RunStatistics* statistics = nullptr);
  // What the pipeline makes of it, run once: up to the first pass that may round, and to its end.
  struct Passed {
    std::unique_ptr<Graph> exact, whole;
    std::vector<PassRun> exact_runs, runs;  // runs: of all lines
  };
  const Passed& passed();
  static bool any_changed(std::span<const PassRun> runs);
  // What is wrong with what it gives in eager, if the passes may round.
  std::optional<oracle::Mismatch> wrong(const Graph& passed);
  std::optional<Failure> failed(std::string_view property, const oracle::Mismatch& mismatch) const;

 private:
  struct Run;
  struct Other;
  oracle::ExecuteOptions execute_options() const;
  int64_t elements(int64_t costly);  // `costly`: as what each of such a function counts
  const Graph& graph_;
  const Setting& setting_;
  oracle::Boxed& boxed_;
  std::string scratch_;
  std::unique_ptr<runtime::Executable> built(int threads, bool products_outside, BuildReport* report);

  bool lacks_proofs_ = false;
  bool quick_code_;
  bool text_after_each_;  // pass; else of what the pipeline makes alone
  std::unique_ptr<Run> run_;
  std::map<oracle::Values, std::unique_ptr<Other>> others_;
  std::optional<Passed> passed_;
  struct OfPassed {
    oracle::Execution run;
    std::optional<bool> keeps_bits = {};
  };
  OfPassed& of_passed(oracle::Trial& trial);
  std::map<const oracle::Trial*, OfPassed> of_passed_;
  std::shared_ptr<native::KeptObjects> kept_;
  std::map<std::pair<int, bool>, std::unique_ptr<runtime::Executable>> executables_;
};

// What is wrong with what a program gave: its random ops draw from Lenz's stream, those of its externs as eager does.
// `products_outside`: it was compiled so.
std::optional<oracle::Mismatch> wrong(oracle::Trial& trial, const loops::Program& program, const oracle::Execution& got,
                                      bool products_outside = false);

// A program, and what users get where no proof is found of it: both are judged then. The interpreter asks of the former
// at each point what nothing proves.
struct ProgramAndWayOut {
  std::function<loops::Program()> made;
  std::string_view made_by;
  std::function<loops::Program()> for_users;  // asked for after `made`, if it is
};
std::optional<Failure> failure_of(Subject& subject, const ProgramAndWayOut& programs,
                                  const std::function<std::optional<Failure>(const loops::Program&)>& failure);
// How a case is counted, once, whose proofs are missing.
inline constexpr std::string_view kLacksProofs = "no proof of nonlinear sizes: judged is what users get";

// What ran a subject at some sizes, and what it gave there. No program: that would take too long.
struct RunAtSizes {
  const loops::Program* program = nullptr;
  oracle::Execution got;
};
using RunsAtSizes = std::function<RunAtSizes(oracle::Trial& trial, const oracle::Binding& sizes)>;
// What goes wrong at one of these sizes, with values of the subject's seed. Unsupported if nothing does, and somewhere
// indices that were made for the case's own sizes point beyond a dim.
std::optional<Failure> failure_at_sizes(Subject& subject, std::string_view property,
                                        std::span<const oracle::Binding> sizes, const RunsAtSizes& run);

// A definition that is wrong misleads the reference as it misleads the compiler: so where anything was held to the
// reference, eager is too.
std::optional<oracle::Mismatch> eager_against_reference(oracle::Trial& trial);

// A kind of values that the case is not of, for who has time for one more: where functions have their ends, or where
// operands and numbers of the graph meet.
oracle::Values another_kind(const Setting& setting);
// What goes wrong at the case's sizes with values of these kinds, but for its own: what was compiled once serves all.
std::optional<Failure> failure_with_values(
    Subject& subject, std::string_view property, std::span<const oracle::Values> kinds,
    const std::function<std::optional<oracle::Mismatch>(oracle::Trial& trial)>& wrong);

struct Property {
  std::string_view name;
  std::string_view contract;
  std::optional<Failure> (*holds)(Subject& subject);
  bool compiles = false;     // machine code: the slow ones
  bool lowers = false;       // to loops that are interpreted
  uint64_t every = 1;        // a campaign asks it of one case in so many; who compiles, of those that others compile
  bool repeats = false;      // compiles many times: what it looks at is no row's own
  bool rereads = false;      // takes objects out of the folder that who compiled before it left them in
  bool looks_back = false;   // at what the properties before it did
  bool of_graph = false;     // as it was generated: no step of the compiler is to blame
  bool over_result = false;  // it runs the pipeline over what the pipeline made of the graph
  bool foreign = false;      // of another compiler: asked for by name alone, with patience and memory of its own
  // Here, before workers are forked: they share what takes long to start, so many of it; 0: each starts its own, fresh.
  void (*share)(int count) = nullptr;
};
std::span<const Property> properties();  // those of other compilers come last
const Property* find_property(std::string_view name);
bool is_foreign(std::span<const Property* const> asked);
// As Property::share, of all that are asked.
void share(std::span<const Property* const> asked, int count);
// What has to be asked for this property to say again what it said; empty: all.
std::vector<const Property*> leading_to(std::string_view name);
// All that may name a failure which this property found before it does.
std::vector<const Property*> up_to(std::string_view name);

}  // namespace lenz::fuzz
