// A rule that forgets to ask for something is wrong for some operands and some values of them alone: of NaN, of what a
// narrower dtype can't hold, of an unsigned number. A case whose graph is about a rule costs what all its properties
// cost, and of 150 rules a minute's campaign has each a few times. So each case also draws graphs of one rule each, of
// which nothing is asked but what the passes make of them: some 2 ms each.
#include "fuzz/properties/rules_alone.h"

#include "compiler/base/hash.h"
#include "compiler/ops/op_table.h"
#include "fuzz/properties/alone.h"
#include "fuzz/properties/list.h"

namespace lenz::fuzz {

namespace {
// Of a campaign's cases those that are about rules come in these turns.
uint64_t number_about_rules(Chooser& choose) {
  for (;;)
    if (const uint64_t number = choose.below(uint64_t{1} << 32); about(number) == About::rules) return number;
}
}  // namespace

std::optional<Failure> rule_that_fails(const Setting& setting, const std::string& scratch, int graphs) {
  static const Pool pool(op_table());
  RandomChooser choose(combine(setting.seed, hash_bytes("rules_alone")));
  CaseRunner runner({find_property("exact_passes"), find_property("all_passes")}, scratch);
  GrowOptions options;
  options.corpus = options.large = options.control = false;
  for (int i = 0; i < graphs; ++i) {
    Case drawn = draw_case(choose.below(uint64_t{1} << 32), number_about_rules(choose), pool, options);
    drawn.setting.number.reset();
    std::string of;  // its last call is the rule's, or stands right behind it
    drawn.graph->for_each_node([&](NodeId id) { of = drawn.graph->node(id).op->full_name; });
    if (auto failure = failure_of_drawn("rules_alone", of, *drawn.graph, drawn.setting, runner)) return failure;
  }
  return std::nullopt;
}

namespace {
constexpr int kGraphs = 4;  // in each case

std::optional<Failure> holds(Subject& subject) {
  return rule_that_fails(subject.setting(), subject.scratch(), kGraphs);
}
}  // namespace

Property rules_alone() {
  return {.name = "rules_alone",
          .contract = "graphs of one rewrite rule each hold behind the passes",
          .holds = holds,
          .of_graph = true};
}

}  // namespace lenz::fuzz
