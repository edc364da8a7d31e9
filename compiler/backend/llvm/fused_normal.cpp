// The inverse of the error function, and the normal distribution's logarithm and inverse, of f64 where a fused
// multiply-add is an instruction: what is smooth of them in sixteen pieces whose coefficients registers hold.
#include <bit>
#include <cmath>
#include <limits>

#include "compiler/backend/llvm/families.h"
#include "compiler/backend/llvm/fit.h"
#include "compiler/backend/llvm/fused_tables.h"
#include "compiler/scalar/special_functions.h"

namespace lenz::native {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
const double kNan = std::numeric_limits<double>::quiet_NaN();

// --- the inverses: erfinv(y) / y, by 1 - y^2

// The x > 0 whose tail of the normal distribution has this logarithm, which may be one of a number below all doubles.
DoubleDouble depth_of(DoubleDouble logarithm) {
  const DoubleDouble twice = logarithm * DoubleDouble(-2);
  DoubleDouble x = dd::sqrt(twice - dd::log(twice) - DoubleDouble(1.8));
  for (int i = 0; i < 12; ++i) {  // by Newton; the slope is that of the logarithm
    const DoubleDouble fall = dd::sqrt(DoubleDouble(2) / dd::kPi) / dd::erfcx(x / dd::kSqrt2);
    const DoubleDouble step = (dd::log_ndtr(-x) - logarithm) / fall;
    x = x + step;
    if (std::fabs(step.hi) <= x.hi * 0x1p-98) break;
  }
  return x;
}
// Where w is -log(1 - y^2); of the normal distribution the root of 2 more.
template <bool Normal>
DoubleDouble ratio_of(DoubleDouble y, DoubleDouble w) {
  if (w.hi < 2) return (Normal ? dd::kSqrt2 : DoubleDouble(1)) * dd::erfinv(y) / y;
  const DoubleDouble depth = depth_of(-w - dd::log((y + DoubleDouble(1)) * DoubleDouble(2)));
  return depth / (Normal ? y : dd::kSqrt2 * y);
}
template <bool Normal>
DoubleDouble ratio_by_less(DoubleDouble less) {
  return ratio_of<Normal>(dd::sqrt(DoubleDouble(1) - less), -dd::log(less));
}
template <bool Normal>
DoubleDouble ratio_by_square(DoubleDouble w) {
  return ratio_of<Normal>(dd::sqrt(-dd::expm1(-w)), w);
}
DoubleDouble ratio_by_root(DoubleDouble s) { return ratio_by_square<true>(s * s); }

// Of a number from 2^-8 to 1, without its logarithm: in halves of its binades.
class HalfBinades {
 public:
  HalfBinades(DoubleDouble (*f)(DoubleDouble), int degree) : of_(static_cast<size_t>(degree) + 2) {
    for (int i = 0; i < LaneCode::held_entries(LaneType::f64); ++i) {
      const double first = std::bit_cast<double>(kFirst + i * kHalf),
                   end = std::bit_cast<double>(kFirst + (i + 1) * kHalf);
      const double middle = (first + end) / 2;
      const auto fitted = fit_around(f, middle, (end - first) / 2, degree);
      for (size_t k = 0; k + 1 < of_.size(); ++k) of_[k].push_back(fitted[k].hi);
      of_.back().push_back(middle);
    }
  }
  static constexpr double kLeast = 0x1p-8;
  V operator()(V x) const {
    const V index = (bits(x) - (kFirst + 1)) >> 51;  // 1 is of the half below it
    const std::vector<V> of = x.code->look_up_held(of_, index);
    const V t = x - of.back();
    V sum = of[of.size() - 2];
    for (size_t k = of.size() - 2; k-- > 0;) sum = fma(sum, t, of[k]);
    return sum;
  }

 private:
  static constexpr int64_t kFirst = std::bit_cast<int64_t>(kLeast), kHalf = int64_t{1} << 51;
  std::vector<std::vector<double>> of_;  // each coefficient of all halves; last, their middles
};

// Of the normal distribution it may be less than 2^-52.
template <bool Normal>
V ratio_of(V less) {
  constexpr double kPiece = 2.265625, kEnd = 16 * kPiece;  // beyond 52 log 2
  constexpr double kFirst = 6, kFarPiece = 1.34375;        // from below the root of kEnd to beyond that of 745
  static const HalfBinades kNear(ratio_by_less<Normal>, 14);
  static const HeldPieces kAt(ratio_by_square<Normal>, 0, kPiece, 14);
  LaneCode& code = *less.code;
  return code.rarely(!(less > HalfBinades::kLeast), {kNear(less)}, [&] {
    const V w = -fused_log(less);
    const auto at = kAt(w);
    std::vector<V> inside{at.first + at.more};
    if constexpr (!Normal) return inside;
    static const HeldPieces kFar(ratio_by_root, kFirst, kFarPiece, 12);
    return code.rarely(!(w < kEnd), inside, [&] {
      const auto far = kFar(sqrt(w));
      return std::vector<V>{far.first + far.more};
    });
  })[0];
}

V erfinv(V y) {
  const V value = y * ratio_of<false>(fma(-y, y, 1));
  return y.code->rarely(!(abs(y) < 1), {value}, [&] {
    return std::vector<V>{select(abs(y) == 1, copysign(from(y, kInfinity), y), select(is_nan(y), y, kNan))};
  })[0];
}

V ndtri(V p) {
  const V value = fma(p, 2, -1) * ratio_of<true>(4 * p * (1 - p));
  return p.code->rarely(!((p > 0) & (p < 1)), {value}, [&] {
    return std::vector<V>{select(p == 0, -kInfinity, select(p == 1, kInfinity, select(is_nan(p), p, kNan)))};
  })[0];
}

// --- the logarithm of the distribution, -e^(-x^2 / 2) times what is smooth above zero, below it less than that by
// x^2 / 2

constexpr int kHalf = 8;
constexpr double kWidth = 0.875, kOut = kHalf * kWidth, kNothing = 40;

DoubleDouble above_zero(DoubleDouble x) {
  if (x.hi < 6) return -dd::log_ndtr(x) * dd::exp(x * x * DoubleDouble(0.5));
  // By what the logarithm of 1 - tail begins with: the tail itself may be below all doubles.
  const DoubleDouble tail = dd::ndtr(-x), third = DoubleDouble(1) / DoubleDouble(3);
  const DoubleDouble more = DoubleDouble(0.5) + tail * (third + tail * DoubleDouble(0.25));
  return dd::erfcx(x / dd::kSqrt2) * DoubleDouble(0.5) * (DoubleDouble(1) + tail * more);
}
DoubleDouble below_zero(DoubleDouble size) { return dd::log(dd::erfcx(size / dd::kSqrt2) * DoubleDouble(0.5)); }
// Both, those below zero behind those above.
DoubleDouble both_sides(DoubleDouble at) { return at.hi < kOut ? above_zero(at) : below_zero(at - DoubleDouble(kOut)); }
// Far out, by 1 / x^2: the first over its falling 1 / x, and the second without its -log x.
DoubleDouble far_above(DoubleDouble inverse_square) {
  const DoubleDouble x = DoubleDouble(1) / dd::sqrt(inverse_square);
  return x * above_zero(x);
}
DoubleDouble far_below(DoubleDouble inverse_square) {
  const DoubleDouble x = DoubleDouble(1) / dd::sqrt(inverse_square);
  return below_zero(x) + dd::log(x);
}

V log_ndtr(V x) {
  static const HeldPieces kAt(both_sides, 0, kWidth, 15);
  static const std::vector<double> kAbove = fit_doubles(far_above, 1 / (kNothing * kNothing), 1 / (kOut * kOut), 13),
                                   kBelow = fit_doubles(far_below, 1e-5, 1 / (kOut * kOut), 13);
  const V size = abs(x), negative = x < 0, far = !(size < kOut);
  const auto at = kAt.within(size, select(negative, from(x, kHalf), 0));
  const V some = select(size > kNothing, kNothing, size), square = some * some * 0.5, power = fused_exp(-square);
  const V lost = fma(some * 0.5, some, -square);
  auto choose = [&](V above, V below, V more) {
    const V smooth = above + more;
    return select(negative, fma(x * -0.5, x, below) + more, -fma(power, above, power * fma(smooth, -lost, more)));
  };
  return x.code->rarely(far, {choose(at.first, at.first, at.more)}, [&] {
    const V inverse = from(x, 1) / size, by = inverse * inverse;
    const V over = polynomial(by, kAbove), quotient = over * inverse;
    return std::vector<V>{choose(fma(inverse, fma(-some, quotient, over), quotient), -fused_log(size),
                                 select(negative, polynomial(by, kBelow), 0))};
  })[0];
}

}  // namespace

void add_fused_normal(Spellings& t) {
  t.push_back({.name = "erfinv", .fused_f64 = spell<erfinv>});
  t.push_back({.name = "special_ndtri", .fused_f64 = spell<ndtri>});
  t.push_back({.name = "special_log_ndtr", .fused_f64 = spell<log_ndtr>});
}

}  // namespace lenz::native
