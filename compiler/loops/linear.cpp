#include "compiler/loops/linear.h"

#include <algorithm>

#include "compiler/loops/index_algebra.h"
#include "compiler/loops/index_parts.h"

namespace lenz::loops {

bool is_nonlinear(Dim simplified) {
  if (simplified.is_constant()) return false;
  const DimParts parts = parts_of(simplified);
  switch (parts.kind) {
    case SymKind::symbol: return false;
    case SymKind::product: return true;
    case SymKind::floor_div:
    case SymKind::mod: return !parts.operands[1].is_constant() || is_nonlinear(parts.operands[0]);
    case SymKind::sum:
    case SymKind::min:
    case SymKind::max:
    case SymKind::call: return std::ranges::any_of(parts.operands, is_nonlinear);
  }
  return false;
}

bool IndexSpace::asks_nonlinear(std::span<const Dim> asked) const {
  std::vector<Dim> open(asked.begin(), asked.end());
  std::vector<const SymNode*> seen;
  while (!open.empty()) {
    const Dim dim = facts_.simplify(open.back());
    open.pop_back();
    if (is_nonlinear(dim)) return true;
    if (dim.is_constant()) continue;
    for_each_symbol(dim, [&](const SymNode* symbol) {
      if (std::ranges::find(seen, symbol) != seen.end()) return;
      seen.push_back(symbol);
      for (const auto* list : {&axes_, &positions_})
        for (const Axis& a : *list)
          if (a.symbol.node() == symbol) open.push_back(a.extent);
      for (const Cond& c : conditions_)
        if (mentions(c.lhs, Dim(symbol)) || mentions(c.rhs, Dim(symbol))) open.insert(open.end(), {c.lhs, c.rhs});
    });
  }
  return false;
}

}  // namespace lenz::loops
