// Combines against direct loops, over dtypes and special values.
#include "compiler/loops/combine.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "compiler/base/chooser.h"
#include "compiler/base/error.h"
#include "compiler/loops/tensor.h"
#include "compiler/scalar/rounding.h"

namespace lenz::loops {
namespace {
using enum Combine;

constexpr double kInf = HUGE_VAL;

ScalarValue random_element(Chooser& choose, Dtype dtype, bool special) {
  if (dtype == Dtype::b8) return ScalarValue(choose.between(0, 1));
  if (is_integral(dtype, false)) {
    constexpr int64_t odd[] = {INT64_MIN, INT64_MAX, -1, 0};
    return ScalarValue(wrap_to(dtype, special && choose.chance(1, 4) ? choose.pick(odd) : choose.between(-9, 9)));
  }
  constexpr double odd[] = {kInf, -kInf, NAN, -0.0, 0.0};
  auto real = [&] {
    return special && choose.chance(1, 4) ? choose.pick(odd)
                                          : round_to(to_real(dtype), static_cast<double>(choose.between(-64, 64)) / 16);
  };
  if (is_complex(dtype)) return ScalarValue(std::complex<double>{real(), real()});
  return ScalarValue(real());
}

bool same(const ScalarValue& a, const ScalarValue& b, double tolerance) {
  if (a.kind() == ScalarKind::integer) return a.integer() == b.integer();
  auto close = [&](double x, double y) {
    return (std::isnan(x) && std::isnan(y)) || x == y ||
           std::fabs(x - y) <= tolerance * std::max({1.0, std::fabs(x), std::fabs(y)});
  };
  if (a.kind() == ScalarKind::real) return close(a.real(), b.real());
  return close(a.complex().real(), b.complex().real()) && close(a.complex().imag(), b.complex().imag());
}
bool same(Combine c, const CombineState& a, const CombineState& b, double tolerance) {
  for (uint32_t part = 0; part < row_of(c).parts; ++part)
    if (!same(a[part], b[part], tolerance)) return false;
  return true;
}

std::vector<Dtype> dtypes_of(Combine c) {
  switch (c) {
    case sum:
    case product:
      return {Dtype::u8,  Dtype::i8,   Dtype::i32, Dtype::i64, Dtype::f32,
              Dtype::f64, Dtype::bf16, Dtype::c64, Dtype::c128};
    case any:
    case all: return {Dtype::b8};
    case xor_sum: return {Dtype::u8, Dtype::i16, Dtype::i64};
    case welford:
    case log_sum_exp: return {Dtype::f32, Dtype::f64};
    case last: return {Dtype::b8, Dtype::i64, Dtype::f32, Dtype::c64};
    default: return {Dtype::b8, Dtype::u8, Dtype::i64, Dtype::f32, Dtype::f64, Dtype::f16};
  }
}

using States = std::vector<CombineState>;
CombineState folded(Combine c, Dtype d, const States& states) {
  CombineState total = identity(c, d);
  for (const CombineState& s : states) total = combine(c, d, total, s);
  return total;
}
States random_states(Chooser& choose, Combine c, Dtype d, int64_t count, bool special) {
  States states;
  for (int64_t i = 0; i < count; ++i) {
    const ScalarValue operands[] = {random_element(choose, d, special), ScalarValue(i)};
    states.push_back(one(c, d, std::span(operands, row_of(c).operands)));
  }
  return states;
}

template <class F>
void for_all(F&& check) {
  for (const CombineRow& row : combine_table())
    for (Dtype d : dtypes_of(row.combine))
      for (uint64_t seed = 0; seed < 60; ++seed) {
        RandomChooser choose(seed);
        SCOPED_TRACE(std::string(row.name) + " on " + std::string(name(d)) + ", seed " + std::to_string(seed));
        check(row.combine, d, choose);
        if (testing::Test::HasFailure()) return;
      }
}

TEST(Combine, TableIsInOrderAndNamesAreFound) {
  for (const CombineRow& row : combine_table()) {
    EXPECT_EQ(find_combine(row.name), row.combine);
    EXPECT_EQ(&row_of(row.combine), &row);
  }
  EXPECT_EQ(combine_table().size(), static_cast<size_t>(last) + 1);
  EXPECT_EQ(find_combine("median"), std::nullopt);
  EXPECT_EQ(primitive(sum), find_scalar("add"));
  EXPECT_EQ(primitive(argmax), nullptr);
  EXPECT_EQ(part_dtype(argmax, Dtype::f16, 1), Dtype::i64);
  EXPECT_EQ(part_dtype(welford, Dtype::f32, 2), Dtype::f32);
  EXPECT_THROW(part_dtype(sum, Dtype::f32, 1), InternalError);
}

TEST(Combine, IdentityLeavesAStateAsItIs) {
  for_all([](Combine c, Dtype d, Chooser& choose) {
    const bool special = c != product || !is_complex(d);  // (1 + 0i) times an infinity has a NaN, as eager's has
    CombineState s = folded(c, d, random_states(choose, c, d, choose.between(1, 4), special));
    EXPECT_TRUE(same(c, combine(c, d, identity(c, d), s), s, 0));
    EXPECT_TRUE(c == last || same(c, combine(c, d, s, identity(c, d)), s, 0));
  });
}

// However the elements are split, the states of the pieces combine to the same; over floats up to rounding.
TEST(Combine, IsAssociative) {
  for_all([](Combine c, Dtype d, Chooser& choose) {
    const bool special = !(is_inexact(d) && c == product);  // inf * 0 depends on the order
    States states = random_states(choose, c, d, 12, special && choose.flip());
    auto cut = static_cast<ptrdiff_t>(choose.between(1, 11));
    CombineState left = folded(c, d, States(states.begin(), states.begin() + cut)),
                 right = folded(c, d, States(states.begin() + cut, states.end()));
    const double unit = is_inexact(d) ? std::ldexp(1.0, -info(d).mantissa_bits) : 0;
    EXPECT_TRUE(same(c, combine(c, d, left, right), folded(c, d, states), 64 * unit));
  });
}

std::vector<double> reals_of(const States& states) {
  std::vector<double> all;
  for (const CombineState& s : states) all.push_back(s[0].real());
  return all;
}

TEST(Combine, MomentsAgainstTheirDefinition) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    RandomChooser choose(seed);
    States states = random_states(choose, welford, Dtype::f64, choose.between(1, 20), false);
    std::vector<double> x = reals_of(states);
    double mean = 0, squares = 0;
    for (double v : x) mean += v / static_cast<double>(x.size());
    for (double v : x) squares += (v - mean) * (v - mean);
    CombineState got = folded(welford, Dtype::f64, states);
    EXPECT_NEAR(got[0].real(), mean, 1e-13);
    EXPECT_NEAR(got[1].real(), squares, 1e-11);
    EXPECT_EQ(got[2].real(), static_cast<double>(x.size()));
  }
}

CombineState of(Combine c, std::initializer_list<double> x, Dtype d = Dtype::f64) {
  CombineState total = identity(c, d);
  int64_t i = 0;
  for (double v : x) {
    const ScalarValue operands[] = {ScalarValue(v), ScalarValue(i++)};
    total = combine(c, d, total, one(c, d, std::span(operands, row_of(c).operands)));
  }
  return total;
}

TEST(Combine, MomentsOfInfinities) {
  for (auto x : {std::initializer_list<double>{kInf}, {1, kInf}, {kInf, 1}, {1, kInf, kInf, 2}}) {
    CombineState s = of(welford, x);
    EXPECT_EQ(s[0].real(), kInf);
    EXPECT_TRUE(std::isnan(s[1].real()));
    EXPECT_EQ(s[2].real(), static_cast<double>(x.size()));
  }
  EXPECT_TRUE(std::isnan(of(welford, {kInf, -kInf})[0].real()));
  EXPECT_TRUE(std::isnan(of(welford, {1, NAN, 2})[0].real()));
  EXPECT_TRUE(std::isnan(of(welford, {1, NAN, 2})[1].real()));
}

TEST(Combine, ExponentialsAgainstTheirDefinition) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    RandomChooser choose(seed);
    States states = random_states(choose, log_sum_exp, Dtype::f64, choose.between(1, 20), false);
    std::vector<double> x = reals_of(states);
    double most = -kInf, total = 0;
    for (double v : x) most = std::max(most, v);
    for (double v : x) total += std::exp(v - most);
    CombineState got = folded(log_sum_exp, Dtype::f64, states);
    EXPECT_EQ(got[0].real(), most);
    EXPECT_NEAR(got[1].real(), total, 1e-12 * total);
  }
  auto result = [](std::initializer_list<double> x) {
    CombineState s = of(log_sum_exp, x);
    return s[0].real() + std::log(s[1].real());
  };
  EXPECT_EQ(result({}), -kInf);
  EXPECT_EQ(result({-kInf, -kInf}), -kInf);
  EXPECT_EQ(result({-kInf, 3}), 3);
  EXPECT_EQ(result({1, kInf, 2, kInf}), kInf);
  EXPECT_TRUE(std::isnan(result({1, NAN, kInf})));
}

TEST(Combine, ExtremesTakeNanAndTheRightOneOfEquals) {
  auto index = [](Combine c, std::initializer_list<double> x) { return of(c, x)[1].integer(); };
  EXPECT_EQ(index(argmax, {1, 3, 3, 2}), 1);
  EXPECT_EQ(index(argmax_last, {1, 3, 3, 2}), 2);
  EXPECT_EQ(index(argmin, {1, 1, 3}), 0);
  EXPECT_EQ(index(argmin_last, {1, 1, 3}), 1);
  for (Combine c : {argmin, argmax}) EXPECT_EQ(index(c, {1, NAN, kInf, -kInf, NAN}), 1);
  for (Combine c : {argmin_last, argmax_last}) EXPECT_EQ(index(c, {1, NAN, kInf, -kInf, NAN, 2}), 4);
  EXPECT_EQ(index(argmax, {-0.0, 0.0}), 0);     // equal
  EXPECT_EQ(index(argmax, {-kInf, -kInf}), 0);  // the identity's value, but not its index
  EXPECT_EQ(index(argmin_last, {kInf, kInf}), 1);
  for (Combine c : {minimum, maximum}) EXPECT_TRUE(std::isnan(of(c, {1, NAN, 2})[0].real()));
  EXPECT_EQ(of(maximum, {})[0].real(), -kInf);
  EXPECT_EQ(identity(minimum, Dtype::i8)[0].integer(), 127);
  EXPECT_EQ(identity(maximum, Dtype::i64)[0].integer(), INT64_MIN);
  EXPECT_EQ(identity(minimum, Dtype::u8)[0].integer(), 255);
  EXPECT_EQ(identity(maximum, Dtype::b8)[0].integer(), 0);
}

TEST(Combine, IntegersWrapInTheirDtype) {
  auto total = [](Combine c, Dtype d, std::initializer_list<int64_t> x) {
    CombineState s = identity(c, d);
    for (int64_t v : x) s = combine(c, d, s, {ScalarValue(v)});
    return s[0].integer();
  };
  EXPECT_EQ(total(sum, Dtype::i8, {100, 100}), -56);
  EXPECT_EQ(total(product, Dtype::u8, {16, 17}), 16);
  EXPECT_EQ(total(sum, Dtype::i64, {INT64_MAX, 1}), INT64_MIN);
  EXPECT_EQ(total(xor_sum, Dtype::i16, {5, 3, -1}), -7);
  EXPECT_EQ(total(any, Dtype::b8, {0, 1, 0}), 1);
  EXPECT_EQ(total(all, Dtype::b8, {}), 1);
  EXPECT_EQ(total(last, Dtype::i64, {3, 9, 4}), 4);
}

TEST(Combine, ComplexNumbersAddAndMultiply) {
  using C = std::complex<double>;
  for (Dtype d : {Dtype::c64, Dtype::c128}) {
    CombineState s = identity(product, d);
    for (C v : {C(1, 2), C(3, -1), C(0, 1)}) s = combine(product, d, s, {ScalarValue(v)});
    EXPECT_EQ(s[0].complex(), C(-5, 5));
    s = identity(sum, d);
    for (C v : {C(1, 2), C(3, -1)}) s = combine(sum, d, s, {ScalarValue(v)});
    EXPECT_EQ(s[0].complex(), C(4, 1));
  }
  EXPECT_THROW(identity(maximum, Dtype::c64), InternalError);
}

TEST(Combine, RoundsToTheDtype) {
  CombineState s = combine(sum, Dtype::f16, {ScalarValue(2048.0)}, {ScalarValue(1.0)});
  EXPECT_EQ(s[0].real(), 2048);
  s = combine(sum, Dtype::f32, {ScalarValue(0x1p24)}, {ScalarValue(1.0)});
  EXPECT_EQ(s[0].real(), 0x1p24);
}

}  // namespace
}  // namespace lenz::loops
