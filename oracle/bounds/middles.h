// Intervals that reach farther one way than the other, one by one: where their middles lie, and what is known of a
// number that lies in such an interval, but not in its middle. Thread-safety: pure functions.
#pragma once

#include <cmath>
#include <limits>

namespace lenz::oracle {

// As planes.h says of `error` and `lean`.
struct Interval {
  double value, error, lean;
};

namespace middles {
inline constexpr double kLost = 0x1p-51;  // of a number, where it is moved; of an error, where a lean is taken from it
inline constexpr double kEndless = std::numeric_limits<double>::infinity();

inline double at_least(double x, double least) { return x < least ? least : x; }  // a NaN stays one
inline double at_most(double x, double most) { return x > most ? most : x; }
inline bool finite(double x) { return std::fabs(x) <= std::numeric_limits<double>::max(); }
inline bool infinite(double x) { return std::fabs(x) == kEndless; }

// Half the lean of what leans by little of its value, or has one sign wherever it lies: what has another sign, or is
// zero, has other rules.
inline double shift_of(const Interval& of) {
  const bool little = std::fabs(of.lean) <= std::fabs(of.value) * 0.125;
  const double low = of.value - of.error + at_least(of.lean, 0), high = of.value + of.error + at_most(of.lean, 0);
  const double lost = of.error * kLost;
  const bool moves = (little || (low > lost) || (high < -lost)) && finite(of.error);
  return moves ? of.lean * 0.5 : 0;
}

// The lean of what is infinitely off `from`, seen from what lies `away` below it.
inline double lean_without_end(const Interval& from, double away, double moved) {
  constexpr double kLeast = std::numeric_limits<double>::denorm_min();
  const double lost = moved + (away == 0 ? 0 : std::fabs(from.lean) * kLost);
  const double below = at_least(from.lean - away + lost, kLeast), above = at_least(away - from.lean + lost, kLeast);
  const double seen = infinite(from.lean) ? from.lean : from.lean > 0 ? below : -above;
  return infinite(from.error) ? seen : 0;
}
}  // namespace middles

// The interval as its middle sees it; of what has no end one way the lean stays.
inline Interval about_middle(const Interval& of) {
  using namespace middles;
  const double shift = shift_of(of), moved = std::fabs(shift);
  const double error =
      at_least(of.error - moved, 0) + (shift == 0 ? 0 : (std::fabs(of.value) + moved + of.error) * kLost);
  // -0 + 0 has another sign
  return {shift == 0 ? of.value : of.value + shift, error, infinite(error) ? of.lean : 0};
}

// What is known of `value` from what is known of another number.
inline Interval seen_at(double value, const Interval& from) {
  using namespace middles;
  const bool same = (from.value == value) || (std::isnan(from.value) && std::isnan(value));
  const double away = same ? 0 : from.value - value;
  const double moved = same ? 0 : (std::fabs(from.value) + std::fabs(value)) * kLost;
  // All of the error to one side: the other is nothing at all.
  const double lost = moved + (std::fabs(from.lean) == from.error ? 0 : from.error * kLost);
  const double high = at_least(away + from.error + at_most(from.lean, 0) + lost, 0);
  const double low = at_least(from.error - at_least(from.lean, 0) - away + lost, 0);
  const double error = high > low ? high : low;
  if (!(finite(high) && finite(low)))
    return {value, kEndless, from.lean != 0 ? lean_without_end(from, away, moved) : 0};
  // As Sides::lean says: all of the error only where the other side is nothing.
  const double by = high - low, least = high < low ? high : low;
  return {value, error, (std::fabs(by) == error) && (least != 0) ? by * (1 - 0x1p-52) : by};
}

}  // namespace lenz::oracle
