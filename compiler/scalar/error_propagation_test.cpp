// The bounds hold: for every row, dtype and drawn operands, moving the operands inside their errors moves the result by
// no more than the bound, unless the row said that it might jump.
#include "compiler/scalar/error_propagation.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <string>

#include "compiler/scalar/rounding.h"

namespace lenz {
namespace {

class Draw {
 public:
  double uniform(double low, double high) { return std::uniform_real_distribution<double>(low, high)(bits_); }
  int below(int n) { return static_cast<int>(bits_() % static_cast<uint64_t>(n)); }

  // From the domain, half of the time near its small numbers.
  double from(std::span<const Interval> domain) {
    if (domain.empty()) return std::ldexp(uniform(-1, 1), below(12));
    const Interval& i = domain[static_cast<size_t>(below(static_cast<int>(domain.size())))];
    const double low = std::max(i.low, -1e6), high = std::min(i.high, 1e6);
    if (below(2) == 0) return uniform(low, high);
    const double sign = low < 0 && below(2) == 0 ? -1 : 1;
    return std::clamp(sign * std::exp2(uniform(-10, 5)), low, high);
  }
  // Often near or at an integer or a half: where functions jump.
  double special(double x) {
    switch (below(6)) {
      case 0: return std::nearbyint(x);
      case 1: return std::nearbyint(2 * x) / 2;
      case 2: return std::nearbyint(x) + std::ldexp(uniform(-1, 1), -20);
      default: return x;
    }
  }

 private:
  std::mt19937_64 bits_{77};
};

double real_number(const ScalarValue& v) {
  if (v.kind() == ScalarKind::integer) return static_cast<double>(v.integer());
  if (v.kind() == ScalarKind::double_double) return static_cast<double>(v.double_double());
  return v.real();
}

// x + step, not a rounding error further than that.
double within(double x, double step) {
  double there = x + step;
  while (std::fabs(there - x) > std::fabs(step)) there = std::nextafter(there, x);
  return there;
}

struct Tally {
  int tried = 0, ambiguous = 0, unbounded = 0;
};

// One drawn case of a row in f64.
void try_real(const ScalarRow& row, Draw& draw, Tally& tally) {
  Uncertain operands[3];
  const auto arity = static_cast<size_t>(row.arity);
  for (size_t i = 0; i < arity; ++i) {
    const Dtype dtype = operand_dtype(row, Dtype::f64, static_cast<int>(i));
    if (dtype == Dtype::b8) {
      operands[i] = {ScalarValue(int64_t{draw.below(2)}), 0};
    } else if (dtype == Dtype::i64) {
      operands[i] = {ScalarValue(int64_t{draw.below(5)}), 0};
    } else {
      double x = draw.from(row.domain[i]);
      if (row.domain[i].empty()) x = draw.special(x);
      const bool degree = row.has(traits::costly) && i == 1 && row.error.rule == ErrorRule::derivative;
      double error = draw.below(4) == 0 || degree ? 0 : std::exp2(draw.uniform(-45, -3)) * (std::fabs(x) + 1e-3);
      operands[i] = {ScalarValue(x), error};
    }
  }
  const Propagated bound = propagate_error(row, Dtype::f64, {operands, arity});
  ++tally.tried;
  tally.ambiguous += bound.ambiguous;
  tally.unbounded += std::isinf(bound.error);
  ScalarValue exact[3];
  for (size_t i = 0; i < arity; ++i) exact[i] = operands[i].value;
  const double centre = real_number(evaluate(row, Dtype::f64, {exact, arity}));
  for (int k = 0; k < 6; ++k) {
    ScalarValue moved[3];
    std::string where;
    for (size_t i = 0; i < arity; ++i) {
      moved[i] = operands[i].value;
      if (moved[i].kind() == ScalarKind::real && operands[i].error > 0) {
        const double t = k == 0 ? 1 : k == 1 ? -1 : draw.uniform(-1, 1);
        moved[i] = ScalarValue(within(moved[i].real(), t * operands[i].error));
      }
      where += " " + std::to_string(real_number(operands[i].value)) + "~" + std::to_string(operands[i].error);
    }
    const double there = real_number(evaluate(row, Dtype::f64, {moved, arity}));
    if (std::isnan(there) && std::isnan(centre)) continue;
    // What the two evaluations themselves may be off by.
    auto off = [&](double y) {
      if (!std::isfinite(y)) return 0.0;
      return own_error(row, Dtype::f64, ScalarValue(y), {exact, arity}) + last_place(Dtype::f64, y);
    };
    const double noise = off(there) + off(centre);
    if (there == centre || std::isinf(bound.error)) continue;
    const double reach = there < centre ? bound.reach().below : bound.reach().above;
    ASSERT_LE(reach, bound.error);
    ASSERT_LE(std::fabs(there - centre), reach * (1 + 1e-9) + noise)
        << row.name << where << (bound.ambiguous ? " ambiguous" : "") << ": " << centre << " became " << there;
  }
}

TEST(ErrorPropagation, bounds_hold_for_real_rows) {
  Draw draw;
  for (const ScalarRow& row : scalar_table()) {
    if (!row.dtypes.has(Dtype::f64) || row.result == ResultRule::target || row.result == ResultRule::complex_of)
      continue;
    Tally tally;
    for (int i = 0; i < 300; ++i) ASSERT_NO_FATAL_FAILURE(try_real(row, draw, tally));
    // A rule that gives up most of the time is no rule.
    if (row.error.rule != ErrorRule::unbounded) {
      EXPECT_LT(tally.unbounded, tally.tried / 2) << row.name;
    }
  }
}

// Where operands are off by a few places of float64 alone, what evaluations in float64 lose would be most of the bound.
TEST(ErrorPropagation, bounds_of_few_places_hold_in_double_double) {
  Draw draw;
  int tried = 0;
  for (const ScalarRow& row : scalar_table()) {
    const bool plain = row.dtypes.has(Dtype::f64) && row.result == ResultRule::same && row.eval.dds &&
                       row.error.rule == ErrorRule::corners && row.error.jump == Jump::none && !row.has(traits::costly);
    if (!plain) continue;
    const auto arity = static_cast<size_t>(row.arity);
    for (int i = 0; i < 100; ++i) {
      Uncertain operands[3];
      DoubleDouble centre[3];
      for (size_t k = 0; k < arity; ++k) {
        const double x = draw.from(row.domain[k]);
        operands[k] = {ScalarValue(x), std::exp2(draw.uniform(-3, 3)) * last_place(Dtype::f64, x)};
        centre[k] = x;
      }
      const Propagated bound = propagate_error(row, Dtype::f64, {operands, arity});
      auto at = [&](const DoubleDouble* x) {
        const ScalarValue v[3] = {ScalarValue(x[0]), ScalarValue(x[1]), ScalarValue(x[2])};
        return row.eval.dds({Dtype::f64, Dtype::f64}, v).double_double();
      };
      const DoubleDouble from = at(centre);
      for (int k = 0; k < 6 && std::isfinite(bound.error) && std::isfinite(from.hi); ++k) {
        DoubleDouble moved[3];
        for (size_t j = 0; j < arity; ++j) {
          const double t = k == 0 ? 1 : k == 1 ? -1 : draw.uniform(-1, 1);
          moved[j] = dd::two_sum(operands[j].value.real(), t * operands[j].error);
        }
        const auto away = static_cast<double>(at(moved) - from);
        if (std::isnan(away)) continue;
        ++tried;
        ASSERT_LE(std::fabs(away), bound.error * (1 + 0x1p-40)) << row.name << " of " << centre[0].hi;
      }
    }
  }
  EXPECT_GT(tried, 1000);
  const Uncertain place{ScalarValue(1.0), 0x1p-52};
  EXPECT_LT(propagate_error(*find_scalar("log"), Dtype::f64, {&place, 1}).error, 0x1.01p-52);
  const Uncertain up_from_zero{ScalarValue(0x1p-60), 0x1p-55, 0};
  EXPECT_LT(propagate_error(*find_scalar("expm1"), Dtype::f64, {&up_from_zero, 1}).error, 0x1.01p-55);
}

// Far to the left e^-z is so great that its square is infinite: a sigmoid is off by what an exponential is there.
TEST(ErrorPropagation, complex_sigmoids_far_to_the_left_keep_their_slope) {
  for (const double at : {-300.0, -600.0, -720.0}) {
    const Uncertain operand{ScalarValue(std::complex<double>(at, 1)), 1e-6};
    const Propagated bound = propagate_error(*find_scalar("sigmoid"), Dtype::c128, {&operand, 1});
    EXPECT_GE(bound.error, std::exp(at) * 1e-6) << at;
    EXPECT_LE(bound.error, std::exp(at) * 1.001e-6) << at;
  }
}

TEST(ErrorPropagation, beside_equal_infinities_the_other_parts_are_compared) {
  constexpr double kInf = std::numeric_limits<double>::infinity();
  auto uncertain = [](double real, double other) {
    const Uncertain operands[] = {{ScalarValue(std::complex<double>(real, kInf)), 1e-9},
                                  {ScalarValue(std::complex<double>(0.5, other)), 0}};
    return propagate_error(*find_scalar("eq"), Dtype::c128, operands).ambiguous;
  };
  EXPECT_TRUE(uncertain(0.5, kInf));
  EXPECT_FALSE(uncertain(0.6, kInf));
  EXPECT_FALSE(uncertain(0.5, -kInf));
  EXPECT_FALSE(uncertain(0.5, 2));
}

TEST(ErrorPropagation, bounds_hold_for_complex_rows) {
  Draw draw;
  int finite = 0, all = 0;
  for (const ScalarRow& row : scalar_table()) {
    if (!row.dtypes.has(Dtype::c128) || row.result == ResultRule::target) continue;
    const auto arity = static_cast<size_t>(row.arity);
    for (int i = 0; i < 300; ++i) {
      Uncertain operands[3];
      ScalarValue exact[3];
      for (size_t k = 0; k < arity; ++k) {
        operands[k] = {ScalarValue(std::complex<double>(draw.uniform(-3, 3), draw.uniform(-3, 3))),
                       std::exp2(draw.uniform(-40, -2))};
        if (operand_dtype(row, Dtype::c128, static_cast<int>(k)) == Dtype::b8)
          operands[k] = {ScalarValue(int64_t{draw.below(2)}), 0};
        exact[k] = operands[k].value;
      }
      const Propagated bound = propagate_error(row, Dtype::c128, {operands, arity});
      ++all, finite += std::isfinite(bound.error);
      if (std::isinf(bound.error)) continue;
      const ScalarValue centre = evaluate(row, Dtype::c128, {exact, arity});
      for (int trial = 0; trial < 6; ++trial) {
        ScalarValue moved[3];
        for (size_t k = 0; k < arity; ++k) {
          moved[k] = exact[k];
          if (moved[k].kind() != ScalarKind::complex) continue;
          moved[k] = ScalarValue(moved[k].complex() + std::polar(operands[k].error, draw.uniform(-3.2, 3.2)));
        }
        const ScalarValue there = evaluate(row, Dtype::c128, {moved, arity});
        const double distance = centre.kind() == ScalarKind::complex
                                    ? std::abs(there.complex() - centre.complex())
                                    : std::fabs(real_number(there) - real_number(centre));
        const double size = centre.kind() == ScalarKind::complex ? std::abs(centre.complex()) : real_number(centre);
        EXPECT_LE(distance, bound.error * (1 + 1e-9) + 16 * last_place(Dtype::f64, size))
            << row.name << " at " << exact[0].complex() << " +- " << operands[0].error;
      }
    }
  }
  EXPECT_GT(finite, all * 3 / 4);
}

// Exponents that are whole and certain have no branch cut, and above zero no pole; 0 to the power of 0 may be NaN.
TEST(ErrorPropagation, ComplexPowersOfWholeExponents) {
  const ScalarRow& row = *find_scalar("pow");
  Draw draw;
  int finite = 0;
  for (int i = 0; i < 3000; ++i) {
    const std::complex<double> z(draw.uniform(-2, 2), draw.uniform(-0.5, 0.5)), n(draw.below(9) - 4.0, 0);
    const double e = std::exp2(draw.uniform(-40, 1));
    const Uncertain operands[] = {{ScalarValue(z), e}, {ScalarValue(n), 0}};
    const Propagated bound = propagate_error(row, Dtype::c128, operands);
    if (n.real() > 0 || e < std::abs(z)) ASSERT_TRUE(std::isfinite(bound.error)) << z << " +- " << e << " ^ " << n;
    if (n.real() == 0 && e >= std::abs(z)) ASSERT_FALSE(std::isfinite(bound.error)) << z << " +- " << e;
    if (!std::isfinite(bound.error)) continue;
    ++finite;
    const std::complex<double> centre = std::pow(z, static_cast<int>(n.real()));
    for (int trial = 0; trial < 6; ++trial) {
      const std::complex<double> there =
          std::pow(z + std::polar(e, draw.uniform(-3.2, 3.2)), static_cast<int>(n.real()));
      EXPECT_LE(std::abs(there - centre), bound.error + 64 * last_place(Dtype::f64, std::abs(centre)))
          << z << " +- " << e << " ^ " << n;
    }
  }
  EXPECT_GT(finite, 1500);
}

double bound_of(std::string_view name, std::initializer_list<Uncertain> operands, bool* ambiguous = nullptr) {
  Propagated p = propagate_error(*find_scalar(name), Dtype::f32, {operands.begin(), operands.size()});
  if (ambiguous != nullptr) *ambiguous = p.ambiguous;
  return p.error;
}
Uncertain about(double x, double e) { return {ScalarValue(x), e}; }

TEST(ErrorPropagation, known_bounds) {
  bool ambiguous = false;
  EXPECT_EQ(bound_of("add", {about(1, 0.25), about(2, 0.5)}), 0.75);
  EXPECT_EQ(bound_of("mul", {about(3, 0.5), about(-2, 0.25)}), 0.5 * 2 + 0.25 * 3 + 0.125);
  EXPECT_EQ(bound_of("div", {about(1, 0), about(2, 1)}), 0.5);
  EXPECT_TRUE(std::isinf(bound_of("div", {about(1, 0), about(1, 1)}, &ambiguous)));
  EXPECT_TRUE(ambiguous);
  EXPECT_NEAR(bound_of("exp", {about(0, 1)}), std::exp(1) - 1, 1e-12);
  EXPECT_EQ(bound_of("exp", {about(3, 0)}), 0);
  EXPECT_NEAR(bound_of("cosh", {about(0.5, 1)}), std::cosh(1.5) - std::cosh(0.5), 1e-12);
  EXPECT_NEAR(bound_of("cos", {about(0, 0.01)}), 0.00005, 1e-12);
  EXPECT_EQ(bound_of("sin", {about(0, 3)}), 3);
  EXPECT_EQ(bound_of("floor", {about(2.5, 0.25)}, &ambiguous), 0);
  EXPECT_FALSE(ambiguous);
  EXPECT_GE(bound_of("floor", {about(2.0, 0.25)}, &ambiguous), 1);
  EXPECT_TRUE(ambiguous);
  EXPECT_EQ(bound_of("lt", {about(1, 0.25), about(2, 0.25)}, &ambiguous), 0);
  EXPECT_FALSE(ambiguous);
  EXPECT_EQ(bound_of("lt", {about(1, 0.5), about(2, 0.5)}, &ambiguous), 1);
  EXPECT_TRUE(ambiguous);
  EXPECT_EQ(bound_of("remainder", {about(7.5, 0.25), about(2, 0)}, &ambiguous), 0.25);
  EXPECT_FALSE(ambiguous);
  bound_of("remainder", {about(8, 0.25), about(2, 0)}, &ambiguous);
  EXPECT_TRUE(ambiguous);
  bound_of("tan", {about(1.5, 0.1)}, &ambiguous);
  EXPECT_TRUE(ambiguous);
  EXPECT_LT(bound_of("tan", {about(1.0, 0.1)}, &ambiguous), 1);
  EXPECT_FALSE(ambiguous);
  EXPECT_GE(bound_of("atan2", {about(0, 0.1), about(-1, 0)}, &ambiguous), 6.28);
  EXPECT_TRUE(ambiguous);
}

TEST(ErrorPropagation, curved_functions_reach_farther_one_way) {
  const Uncertain four{.value = ScalarValue(4.0), .error = 3};
  const Propagated root = propagate_error(*find_scalar("rsqrt"), Dtype::f32, {&four, 1});
  EXPECT_NEAR(root.reach().above, 0.5, 1e-9);
  EXPECT_NEAR(root.reach().below, 0.5 - 1 / std::sqrt(7.0), 1e-9);
}

// Of a number that may lie below another and may equal it nobody says that it is greater.
TEST(ErrorPropagation, comparisons_know_which_way_operands_lean) {
  const Uncertain operands[2] = {{.value = ScalarValue(2.0), .error = 0.5, .lean = -0.5}, {.value = ScalarValue(2.0)}};
  auto open = [&](const char* row) { return propagate_error(*find_scalar(row), Dtype::f64, operands).ambiguous; };
  EXPECT_FALSE(open("gt"));
  EXPECT_FALSE(open("le"));
  for (const char* row : {"lt", "ge", "eq", "ne"}) EXPECT_TRUE(open(row)) << row;
}

// A double does not tell the last of 64 bits from those beside it: what seems to reach it may wrap.
TEST(ErrorPropagation, integers_wrap_at_their_ends) {
  auto open = [](Dtype dtype, int64_t most) {
    const Uncertain operands[2] = {{.value = ScalarValue(most - 1024), .error = 1024},
                                   {.value = ScalarValue(int64_t{0})}};
    return propagate_error(*find_scalar("add"), dtype, operands).ambiguous;
  };
  EXPECT_TRUE(open(Dtype::i64, INT64_MAX));
  EXPECT_FALSE(open(Dtype::i64, INT64_MAX - 4096));
  EXPECT_FALSE(open(Dtype::i32, INT32_MAX));
}

// A lean that is all of the error says that the other side is nothing; one that is nearly all of it does not.
TEST(ErrorPropagation, what_a_lean_leaves) {
  EXPECT_EQ(leaning(0.5, -0.5).above, 0);
  EXPECT_EQ(leaning(0.5, 0.5).below, 0);
  EXPECT_GT(leaning(0.5, std::nextafter(0.5, 0)).below, 0);
  EXPECT_EQ(leaning(HUGE_VAL, HUGE_VAL).below, HUGE_VAL);
}

// The lesser of two, and what is above zero, are not off by what they are not.
TEST(ErrorPropagation, what_is_not_picked_brings_no_error) {
  EXPECT_EQ(bound_of("minimum", {about(1, 0), about(3, 0.5)}), 0);
  EXPECT_EQ(bound_of("maximum", {about(1, 0), about(3, 0.5)}), 0.5);
  EXPECT_NEAR(bound_of("minimum", {about(1, 0), about(1.25, 0.5)}), 0.25, 1e-12);
  EXPECT_EQ(bound_of("relu", {about(-1, 0.5)}), 0);
  EXPECT_NEAR(bound_of("clamp", {about(2, 0.5), about(0, 0.5), about(1, 0.125)}), 0.125, 1e-12);
  EXPECT_TRUE(std::isinf(bound_of("minimum", {about(1, 0), about(3, HUGE_VAL)})));  // and may be NaN
}

TEST(ErrorPropagation, what_is_never_negative_stays_in_the_domain) {
  bool ambiguous = false;
  EXPECT_TRUE(std::isinf(bound_of("sqrt", {about(0.25, 1)}, &ambiguous)));
  EXPECT_TRUE(ambiguous);
  const Uncertain above{ScalarValue(0.25), 1, 0}, power = about(0.5, 0);
  EXPECT_NEAR(bound_of("sqrt", {above}, &ambiguous), std::sqrt(1.25) - 0.5, 1e-12);
  EXPECT_FALSE(ambiguous);
  EXPECT_NEAR(bound_of("pow", {above, power}, &ambiguous), std::sqrt(1.25) - 0.5, 1e-12);
  EXPECT_TRUE(std::isinf(bound_of("pow", {above, about(-0.5, 0)}, &ambiguous)));
}

// 1 to the power of NaN is 1, what is beside it NaN; by an infinity it is one of three numbers.
TEST(ErrorPropagation, powers_beside_one) {
  const ScalarRow& row = *find_scalar("pow");
  for (const Dtype d : {Dtype::f32, Dtype::f64})
    for (const double exponent : {std::nan(""), HUGE_VAL, -HUGE_VAL}) {
      const Uncertain open[] = {about(1, 0x1p-50), about(exponent, 0)};
      const Propagated p = propagate_error(row, d, open);
      EXPECT_GE(p.error, 1) << name(d) << " " << exponent;
    }
}

TEST(ErrorPropagation, an_open_condition_allows_either_branch) {
  const Uncertain open[] = {{ScalarValue(int64_t{1}), 1}, about(5, 0.5), about(2, 0.25)};
  const Uncertain sure[] = {{ScalarValue(int64_t{0}), 0}, about(5, 0.5), about(2, 0.25)};
  Propagated p = propagate_error(*find_scalar("where"), Dtype::f32, open);
  EXPECT_EQ(p.error, 3.5);
  EXPECT_TRUE(p.ambiguous);
  p = propagate_error(*find_scalar("where"), Dtype::f32, sure);
  EXPECT_EQ(p.error, 0.25);
  EXPECT_FALSE(p.ambiguous);
}

TEST(ErrorPropagation, what_a_certain_condition_does_not_take_may_be_anything) {
  const Uncertain condition{ScalarValue(int64_t{0}), 0}, anything = about(5, HUGE_VAL), known = about(2, 0);
  const Uncertain not_taken[] = {condition, anything, known}, taken[] = {condition, known, anything};
  const Propagated p = propagate_error(*find_scalar("where"), Dtype::f32, not_taken);
  EXPECT_EQ(p.error, 0);
  EXPECT_FALSE(p.ambiguous);
  EXPECT_TRUE(std::isinf(propagate_error(*find_scalar("where"), Dtype::f32, taken).error));
}

TEST(ErrorPropagation, conversions) {
  const Uncertain near_three[] = {about(2.9, 0.2)}, near_half[] = {about(2.5, 0.2)};
  const ScalarRow& row = *find_scalar("to_dtype");
  EXPECT_TRUE(propagate_error(row, Dtype::f32, near_three, Dtype::i32).ambiguous);
  EXPECT_EQ(propagate_error(row, Dtype::f32, near_half, Dtype::i32).error, 0);
  EXPECT_EQ(propagate_error(row, Dtype::f32, near_half, Dtype::f16).error, 0.2);
}

TEST(ErrorPropagation, zeros_of_terms_that_cancel_are_not_exact) {
  const ScalarValue ones[] = {ScalarValue(-1.0), ScalarValue(-1.0)}, zero[] = {ScalarValue(0.0), ScalarValue(1.0)};
  EXPECT_FALSE(gives_exactly(*find_scalar("logaddexp2"), 0, ones));
  EXPECT_TRUE(gives_exactly(*find_scalar("atan2"), 0, zero));
}

// Between two poles lgamma and what follows from it have their least value inside, where no end of an interval shows
// it.
TEST(ErrorPropagation, valleys_between_poles) {
  const std::pair<const char*, std::vector<double>> rows[] = {{"lgamma", {}}, {"trigamma", {}}, {"special_zeta", {2}}};
  for (const auto& [name, first] : rows)
    for (const double middle : {-0.45, -6.5, -6.3, -20.52}) {
      const ScalarRow& row = *find_scalar(name);
      std::vector<Uncertain> operands;
      for (double x : first) operands.push_back({ScalarValue(x), 0});
      operands.push_back({ScalarValue(middle), 0.2});
      const Propagated p = propagate_error(row, Dtype::f32, operands);
      ASSERT_FALSE(p.ambiguous) << name << " at " << middle;
      auto at = [&](double x) {
        std::vector<ScalarValue> point;
        for (double y : first) point.emplace_back(y);
        point.emplace_back(x);
        return evaluate(row, Dtype::f64, point).real();
      };
      for (int k = -100; k <= 100; ++k)
        EXPECT_GE(at(middle + 0.002 * k), at(middle) - p.reach().below) << name << " near " << middle;
    }
}

TEST(ErrorPropagation, a_domain_inside_the_interval) {
  const Uncertain around[] = {{ScalarValue(20.0), 30}}, beside[] = {{ScalarValue(20.0), 10}};
  EXPECT_TRUE(propagate_error(*find_scalar("acos"), Dtype::f32, around).ambiguous);
  EXPECT_FALSE(propagate_error(*find_scalar("acos"), Dtype::f32, beside).ambiguous);
}

TEST(ErrorPropagation, own_error_is_the_row_s_accuracy) {
  EXPECT_EQ(own_error(*find_scalar("add"), Dtype::f32, ScalarValue(1.0), {}), 0x1p-24);
  EXPECT_EQ(own_error(*find_scalar("exp"), Dtype::f32, ScalarValue(1.5), {}), 0x1p-23);
  EXPECT_EQ(own_error(*find_scalar("exp"), Dtype::f16, ScalarValue(1.5), {}), 0x1p-11 + 0x1p-14);
  const ScalarValue operands[] = {ScalarValue(1.0), ScalarValue(-4.0), ScalarValue(0.2)};
  EXPECT_EQ(own_error(*find_scalar("lerp"), Dtype::f32, ScalarValue(0.0), operands), 4 * 0x1p-21);
  EXPECT_EQ(own_error(*find_scalar("neg"), Dtype::f32, ScalarValue(1.5), {}), 0);
  const ScalarValue real[] = {ScalarValue(-1.5)}, complex[] = {ScalarValue(std::complex<double>(-1.5, 1))};
  for (const char* name : {"abs", "sgn"}) EXPECT_EQ(own_error(*find_scalar(name), Dtype::f32, real[0], real), 0);
  EXPECT_GT(own_error(*find_scalar("abs"), Dtype::f32, ScalarValue(1.8), complex), 0);
  EXPECT_EQ(own_error(*find_scalar("add"), Dtype::i32, ScalarValue(int64_t{3}), {}), 0);
}

// A double has not the greatest integer, nor is the next one an integer of the dtype: beside it the lesser counts.
TEST(ErrorPropagation, the_lesser_of_an_uncertain_and_the_greatest_integer_is_uncertain) {
  const Uncertain uncertain{ScalarValue(int64_t{11}), 11};
  const Uncertain greatest{ScalarValue(std::numeric_limits<int64_t>::max()), 0};
  const Uncertain least{ScalarValue(std::numeric_limits<int64_t>::min()), 0};
  const Uncertain above[] = {uncertain, greatest}, below[] = {uncertain, least};
  EXPECT_GE(propagate_error(*find_scalar("minimum"), Dtype::i64, above).error, 11);
  EXPECT_GE(propagate_error(*find_scalar("maximum"), Dtype::i64, below).error, 11);
  EXPECT_EQ(propagate_error(*find_scalar("maximum"), Dtype::i64, above).error, 0);
  EXPECT_EQ(propagate_error(*find_scalar("minimum"), Dtype::i64, below).error, 0);
}

}  // namespace
}  // namespace lenz
