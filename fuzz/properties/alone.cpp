#include "fuzz/properties/alone.h"

#include "compiler/graph/text.h"

namespace lenz::fuzz {

std::optional<Failure> failure_of_drawn(std::string_view property, std::string_view of, const Graph& graph,
                                        const Setting& setting, CaseRunner& runner) {
  auto failure = runner.run(graph, setting).failure;
  if (!failure) return std::nullopt;
  blame(graph, setting, *failure);
  const std::string text = "# fuzz: " + setting.text() + "\n" + print(graph);
  return Failure{.property = std::string(property),
                 .stage = failure->stage,
                 .symptom = failure->property + " of " + std::string(of) + ": " + failure->symptom,
                 .detail = failure->detail + "\nthe graph by itself:\n" + text,
                 .inner = text,
                 .inner_property = failure->property};
}

}  // namespace lenz::fuzz
