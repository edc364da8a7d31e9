// A rule that forgets to ask for something is wrong for some operands and some values of them alone: of NaN, of what a
// narrower dtype can't hold, of an unsigned number. A case whose graph is about a rule costs what all its properties
// cost, and of 126 rules a minute's campaign has each a few times. So each case also draws graphs of one rule each, of
// which nothing is asked but what the passes make of them, together and each by itself, so that none is spared what
// another one takes away first: some 2 ms each.
#include "fuzz/properties/alone.h"
#include "fuzz/properties/list.h"

namespace lenz::fuzz {

namespace {
std::optional<Failure> holds(Subject& subject) {
  static const Drawn rules{
      .property = "rules_alone",
      .about = About::rules,
      .graphs = 8,
      .asked = {find_property("pass_alone"), find_property("exact_passes"), find_property("all_passes"),
                find_property("passes_left_out"), find_property("reference")}};
  return drawn_that_fails(rules, subject.setting(), subject.scratch());
}
}  // namespace

Property rules_alone() {
  return {.name = "rules_alone",
          .contract = "graphs of one rewrite rule each hold behind the passes",
          .holds = holds,
          .of_graph = true};
}

}  // namespace lenz::fuzz
