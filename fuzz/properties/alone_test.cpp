#include "fuzz/properties/alone.h"

#include <gtest/gtest.h>

#include "compiler/graph/text.h"
#include "fuzz/properties/list.h"
#include "fuzz/reduce.h"

namespace lenz::fuzz {
namespace {

TEST(DrawnGraphs, HoldAsTheyAre) {
  oracle::Boxed boxed(DeviceKind::cpu);
  for (const std::string_view name : {"rules_alone", "nests_alone", "pairs_alone"})
    for (uint64_t seed = 1; seed <= 16; ++seed) {
      const Case c =
          parse_case("# fuzz: values=ordinary seed=" + std::to_string(seed) + "\ngraph @g() {\n  return\n}\n");
      Subject subject(*c.graph, c.setting, boxed, {});
      const auto failure = find_property(name)->holds(subject);
      EXPECT_FALSE(failure) << failure->key() << "\n" << failure->detail;
    }
}

// A property that says of any graph that it is wrong, where there is something to compute.
std::optional<Failure> never(Subject& subject) {
  if (subject.graph().node_count() == 0) return std::nullopt;
  return Failure{"structure", "a stage", "breaks a rule", "why"};
}

TEST(DrawnGraphs, AreReducedInPlaceOfTheirCase) {
  const Property wrong{.name = "structure", .contract = "", .holds = never, .of_graph = true};
  CaseRunner runner({&wrong}, {});
  const Case c =
      parse_case("# fuzz: values=special seed=3\ngraph @g(%x: f32[3]) {\n  %y = aten.neg(%x)\n  return %y\n}\n");
  const auto failure = failure_of_drawn("rules_alone", "aten.neg", *c.graph, c.setting, runner);
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->key(), "rules_alone | a stage | structure of aten.neg: breaks a rule");
  EXPECT_EQ(failure->inner_property, "structure");
  const Case again = parse_case(failure->inner);
  EXPECT_EQ(print(*again.graph), print(*c.graph));
  EXPECT_EQ(again.setting.text(), c.setting.text());
  EXPECT_FALSE(drawn_beside(*failure));  // by itself it holds: nothing is wrong with it
  EXPECT_FALSE(drawn_beside({"structure", "structure", "SIGSEGV", "of its own graph"}));

  Failure unreadable = *failure;  // of a printer that is wrong
  unreadable.inner = "graph @g(";
  EXPECT_FALSE(drawn_beside(unreadable));
}

}  // namespace
}  // namespace lenz::fuzz
