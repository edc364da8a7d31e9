// What an implementation of a primitive may add to what its operands bring, and how far a right result may then lie
// below and above the reference's.
// Internal to oracle/bounds. Thread-safety: values; pure functions.
#pragma once

#include "compiler/scalar/rounding.h"
#include "oracle/bounds/elementwise.h"
#include "oracle/bounds/rounded.h"

namespace lenz::oracle {

inline constexpr double kRoundingUlps = 0.5;

// Whether what is stored in this dtype is the step's own result, within an interval whose ends rounding takes it to.
inline bool rounds_ends(Formula formula, Dtype dtype) {
  return formula == Formula::given || (formula == Formula::computed && is_reduced_float(dtype));
}

// What the row's accuracy lets an implementation add.
class OwnError {
 public:
  // `known`: what the reference lost by rounding is.
  OwnError(const ScalarRow& row, Dtype compute, Dtype result, bool known, Formula formula)
      : exact_known_(known && formula == Formula::given),
        exact_(row.accuracy.of(compute) == AccuracyClass::exact || is_integral(result, true)),
        absolute_(row.accuracy.absolute),
        of_operands_(row.accuracy.of_operands && (row.accuracy.absolute == 0 || lenz::is_complex(result))),
        floating_(is_floating(result)),
        monotone_(rounds_ends(formula, result) && rounds(row, result)),
        about_(known && formula == Formula::given && result == Dtype::f64 && rounds_once(row, result)),
        rounds_ends_(rounds_ends(formula, result)),
        in_f32_(row.accuracy.kind == AccuracyClass::ulps && arithmetic_dtype(result) != result &&
                row.eager.narrow_ulps == 0),
        stores_narrow_(row.eager.narrow_ulps > 0 && is_reduced_float(result) && formula == Formula::given),
        narrow_(result),
        anywhere_(formula != Formula::given && row.accuracy.absolute == 0 &&
                  (row.error.rule == ErrorRule::product || row.error.rule == ErrorRule::quotient)),
        exact_if_known_(formula == Formula::given &&
                        row.error.rule == ErrorRule::product),  // of two floats, in float64
        unsure_(formula != Formula::given ? kOtherFormula
                : plain(row) || in_f32_   ? 0x1p-52
                                          : 0x1p-21),
        rounding_(in_f32_ ? Dtype::f32 : result_for(result), ulps(row, result),
                  known ? 0 : ulps(row, lenz::is_complex(result) ? Dtype::c128 : Dtype::f64)),
        storage_(result_for(result), kRoundingUlps),
        spare_(kNarrowSpare * std::ldexp(1, 1 - info(to_real(result_for(result))).mantissa_bits)),
        least_(kNarrowSpare * smallest_subnormal(to_real(result_for(result)))),
        bounded_(!is_integral(result, true)),
        largest_(largest_finite(to_real(result_for(result)))),
        last_place_(last_place(to_real(result_for(result)), largest_)) {}

  bool exact() const { return exact_; }
  bool of_operands() const { return of_operands_; }
  double at(double magnitude) const {
    if (exact_) return 0;
    return anywhere_ ? rounding_.anywhere(magnitude) : rounding_.at(std::max(magnitude, absolute_));
  }
  // Whether what is stored may lie a place beyond the dtype's largest number, which is an infinity.
  bool overflows(double value, double error) const {
    return bounded_ && std::fabs(value) - largest_ + error >= last_place_;
  }
  // Whether a rounding of what lies between two ends is all that there is, in float64; and what that makes.
  bool rounds_about() const { return about_; }
  Sides about(double value, double below, double above) const { return rounding_.spread_ends(value, below, above); }
  // Of an exact row, what the operands bring, e: a whole number next to one that is kept wider may be no number of the
  // dtype.
  Sides stored(double value, Reach e) const {
    return floating_ && e.error() > 0 ? storage_.spread(value, e.below, e.above, 0) : Sides{e.below, e.above};
  }
  // That and what the operands bring. `known`: they are certain. `scale`: of the operands, where they count. `limit`:
  // of what an implementation adds.
  Sides with(double value, Reach brought, bool known, Rest rest, double scale = 0, double limit = kUnbounded) const {
    if (in_f32_) return computed_wider(value, brought, scale);
    if (about_)
      return rounding_.spread_ends(value, (brought.below + rest.unsure) * kOwnSlack - rest.above,
                                   (brought.above + rest.unsure) * kOwnSlack + rest.above);
    if (!monotone_) {
      const double e = brought.error(), off = e + rest.size();
      const double added = std::min(at(std::max(std::fabs(value) + e, of_operands_ ? scale : 0)), limit);
      if (!(off + added < kUnbounded) || overflows(value, off + added)) {
        const double steps = of_operands_ || absolute_ > 0 ? rounding_.of_size(std::max(scale, absolute_)) : 0;
        return rounding_.beyond(value, off + steps);
      }
      const Reach all{brought.below + rest.size() + added, brought.above + rest.size() + added};
      return stores_narrow_ ? stored_within(value, all) : Sides{all.below, all.above};
    }
    const bool certain = known && (exact_if_known_ || (exact_known_ && rest.size() == 0));
    return rounding_.spread(value, brought.below, brought.above, certain ? 0 : unsure_);
  }

 private:
  // In f32, and then stored. At either end of the interval f32 is off by what it may be off by there.
  Sides computed_wider(double value, Reach brought, double scale) const {
    auto off = [&](double size) {
      const double in_f32 = std::min(rounding_.at(size), rounding_.of_size(size));
      return std::max(in_f32, std::max(binade(size) * spare_, least_));
    };
    const double size = std::fabs(value);
    const double out = value > 0 ? brought.above : brought.below, in = value > 0 ? brought.below : brought.above;
    const double outwards = out + off(std::max({size + out, absolute_, of_operands_ ? scale : 0}));
    double inwards = in + (outwards - out);
    if (size > in && absolute_ == 0 && !of_operands_) {
      const double above = 2 * binade(size - in);  // the next power of two, from which on places are longer
      inwards = std::max(in + off(size - in), above <= size + out ? size - above + off(above) : 0);
    } else {
      inwards = std::max(inwards, in + off(in));  // where it goes on beyond zero
    }
    if (rounds_ends_)
      return value > 0 ? storage_.spread(value, inwards, outwards, unsure_)
                       : storage_.spread(value, outwards, inwards, unsure_);
    const double computed = std::max(inwards, outwards), all = computed + storage_.at(size + computed);
    return all < kUnbounded && !overflows(value, all) ? Sides{all, all} : storage_.beyond(value, computed);
  }
  // Of what eager stores in the narrow dtype: a number of that, no farther off, or what is kept wider and would be
  // stored as one.
  Sides stored_within(double value, Reach all) const {
    auto side = [&](double far, double way) {
      const double end = value + way * far, stored = way * nearest(narrow_, end);
      if (!std::isfinite(stored) || stored <= way * end) return far;
      double place = last_place(narrow_, stored);
      if (stored > 0 && binade(stored) == stored) place /= 2;  // inwards
      return std::min(far, (stored - place / 2 - way * value) * kOwnSlack);
    };
    return {side(all.below, -1), side(all.above, 1)};
  }
  // Whether results are rounded to nearest, or kept wider. In float64 the reference rounds too, which is another
  // matter.
  static bool rounds(const ScalarRow& row, Dtype result) {
    return rounds_once(row, result) && (is_reduced_float(result) || (result == Dtype::f32 && plain(row)));
  }
  static bool rounds_once(const ScalarRow& row, Dtype result) {
    return row.accuracy.kind == AccuracyClass::correctly_rounded && row.accuracy.absolute == 0 &&
           ulps(row, result) == 0.5;
  }
  // Neither a quotient nor a root, of which eager and others may keep in f32 less than f32 has.
  static bool plain(const ScalarRow& row) {
    return row.arity < 3 && (row.error.rule == ErrorRule::sum || row.error.rule == ErrorRule::product);
  }

  static Dtype result_for(Dtype result) { return is_integral(result, true) ? Dtype::f64 : result; }
  // Eager is one of the implementations that are judged: where it is known to be worse than the row asks, it counts.
  static double ulps(const ScalarRow& row, Dtype result) {
    const ScalarAccuracy& a = row.accuracy;
    if (lenz::is_complex(result)) return std::max(a.complex_ulps, row.eager.complex_ulps);
    double own = a.kind == AccuracyClass::correctly_rounded ? 0.5 : a.ulps;
    if (row.eager.narrow_ulps > 0 && arithmetic_dtype(result) != result) return row.eager.narrow_ulps;
    if (a.kind == AccuracyClass::correctly_rounded && arithmetic_dtype(result) != result) return own;
    bool wide = result == Dtype::f64 && row.eager.f64_ulps > 0;
    return std::max(own, wide ? row.eager.f64_ulps : row.eager.ulps);
  }

  bool exact_known_;  // what of a result float64 has no room for, and no formula but the given one stands for it
  bool exact_;
  double absolute_;
  bool of_operands_;
  bool floating_;
  bool monotone_, about_, rounds_ends_;
  bool in_f32_;         // computed there, and stored in a narrower dtype
  bool stores_narrow_;  // by eager, whose accuracy counts in that
  Dtype narrow_;
  bool anywhere_;  // factors may be taken in another order, whose products lie elsewhere in their binades
  bool exact_if_known_;
  double unsure_;
  Rounding rounding_, storage_;
  double spare_, least_;
  bool bounded_;  // its numbers end somewhere
  double largest_, last_place_;
};

}  // namespace lenz::oracle
