#include "compiler/driver/program_set.h"
#include "compiler/graph/equal.h"
#include "compiler/graph/text.h"
#include "fuzz/properties/list.h"

namespace lenz::fuzz {

namespace {
// What passes leave is what they would leave: the pipeline once more over its own result keeps what the program
// computes, and a third time changes nothing more than the second did, if that changed anything.
std::optional<Failure> holds(Subject& subject) {
  const Graph& graph = *subject.passed().whole;
  auto again = passed_for(graph, subject.sizes(), pipeline(), subject.runner());
  if (structurally_equal(graph, *again)) return std::nullopt;
  if (auto mismatch = subject.wrong(*again)) return subject.failed("settled", *mismatch);
  auto third = passed_for(*again, subject.sizes(), pipeline(), subject.runner());
  if (third->node_count() > again->node_count() + 2)
    return Failure{"settled", "pipeline", "grows",
                   "each run over its own result makes the graph larger: " + std::to_string(again->node_count()) +
                       " nodes, then " + std::to_string(third->node_count())};
  return std::nullopt;
}
}  // namespace

Property settled() {
  return {.name = "settled",
          .contract = "the pipeline over its own result computes the same, and does not grow it",
          .holds = holds,
          .every = 2,
          .over_result = true};
}

}  // namespace lenz::fuzz
