// The table's own function, for code that has none: what `lenz_evaluate_row` is to code that names it. Rows are named
// `lenz_row_NAME`.
// Thread-safety: pure functions.
#pragma once

#include <cstdint>
#include <string>

#include "compiler/backend/llvm/jit.h"
#include "compiler/scalar/scalar.h"

namespace lenz::native {

inline constexpr std::string_view kRowFunction = "lenz_evaluate_row";
std::string symbol_of(const ScalarRow& row);

// Computes a row of reals for `lanes` elements. Arrays hold what code holds: f32 or f64, and i64 for integer operands.
// Those that the row does not take are null.
void evaluate_row(const ScalarRow* row, int32_t compute, int64_t lanes, const void* a, const void* b, const void* c,
                  void* result);

// Makes the function and all rows known to code: some with code of their own call the table far out.
void define_row_calls(Jit& jit);

}  // namespace lenz::native
