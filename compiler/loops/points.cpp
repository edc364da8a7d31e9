#include "compiler/loops/points.h"

#include <algorithm>

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
    // How far a tile goes hangs on which one it is: the first is a whole one. Each of its points was counted when the
    // nest was met, where that is a number.
    const SymValues first = [&](const SymNode* s) -> std::optional<int64_t> {
      const bool own = std::ranges::any_of(kernel->axes, [&](const Axis& a) { return a.symbol.node() == s; });
      return own ? std::optional<int64_t>(0) : sizes(s);
    };
    const double times = points_of(kernel->axes, sizes);
    for_each_node(*kernel->body,
                  [&](const Node& inside) { all += times * points_of(inside, first) - points_of(inside, sizes); });
  });
  return all;
}

}  // namespace lenz::loops
