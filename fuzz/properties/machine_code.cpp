// Three properties of machine code: right, the same when called again, the same out of the cache of objects.
#include "compiler/backend/llvm/native_kernels.h"
#include "compiler/loops/verify.h"
#include "fuzz/properties/list.h"
#include "oracle/native_run.h"

namespace lenz::fuzz {

namespace {
// Built as `lenz run` builds it.
std::unique_ptr<runtime::Executable> built(Subject& subject, int threads, bool products_outside,
                                           BuildReport* report = nullptr) {
  BuildOptions options = subject.build_options();
  options.threads = threads;
  if (!products_outside) options.cache = subject.scratch();
  return build(subject.program({.products_outside = products_outside}), options, report);
}

std::optional<Failure> right(Subject& subject) {
  oracle::Trial& trial = subject.trial();
  const bool random = oracle::draws(subject.graph());
  for (bool outside : {false, true}) {
    auto executable = built(subject, outside ? 1 : 2, outside);
    oracle::Execution got = trial.on_executable(*executable);
    if (auto mismatch = trial.out_of_bounds(got, random)) {
      auto failure = subject.failed("machine_code", *mismatch);
      if (outside) failure->detail += "\n  with products left to the host";
      return failure;
    }
  }
  return std::nullopt;
}

std::optional<Failure> same_again(Subject& subject, std::string_view property, runtime::Executable& a,
                                  runtime::Executable& b) {
  oracle::Trial& trial = subject.trial();
  oracle::Execution first = trial.on_executable(a), second = trial.on_executable(b);
  if (first.ending != oracle::Ending::finished || second.ending != oracle::Ending::finished) return std::nullopt;
  if (auto mismatch = compare_runs(subject.graph(), first, second)) return subject.failed(property, *mismatch);
  return std::nullopt;
}

std::optional<Failure> again(Subject& subject) {
  auto one = built(subject, 1, false), two = built(subject, 2, false);
  if (auto failure = same_again(subject, "called_again", *one, *one)) return failure;
  return same_again(subject, "called_again", *one, *two);
}

std::optional<Failure> cached(Subject& subject) {
  auto cold = built(subject, 2, false);
  BuildReport report;
  auto warm = built(subject, 2, false, &report);
  if (report.kernels.compiled != 0)
    return Failure{"from_cache", "cache", "compiled again",
                   std::to_string(report.kernels.compiled) + " kernels were not found among the cached objects"};
  return same_again(subject, "from_cache", *cold, *warm);
}
}  // namespace

Property machine_code() {
  return {"machine_code", "compiled, with products inside and outside, it gives what the bounds allow", right, true};
}
Property called_again() {
  return {"called_again", "called again, and with another number of threads, it gives the same bits", again, true};
}
Property from_cache() {
  return {"from_cache", "out of cached objects it gives the same bits, and nothing is compiled again", cached, true};
}

}  // namespace lenz::fuzz
