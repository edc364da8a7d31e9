#include "compiler/graph/drawing.h"

#include <algorithm>

namespace lenz {

bool draws_numbers(const OpDef& op, std::span<const Arg> args) {
  if (op.has(Trait::random)) return true;
  // Of what has no rule its schema says so.
  if (!op.infer &&
      std::ranges::any_of(op.schema.params, [](const Param& p) { return p.type.kind == ParamKind::generator; }))
    return true;
  constexpr std::string_view kByDefinition = "definition(";
  if (!op.sampling.starts_with(kByDefinition)) return false;
  const std::string_view name = op.sampling.substr(kByDefinition.size(), op.sampling.size() - kByDefinition.size() - 1);
  const int param = op.schema.find(name);
  LENZ_CHECK(param >= 0, op.full_name + " draws by `" + std::string(name) + "`, which is no parameter of its");
  const Arg& chance = args[static_cast<size_t>(param)];
  return chance.kind != ArgKind::real || chance.real() > 0;
}

}  // namespace lenz
