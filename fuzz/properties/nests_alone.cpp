// What fusion must not do hangs on three or four nests and who writes what in which order: many graphs have no such
// nests, and one that has costs what machine code costs. So each case also draws a graph of a few nodes that do many
// things, of which nothing is asked but what the schedule makes of their loops, on the interpreter: some 5 ms.
#include "fuzz/properties/alone.h"
#include "fuzz/properties/list.h"

namespace lenz::fuzz {

namespace {
std::optional<Failure> holds(Subject& subject) {
  static const Drawn nests{.property = "nests_alone",
                           .about = About::much,
                           .graphs = 1,
                           .asked = {find_property("fused"), find_property("realised"), find_property("accounts"),
                                     find_property("reference")},
                           .most = 8,
                           .control = true};
  return drawn_that_fails(nests, subject.setting(), subject.scratch());
}
}  // namespace

Property nests_alone() {
  return {.name = "nests_alone",
          .contract = "small graphs that do many things hold as their loops are scheduled",
          .holds = holds,
          .of_graph = true};
}

}  // namespace lenz::fuzz
