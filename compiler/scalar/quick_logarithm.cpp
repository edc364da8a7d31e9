#include "compiler/scalar/quick_logarithm.h"

#include <bit>
#include <cmath>

namespace lenz::quick {

namespace {

// Multiples of this, up to some thousands, have exact sums.
constexpr double kGrain = 0x1p-40;
DoubleDouble in_parts(DoubleDouble value) {
  const double high = std::nearbyint(value.hi / kGrain) * kGrain;
  return {high, static_cast<double>(value - DoubleDouble(high))};
}

// x = 2^k z, where z from some 0.7 to 1.4 stands in one of so many parts. One of them has 1 inside, a third of its
// width below the end: there the inverse is 1.
constexpr int kPartBits = 7, kParts = 1 << kPartBits;
constexpr int64_t kOne = 0x3ff0000000000000, kPart = int64_t{1} << (52 - kPartBits), kOnesPart = 75;
constexpr int64_t kFirst = kOne - kOnesPart * kPart - kPart / 3;

struct Parts {
  double inverse[kParts];
  DoubleDouble logarithm[kParts], two;
  Parts() {
    for (int i = 0; i < kParts; ++i) {
      const double first = std::bit_cast<double>(kFirst + i * kPart);
      inverse[i] = i == kOnesPart ? 1 : 2 / (first + std::bit_cast<double>(kFirst + (i + 1) * kPart));
      logarithm[i] = in_parts(-dd::log(inverse[i]));
    }
    two = in_parts(dd::kLn2);
  }
};

constexpr int kPowers = 64;
struct Powers {
  DoubleDouble of[kPowers], step;  // 2^(i / kPowers); the logarithm of one step
  Powers() {
    for (int i = 0; i < kPowers; ++i) of[i] = dd::exp2(DoubleDouble(i) / DoubleDouble(kPowers));
    step = in_parts(dd::kLn2 / DoubleDouble(kPowers));
  }
};

}  // namespace

DoubleDouble log(DoubleDouble x) {
  static const Parts kAt;
  const auto bits = std::bit_cast<int64_t>(x.hi), beyond = bits - kFirst, exponent = beyond >> 52;
  const auto part = static_cast<size_t>(beyond >> (52 - kPartBits)) & (kParts - 1);
  const double k = static_cast<double>(exponent), z = std::bit_cast<double>(bits - (exponent << 52));
  const double inverse = kAt.inverse[part];
  // r + rest = z / inverse - 1, |r| < 2^-7.5
  const DoubleDouble product = dd::two_product(z, inverse);
  const double r = product.hi - 1, rest = x.lo == 0 ? product.lo : dd::fused(x.lo / x.hi, product.hi, product.lo);
  const DoubleDouble square = dd::two_product(r, r);
  const double tail =
      r * square.hi *
      (1. / 3 + r * (-1. / 4 + r * (1. / 5 + r * (-1. / 6 + r * (1. / 7 + r * (-1. / 8 + r * (1. / 9)))))));
  const double whole = k * kAt.two.hi + kAt.logarithm[part].hi;  // exact
  const DoubleDouble first = dd::two_sum(whole, r), sum = dd::two_sum(first.hi, -0.5 * square.hi);
  const double low = dd::fused(k, kAt.two.lo, kAt.logarithm[part].lo) + (first.lo + sum.lo) +
                     (dd::fused(-r, rest, rest) - 0.5 * square.lo) + tail;
  return dd::fast_two_sum(sum.hi, low);
}

namespace {
// e^x = power (1 + minus_one) 2^exponent
struct Exponential {
  DoubleDouble power, minus_one;
  int exponent = 0;
};
Exponential exponential(DoubleDouble x) {
  static const Powers kAt;
  const double steps = std::nearbyint(x.hi * (kPowers / dd::kLn2.hi));
  const auto number = static_cast<int64_t>(steps);
  const double high = x.hi - steps * kAt.step.hi;  // exact
  const DoubleDouble r = dd::two_sum(high, dd::fused(-steps, kAt.step.lo, x.lo));
  const DoubleDouble square = dd::two_product(r.hi, r.hi);
  const double tail =
      r.hi * square.hi * (1. / 6 + r.hi * (1. / 24 + r.hi * (1. / 120 + r.hi * (1. / 720 + r.hi * (1. / 5040)))));
  const DoubleDouble sum = dd::fast_two_sum(r.hi, 0.5 * square.hi);
  const double low = sum.lo + (dd::fused(r.hi, r.lo, r.lo) + 0.5 * square.lo + tail);
  return {kAt.of[static_cast<size_t>(number & (kPowers - 1))], dd::fast_two_sum(sum.hi, low),
          static_cast<int>(number >> 6)};
}
}  // namespace

Scaled exp(DoubleDouble x) {
  const Exponential e = exponential(x);
  return {plus(e.power, times(e.power, e.minus_one)), e.exponent};
}

double rounded(Scaled x) { return std::ldexp(x.value.hi + x.value.lo, x.exponent); }

DoubleDouble expm1(DoubleDouble x) {
  const Exponential e = exponential(x);
  const double scale = std::ldexp(1.0, e.exponent);
  const DoubleDouble power{e.power.hi * scale, e.power.lo * scale};
  return plus(plus(power, -1), times(power, e.minus_one));
}

}  // namespace lenz::quick
