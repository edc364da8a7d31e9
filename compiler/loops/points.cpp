#include "compiler/loops/points.h"

namespace lenz::loops {

namespace {
double points_of(std::span<const Axis> axes, const SymValues& sizes) {
  double all = 1;
  for (const Axis& axis : axes) all *= static_cast<double>(evaluate(axis.extent, sizes).value_or(1));
  return all;
}
double points_of(const Node& node, const SymValues& sizes) {
  const auto* nest = std::get_if<Nest>(&node.is);
  if (!nest) return 0;
  double each = 1;
  for (const Instr& i : nest->body)
    if (i.kind == InstrKind::scalar && i.row->has(traits::costly)) each += kCostlyPoints;
  return each * points_of(nest->axes, sizes);
}
}  // namespace

double points(const Program& program, const SymValues& sizes) {
  double all = 0;
  for_each_node(program.body, [&](const Node& node) {
    all += points_of(node, sizes);
    const auto* kernel = std::get_if<Kernel>(&node.is);
    if (!kernel) return;
    const double again = points_of(kernel->axes, sizes) - 1;  // besides the one that is counted when it is met
    for_each_node(*kernel->body, [&](const Node& inside) { all += again * points_of(inside, sizes); });
  });
  return all;
}

}  // namespace lenz::loops
