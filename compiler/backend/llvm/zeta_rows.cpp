// The Hurwitz zeta function by Euler and Maclaurin, as quick_functions.cpp has it: terms up to some q + n, then the
// integral and corrections from there.
#include <cmath>
#include <limits>

#include "compiler/backend/llvm/families.h"
#include "compiler/backend/llvm/fast_f64.h"
#include "compiler/backend/llvm/wide.h"

namespace lenz::native {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
const double kNan = std::numeric_limits<double>::quiet_NaN();

// B_2k / (2k)!
std::vector<double> corrections() {
  std::vector<double> made;
  DoubleDouble factorial = 1;
  for (int k = 1; k <= 12; ++k) {
    factorial = factorial * DoubleDouble((2 * k - 1) * 2 * k);
    made.push_back(static_cast<double>(bernoulli_number(k) / factorial));
  }
  return made;
}

// (x + k)^-order, of a whole k.
struct Term {
  V at, power;
};
Term term_of(V x, V k, V order) {
  const Wide at = exact_sum(x, k);
  const V power = power_f64(at.hi, -order);
  return {at.hi, fma(power * order, -at.lo * x.code->reciprocal_estimate(at.hi), power)};
}

// What quick_functions.cpp serves too, of f64.
V zeta_of_usual(V order, V x) {
  static const std::vector<double> kCorrections = corrections();
  const V far = larger(from(x, 9), (order + 22) * 0.6), zero = from(x, 0);
  // k, the sum and what it lost, whether a lane goes on
  const auto state = x.code->repeat(
      {zero, zero, zero, select(x < far, from(x, 1), 0)}, [&](const std::vector<V>& s) { return s[3] != 0; },
      [&](const std::vector<V>& s) {
        const Term term = term_of(x, s[0], order);
        const V sum = s[1] + term.power, next = s[0] + 1;
        // The rest is this term and an integral from it on at most.
        const V rest = term.power * fma(term.at, 1 / (order - 1), from(x, 1));
        const V goes_on = (x + next < far) & (rest > sum * 0x1p-56);
        return std::vector<V>{next, sum, s[2] + (term.power - (sum - s[1])), select(goes_on, from(x, 1), 0)};
      });
  const V k = state[0], sum = state[1], lost = state[2];
  const Term last = term_of(x, k, order);
  const V inverse = 1 / last.at, square = inverse * inverse;
  const V integral = last.power * last.at / (order - 1), half = last.power * 0.5;
  V factor = order * last.power * inverse, rest = zero;
  for (size_t i = 0; i < kCorrections.size(); ++i) {
    const double twice = 2.0 * static_cast<double>(i + 1);
    rest = fma(factor, kCorrections[i], rest);
    factor = factor * ((order + (twice - 1)) * (order + twice) * square);
  }
  const V first = larger(sum, integral), second = smaller(sum, integral), both = first + second;
  const V all = both + ((second - (both - first)) + (lost + (half + rest)));
  return select(x + k < far, sum + lost, all);
}

V zeta(V order, V x) {
  if (order.code->known(order) == 2)
    return select(is_infinite(x), select(x < 0, from(x, kInfinity), kNan), best_trigamma(x));
  // Of no order, and below zero but at whole numbers or of whole orders, there is none.
  const V whole = (x <= 0) & (trunc(x) == x);
  const V none = (order <= 1) | whole | ((x < 0) & (trunc(order) != order));
  const V simple = select((order == 1) | (whole & !(order < 1)), from(x, kInfinity), kNan);
  return x.code->rarely(!none, {simple}, [&] {
    const V usual = (order > 1) & (order < 1000) & (x > 0) & (x < 0x1p100);
    const V s = convert(select(usual, order, 2), LaneType::f64), q = convert(select(usual, x, 1), LaneType::f64);
    const V value = zeta_of_usual(s, q);
    V sure = usual & (value < 0x1p1020);
    if (x.type == LaneType::f64) sure = sure & (value > 0x1p-940);  // powers underflow before the integral does
    return x.code->rarely(!(sure | none), {convert(value, x.type)}, [&] {
      const V operands[] = {select(sure, 1, order), x};
      return std::vector<V>{x.code->by_table(*find_scalar("special_zeta"), x.type, operands)};
    });
  })[0];
}

}  // namespace

void add_zeta(Spellings& t) { t.push_back({.name = "special_zeta", .reals = spell<zeta>}); }

}  // namespace lenz::native
