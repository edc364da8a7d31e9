// What the files of the index algebra ask dims. Internal to it. Thread-safety: pure functions.
#pragma once

#include "compiler/base/sym_parts.h"

namespace lenz::loops {

// The parts of a dim. Where it is x//m and m is negative, those of (-x)//(-m), which is the same: with solved symbols a
// quotient may be written so.
inline DimParts positive_parts(Dim dim, const Facts& facts) {
  DimParts parts = parts_of(dim);
  if (parts.kind == SymKind::floor_div && facts.proves(le(parts.operands[1], -1)))
    for (Dim& operand : parts.operands) operand = -operand;
  return parts;
}

inline bool mentions(Dim dim, Dim symbol) {
  bool found = false;
  if (!dim.is_constant()) for_each_symbol(dim, [&](const SymNode* s) { found = found || s == symbol.node(); });
  return found;
}

}  // namespace lenz::loops
