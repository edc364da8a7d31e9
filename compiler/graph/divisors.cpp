#include "compiler/graph/divisors.h"

#include "compiler/base/sym_parts.h"

namespace lenz {

bool given_by_inputs(const Graph& graph, Dim dim) {
  bool all = true;
  for_each_symbol(dim, [&](const SymNode* wanted) {
    bool found = false;
    for (const Input& input : graph.inputs())
      for_each_symbolic_dim(graph.type(input.value), [&](Dim d) {
        for_each_symbol(d, [&](const SymNode* s) { found = found || s == wanted; });
      });
    all = all && found;
  });
  return all;
}

namespace {
void open_divisors(const Assumptions& known, Dim dim, const OpenDivisor& visit) {
  for_each_divisor(dim, [&](Dim divisor) {
    if (!divisor.is_constant() && known.prove(ne(divisor, 0)) != Truth::yes) visit(divisor);
  });
}

void guard(Graph& graph, std::string_view who, Dim divisor) {
  if (given_by_inputs(graph, divisor) && !graph.assumptions.assume(ne(divisor, 0)))
    throw UserError(
        std::string(who) + (who.empty() ? "" : ": ") + "a size divides by " + to_string(divisor) + ", which is 0 here",
        {}, "divide by what may be other than 0");
}
}  // namespace

void for_each_open_divisor(const Assumptions& known, const Arg& arg, const OpenDivisor& visit) {
  if (arg.kind == ArgKind::integer && arg.symbolic) open_divisors(known, arg.dim(), visit);
  if (arg.kind == ArgKind::int_list)
    for (Dim d : arg.dim_list())
      if (!d.is_constant()) open_divisors(known, d, visit);
  if (arg.kind == ArgKind::arg_list)
    for (const Arg& element : arg.arg_list()) for_each_open_divisor(known, element, visit);
}

void for_each_open_divisor(const Assumptions& known, const Type& type, const OpenDivisor& visit) {
  for_each_symbolic_dim(type, [&](Dim d) { open_divisors(known, d, visit); });
}

void guard_divisors(Graph& graph, std::span<const Arg> args, std::string_view who) {
  const auto guarding = [&](Dim divisor) { guard(graph, who, divisor); };
  const OpenDivisor visit = std::ref(guarding);  // which needs no memory of its own
  for (const Arg& arg : args) for_each_open_divisor(graph.assumptions, arg, visit);
}

void guard_divisors(Graph& graph, const Type& type, std::string_view who) {
  const auto guarding = [&](Dim divisor) { guard(graph, who, divisor); };
  for_each_open_divisor(graph.assumptions, type, std::ref(guarding));
}

}  // namespace lenz
