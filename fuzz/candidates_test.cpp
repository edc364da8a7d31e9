#include "fuzz/candidates.h"

#include <gtest/gtest.h>

#include "compiler/graph/text.h"
#include "compiler/graph/verify.h"
#include "compiler/ops/op_table.h"

namespace lenz::fuzz {
namespace {

bool calls(const Graph& graph, std::string_view packet) {
  bool found = false;
  graph.for_each_node([&](NodeId id) { found |= graph.node(id).op->schema.packet == packet; });
  return found;
}

// What reduce() does, with a failure that is known: every candidate costs one question.
template <class Fails>
std::pair<Case, size_t> smallest(Case from, Fails&& fails) {
  size_t asked = 0;
  for (bool smaller = true; smaller;) {
    smaller = false;
    for (const Simplification& way : simplifications())
      for (bool again = true; again;) {
        again = false;
        for (Case& c : way.candidates(from)) {
          ++asked;
          if (!fails(*c.graph)) continue;
          from = std::move(c);
          smaller = again = true;
          break;
        }
      }
  }
  return {std::move(from), asked};
}

TEST(Candidates, AreValidAndSimpler) {
  const Pool pool(op_table());
  size_t seen = 0;
  for (uint64_t i = 0; i < 60; ++i) {
    Case c = draw_case(41, i, pool);
    const Simplicity measure = simplicity(*c.graph, c.setting);
    for (const Simplification& way : simplifications())
      for (const Case& candidate : way.candidates(c)) {
        ++seen;
        EXPECT_TRUE(verify(*candidate.graph).empty()) << way.name;
        EXPECT_LT(simplicity(*candidate.graph, candidate.setting), measure) << way.name;
      }
  }
  EXPECT_GT(seen, 1000u);
}

TEST(Candidates, LeadToOneOpIfThatFails) {
  const Pool pool(op_table());
  std::vector<size_t> nodes, asked;
  for (uint64_t i = 0; nodes.size() < 25 && i < 4000; ++i) {
    Case c = draw_case(43, i, pool);
    if (!calls(*c.graph, "sum") || c.graph->node_count() < 8 || !c.graph->subgraphs.empty()) continue;
    auto [small, questions] = smallest(std::move(c), [](const Graph& g) { return calls(g, "sum"); });
    nodes.push_back(small.graph->node_count());
    asked.push_back(questions);
    EXPECT_LE(nodes.back(), 2u) << small.text();
    for (const Input& input : small.graph->inputs())
      for (Dim d : small.graph->type(input.value).sizes())
        EXPECT_TRUE(d.is_constant() && d.constant() <= 2) << small.text();
  }
  ASSERT_GE(nodes.size(), 5u);
}

}  // namespace
}  // namespace lenz::fuzz
