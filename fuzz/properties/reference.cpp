#include "fuzz/properties/list.h"

namespace lenz::fuzz {

namespace {
// A definition that is wrong misleads the reference as it misleads the compiler. So where anything was held to the
// reference, eager is too.
std::optional<Failure> holds(Subject& subject) {
  oracle::Trial& trial = subject.trial();
  if (!trial.by_the_reference || oracle::draws(subject.graph())) return std::nullopt;
  if (trial.expected().ending != oracle::Ending::finished) return std::nullopt;
  if (auto mismatch = trial.eager_out_of_bounds(trial.expected())) return subject.failed("reference", *mismatch);
  return std::nullopt;
}
}  // namespace

Property reference() {
  return {.name = "reference",
          .contract = "where a run differs from eager in any bit, eager itself lies within the reference's bounds",
          .holds = holds,
          .looks_back = true};
}

}  // namespace lenz::fuzz
