// Arithmetic, minima and maxima, bits.
#include <algorithm>
#include <cmath>

#include "compiler/base/error.h"
#include "compiler/scalar/rounding.h"
#include "compiler/scalar/table.h"
#include "compiler/scalar/wide_complex.h"

namespace lenz::scalar_rows {

namespace {

constexpr EagerException kFmodOverflow[] = {
    {dtypes::floats, "(path == 'vectorized') & (np.abs(a) / np.abs(b) > largest)",
     "the vectorized path gives NaN where the quotient overflows; the scalar path is exact", 0, false}};
constexpr EagerException kTruncUnrounded[] = {
    {dtypes::half | dtypes::bfloat, "path == 'single'",
     "a single element's quotient is truncated before it is rounded to 16 bits"}};
constexpr EagerException kLerpOverflow[] = {
    {dtypes::floats, "np.maximum(np.abs(a), np.abs(b)) * (1 + np.abs(c)) > largest / 4",
     "b - a overflows, and the product of the last step may or may not, as it is fused or not", 0, false}};
constexpr EagerException kFloat8Zero[] = {
    {dtypes::float8, "(a == 0) & np.signbit(a)", "eager leaves the sign of a float8 zero as it is"}};

// Signed overflow wraps: the arithmetic is that of uint64, and evaluate() cuts the result to its dtype.
int64_t wrap_add(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
}
int64_t wrap_sub(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) - static_cast<uint64_t>(b));
}
int64_t wrap_mul(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
}

Complex complex_mul(Complex a, Complex b) {  // the plain formula: no rescue of infinities, as in eager
  return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
}

void require_divisor(int64_t b) {
  if (b == 0) throw UserError("integer division by zero", "", "eager raises here too: mask the divisor");
}

// The quotient of INT64_MIN and -1 wraps, like every other overflow.
int64_t trunc_quotient(int64_t a, int64_t b) { return b == -1 ? wrap_sub(0, a) : a / b; }
int64_t trunc_remainder(int64_t a, int64_t b) { return b == -1 ? 0 : a % b; }

int64_t floor_quotient(int64_t a, int64_t b) {
  int64_t q = trunc_quotient(a, b);
  return trunc_remainder(a, b) != 0 && (a < 0) != (b < 0) ? q - 1 : q;
}
int64_t floor_remainder(int64_t a, int64_t b) {
  int64_t r = trunc_remainder(a, b);
  return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}

DoubleDouble trunc_remainder(DoubleDouble a, DoubleDouble b) {
  if ((a.lo == 0 && b.lo == 0) || !dd::is_finite(a) || !dd::is_finite(b)) return std::fmod(a.hi, b.hi);
  return a - b * dd::trunc(a / b);
}

// Python's: the quotient that goes with floor_remainder. The exact quotient is a whole number once the remainder is
// taken off, so that rounding repairs the last bits of the division.
DoubleDouble floor_quotient(DoubleDouble a, DoubleDouble b) {
  if (b.hi == 0) return a.hi / b.hi;
  DoubleDouble r = trunc_remainder(a, b);
  if (dd::is_nan(r)) return r;
  DoubleDouble q = dd::is_inf(b) ? DoubleDouble(0) : dd::round_half_even((a - r) / b);
  if (r.hi != 0 && (r.hi < 0) != (b.hi < 0)) q = q - DoubleDouble(1);
  return q.hi == 0 ? DoubleDouble(std::copysign(0.0, a.hi / b.hi)) : q;
}

int64_t sign_int(int64_t a) { return a < 0 ? -1 : a > 0 ? 1 : 0; }
double sign(double a) { return a < 0 ? -1 : a > 0 ? 1 : 0; }

// Euclid's. The magnitude of the least integer wraps to that integer, and remainders have their dividend's sign.
int64_t gcd(const EvalContext& c, int64_t a, int64_t b) {
  auto magnitude = [&](int64_t x) { return x < 0 ? wrap_to(c.compute, wrap_sub(0, x)) : x; };
  int64_t x = magnitude(a), y = magnitude(b);
  while (y != 0) x = std::exchange(y, x % y);
  return x;
}

// From the nearer end.
DoubleDouble lerp_dd(DoubleDouble a, DoubleDouble b, DoubleDouble w) {
  return std::fabs(w.hi) < 0.5 ? a + w * (b - a) : b + (w - DoubleDouble(1)) * (b - a);
}
Complex lerp_complex(Complex a, Complex b, Complex w) {
  const WideComplex step = wide(b) - wide(a), x = wide(w);
  return narrow(std::abs(w) < 0.5 ? wide(a) + plain_product(x, step) : wide(b) - plain_product(step, 1.0L - x));
}

// Of complex operands, by their moduli.
double lerp_slope(int of, const double* /*least*/, const double* most) {
  return of == 0 ? 1 + most[2] : of == 1 ? most[2] : most[0] + most[1];
}

Complex complex_sign(Complex a) {
  WideComplex w = wide(a);
  long double r = std::abs(w);
  return r == 0 ? Complex(0, 0) : narrow(w / r);
}

// Narrow integers are computed in 32 bits, the magnitude too, and cut at the end.
int64_t lcm(const EvalContext& c, int64_t a, int64_t b) {
  const Dtype arithmetic = c.compute == Dtype::i64 ? Dtype::i64 : Dtype::i32;
  const int64_t divisor = gcd(c, a, b), g = divisor < 0 ? wrap_sub(0, divisor) : divisor;  // never -1
  if (g == 0) return 0;
  int64_t product = wrap_to(arithmetic, wrap_mul(a / g, b));
  return product < 0 ? wrap_sub(0, product) : product;
}

int64_t shift_left(const EvalContext& c, int64_t a, int64_t b) {
  if (b < 0 || b >= info(c.compute).bits) return 0;
  return static_cast<int64_t>(static_cast<uint64_t>(a) << b);
}
int64_t shift_right(const EvalContext& c, int64_t a, int64_t b) {
  if (b < 0 || b >= info(c.compute).bits) return a < 0 ? -1 : 0;
  return a >> b;
}

// Fused in the compute dtype: the exact product and sum in double-double decide the one rounding.
double fused(const EvalContext& c, double a, double b, double x) {
  if (c.compute == Dtype::f64) return std::fma(a, b, x);
  if (c.compute == Dtype::f32) return std::fma(static_cast<float>(a), static_cast<float>(b), static_cast<float>(x));
  return round_to(c.compute, dd::two_sum(a * b, x));  // products of 11 bits are exact
}

bool is_least(const EvalContext& c, const ScalarValue& v) {
  return info(c.compute).is_signed && v.integer() == -(int64_t{1} << (info(c.compute).bits - 2)) * 2;
}
bool no_least_integer(const EvalContext& c, const ScalarValue* v) { return !is_least(c, v[0]) && !is_least(c, v[1]); }

template <class T>
bool nan_of(T x) {
  if constexpr (std::is_same_v<T, DoubleDouble>) {
    return dd::is_nan(x);
  } else if constexpr (std::is_same_v<T, double>) {
    return std::isnan(x);
  } else {
    return false;
  }
}

constexpr auto kMinimum = [](auto a, auto b) { return nan_of(a) ? a : nan_of(b) ? b : b < a ? b : a; };
constexpr auto kMaximum = [](auto a, auto b) { return nan_of(a) ? a : nan_of(b) ? b : a < b ? b : a; };
constexpr auto kFmin = [](auto a, auto b) { return nan_of(a) ? b : nan_of(b) ? a : b < a ? b : a; };
constexpr auto kFmax = [](auto a, auto b) { return nan_of(a) ? b : nan_of(b) ? a : a < b ? b : a; };

void add_sums(Table& t) {
  using namespace traits;
  const DtypeSet with_bool = dtypes::usual;
  constexpr auto plus = [](auto a, auto b) { return a + b; };
  constexpr auto minus = [](auto a, auto b) { return a - b; };
  constexpr auto times = [](auto a, auto b) { return a * b; };
  constexpr auto over = [](auto a, auto b) { return a / b; };
  t.push_back(row("add", 2, with_bool, {integers<wrap_add>, reals<plus>, dds<plus>, complexes<plus>}, "torch.add(a, b)",
                  "a + b; integers wrap; on bool it is or")
                  .with(commutative | keeps_above_zero | keeps_whole)
                  .passes(ErrorRule::sum)
                  .rising()
                  .rounded());
  t.push_back(row("sub", 2, dtypes::numbers, {integers<wrap_sub>, reals<minus>, dds<minus>, complexes<minus>},
                  "torch.sub(a, b)", "a - b; integers wrap; eager refuses bool")
                  .with(keeps_whole)
                  .passes(ErrorRule::sum)
                  .rising()
                  .rounded());
  t.push_back(row("mul", 2, with_bool, {integers<wrap_mul>, reals<times>, dds<times>, complexes<complex_mul>},
                  "torch.mul(a, b)",
                  "a * b; integers wrap; on bool it is and; complex by the plain formula of four products, so that an "
                  "infinite operand may give NaN")
                  .with(commutative | keeps_above_zero | keeps_whole)
                  .passes(ErrorRule::product)
                  .rounded());
  t.push_back(row("div", 2, kInexact,
                  {.reals = reals<over>,
                   .dds = dds<over>,
                   .complexes = complexes<[](Complex a, Complex b) { return narrow(divide(wide(a), wide(b))); }>},
                  "torch.div(a, b)", "a / b as IEEE divides; integers are promoted before it")
                  .with(keeps_above_zero)
                  .passes(ErrorRule::quotient)
                  .rounded());
  t.push_back(
      row("fma", 3, dtypes::floats,
          {.reals = reals<fused>, .dds = dds<[](DoubleDouble a, DoubleDouble b, DoubleDouble c) { return a * b + c; }>},
          "", "a * b + c with one rounding, to the compute dtype; not an op of eager: what contraction makes")
          .with(keeps_above_zero)
          .passes(ErrorRule::product)
          .rounded());
  t.push_back(row("neg", 1, dtypes::numbers,
                  {integers<[](int64_t a) { return wrap_sub(0, a); }>, reals<[](double a) { return -a; }>,
                   dds<[](DoubleDouble a) { return -a; }>, complexes<[](Complex a) { return -a; }>},
                  "torch.neg(a)", "-a; integers wrap, so that the least one is its own negative; eager refuses bool")
                  .with(involution | odd | rounds_late | keeps_whole)
                  .passes(ErrorRule::sum)
                  .falling());
  t.push_back(
      row("abs", 1, dtypes::numbers | dtypes::float8,
          {integers<[](int64_t a) { return a < 0 ? wrap_sub(0, a) : a; }>, reals<[](double a) { return std::fabs(a); }>,
           dds<dd::abs>, complexes<[](Complex a) { return static_cast<double>(std::abs(wide(a))); }>},
          "torch.abs(a)", "|a|; the least integer is its own; of a complex number: its modulus, a real")
          .giving(ResultRule::real_of)
          .with(even | idempotent | never_negative | rounds_late | keeps_whole)
          .passes(ErrorRule::largest)
          .within(1)
          .exact_of_reals()
          .except(kFloat8Zero));
  t.push_back(row("sign", 1, dtypes::real_and_bool,
                  {.integers = integers<sign_int>,
                   .reals = reals<sign>,
                   .dds = dds<[](DoubleDouble a) { return DoubleDouble(sign(a.hi)); }>},
                  "torch.sign(a)", "-1, 0 or 1; 0 for both zeros and for NaN")
                  .with(odd | idempotent | loose_zero | gives_whole)
                  .passes(ErrorRule::corners, Jump::at_zero)
                  .on_nan(NanRule::selects)
                  .rising());
  t.push_back(row("sgn", 1, dtypes::usual,
                  {.integers = integers<sign_int>,
                   .reals = reals<sign>,
                   .dds = dds<[](DoubleDouble a) { return DoubleDouble(sign(a.hi)); }>,
                   .complexes = complexes<complex_sign>},
                  "torch.sgn(a)", "a / |a| of a complex number, and 0 for 0; sign of the others")
                  .with(odd | loose_zero)
                  .passes(ErrorRule::corners, Jump::at_zero)
                  .complex_slope([](Complex z, double r) { return 2 / distance(z, r, 0); })
                  .within(0)
                  .exact_of_reals()
                  .on_nan(NanRule::selects));
  t.push_back(row("reciprocal", 1, kInexact,
                  {.reals = reals<[](double a) { return 1 / a; }>,
                   .dds = dds<[](DoubleDouble a) { return DoubleDouble(1) / a; }>,
                   .complexes = complexes<[](Complex a) { return narrow(divide(1, wide(a))); }>},
                  "torch.reciprocal(a)", "1 / a; integers are promoted before it")
                  .with(odd | keeps_above_zero)
                  .passes(ErrorRule::quotient)
                  .rounded()
                  .over(domains::nonzero));
  t.push_back(row("square", 1, dtypes::numbers,
                  {integers<[](int64_t a) { return wrap_mul(a, a); }>, reals<[](double a) { return a * a; }>,
                   dds<[](DoubleDouble a) { return a * a; }>, complexes<[](Complex a) { return complex_mul(a, a); }>},
                  "torch.square(a)", "a * a")
                  .with(even | never_negative | keeps_whole)
                  .passes(ErrorRule::product)
                  .rounded());
  t.push_back(row("lerp", 3, kInexact,
                  {.reals = reals_by_dd<lerp_dd>, .dds = dds<lerp_dd>, .complexes = complexes<lerp_complex>},
                  "torch.lerp(a, b, c)",
                  "between a and b by the weight c: a + c (b - a) if |c| < 1/2, else b + (c - 1) (b - a), so that c = "
                  "1 gives b")
                  .with(loose_zero)
                  .except(kLerpOverflow)
                  .within(4)
                  .of_operands()
                  .slope(lerp_slope)
                  .passes(ErrorRule::corners)  // of real numbers
                  .over(domains::moderate, domains::moderate, domains::unit));
}

void add_divisions(Table& t) {
  constexpr auto floor_div_int = [](int64_t a, int64_t b) { return require_divisor(b), floor_quotient(a, b); };
  constexpr auto floor_div_dd = [](DoubleDouble a, DoubleDouble b) { return floor_quotient(a, b); };
  t.push_back(row("floor_divide", 2, dtypes::real,
                  {.integers = integers<floor_div_int>, .reals = reals_by_dd<floor_div_dd>, .dds = dds<floor_div_dd>},
                  "torch.div(a, b, rounding_mode='floor')",
                  "floor(a / b) as Python's //: of the exact quotient, consistent with remainder; a / 0 as div; an "
                  "infinite a gives NaN; integers: division by zero raises, the least integer by -1 wraps")
                  .with(traits::gives_whole)
                  .passes(ErrorRule::whole_quotient, Jump::at_whole_quotients)
                  .rounded()
                  .eager_within(4)
                  .eager_narrow_within(4));
  constexpr auto trunc_div = [](const EvalContext& c, DoubleDouble a, DoubleDouble b) {
    return DoubleDouble(std::trunc(round_to(c.compute, a / b)));
  };
  t.push_back(row("trunc_div", 2, dtypes::real,
                  {.integers = integers<[](int64_t a, int64_t b) { return require_divisor(b), trunc_quotient(a, b); }>,
                   .reals = reals_by_dd<trunc_div>,
                   .dds = dds<trunc_div>},
                  "torch.div(a, b, rounding_mode='trunc')",
                  "trunc of the quotient *after* its rounding to the dtype; integers as in C, division by zero raises, "
                  "the least integer by -1 wraps here, but kills an eager process in i32 and i64")
                  .with(traits::gives_whole)
                  .passes(ErrorRule::whole_quotient, Jump::at_whole_quotients)
                  .except(kTruncUnrounded)
                  .defined_where([](const EvalContext& c, const ScalarValue* v) {
                    return (c.compute != Dtype::i32 && c.compute != Dtype::i64) || !is_least(c, v[0]) ||
                           v[1].integer() != -1;
                  }));
  constexpr auto rem_dd = [](DoubleDouble a, DoubleDouble b) {
    DoubleDouble r = trunc_remainder(a, b);
    return r.hi != 0 && (r.hi < 0) != (b.hi < 0) ? r + b : r;
  };
  t.push_back(
      row("remainder", 2, dtypes::real,
          {.integers = integers<[](int64_t a, int64_t b) { return require_divisor(b), floor_remainder(a, b); }>,
           .reals = reals_by_dd<rem_dd>,
           .dds = dds<rem_dd>},
          "torch.remainder(a, b)",
          "Python's %: has the divisor's sign; NaN for b = 0 or infinite a; fmod, then + b if the signs differ, "
          "so that a small negative a may round to b itself; integers: division by zero raises")
          .passes(ErrorRule::remainder, Jump::at_whole_quotients)
          .rounded()
          .except(kFmodOverflow));
  t.push_back(row("fmod", 2, dtypes::real,
                  {.integers = integers<[](int64_t a, int64_t b) { return require_divisor(b), trunc_remainder(a, b); }>,
                   .reals = reals<[](double a, double b) { return std::fmod(a, b); }>,
                   .dds = dds<[](DoubleDouble a, DoubleDouble b) { return trunc_remainder(a, b); }>},
                  "torch.fmod(a, b)", "C's %: exact, has the dividend's sign; integers: division by zero raises")
                  .passes(ErrorRule::remainder, Jump::at_whole_quotients)
                  .except(kFmodOverflow));
  t.push_back(row("gcd", 2, dtypes::integers, {.integers = integers<gcd>}, "torch.gcd(a, b)",
                  "the greatest common divisor of |a| and |b|; 0 for two zeros; of the least integer, whose magnitude "
                  "wraps to itself, by remainders with their dividend's sign")
                  .with(traits::commutative));
  t.push_back(row("lcm", 2, dtypes::integers, {.integers = integers<lcm>}, "torch.lcm(a, b)",
                  "|a / gcd(a, b) * b|, wrapped; 0 if either is 0; defined unless the least integer takes part (it "
                  "can kill an eager process)")
                  .with(traits::commutative)
                  .defined_where(no_least_integer));
}

void add_minmax(Table& t) {
  using namespace traits;
  const DtypeSet ordered = dtypes::real_and_bool;
  struct Spec {
    std::string_view name, call, semantics;
    Evaluators eval;
    NanRule nan;
  };
  const Spec specs[] = {
      {"minimum", "torch.minimum(a, b)", "the lesser; NaN if either is NaN; either zero of two", all_real<kMinimum>,
       NanRule::propagates},
      {"maximum", "torch.maximum(a, b)", "the greater; NaN if either is NaN; either zero of two", all_real<kMaximum>,
       NanRule::propagates},
      {"fmin", "torch.fmin(a, b)", "the lesser; the other one if one is NaN; either zero of two", all_real<kFmin>,
       NanRule::ignores},
      {"fmax", "torch.fmax(a, b)", "the greater; the other one if one is NaN; either zero of two", all_real<kFmax>,
       NanRule::ignores},
  };
  for (const Spec& s : specs)
    t.push_back(
        row(s.name, 2, ordered, s.eval, s.call, s.semantics)
            .with(commutative | associative | idempotent | loose_zero | keeps_above_zero | rounds_late | keeps_whole)
            .passes(ErrorRule::largest)
            .on_nan(s.nan)
            .rising());
  t.push_back(row("relu", 1, dtypes::real,
                  {.integers = integers<[](int64_t a) { return std::max<int64_t>(a, 0); }>,
                   .reals = reals<[](double a) { return a <= 0 ? 0 : a; }>,
                   .dds = dds<[](DoubleDouble a) { return a.hi <= 0 ? DoubleDouble(0) : a; }>},
                  "torch.relu(a)", "max(a, 0); NaN stays")
                  .with(idempotent | loose_zero | never_negative | rounds_late | keeps_whole)
                  .passes(ErrorRule::largest)
                  .rising());
  constexpr auto clamp = [](auto a, auto low, auto high) { return kMinimum(kMaximum(a, low), high); };
  t.push_back(row("clamp", 3, dtypes::real, all_real<clamp>, "torch.clamp(a, b, c)",
                  "min(max(a, b), c): c if b > c; NaN if any is NaN")
                  .with(loose_zero | keeps_above_zero | rounds_late | keeps_whole)
                  .passes(ErrorRule::largest)
                  .rising());
}

void add_bits(Table& t) {
  using namespace traits;
  const DtypeSet bits = dtypes::integers | dtypes::boolean;
  t.push_back(row("bitwise_and", 2, bits, {.integers = integers<[](int64_t a, int64_t b) { return a & b; }>},
                  "torch.bitwise_and(a, b)", "a & b")
                  .with(commutative | associative | idempotent));
  t.push_back(row("bitwise_or", 2, bits, {.integers = integers<[](int64_t a, int64_t b) { return a | b; }>},
                  "torch.bitwise_or(a, b)", "a | b")
                  .with(commutative | associative | idempotent));
  t.push_back(row("bitwise_xor", 2, bits, {.integers = integers<[](int64_t a, int64_t b) { return a ^ b; }>},
                  "torch.bitwise_xor(a, b)", "a ^ b")
                  .with(commutative | associative));
  t.push_back(
      row("bitwise_not", 1, bits,
          {.integers =
               integers<[](const EvalContext& c, int64_t a) { return c.compute == Dtype::b8 ? int64_t{a == 0} : ~a; }>},
          "torch.bitwise_not(a)", "~a; on bool it is not")
          .with(involution));
  t.push_back(row("bitwise_left_shift", 2, dtypes::integers, {.integers = integers<shift_left>},
                  "torch.bitwise_left_shift(a, b)", "a << b, wrapped; 0 if b is negative or not below the width"));
  t.push_back(row("bitwise_right_shift", 2, dtypes::integers, {.integers = integers<shift_right>},
                  "torch.bitwise_right_shift(a, b)",
                  "a >> b with the sign filled in; all sign if b is negative or not below the width"));
}

}  // namespace

void add_arithmetic(Table& table) {
  add_sums(table);
  add_divisions(table);
  add_minmax(table);
  add_bits(table);
}

}  // namespace lenz::scalar_rows
