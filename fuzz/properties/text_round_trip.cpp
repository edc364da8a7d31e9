#include "compiler/graph/equal.h"
#include "compiler/graph/text.h"
#include "compiler/ops/op_table.h"
#include "fuzz/properties/list.h"

namespace lenz::fuzz {

namespace {
std::optional<Failure> holds(Subject& subject) {
  const std::string text = print(subject.graph());
  const Failure failure{"text_round_trip", "text_round_trip", "differs", {}};
  auto failed = [&](std::string detail) {
    Failure f = failure;
    f.detail = std::move(detail);
    return f;
  };
  try {
    auto again = parse_graph(text, op_table());
    if (std::string why; !structurally_equal(*again, subject.graph(), &why))
      return failed("the parsed text is another graph: " + why);
    if (print(*again) != text) return failed("the parsed text prints otherwise");
  } catch (const UserError& error) {
    return failed(std::string("the printed text does not parse: ") + error.what());
  }
  return std::nullopt;
}
}  // namespace

Property text_round_trip() {
  return {.name = "text_round_trip",
          .contract = "what is printed parses to an equal graph, which prints the same",
          .holds = holds,
          .of_graph = true};
}

}  // namespace lenz::fuzz
