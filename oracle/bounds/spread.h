// What rounding does to an interval.
// Thread-safety: pure functions; values.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "compiler/scalar/error_propagation.h"
#include "compiler/scalar/scalar.h"

namespace lenz::oracle {

inline constexpr double kUnbounded = std::numeric_limits<double>::infinity();
inline constexpr double kOwnSlack = 1 + 0x1p-45;  // the errors' own arithmetic rounds too

inline double binade(double magnitude) {  // the power of two below
  return std::bit_cast<double>(std::bit_cast<uint64_t>(magnitude) & 0x7FF0'0000'0000'0000u);
}

// How far a right number may lie below and above another.
struct Sides {
  double low = 0, high = 0;
  double overflows = 0;  // an infinity, if that is what is stored for certain; it may be kept wider
  double error() const { return std::max(low, high); }
  // By how much one side is longer, positive if that is the upper one; 0 where that is not worth the trouble. Of a side
  // without end how long the other one is (`leaning`).
  double lean() const {
    constexpr double kLeast = std::numeric_limits<double>::denorm_min();
    if (!(error() <= std::numeric_limits<double>::max())) {
      if (overflows != 0 || low == high) return overflows;
      return low < high ? std::max(low, kLeast) : -std::max(high, kLeast);
    }
    const double by = high - low;
    if (!(std::fabs(by) > 0x1p-9 * error())) return 0;
    // All of the error says that the shorter side is nothing at all, not that it is lost beside the longer one.
    const bool lost = std::fabs(by) == error() && std::min(low, high) != 0;
    return lost ? std::nextafter(by, 0.0) : by;
  }
};

// What float64 lost of the reference: the exact result lies so far above it, but for what is unsure.
struct Rest {
  double above = 0, unsure = 0;
  double size() const { return std::fabs(above) + unsure; }
};

// What rounding to a floating dtype may add at magnitude m, `ulps` of it (a half: to nearest); and the rounding of
// the float64 reference itself. Infinite where the dtype may overflow.
class Rounding {
 public:
  Rounding(Dtype dtype, double ulps, double reference_ulps = 0.5);
  double at(double magnitude) const;
  // The same of a number that has been rounded when it was another one, some factor away.
  double anywhere(double magnitude) const;
  double of_size(double magnitude) const;  // and that may be beyond the dtype
  // How far from v a number within e of it is, once it is rounded to nearest or, in a wider dtype, hardly: rounding is
  // monotone, and takes no number farther than the ends of the interval. `unsure`, of the magnitude: what the interval
  // itself may be off by.
  Sides spread(double v, double e, double unsure) const { return spread(v, e, e, unsure); }
  Sides spread(double v, double below, double above, double unsure) const;  // an interval that is longer one way
  // The same of float64, where the ends of the interval are known better than v is, which they lie below and above.
  Sides spread_ends(double v, double below, double above) const;
  // The same where the dtype may overflow.
  Sides beyond(double v, double e) const;

 private:
  // Of a certain number beyond the largest one it is known whether it is stored as that, or as an infinity.
  Sides certainly_beyond(double v) const;

  Dtype dtype_;
  bool to_nearest_;
  double eps_, tiny_, limit_;
  double wider_ = 0;        // what the next wider dtype may add, of the magnitude
  double wider_least_ = 0;  // at least
  double twice_ = 0;        // by how much of a rounding two roundings may exceed one
};

}  // namespace lenz::oracle
