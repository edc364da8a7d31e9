// What rules of real and of complex numbers share; those of complex ones. Internal to this room.
// Thread-safety: pure functions.
#pragma once

#include <span>

#include "compiler/scalar/error_propagation.h"

namespace lenz {

constexpr double kInfinity = dd::kInfinity;
constexpr Propagated kUnknown{kInfinity, true};

double number(const ScalarValue& v);
double quotient_error(double a, double ea, double b, double eb);  // of moduli

// Of a row's function over the discs around its operands.
Propagated complex_rule(const ScalarRow& row, std::span<const Uncertain> operands);

}  // namespace lenz
