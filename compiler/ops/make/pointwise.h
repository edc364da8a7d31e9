// Generators of pointwise calls with attributes of their own. See call_maker.h.
#pragma once

#include "compiler/ops/call_maker.h"

namespace lenz::make {

// --- one tensor
void abs(CallMaker& m);  // in place not of complex numbers
void conj_physical(CallMaker& m);
void square(CallMaker& m);
void nan_to_num(CallMaker& m);
void round_decimals(CallMaker& m);
void logit(CallMaker& m);
void polygamma(CallMaker& m);
void polygamma_into(CallMaker& m);
void mvlgamma(CallMaker& m);

// --- two operands
void binary_alpha(CallMaker& m);   // add
void subtraction(CallMaker& m);    // with alpha, without bools
void product(CallMaker& m);        // mul
void one_dtype(CallMaker& m);      // both operands of one dtype
void complex_parts(CallMaker& m);  // complex, polar
void division(CallMaker& m);       // no zero divisors: eager raises for integers
void division_mode(CallMaker& m);
void pow(CallMaker& m);  // any of its overloads
void float_power(CallMaker& m);
void ldexp(CallMaker& m);
void isclose(CallMaker& m);
void equal(CallMaker& m);  // two of one dtype, mostly of one shape

// --- more
void where(CallMaker& m);
void clamp(CallMaker& m);  // numbers as bounds; also clamp_min, clamp_max
void clamp_tensor(CallMaker& m);
void lerp(CallMaker& m);
void addcmul(CallMaker& m);
void addcdiv(CallMaker& m);

}  // namespace lenz::make
