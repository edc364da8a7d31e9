// How rows are spelled, for the files of families (*_rows.cpp) and scalar_code.cpp alone. A family appends a Spelling
// for each of its rows; a function of Vs becomes a Spell by spell<F>. F may take the Call first.
// Thread-safety: constant data.
#pragma once

#include <string_view>
#include <type_traits>
#include <vector>

#include "compiler/backend/llvm/lane_code.h"
#include "compiler/scalar/double_double.h"
#include "compiler/scalar/scalar.h"

namespace lenz::native {

struct Complex {
  V re, im;
};

// One call of apply().
struct Call {
  LaneCode& code;
  Dtype compute, result;
  V raised;  // set by a spelling: the lanes in which eager raises

  bool is_unsigned() const { return compute == Dtype::u8; }
  void raise(V where) { raised = where; }
};

using Spell = Complex (*)(Call& call, const Complex* operands);  // a real one has no imaginary part

struct Spelling {
  std::string_view name;
  Spell booleans = nullptr, integers = nullptr, reals = nullptr, complexes = nullptr;
  // Of `reals`, by how they are held; a spelling in `reals` serves both.
  Spell only_f32 = nullptr, only_f64 = nullptr;
  Spell fused_f32 = nullptr, fused_f64 = nullptr;  // before those, where a fused multiply-add is an instruction
  Spell only_reduced = nullptr;                    // f16 and bf16, which are held as f32; none: as f32
};
using Spellings = std::vector<Spelling>;

inline Complex to_complex(V x) { return {x, {}}; }
inline Complex to_complex(Complex x) { return x; }

template <class T>
T operand_as(const Complex& x) {
  if constexpr (std::is_same_v<T, V>) {
    return x.re;
  } else {
    return x;
  }
}

template <class T, auto F>
Complex spell_with(Call& call, const Complex* a) {
  using Fn = decltype(F);
  auto at = [&](int i) { return operand_as<T>(a[i]); };
  if constexpr (std::is_invocable_v<Fn, T>) {
    return to_complex(F(at(0)));
  } else if constexpr (std::is_invocable_v<Fn, T, T>) {
    return to_complex(F(at(0), at(1)));
  } else if constexpr (std::is_invocable_v<Fn, T, T, T>) {
    return to_complex(F(at(0), at(1), at(2)));
  } else if constexpr (std::is_invocable_v<Fn, Call&, T>) {
    return to_complex(F(call, at(0)));
  } else if constexpr (std::is_invocable_v<Fn, Call&, T, T>) {
    return to_complex(F(call, at(0), at(1)));
  } else {
    return to_complex(F(call, at(0), at(1), at(2)));
  }
}
template <auto F>
inline constexpr Spell spell = spell_with<V, F>;
template <auto F>
inline constexpr Spell spell_complex = spell_with<Complex, F>;

// The families, each in a file of its own.
void add_arithmetic(Spellings& table);
void add_divisions(Spellings& table);
void add_comparisons(Spellings& table);
void add_bits(Spellings& table);
void add_float_parts(Spellings& table);
void add_conversions(Spellings& table);
void add_elementary(Spellings& table);
void add_fast(Spellings& table);
void add_fast_f64(Spellings& table);
void add_fused(Spellings& table);
void add_fused_logarithms(Spellings& table);
void add_fused_powers(Spellings& table);
void add_fused_angles(Spellings& table);
void add_fused_arcs(Spellings& table);
void add_fused_arc_tangents(Spellings& table);
void add_fused_lengths(Spellings& table);
void add_fused_error_function(Spellings& table);
void add_fused_gamma(Spellings& table);
void add_fused_normal(Spellings& table);
void add_fused_incomplete_gamma(Spellings& table);
void add_special(Spellings& table);
void add_zeta(Spellings& table);
void add_bessel(Spellings& table);
void add_complex(Spellings& table);

// --- shared between families

V value_of_dtype(Call& call, V held, Dtype dtype);  // rounded to a floating dtype, held as before
V held_bits(LaneCode& code, Dtype dtype, V held);   // what stands in memory: an integer of the dtype's width
V held_from_bits(LaneCode& code, Dtype dtype, V bits);
inline constexpr int64_t kUpperHalf = 0xffff0000;
V bf16_words(LaneCode& code, V lower, V upper);  // the bits of the nearest bf16 of both, in each word
std::vector<V> bf16_words_apart(LaneCode& code, V first, V second);  // of each, in the upper half
V bf16_bits(LaneCode& code, V first, V second);                      // of both, where ScalarCode::stores_pairs
V bf16_bits_of_relu(LaneCode& code, V first, V second);              // the same of their relu
V float_remainder(V a, V b);                                         // C's fmod, exact; of finite a and b != 0
V ldexp(V x, V n);                                                   // n a float of whole numbers; one rounding
struct Fraction {
  V mantissa, exponent;  // x = mantissa 2^exponent, 0.5 <= |mantissa| < 1; floats; of a finite x != 0
};
Fraction frexp(V x);
V least_of(V like);  // the least integer
V wide_lgamma(V x);  // in more digits, of any
V wide_digamma(V x);
V wide_trigamma(V x);
V best_trigamma(V x);
DoubleDouble bernoulli_number(int k);  // B_2k, k from 1 to 12
// What f gives, and 0 where that underflows to nothing: underflow takes some processors many times as long as f.
template <class F>
V unless_nothing(V x, V nothing, F f) {
  return select(nothing, 0, f(select(nothing, 0, x)));
}
inline V truth_of(V x) { return x.type == LaneType::i1 ? x : x != 0; }

// --- complex arithmetic

Complex operator+(Complex a, Complex b);
Complex operator-(Complex a, Complex b);
Complex operator*(Complex a, Complex b);

}  // namespace lenz::native
