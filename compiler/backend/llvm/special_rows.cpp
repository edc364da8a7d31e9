// Error functions and the gamma family.
#include <cmath>
#include <limits>

#include "compiler/backend/llvm/families.h"
#include "compiler/backend/llvm/pieces.h"
#include "compiler/backend/llvm/wide.h"
#include "compiler/scalar/special_functions.h"

namespace lenz::native {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
const double kNan = std::numeric_limits<double>::quiet_NaN();

Wide one(Wide like) { return constant(like, 1); }
V finite_or(V x, double other) { return select(is_finite(x), x, other); }

// --- error functions. e^(x^2) erfc(x) is smooth and falls slowly: it carries all of them.

// Of x >= 0.
Wide erfcx_of(Wide x) {
  static const Pieces kNear(dd::erfcx, 0, 28, 112, 12, 7);
  const V far = x.hi > 28;
  const Wide near = evaluate(kNear, select(far, one(x), x));
  // 1 / (x sqrt(pi)) (1 - 1/2 x^-2 + 1 3/4 x^-4 - ...)
  const auto terms = series(x.is_double(), 5, 8, [](int i) {
    DoubleDouble term = 1;
    for (int k = 1; k <= i; ++k) term = term * DoubleDouble(-(2 * k - 1)) / DoubleDouble(2);
    return term;
  });
  const Wide size = select(far, x, constant(x, 28)), inverse = one(x) / size;
  const Wide tail = inverse * polynomial(inverse * inverse, terms, 2) / constant(x, dd::kSqrtPi);
  return select(far, tail, near);
}
// e^(-x^2) as a number near one and a power of two.
Exponential falling(Wide x) { return exponential(-(x * x)); }

struct Erfc {
  Wide value;  // to be scaled by 2^n
  V n;
};
Erfc erfc_of_positive(Wide x) {
  const Wide size = select(x.hi > 40, constant(x, 40), x);
  const Exponential e = falling(size);
  return {erfcx_of(size) * (e.minus_one + 1.0), e.n};
}
// Not below 2^-1000: for sums with what is not small.
Wide plain_erfc(Wide x) {
  const Erfc e = erfc_of_positive(x);
  LaneCode& code = *x.hi.code;
  const V n = select(e.n < -900, -900, e.n);
  return {code.scale(e.value.hi, n), x.is_double() ? V{} : code.scale(e.value.lo, n)};
}
V scaled_erfc(Wide x, LaneType type, double shift) {
  const Erfc e = erfc_of_positive(x);
  return convert(ldexp(narrow(e.value, LaneType::f64), e.n + shift), type);
}

V erf(V x) {
  const Wide w = widen(abs(finite_or(x, 1))), square = w * w;
  const auto terms = series(w.is_double(), 12, 19, [](int i) {
    DoubleDouble term = 2;
    for (int k = 1; k <= i; ++k) term = term / DoubleDouble(-k);
    return term / DoubleDouble(2 * i + 1) / dd::kSqrtPi;
  });
  const V inside = w.hi < 0.75;
  const Wide near = w * polynomial(select(inside, square, one(w)), terms, 4), far = one(w) - plain_erfc(w);
  const V value = narrow(select(inside, near, far), x.type);
  // So small an operand that its square is none: the product in two parts would lose its own digits.
  const V tiny = abs(x) < 0x1p-500, simple = x * 1.1283791670955126;
  return select(is_nan(x), x,
                select(is_infinite(x), copysign(from(x, 1), x), select(tiny, simple, copysign(value, x))));
}
V erfc(V x) {
  const Wide w = widen(abs(finite_or(x, 1)));
  const V below = narrow(constant(w, 2) - plain_erfc(w), x.type), above = scaled_erfc(w, x.type, 0);
  const V limit = select(x < 0, from(x, 2), 0);
  return select(is_nan(x), x, select(is_infinite(x), limit, select(x < 0, below, above)));
}
V erfcx(V x) {
  const V size = abs(finite_or(x, 1));
  const Wide w = widen(size), above = erfcx_of(w);
  const Wide near = select(w.hi > 30, one(w), w);
  const Exponential e = exponential(near * near);
  LaneCode& code = *x.code;
  const V n = select(e.n > 1000, 1000, e.n);
  const Wide power = e.minus_one + 1.0;
  const Wide grown{code.scale(power.hi, n), w.is_double() ? V{} : code.scale(power.lo, n)};
  // Beyond 2^1000 nothing is left of the other term.
  const V large = convert(code.scale(narrow(power, LaneType::f64), e.n + 1.0), x.type);
  const V below =
      select((e.n > 1000) | (w.hi > 30), select(w.hi > 30, kInfinity, large), narrow(grown * 2.0 - above, x.type));
  const V limit = select(x < 0, kInfinity, from(x, 0));
  return select(is_nan(x), x, select(is_infinite(x), limit, select(x < 0, below, narrow(above, x.type))));
}

// By the square root of -log(1 - y^2), of which the quotient by y is a smooth function.
Wide erfinv_of(Wide y, Wide complement) {
  static const Pieces kRatio(
      [](DoubleDouble s) {
        const DoubleDouble y = dd::sqrt(-dd::expm1(-(s * s)));
        return dd::erfinv(y) / y;
      },
      0, 6.5, 52, 12, 7);
  const Wide inside = -log(complement), s = sqrt(select(inside.hi > 0, inside, constant(y, 0)));
  return y * evaluate(kRatio, s);
}
V erfinv(V y) {
  const V plain = abs(y) < 1;
  const Wide w = widen(abs(select(plain, y, 0.5)));
  const Wide rest = (one(w) - w) * (one(w) + w);
  const V value = narrow(erfinv_of(w, rest), y.type);
  const V tiny = abs(y) < 0x1p-30;
  const V near_zero = y * 0.886226925452758;  // and 1/12 pi y^2 of it, which is nothing here
  const V special = select(abs(y) == 1, copysign(from(y, kInfinity), y), select(is_nan(y), y, kNan));
  return select(plain, select(tiny, near_zero, copysign(value, y)), special);
}

Wide over_root_two(V x) {
  const Wide w = widen(x);
  return w * constant(w, DoubleDouble(1) / dd::kSqrt2);
}
V ndtr(V x) {
  const Wide w = over_root_two(abs(finite_or(x, 1)));
  const V below = scaled_erfc(w, x.type, -1), above = narrow(one(w) - plain_erfc(w) * 0.5, x.type);
  const V limit = select(x < 0, from(x, 0), 1);
  return select(is_nan(x), x, select(is_infinite(x), limit, select(x < 0, below, above)));
}
V log_ndtr(V x) {
  const V plain = is_finite(x) & (abs(x) < 0x1p500);
  const Wide w = over_root_two(abs(select(plain, x, 1)));
  const Wide half = constant(w, 0.5);
  const Wide below = log(erfcx_of(w) * half) - w * w;
  const Wide above = log1p(-(plain_erfc(w) * 0.5));
  // Far out the logarithm is that tail itself, which may be subnormal.
  const V far = x > 8, tail = -scaled_erfc(w, x.type, -1);
  const V value = select(far, tail, narrow(select(x < 0, below, above), x.type));
  const V huge = select(x < 0, -x * (x * 0.5), from(x, 0));
  return select(is_nan(x), x, select(plain, value, select(x < 0, huge, from(x, -0.0))));
}

// --- the gamma family: raised by the recurrence to where Stirling's series serves

constexpr double kBernoulli[][2] = {{1, 6},       {-1, 30},       {1, 42},       {-1, 30},
                                    {5, 66},      {-691, 2730},   {7, 6},        {-3617, 510},
                                    {43867, 798}, {-174611, 330}, {854513, 138}, {-236364091, 2730}};
DoubleDouble bernoulli(int i) { return DoubleDouble(kBernoulli[i][0]) / DoubleDouble(kBernoulli[i][1]); }

// sin(pi x) over the sign, by what x is beyond a whole number; exact.
struct HalfTurns {
  Wide sin, cos;
  V whole;  // x is a whole number
};
HalfTurns half_turns(V x) {
  const V value = convert(x, LaneType::f64), quarter = round_even(value * 2.0), rest = value - quarter * 0.5;
  const Wide like = widen(x), angle = wide_of(like, rest) * constant(like, dd::kPi);
  const V small = quarter - round_even(quarter * 0.25) * 4.0;
  const SinCos at = sin_cos(like, {bits(small + 0x1.8p52), {angle.hi, angle.is_double() ? angle.hi : angle.lo}});
  return {at.sin, at.cos, trunc(value) == value};
}

// x plus the whole number that brings it to where the series serves; step(at, low) sees every number passed.
template <class Step>
Wide raise(Wide x, Step step) {
  const double least = x.is_double() ? 9 : 17;
  for (int i = 0; i < static_cast<int>(least); ++i) {
    const V low = x.hi < least;
    step(x, low);
    x = select(low, x + 1.0, x);
  }
  return x;
}

Wide lgamma_of_positive(Wide x) {
  Wide product = one(x);
  const Wide y = raise(x, [&](Wide at, V low) { product = select(low, product * at, product); });
  const auto terms =
      series(x.is_double(), 7, 12, [](int i) { return bernoulli(i) / DoubleDouble((2 * i + 1) * (2 * i + 2)); });
  const Wide inverse = one(x) / y;
  const Wide tail = inverse * polynomial(inverse * inverse, terms, 3);
  return (y - constant(x, 0.5)) * (log(y) - 1.0) + constant(x, dd::kHalfLog2Pi - DoubleDouble(0.5)) + tail -
         log(product);
}
V lgamma(V x) {
  const double huge_limit = x.type == LaneType::f32 ? 0x1p120 : 0x1p900;
  const V plain = is_finite(x) & (abs(x) < huge_limit) & (abs(x) > 0x1p-100);
  const V size = abs(select(plain, x, 1.5));
  const Wide above = lgamma_of_positive(widen(size));
  const HalfTurns at = half_turns(size);
  const Wide sine = abs(at.sin);
  const Wide reflected = log(constant(above, dd::kPi) / (select(at.whole, one(above), sine) * widen(size))) - above;
  V value = narrow(select(x < 0, reflected, above), x.type);
  value = select((x < 0) & at.whole, kInfinity, select((x == 1) | (x == 2), 0, value));
  // Beyond: x (log x - 1), or -log |x|.
  const Wide far = widen(abs(select(is_finite(x) & (x != 0) & !plain, x, 2)));
  const V large = narrow(log(far) - 1.0, x.type) * abs(x), small = -narrow(log(far), x.type);
  const V other = select(abs(x) > 1, select(x < 0, kInfinity, large), select(x == 0, kInfinity, small));
  return select(is_nan(x), x, select(is_infinite(x), kInfinity, select(plain, value, other)));
}

// --- the inverse of the normal distribution, by Wichura's rational functions (AS 241): around one half of the square
// of what is left to it, in the tails of the root of the tail's logarithm. They are good to a double's last place or
// two.

struct Rational {
  DoubleDouble above[8], below[8];
};
Wide evaluate(const Rational& f, Wide x) {
  constexpr int kExact = 4;
  return polynomial(x, f.above, kExact) / polynomial(x, f.below, kExact);
}
constexpr Rational kMiddle = {
    {3.3871328727963666080e0, 1.3314166789178437745e2, 1.9715909503065514427e3, 1.3731693765509461125e4,
     4.5921953931549871457e4, 6.7265770927008700853e4, 3.3430575583588128105e4, 2.5090809287301226727e3},
    {1, 4.2313330701600911252e1, 6.8718700749205790830e2, 5.3941960214247511077e3, 2.1213794301586595867e4,
     3.9307895800092710610e4, 2.8729085735721942674e4, 5.2264952788528545610e3}};
constexpr Rational kTail = {
    {1.42343711074968357734e0, 4.63033784615654529590e0, 5.76949722146069140550e0, 3.64784832476320460504e0,
     1.27045825245236838258e0, 2.41780725177450611770e-1, 2.27238449892691845833e-2, 7.74545014278341407640e-4},
    {1, 2.05319162663775882187e0, 1.67638483018380384940e0, 6.89767334985100004550e-1, 1.48103976427480074590e-1,
     1.51986665636164571966e-2, 5.47593808499534494600e-4, 1.05075007164441684324e-9}};
constexpr Rational kFarTail = {
    {6.65790464350110377720e0, 5.46378491116411436990e0, 1.78482653991729133580e0, 2.96560571828504891230e-1,
     2.65321895265761230930e-2, 1.24266094738807843860e-3, 2.71155556874348757815e-5, 2.01033439929228813265e-7},
    {1, 5.99832206555887937690e-1, 1.36929880922735805310e-1, 1.48753612908506148525e-2, 7.86869131145613259100e-4,
     1.84631831751005468180e-5, 1.42151175831644588870e-7, 2.04426310338993978564e-15}};

V ndtri(V p) {
  const V plain = (p > 0) & (p < 1);
  const Wide x = widen(select(plain, p, 0.5)), q = x - 0.5;
  const V below = q.hi < 0;
  const Wide middle = q * evaluate(kMiddle, constant(x, 0.180625) - q * q);
  const Wide depth = sqrt(-log(select(below, x, one(x) - x)));
  const Wide tail = select(depth.hi <= 5, evaluate(kTail, depth - 1.6), evaluate(kFarTail, depth - 5.0));
  const V value = narrow(select(abs(q.hi) <= 0.425, middle, select(below, -tail, tail)), p.type);
  return select(plain, value, select(p == 0, -kInfinity, select(p == 1, from(p, kInfinity), kNan)));
}

Wide digamma_of_positive(Wide x) {
  Wide p = constant(x, 0), q = one(x);
  const Wide y = raise(x, [&](Wide at, V low) {
    p = select(low, p * at + q, p);
    q = select(low, q * at, q);
  });
  const auto terms = series(x.is_double(), 7, 12, [](int i) { return -bernoulli(i) / DoubleDouble(2 * i + 2); });
  const Wide inverse = one(x) / y, square = inverse * inverse;
  return log(y) - inverse * 0.5 + square * polynomial(square, terms, 3) - p / q;
}
V digamma(V x) {
  const V near = abs(x) < 0x1p-100, plain = is_finite(x) & !near & (abs(x) < 0x1p500);
  const V size = abs(select(plain, x, 1.5));
  const HalfTurns at = half_turns(size);
  const Wide w = widen(size), above = digamma_of_positive(w);
  // psi(-s) = psi(s) + 1 / s + pi / tan(pi s)
  const Wide sine = select(at.whole, one(w), at.sin);
  const Wide reflected = above + one(w) / w + constant(w, dd::kPi) * at.cos / sine;
  V value = narrow(select(x < 0, reflected, above), x.type);
  value = select((x < 0) & at.whole, kNan, value);
  const V large = narrow(log(widen(select(is_finite(x) & (x > 2), x, 2))), x.type);
  const V other = select(near, from(x, -1) / x, select(x < 0, kNan, select(is_infinite(x), x, large)));
  return select(is_nan(x), x, select(plain, value, other));
}

Wide trigamma_of_positive(Wide x) {
  Wide p = constant(x, 0), q = one(x);
  const Wide y = raise(x, [&](Wide at, V low) {
    const Wide square = at * at;
    p = select(low, p * square + q, p);
    q = select(low, q * square, q);
  });
  const auto terms = series(x.is_double(), 8, 12, [](int i) { return bernoulli(i); });
  const Wide inverse = one(x) / y, square = inverse * inverse;
  return inverse + square * 0.5 + inverse * square * polynomial(square, terms, 3) + p / q;
}
V trigamma(V x) {
  const V near = abs(x) < 0x1p-100, plain = is_finite(x) & !near & (abs(x) < 0x1p300);
  const V size = abs(select(plain, x, 1.5));
  const HalfTurns at = half_turns(size);
  const Wide w = widen(size), above = trigamma_of_positive(w);
  // psi'(-s) = -psi'(s) + 1 / s^2 + pi^2 / sin^2(pi s)
  const Wide ratio = constant(w, dd::kPi) / select(at.whole, one(w), at.sin), inverse = one(w) / w;
  const Wide reflected = ratio * ratio + inverse * inverse - above;
  V value = narrow(select(x < 0, reflected, above), x.type);
  value = select((x < 0) & at.whole, kInfinity, value);
  const V other = select(near, from(x, 1) / (x * x), select(x < 0, kInfinity, from(x, 1) / x));
  return select(is_nan(x), x, select(plain, value, select(is_infinite(x) & (x < 0), kNan, other)));
}

}  // namespace

V wide_lgamma(V x) { return lgamma(x); }
V wide_digamma(V x) { return digamma(x); }
V wide_trigamma(V x) { return trigamma(x); }
DoubleDouble bernoulli_number(int k) { return bernoulli(k - 1); }

void add_special(Spellings& t) {
  t.push_back({.name = "erf", .only_f64 = spell<erf>});
  t.push_back({.name = "erfc", .reals = spell<erfc>});
  t.push_back({.name = "special_erfcx", .reals = spell<erfcx>});
  t.push_back({.name = "erfinv", .reals = spell<erfinv>});
  t.push_back({.name = "special_ndtr", .reals = spell<ndtr>});
  t.push_back({.name = "special_log_ndtr", .reals = spell<log_ndtr>});
  t.push_back({.name = "special_ndtri", .reals = spell<ndtri>});
  t.push_back({.name = "lgamma", .reals = spell<lgamma>});
  t.push_back({.name = "digamma", .reals = spell<digamma>});
  t.push_back({.name = "trigamma", .reals = spell<trigamma>});
}

}  // namespace lenz::native
