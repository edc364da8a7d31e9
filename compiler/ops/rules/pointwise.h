// Result types of the pointwise ops that eager doesn't compute in one plain step: each rule follows the steps that
// eager takes, because every step leaves its mark on the strides and on what is refused.
// Thread-safety: pure, given one Infer.
#pragma once

#include "compiler/graph/infer.h"

namespace lenz::rule {

// --- one tensor
void abs(Infer& in);          // complex becomes its real part's type
void angle(Infer& in);        // and integers become f32
void predicate(Infer& in);    // signbit, isposinf, isneginf: refuse complex
void logical_not(Infer& in);  // bool of any dtype
void not_nan(Infer& in);      // isnan, as self != self
void is_infinite(Infer& in);
void is_finite(Infer& in);
void is_real(Infer& in);
void preserved(Infer& in);      // empty_like: nan_to_num
void conj_physical(Infer& in);  // itself, unless complex
void itself(Infer& in);         // positive: aliases its operand
void frexp(Infer& in);
void scaled_to_float(Infer& in);      // deg2rad, rad2deg: times a number
void normal_distribution(Infer& in);  // special_ndtr
void square(Infer& in);
void polygamma(Infer& in);
void polygamma_into(Infer& in);
void mvlgamma(Infer& in);

// --- two operands
void add(Infer& in);            // with alpha
void sub(Infer& in);            // and no bools
void rsub(Infer& in);           // other - self, in that order of operands
void mul(Infer& in);            // float8 with its like
void div_mode(Infer& in);       // dtype by rounding_mode
void pow_number(Infer& in);     // the exponent is a number
void pow_of_number(Infer& in);  // the base is one
void float_power(Infer& in);
void ldexp(Infer& in);
void heaviside(Infer& in);
void isclose(Infer& in);
void make_complex(Infer& in);  // complex, polar

// --- more
void where(Infer& in);
void clamp(Infer& in);  // numbers as bounds; also clamp_min, clamp_max
void clamp_tensor(Infer& in);
void lerp(Infer& in);  // one dtype for all
void addcmul(Infer& in);
void addcdiv(Infer& in);

}  // namespace lenz::rule
