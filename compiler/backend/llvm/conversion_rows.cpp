// Conversions between dtypes by value and by bits; rounding to whole numbers and decimals; parts of floats.
#include <cmath>
#include <numbers>

#include "compiler/backend/llvm/families.h"
#include "compiler/base/error.h"

namespace lenz::native {

namespace {

// --- floats of 16 and 8 bits, held as f32

struct Narrow {
  int mantissa, least_exponent;  // stored bits; of the smallest normal number
  bool has_infinity;
  int bits;
};
Narrow narrow_of(Dtype dtype) {
  switch (dtype) {
    case Dtype::f16: return {10, -14, true, 16};
    case Dtype::f8e4m3: return {3, -6, false, 8};
    case Dtype::f8e5m2: return {2, -14, true, 8};
    default: internal_error("no narrow float", __FILE__, __LINE__);
  }
}

// The bits of the nearest value, ties to even: rounding is an addition below the last bit that stays; of subnormals,
// the addition of a number whose last place is theirs.
V packed(V x, Narrow format) {
  const V word = bits(x), size = word & 0x7fffffff;
  const int cut = 23 - format.mantissa;
  const int64_t rebias = int64_t{126 + format.least_exponent} << 23;
  const V normal = lshr(size - rebias + ((int64_t{1} << (cut - 1)) - 1) + (lshr(size, cut) & 1), cut);
  const V magic = from(x, std::ldexp(1.0, 23 + format.least_exponent - format.mantissa));
  const V subnormal = bits(as_float(size) + magic) - bits(magic);
  const int64_t top = (int64_t{1} << (format.bits - 1)) - (format.has_infinity ? int64_t{1} << format.mantissa : 1);
  V packed = select(size < (int64_t{127 + format.least_exponent} << 23), subnormal, normal);
  packed = select(packed > top, top, packed);
  // A NaN keeps its upper digits, and is one without any.
  const int64_t digits = (int64_t{1} << format.mantissa) - 1, ones = (int64_t{1} << (format.bits - 1)) - 1;
  const V kept = lshr(size, cut) & digits;
  const V payload = select(kept == 0, (digits + 1) / 2, kept);
  packed = select(is_nan(x), format.has_infinity ? payload | (ones - digits) : from(word, ones), packed);
  const V sign = lshr(word, 31) << (format.bits - 1);
  return convert(packed | sign, integer_of_bits(format.bits));
}
V unpacked(V narrow, Narrow format) {
  const V word = narrow.code->zero_extend(narrow, LaneType::i32);
  const V size = word & ((int64_t{1} << (format.bits - 1)) - 1);
  const int64_t top = (int64_t{1} << (format.bits - 1)) - (format.has_infinity ? int64_t{1} << format.mantissa : 1);
  const V value = as_float(size << (23 - format.mantissa)) * std::ldexp(1.0, 126 + format.least_exponent);
  const V special = format.has_infinity ? (size << (23 - format.mantissa)) | 0x7f800000 : from(size, 0x7fc00000);
  const V sign = lshr(word, format.bits - 1) << 31;
  return as_float(bits(select(size >= top, as_float(special), value)) | sign);
}

V bf16_word(V x) {  // rounded, in the upper half
  const V word = bits(x);
  const V rounded = (word + 0x7fff + (lshr(word, 16) & 1)) & kUpperHalf;
  const V cut = word & kUpperHalf;  // a NaN stays one: with its upper digits, or a digit
  return select(is_nan(x), select((word & 0x7f0000) == 0, cut | 0x400000, cut), rounded);
}

bool rounds_bf16(const LaneCode& code) { return code.target().bf16 && (code.lanes() == 8 || code.lanes() == 16); }
V bf16_bits_by_words(V x) { return convert(lshr(bf16_word(x), 16), LaneType::i16); }
V bf16_bits(LaneCode& code, V x) {
  if (!rounds_bf16(code)) return bf16_bits_by_words(x);
  return code.rarely(code.is_subnormal(x), {code.bf16_bits(x)},
                     [&] { return std::vector<V>{bf16_bits_by_words(x)}; })[0];
}

// --- to_dtype

V integer_as(Call& call, V x, LaneType to) {
  return call.is_unsigned() || x.type == LaneType::i1 ? x.code->zero_extend(x, to) : convert(x, to);
}
Complex as_result(Call& call, V real) {
  V value = convert(real, info(to_real(call.result)).bits == 64 ? LaneType::f64 : LaneType::f32);
  if (is_complex(call.result)) return {value, from(value, 0)};
  return {value_of_dtype(call, value, call.result), {}};
}
Complex convert_integer(Call& call, V x) {
  if (call.result == Dtype::b8) return {truth_of(x), {}};
  if (is_integral(call.result, false)) return {integer_as(call, x, integer_of_bits(info(call.result).bits)), {}};
  const bool wide = to_real(call.result) == Dtype::f64;
  if (x.type == LaneType::i1) return as_result(call, x.code->truth_to_float(x, wide ? LaneType::f64 : LaneType::f32));
  const V whole = bits_of(x.type) < 32 ? integer_as(call, x, LaneType::i32) : x;
  return as_result(call, convert(whole, wide ? LaneType::f64 : LaneType::f32));
}
Complex convert_real(Call& call, V x) {
  if (call.result == Dtype::b8) return {x != 0, {}};
  if (!is_integral(call.result, false)) return as_result(call, x);
  // What no integer of the dtype holds is undefined; narrow ones are cut from 32 bits, as processors do it.
  const LaneType to = integer_of_bits(info(call.result).bits);
  return {convert(convert(x, to == LaneType::i64 ? to : LaneType::i32), to), {}};
}
Complex convert_complex(Call& call, Complex x) {
  if (call.result == Dtype::b8) return {(x.re != 0) | (x.im != 0), {}};
  if (!is_complex(call.result)) return convert_real(call, x.re);
  const LaneType to = call.result == Dtype::c128 ? LaneType::f64 : LaneType::f32;
  return {convert(x.re, to), convert(x.im, to)};
}

// --- bitcast

Complex reinterpret(Call& call, Complex x) {
  const Dtype from_dtype = call.compute, to = call.result;
  if (from_dtype == to) return x;
  LaneCode& code = call.code;
  V word;
  if (from_dtype == Dtype::c64) {
    word = code.zero_extend(bits(x.re), LaneType::i64) | (code.zero_extend(bits(x.im), LaneType::i64) << 32);
  } else {
    word = held_bits(code, from_dtype, x.re);
  }
  if (to == Dtype::c64)
    return {as_float(convert(word, LaneType::i32)), as_float(convert(lshr(word, 32), LaneType::i32))};
  return {held_from_bits(code, to, word), {}};
}

// --- rounding

V frac(V a) { return select(is_infinite(a), from(a, std::nan("")), a - trunc(a)); }

V round_decimals(Call& call, V a, V decimals) {
  std::vector<double> powers;
  const bool wide = call.compute == Dtype::f64;
  for (int i = 0; i <= 310; ++i) powers.push_back(std::pow(10.0, i));
  const V size = select(decimals < 0, -decimals, decimals);
  const V index =
      convert(select(call.code.compare(Compare::unsigned_lt, size, from(size, 310)), size, 310), LaneType::i32);
  const V ten = call.code.look_up(powers, wide ? LaneType::f64 : LaneType::f32, index);
  const V up = round_even(a / ten) * ten, down = round_even(a * ten) / ten;
  return value_of_dtype(call, select(decimals < 0, up, down), call.compute);
}

// --- parts

V next_after(Call& call, V a, V b) {
  const V x = held_bits(call.code, call.compute, a), y = held_bits(call.code, call.compute, b);
  const V from_value = held_from_bits(call.code, call.compute, x), to = held_from_bits(call.code, call.compute, y);
  const V least = (y & least_of(y)) | 1;
  const V away = (from_value < to) == (from_value > 0);
  const V step = x + select(away, from(x, 1), -1);
  const V next = select(from_value == 0, least, step);
  const V result = held_from_bits(call.code, call.compute, next);
  const V neither = is_nan(from_value) | is_nan(to);
  return select(neither, from(result, std::nan("")), select(from_value == to, to, result));
}

V ldexp_row(V a, V n) {
  const V least = select(n < -10000, -10000, n), most = select(least > 10000, 10000, least);
  const V shift = convert(convert(most, LaneType::i32), a.type);
  return ldexp(a, shift);
}
V ordinary(V a) { return is_finite(a) & (a != 0); }
V frexp_mantissa(V a) { return select(ordinary(a), frexp(select(ordinary(a), a, 1)).mantissa, a); }
V frexp_exponent(V a) {
  return select(ordinary(a), convert(frexp(select(ordinary(a), a, 1)).exponent, LaneType::i32), 0);
}
V real_angle(V a) { return select(is_nan(a), a, select(a < 0, std::numbers::pi, from(a, 0))); }

template <auto F>
Spelling rounding(std::string_view name) {
  return {.name = name, .integers = spell<[](V a) { return a; }>, .reals = spell<F>};
}

}  // namespace

Fraction frexp(V x) {
  const bool narrow = x.type == LaneType::f32;
  const V tiny = abs(x) < (narrow ? 0x1p-126 : 0x1p-1022);
  const V word = bits(select(tiny, x * 0x1p60, x));
  const int stored = mantissa_bits(x.type), bias = narrow ? 126 : 1022;
  const int64_t exponent_mask = narrow ? 0xff : 0x7ff;
  const V exponent = (lshr(word, stored) & exponent_mask) - bias;
  const V mantissa = as_float((word & ~(exponent_mask << stored)) | (int64_t{bias} << stored));
  return {mantissa, convert(convert(exponent, LaneType::i32), x.type) - select(tiny, from(x, 60), 0)};
}
V ldexp(V x, V n) {
  const V plain = is_finite(x) & (x != 0);
  const Fraction f = frexp(select(plain, x, 1));
  const double limit = x.type == LaneType::f32 ? 220 : 1500;
  const V sum = f.exponent + n, low = select(sum < -limit, -limit, sum);
  return select(plain, x.code->scale(f.mantissa, select(low > limit, limit, low)), x);
}

// Of what is no NaN, above digits that do not count.
static V bf16_of_number(V x) { return bits(x) + 0x7fff + (lshr(bits(x), 16) & 1); }

// One comparison tells of two numbers whether either is a NaN.
std::vector<V> bf16_words_apart(LaneCode& code, V first, V second) {
  const std::vector<V> numbers{bf16_of_number(first) & kUpperHalf, bf16_of_number(second) & kUpperHalf};
  return code.instead(code.compare(Compare::unordered, first, second), numbers,
                      [&] { return std::vector<V>{bf16_word(first), bf16_word(second)}; });
}
V bf16_words(LaneCode& code, V lower, V upper) {
  const V words = lshr(bf16_of_number(lower), 16) | (bf16_of_number(upper) & kUpperHalf);
  return code.instead(code.compare(Compare::unordered, lower, upper), {words},
                      [&] { return std::vector<V>{lshr(bf16_word(lower), 16) | bf16_word(upper)}; })[0];
}

V bf16_bits(LaneCode& code, V first, V second) {
  const V subnormal[] = {code.is_subnormal(first), code.is_subnormal(second)};
  return code.instead(subnormal, {code.bf16_bits(first, second)}, [&] {
    return std::vector<V>{code.join(bf16_bits_by_words(first), bf16_bits_by_words(second))};
  })[0];
}

// A number without a sign is the greater one of its bits and none, whatever its digits; a NaN with one stays as it is.
V bf16_bits_of_relu(LaneCode& code, V first, V second) {
  const V rare[] = {code.is_subnormal_or_nan(first), code.is_subnormal_or_nan(second)};
  const V rounded = code.bf16_bits(first, second);
  auto exact = [](V x) { return bf16_bits_by_words(select((x > 0) | is_nan(x), x, 0)); };
  return code.instead(rare, {code.at_least_zero(rounded)},
                      [&] { return std::vector<V>{code.join(exact(first), exact(second))}; })[0];
}

V held_bits(LaneCode& code, Dtype dtype, V held) {
  if (dtype == Dtype::b8) return code.zero_extend(held, LaneType::i8);
  if (is_integral(dtype, false)) return held;
  if (dtype == Dtype::f32 || dtype == Dtype::f64) return bits(held);
  if (dtype == Dtype::bf16) return bf16_bits(code, held);
  if (dtype == Dtype::f16 && code.target().f16) return code.f16_bits(held);
  return packed(held, narrow_of(dtype));
}
V held_from_bits(LaneCode& code, Dtype dtype, V word) {
  if (dtype == Dtype::b8) return word != 0;
  if (is_integral(dtype, false)) return word;
  if (dtype == Dtype::f32 || dtype == Dtype::f64) return as_float(word);
  if (dtype == Dtype::bf16) return as_float(code.zero_extend(word, LaneType::i32) << 16);
  if (dtype == Dtype::f16 && code.target().f16) return code.f16_value(word);
  return unpacked(word, narrow_of(dtype));
}
V value_of_dtype(Call& call, V held, Dtype dtype) {
  if (dtype == Dtype::f32 || dtype == Dtype::f64) return held;
  if (dtype == Dtype::bf16 && !rounds_bf16(call.code)) return as_float(bf16_word(held));
  return held_from_bits(call.code, dtype, held_bits(call.code, dtype, held));
}

void add_conversions(Spellings& t) {
  t.push_back({.name = "to_dtype",
               .booleans = spell<convert_integer>,
               .integers = spell<convert_integer>,
               .reals = spell<convert_real>,
               .complexes = spell_complex<convert_complex>});
  t.push_back({"bitcast", spell_complex<reinterpret>, spell_complex<reinterpret>, spell_complex<reinterpret>,
               spell_complex<reinterpret>});
  t.push_back(rounding<[](V a) { return floor(a); }>("floor"));
  t.push_back(rounding<[](V a) { return ceil(a); }>("ceil"));
  t.push_back(rounding<[](V a) { return trunc(a); }>("trunc"));
  t.push_back(rounding<[](V a) { return round_even(a); }>("round"));
  t.push_back({.name = "frac", .reals = spell<frac>});
  t.push_back({.name = "round_decimals", .reals = spell<round_decimals>});
}

void add_float_parts(Spellings& t) {
  t.push_back({.name = "copysign", .reals = spell<[](V a, V b) { return copysign(a, b); }>});
  t.push_back({.name = "nextafter", .reals = spell<next_after>});
  t.push_back({.name = "ldexp", .reals = spell<ldexp_row>});
  t.push_back({.name = "frexp_mantissa", .reals = spell<frexp_mantissa>});
  t.push_back({.name = "frexp_exponent", .reals = spell<frexp_exponent>});
  t.push_back({.name = "angle", .reals = spell<real_angle>});
  constexpr auto itself = [](V a) { return a; };
  t.push_back({"conj_physical", spell<itself>, spell<itself>, spell<itself>,
               spell_complex<[](Complex a) { return Complex{a.re, -a.im}; }>});
  t.push_back({.name = "real", .complexes = spell_complex<[](Complex a) { return a.re; }>});
  t.push_back({.name = "imag", .complexes = spell_complex<[](Complex a) { return a.im; }>});
  t.push_back({.name = "complex", .reals = spell<[](V a, V b) { return Complex{a, b}; }>});
}

}  // namespace lenz::native
