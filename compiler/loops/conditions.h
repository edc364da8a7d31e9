// What values of a nest say of coordinates.
// Thread-safety: pure functions.
#pragma once

#include <optional>

#include "compiler/loops/program.h"

namespace lenz::loops {

// An i64 value as an expression of coordinates, if it is one.
std::optional<Dim> coordinate(const Nest& nest, Ssa value);
// A b8 value as a condition on coordinates, if it is one.
std::optional<Cond> condition(const Nest& nest, Ssa value);
// Whether it holds where both of its operands do, which are b8.
bool is_conjunction(const Instr& instr);

}  // namespace lenz::loops
