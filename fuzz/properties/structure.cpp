#include "compiler/graph/verify.h"
#include "fuzz/properties/list.h"

namespace lenz::fuzz {

namespace {
std::optional<Failure> holds(Subject& subject) {
  for (const Violation& v : verify(subject.graph()))
    return Failure{"structure", "G" + std::to_string(v.rule), "breaks a rule", to_string(v)};
  return std::nullopt;
}
}  // namespace

Property structure() { return {"structure", "the generated graph breaks no rule of the verifier", holds}; }

}  // namespace lenz::fuzz
