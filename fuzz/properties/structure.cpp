#include "compiler/graph/verify.h"
#include "fuzz/properties/list.h"

namespace lenz::fuzz {

namespace {
std::optional<Failure> holds(Subject& subject) {
  for (const Violation& v : verify(subject.graph()))
    return Failure{"structure", "G" + std::to_string(v.rule), "breaks a rule", to_string(v)};
  subject.trial().expected();  // throws where a type is another one
  return std::nullopt;
}
}  // namespace

Property structure() {
  return {.name = "structure",
          .contract = "the generated graph breaks no rule of the verifier, and eager gives what its types say",
          .holds = holds,
          .of_graph = true};
}

}  // namespace lenz::fuzz
