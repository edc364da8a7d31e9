#include "oracle/bounds/spread.h"

#include "compiler/scalar/double_double.h"
#include "compiler/scalar/rounding.h"
#include "oracle/bounds/rounded.h"

namespace lenz::oracle {

Rounding::Rounding(Dtype dtype, double ulps, double reference_ulps) : dtype_(to_real(dtype)), to_nearest_(ulps == 0.5) {
  const Dtype d = dtype_;
  // Computed wider, then rounded: the two roundings of a half may add up to a little more than one.
  const bool narrow = is_reduced_float(d) || is_float8(d);
  twice_ = narrow ? 0x1p-8 : 0;
  wider_ = narrow ? 0x1p-24 : 0;
  wider_least_ = narrow ? 0x1p-150 : 0;
  eps_ = (ulps * (1 + twice_) * std::ldexp(1, 1 - info(d).mantissa_bits) + reference_ulps * 0x1p-52) * kOwnSlack;
  tiny_ = std::max(ulps * (1 + twice_) * smallest_subnormal(d), 0x1p-1074);  // half of float64's least is no number
  // Who is off by more than rounding to nearest may make an infinity of what lies a little below the largest number.
  limit_ = largest_finite(d);
  limit_ -= std::max(ulps - 0.5, 0.0) * std::ldexp(binade(limit_), 1 - info(d).mantissa_bits);
}

double Rounding::at(double magnitude) const {
  if (!(magnitude <= limit_)) return kUnbounded;
  return std::max(binade(magnitude) * eps_, tiny_);
}

double Rounding::anywhere(double magnitude) const { return magnitude <= limit_ ? of_size(magnitude) : kUnbounded; }
double Rounding::of_size(double magnitude) const { return std::max(magnitude * eps_, tiny_); }

Sides Rounding::beyond(double v, double e) const {
  const double size = std::fabs(v), nearer = size - e - binade(size + e) * eps_;
  if (!std::isfinite(v) || !std::isfinite(e)) return {kUnbounded, kUnbounded};
  if (!std::isfinite(nearest(dtype_, nearer)) && nearer > 0)
    return {kUnbounded, kUnbounded, std::copysign(kUnbounded, v)};
  const double inwards = (e + of_size(size + e)) * kOwnSlack;
  if (!(inwards - size < limit_)) return {kUnbounded, kUnbounded};
  return v > 0 ? Sides{inwards, kUnbounded} : Sides{kUnbounded, inwards};
}

Sides Rounding::certainly_beyond(double v) const {
  const double stored = nearest(dtype_, v), in_f32 = static_cast<double>(static_cast<float>(v));
  const double twice = wider_ != 0 ? nearest(dtype_, in_f32) : stored;  // by way of f32
  if (!std::isfinite(stored) && !std::isfinite(twice)) return {kUnbounded, kUnbounded, std::copysign(kUnbounded, v)};
  const bool open = !std::isfinite(stored) || !std::isfinite(twice);
  const double end = std::isfinite(stored) ? stored : twice;
  const double inwards = std::max(std::fabs(v) - std::fabs(end), 0.0) * kOwnSlack, outwards = open ? kUnbounded : 0;
  return v > 0 ? Sides{inwards, outwards} : Sides{outwards, inwards};
}

Sides Rounding::spread(double v, double below, double above, double unsure) const {
  const double far = std::max(below, above), size = std::fabs(v) + far, off = size * unsure;
  if (far == 0 && unsure == 0 && to_nearest_ && size > limit_ && std::isfinite(size)) return certainly_beyond(v);
  // Whatever is wider than a narrow dtype holds all of f32, and rounds no number of that: any other by half a place of
  // f32 at most, before it is rounded once more. Of a certain number it is known what that makes.
  double lower = std::max(size * wider_, wider_least_), higher = lower;
  if (wider_ != 0 && far + off == 0) {
    const double in_f32 = static_cast<double>(static_cast<float>(v));
    if (std::isfinite(in_f32)) lower = std::max(v - in_f32, 0.0), higher = std::max(in_f32 - v, 0.0);
  }
  lower += below + off;
  higher += above + off;
  const double least = nearest(dtype_, v - lower), most = nearest(dtype_, v + higher);
  // What lies a little beyond the largest number is rounded to that.
  const bool within = to_nearest_ && std::isfinite(least) && std::isfinite(most);
  const double added = within ? at(std::min(size, limit_)) : at(size);
  if (!(added < kUnbounded)) return beyond(v, far + off);
  const double low = std::max(lower, v - least) * kOwnSlack;
  const double high = std::max(higher, most - v) * kOwnSlack;
  return {std::min(below + off + added, low), std::min(above + off + added, high)};
}

// The interval's ends may be kept wider, and are rounded as any other number: by float64 itself, or first by something
// wider that has 63 bits at least, which does nothing to what such a thing holds.
Sides Rounding::spread_ends(double v, double below, double above) const {
  const double far = std::max(std::fabs(below), std::fabs(above)), size = std::fabs(v) + far;
  if (!(at(size) < kUnbounded)) return beyond(v, far);
  auto side = [&](double end, double way) {
    const double places = end / (binade(std::fabs(v)) * 0x1p-62);
    const double reach = std::nearbyint(places) == places ? end : end + (size * 0x1p-63 + std::fabs(end) * 0x1p-45);
    const DoubleDouble there = dd::two_sum(v + way * reach, -v);
    return std::max({end, way * there.hi * (there.lo == 0 ? 1 : kOwnSlack), 0.0});
  };
  return {side(below, -1), side(above, 1)};
}

}  // namespace lenz::oracle
