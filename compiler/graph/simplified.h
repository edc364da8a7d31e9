// Conditions as people read them. Thread-safety: pure functions.
#pragma once

#include "compiler/base/sym.h"

namespace lenz {

// The same under the facts, and as short as they allow: of a size u, min(0, u) is 0.
inline Cond simplified(const Cond& cond, const Facts& known) {
  return {cond.rel, known.simplify(cond.lhs), known.simplify(cond.rhs)};
}

}  // namespace lenz
