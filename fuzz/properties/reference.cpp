#include "fuzz/properties/list.h"

namespace lenz::fuzz {

namespace {
std::optional<Failure> holds(Subject& subject) {
  if (auto mismatch = eager_against_reference(subject.trial())) return subject.failed("reference", *mismatch);
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
