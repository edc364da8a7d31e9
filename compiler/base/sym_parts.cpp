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
  return parts;
}

}  // namespace lenz
