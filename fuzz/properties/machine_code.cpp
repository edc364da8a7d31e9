// Three properties of machine code: right, the same when called again, the same out of the cache of objects.
#include <algorithm>

#include "fuzz/properties/list.h"
#include "fuzz/properties/timed_calls.h"
#include "oracle/native_run.h"

namespace lenz::fuzz {

namespace {
bool has_products(const Graph& graph) {
  bool any = std::ranges::any_of(graph.subgraphs, [](const auto& sub) { return has_products(*sub); });
  graph.for_each_node([&](NodeId id) {
    any |= graph.node(id).op->has(Trait::contraction) || graph.node(id).op->has(Trait::composite);
  });
  return any;
}

// Code is made once, and takes long: other values cost little beside it.
constexpr oracle::Values kOthers[] = {oracle::Values::special, oracle::Values::ties, oracle::Values::ordinary};

std::optional<Failure> wrong_code(Subject& subject) {
  oracle::Trial& trial = subject.trial();
  const loops::Program program = subject.program();
  for (bool outside : {false, true}) {
    if (outside && !has_products(subject.graph())) break;
    oracle::Execution got = trial.on_executable(subject.executable(outside ? 1 : 2, outside));
    if (auto mismatch = wrong(trial, program, got, outside)) {
      auto failure = subject.failed("machine_code", *mismatch);
      if (outside) failure->detail += "\n  with products left to the host";
      return failure;
    }
  }
  return failure_with_values(subject, "machine_code", kOthers, [&](oracle::Trial& other) {
    return wrong(other, program, other.on_executable(subject.executable(2, false)));
  });
}

std::optional<Failure> right(Subject& subject) {
  auto failure = wrong_code(subject);
  if (!failure || !subject.quick_code()) return failure;
  subject.compile_as_users_do();
  failure = wrong_code(subject);
  if (!failure) throw Unsupported("code that is made quickly is wrong, and a user's is right");
  return failure;
}

std::optional<Failure> same_bits(Subject& subject, std::string_view property, runtime::Executable& a,
                                 runtime::Executable& b) {
  oracle::Trial& trial = subject.trial();
  oracle::Execution first = trial.on_executable(a), second = trial.on_executable(b);
  if (first.ending != oracle::Ending::finished || second.ending != oracle::Ending::finished) return std::nullopt;
  if (auto mismatch = compare_runs(subject.graph(), first, second)) return subject.failed(property, *mismatch);
  return std::nullopt;
}

// A step that is timed runs by itself, with memory and threads as it would have them otherwise.
std::optional<Failure> profiled(Subject& subject, runtime::Executable& executable) {
  oracle::Trial& trial = subject.trial();
  const oracle::Execution plain = trial.on_executable(executable);
  executable.profile(true);
  const oracle::Execution timed = trial.on_executable(executable);
  executable.profile(false);
  return timed_otherwise(subject.graph(), plain, timed);
}

std::optional<Failure> again(Subject& subject) {
  runtime::Executable& two = subject.executable(2, false);
  if (auto failure = same_bits(subject, "called_again", two, two)) return failure;
  if (auto failure = profiled(subject, two)) return failure;
  return same_bits(subject, "called_again", subject.executable(1, false), two);
}

std::optional<Failure> cached(Subject& subject) {
  runtime::Executable& cold = subject.executable(2, false);
  BuildReport report;
  auto warm = subject.build_again(2, report);
  const native::CompileStatistics& said = report.kernels;
  size_t kernels = 0;
  loops::for_each_node(warm->program().body,
                       [&](const loops::Node& node) { kernels += std::holds_alternative<loops::Kernel>(node.is); });
  if (said.kernels != kernels || said.compiled + said.from_cache + said.repeated != kernels)
    return Failure{"from_cache", "cache", "miscounted",
                   "of " + std::to_string(kernels) + " kernels it counts " + std::to_string(said.kernels) + ", " +
                       std::to_string(said.compiled) + " of them compiled, " + std::to_string(said.from_cache) +
                       " cached, " + std::to_string(said.repeated) + " repeated"};
  if (report.kernels.compiled != 0)
    return Failure{"from_cache", "cache", "compiled again",
                   std::to_string(report.kernels.compiled) + " kernels were not found among the cached objects"};
  return same_bits(subject, "from_cache", cold, *warm);
}
}  // namespace

std::optional<Failure> timed_otherwise(const Graph& graph, const oracle::Execution& plain,
                                       const oracle::Execution& timed) {
  // What the first call gave is still there while the second one runs.
  for (const oracle::Execution* run : {&plain, &timed})
    if (run->ending == oracle::Ending::out_of_memory) throw Unsupported("no memory for two calls: " + run->text);
  if (plain.ending != timed.ending)
    return Failure{"called_again", "profile", "ending", "a call that is timed ends otherwise: " + timed.text};
  if (plain.ending != oracle::Ending::finished) return std::nullopt;
  const auto mismatch = compare_runs(graph, plain, timed);
  if (!mismatch) return std::nullopt;
  return Failure{"called_again", "profile", std::string(name(mismatch->rung)), mismatch->summary()};
}

Property machine_code() {
  return {"machine_code", "compiled, with products inside and outside, it gives what the bounds allow", right, true};
}
Property called_again() {
  return {.name = "called_again",
          .contract = "called again, timed, and with another number of threads, it gives the same bits",
          .holds = again,
          .compiles = true,
          .every = 2};
}
Property from_cache() {
  return {.name = "from_cache",
          .contract = "out of cached objects it gives the same bits, and nothing is compiled again",
          .holds = cached,
          .compiles = true,
          .every = 4,
          .rereads = true};
}

}  // namespace lenz::fuzz
