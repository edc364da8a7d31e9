// Comparisons, logic, classes of values, selection, bits.
#include <cmath>
#include <limits>
#include <optional>

#include "compiler/backend/llvm/families.h"

namespace lenz::native {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

V truth(V a) { return truth_of(a); }
V truth(Complex a) { return truth_of(a.re) | truth_of(a.im); }

V less(Call& call, V a, V b) { return call.is_unsigned() ? a.code->compare(Compare::unsigned_lt, a, b) : a < b; }

constexpr auto kEqual = [](V a, V b) { return a == b; };
constexpr auto kUnequal = [](V a, V b) { return a != b; };
constexpr auto kLess = [](Call& call, V a, V b) { return less(call, a, b); };
constexpr auto kGreater = [](Call& call, V a, V b) { return less(call, b, a); };
constexpr auto kAtMost = [](Call& call, V a, V b) { return is_float(a.type) ? a <= b : !less(call, b, a); };
constexpr auto kAtLeast = [](Call& call, V a, V b) { return is_float(a.type) ? a >= b : !less(call, a, b); };

template <auto F>
Spelling everywhere(std::string_view name) {
  return {.name = name, .booleans = spell<F>, .integers = spell<F>, .reals = spell<F>};
}

constexpr auto kNever = [](V a) { return a.code->truth(false); };
constexpr auto kAlways = [](V a) { return a.code->truth(true); };
constexpr auto kNegative = [](Call& call, V a) { return call.is_unsigned() ? a.code->truth(false) : a < 0; };

template <auto OfReals, auto OfIntegers>
Spelling of_class(std::string_view name) {
  return {.name = name, .booleans = spell<kNever>, .integers = spell<OfIntegers>, .reals = spell<OfReals>};
}

V where(V c, V a, V b) {
  const V condition = truth_of(c);
  const std::optional<double> instead = is_float(a.type) ? a.code->known(a) : std::nullopt;
  if (instead == 0 && !std::signbit(*instead) && a.code->asks_for_nan(condition, b)) return a.code->zero_for_nan(b);
  return select(condition, a, b);
}

V shift_left(Call& call, V a, V b) {
  const V bits = from(b, bits_of(a.type));
  const V fits = call.code.compare(Compare::unsigned_lt, b, bits);
  return select(fits, a << select(fits, b, 0), 0);
}
V shift_right(Call& call, V a, V b) {
  const V bits = from(b, bits_of(a.type));
  const V fits = call.code.compare(Compare::unsigned_lt, b, bits), by = select(fits, b, 0);
  if (call.is_unsigned()) return select(fits, lshr(a, by), 0);
  return select(fits, a >> by, a >> (bits_of(a.type) - 1));
}

}  // namespace

void add_comparisons(Spellings& t) {
  t.push_back(everywhere<kEqual>("eq"));
  t.push_back(everywhere<kUnequal>("ne"));
  t.push_back(everywhere<kLess>("lt"));
  t.push_back(everywhere<kAtMost>("le"));
  t.push_back(everywhere<kGreater>("gt"));
  t.push_back(everywhere<kAtLeast>("ge"));
  t[t.size() - 6].complexes = spell_complex<[](Complex a, Complex b) { return (a.re == b.re) & (a.im == b.im); }>;
  t[t.size() - 5].complexes = spell_complex<[](Complex a, Complex b) { return (a.re != b.re) | (a.im != b.im); }>;
  constexpr auto both = [](auto a, auto b) { return truth(a) & truth(b); };
  constexpr auto either = [](auto a, auto b) { return truth(a) | truth(b); };
  constexpr auto one = [](auto a, auto b) { return truth(a) ^ truth(b); };
  constexpr auto none = [](auto a) { return !truth(a); };
  t.push_back({"logical_and", spell<both>, spell<both>, spell<both>, spell_complex<both>});
  t.push_back({"logical_or", spell<either>, spell<either>, spell<either>, spell_complex<either>});
  t.push_back({"logical_xor", spell<one>, spell<one>, spell<one>, spell_complex<one>});
  t.push_back({"logical_not", spell<none>, spell<none>, spell<none>, spell_complex<none>});

  t.push_back(of_class<[](V a) { return is_nan(a); }, kNever>("isnan"));
  t.back().complexes = spell_complex<[](Complex a) { return is_nan(a.re) | is_nan(a.im); }>;
  t.push_back(of_class<[](V a) { return is_infinite(a); }, kNever>("isinf"));
  t.back().complexes = spell_complex<[](Complex a) { return is_infinite(a.re) | is_infinite(a.im); }>;
  t.push_back(of_class<[](V a) { return is_finite(a); }, kAlways>("isfinite"));
  t.back().booleans = spell<kAlways>;
  t.back().complexes = spell_complex<[](Complex a) { return is_finite(a.re) & is_finite(a.im); }>;
  t.push_back(of_class<[](V a) { return a == kInfinity; }, kNever>("isposinf"));
  t.push_back(of_class<[](V a) { return a == -kInfinity; }, kNever>("isneginf"));
  t.push_back(of_class<[](V a) { return sign_bit(a); }, kNegative>("signbit"));

  t.push_back(everywhere<where>("where"));
  t.back().complexes = spell_complex<[](Complex c, Complex a, Complex b) {
    return Complex{select(c.re, a.re, b.re), select(c.re, a.im, b.im)};
  }>;
}

void add_bits(Spellings& t) {
  constexpr auto both = [](V a, V b) { return a & b; };
  constexpr auto either = [](V a, V b) { return a | b; };
  constexpr auto one = [](V a, V b) { return a ^ b; };
  constexpr auto none = [](V a) { return ~a; };
  t.push_back({.name = "bitwise_and", .booleans = spell<both>, .integers = spell<both>});
  t.push_back({.name = "bitwise_or", .booleans = spell<either>, .integers = spell<either>});
  t.push_back({.name = "bitwise_xor", .booleans = spell<one>, .integers = spell<one>});
  t.push_back({.name = "bitwise_not", .booleans = spell<none>, .integers = spell<none>});
  t.push_back({.name = "bitwise_left_shift", .integers = spell<shift_left>});
  t.push_back({.name = "bitwise_right_shift", .integers = spell<shift_right>});
}

}  // namespace lenz::native
