#include "compiler/driver/short_sizes.h"

#include <algorithm>

#include "compiler/graph/rebuild.h"

namespace lenz {

ClosedSizes short_sizes(const Graph& graph, const SymValues& sizes) {
  std::vector<const SymNode*> numbers;
  for (const Input& input : graph.inputs())
    if (const Type& type = graph.type(input.value); type.kind == TypeKind::sym_int && !type.offset.is_constant())
      for_each_symbol(type.offset, [&](const SymNode* s) { numbers.push_back(s); });
  auto is_number = [&](const SymNode* s) { return std::ranges::find(numbers, s) != numbers.end(); };
  ClosedSizes found;
  for (const Input& input : graph.inputs()) {
    const Type& type = graph.type(input.value);
    if (!type.is_tensor()) continue;
    for (Dim d : type.sizes()) {
      if (d.is_constant() || kind_of(d) != SymKind::symbol || is_number(d.node())) continue;
      const std::optional<int64_t> value = sizes(d.node());
      if (value && *value <= kShortSize &&
          std::ranges::find(found, d.node(), &ClosedSizes::value_type::first) == found.end())
        found.emplace_back(d.node(), *value);
    }
  }
  return found;
}

std::unique_ptr<Graph> closed(const Graph& graph, const ClosedSizes& sizes) {
  auto value = [&](const SymNode* s) -> std::optional<Dim> {
    auto at = std::ranges::find(sizes, s, &ClosedSizes::value_type::first);
    return at == sizes.end() ? std::nullopt : std::optional<Dim>(at->second);
  };
  auto copy = graph.clone();
  Context& context = copy->context();
  auto other = [&](Dim d) { return d.is_constant() ? d : substitute(d, context.syms, value); };
  Assumptions assumptions;
  assumptions.open_as(graph.assumptions);
  for (const auto& [symbol, range] : graph.assumptions.facts().ranges())
    if (!value(symbol)) assumptions.declare_range(symbol, range);
  for (const Cond& c : graph.assumptions.facts().conditions())
    if (!assumptions.declare({c.rel, other(c.lhs), other(c.rhs)})) return nullptr;
  copy->assumptions = std::move(assumptions);
  bool inferred = true;  // what is not has the type that it was given, in which the symbols stand
  copy->for_each_node([&](NodeId at) { inferred = inferred && copy->node(at).op->infer; });
  if (!inferred) return nullptr;
  std::vector<const Type*> inputs;
  for (const Input& input : copy->inputs()) inputs.push_back(with_dims(context, copy->type(input.value), other));
  auto made = rebuilt(*copy, {.inputs = inputs, .argument = [&](const Arg& arg, const ParamType&) {
                                return with_dims(context, arg, other);
                              }});
  if (!made) return nullptr;
  std::vector<Arg> outputs;
  for (const Arg& arg : made->outputs()) outputs.push_back(with_dims(context, arg, other));
  made->set_outputs(outputs);
  return made;
}

}  // namespace lenz
