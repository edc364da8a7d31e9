#include "compiler/graph/equal.h"
#include "compiler/graph/random_graph.h"
#include "compiler/graph/text.h"
#include "fuzz/properties/list.h"
#include "fuzz/properties/texts.h"

namespace lenz::fuzz {

std::string lost_in_text(const Graph& graph, const PrintOptions& options) {
  const std::string text = print(graph, options);
  try {
    const auto again = parse_graph(text, graph.ops());
    if (std::string why; !structurally_equal(*again, graph, &why))
      return "the parsed text is another graph: " + why + "\n" + text;
    if (structural_hash(*again) != structural_hash(graph)) return "the parsed text has another hash\n" + text;
    // Names are no part of a graph's structure.
    for (size_t i = 0; i < graph.inputs().size(); ++i) {
      const NameId name = graph.value(graph.inputs()[i].value).name, got = again->value(again->inputs()[i].value).name;
      if (name != kNone && (got == kNone || graph.context().name(name) != again->context().name(got)))
        return "the parsed text names input " + std::to_string(i) + " otherwise\n" + text;
    }
    if (print(*again, options) != text) return "the parsed text prints otherwise\n" + text;
  } catch (const UserError& error) {
    return std::string("the printed text does not parse: ") + error.what() + "\n" + text;
  }
  return {};
}

namespace {
std::optional<Failure> holds(Subject& subject) {
  std::string lost = lost_in_text(subject.graph(), {});
  constexpr uint64_t kEvery = 4;
  if (lost.empty() && subject.setting().seed / 4 % kEvery == 0) {
    // What graphs of calls have little of: literals of each kind, strings, inputs that are no tensors, facts.
    RandomChooser choose(subject.setting().seed);
    const bool types = choose.flip(), provenance = choose.flip();
    lost = lost_in_text(*test::random_graph(choose), {.types = types, .provenance = provenance});
  }
  if (lost.empty()) return std::nullopt;
  return Failure{"text_round_trip", "text_round_trip", "differs", lost};
}
}  // namespace

Property text_round_trip() {
  return {.name = "text_round_trip",
          .contract = "what is printed parses to an equal graph, which prints the same",
          .holds = holds,
          .of_graph = true};
}

}  // namespace lenz::fuzz
