#include "fuzz/effects.h"

#include <string>

namespace lenz::fuzz {

namespace {
constexpr std::string_view kToken = "lenz.make_token", kPrint = "lenz.print", kAssert = "lenz.assert";
// What holds of all numbers but NaN.
constexpr std::string_view kEqual = "aten.eq.Tensor";  // op name: a condition made of a value
constexpr std::string_view kAll = "aten.all";          // op name: of all of its elements

ValueId call(Graph& graph, std::string_view op, std::span<const Arg> args) {
  Resolved r = resolve(graph, op, args, {});
  return graph.node(graph.append(*r.op, r.args)).result();
}

// What a row takes, of all that there is: no float8.
std::vector<ValueId> fitting(const Growth& growth, std::string_view op) {
  const DtypeSet taken = growth.graph->ops().find(op)->dtypes;
  std::vector<ValueId> all = growth.values;
  std::erase_if(all, [&](ValueId v) { return !taken.has(growth.graph->type(v).dtype); });
  return all;
}

Arg shown(const std::vector<ValueId>& values, Chooser& c) {
  switch (values.empty() ? 1 + c.below(3) : c.below(6)) {
    case 1: return Arg::of_int(c.any_of<int64_t>({0, -1, 7, INT64_MIN, INT64_MAX}));
    case 2: return Arg::of_real(c.any_of({0.0, -0.0, 0.1, 1e300, HUGE_VAL}));
    case 3: return Arg::of_bool(c.flip());
    default: return Arg::of_value(c.pick(values));
  }
}

void print(Growth& growth, Chooser& c) {
  Graph& graph = *growth.graph;
  std::string format(c.any_of<std::string_view>({"", "x = ", "100 %s", " \"\n\\"}));
  const std::vector<ValueId> fit = fitting(growth, kPrint);
  std::vector<Arg> values;
  for (uint64_t i = c.below(4); i > 0; --i) {
    format += "{}";
    values.push_back(shown(fit, c));
  }
  const Arg args[] = {Arg::of_value(growth.token), graph.context().string(format), graph.context().args(values)};
  growth.token = call(graph, kPrint, args);
}

void require(Growth& growth, Chooser& c) {
  Graph& graph = *growth.graph;
  Arg holds = Arg::of_bool(true);
  if (const std::vector<ValueId> fit = fitting(growth, kEqual); !fit.empty() && c.below(4) != 3) {
    const Arg value = Arg::of_value(c.pick(fit));
    const Arg both[] = {value, value};
    const Arg equal = Arg::of_value(call(graph, kEqual, both));
    holds = Arg::of_value(call(graph, kAll, {&equal, 1}));
  }
  const Arg args[] = {Arg::of_value(growth.token), holds, graph.context().string("it has to")};
  growth.token = call(graph, kAssert, args);
}
}  // namespace

void add_effect(Growth& growth, Chooser& choose) {
  if (growth.token == kNone) growth.token = call(*growth.graph, kToken, {});
  if (choose.below(4) == 3)
    require(growth, choose);
  else
    print(growth, choose);
}

}  // namespace lenz::fuzz
