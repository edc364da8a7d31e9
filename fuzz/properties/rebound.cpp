#include "compiler/driver/program_set.h"
#include "compiler/loops/verify.h"
#include "fuzz/properties/list.h"

namespace lenz::fuzz {

namespace {
// How often bodies of nests run: a few open sizes multiply to more than an interpreter does in minutes.
double points(const loops::Program& program, const SymValues& sizes) {
  double all = 0;
  loops::for_each_node(program.body, [&](const loops::Node& node) {
    const auto* nest = std::get_if<loops::Nest>(&node.is);
    if (!nest) return;
    double own = 1;
    for (const loops::Instr& i : nest->body)
      if (i.kind == loops::InstrKind::scalar && i.row->has(traits::costly)) own += kCostly;
    for (const loops::Axis& axis : nest->axes) own *= static_cast<double>(evaluate(axis.extent, sizes).value_or(1));
    all += own;
  });
  return all;
}

std::optional<Failure> holds(Subject& subject) {
  ProgramSet programs(subject.graph(), subject.runner());
  return failure_at_sizes(subject, "rebound", oracle::various_sizes({}, subject.graph()),
                          [&](oracle::Trial& trial, const oracle::Binding& sizes) {
                            const loops::Program& program = programs.at(sizes.lookup());
                            loops::require_valid(program, "the lowering");
                            constexpr double kMost = 1 << 18;
                            if (points(program, sizes.lookup()) > kMost) return RunAtSizes{};
                            return RunAtSizes{&program, trial.on_loops(program)};
                          });
}
}  // namespace

Property rebound() {
  return {.name = "rebound",
          .contract = "one program serves other sizes: 0, 1, primes, as near as the graph's facts allow",
          .holds = holds,
          .lowers = true};
}

}  // namespace lenz::fuzz
