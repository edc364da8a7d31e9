#include "compiler/base/sym_parts.h"

#include "compiler/base/sym_node.h"

namespace lenz {

DimParts terms_of(Dim dim) {
  SumView view(dim);
  DimParts parts;
  parts.constant = view.constant();
  for (const SymTerm& t : view.terms()) {
    parts.coefficients.push_back(t.coefficient);
    parts.operands.emplace_back(t.monomial);
  }
  return parts;
}

std::vector<Dim> factors_of(Dim dim) {
  if (dim.is_constant() || dim.node()->kind != SymKind::product) return {dim};
  std::vector<Dim> atoms;
  for (const SymFactor& f : dim.node()->factors()) atoms.insert(atoms.end(), static_cast<size_t>(f.power), Dim(f.atom));
  return atoms;
}

DimParts parts_of(Dim dim) {
  if (dim.is_constant() || dim.node()->kind == SymKind::sum) return terms_of(dim);
  DimParts parts;
  parts.kind = dim.node()->kind;
  if (parts.kind == SymKind::product) {
    parts.operands = factors_of(dim);
  } else if (parts.kind != SymKind::symbol) {
    parts.operands.assign(dim.node()->args().begin(), dim.node()->args().end());
  }
  if (parts.kind == SymKind::call) {
    parts.function = dim.node()->fn;
    parts.factor = dim.node()->factor();
  }
  return parts;
}

std::string why_no_value(Dim dim, const SymValues& values) {
  bool known = true;
  if (!dim.is_constant()) for_each_symbol(dim, [&](const SymNode* s) { known = known && values(s).has_value(); });
  return known ? "the size " + to_string(dim) + " overflows 64 bits, or divides by 0" : std::string();
}

void for_each_divisor(Dim dim, const std::function<void(Dim)>& visit) {
  if (dim.is_constant()) return;
  const SymNode* node = dim.node();
  switch (node->kind) {
    case SymKind::symbol: return;
    case SymKind::sum:
      for (const SymTerm& t : node->terms()) for_each_divisor(Dim(t.monomial), visit);
      return;
    case SymKind::product:
      for (const SymFactor& f : node->factors()) for_each_divisor(Dim(f.atom), visit);
      return;
    case SymKind::floor_div:
    case SymKind::mod: visit(node->args()[1]); break;
    case SymKind::min:
    case SymKind::max:
    case SymKind::call: break;
  }
  for (Dim operand : node->args()) for_each_divisor(operand, visit);
}

}  // namespace lenz
