// What the table promises holds: each row against independent arithmetic where there is one, and every trait, parity,
// monotonicity and NaN rule that a row declares against its own evaluation.
#include "compiler/scalar/scalar.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <functional>
#include <random>
#include <set>
#include <string>

#include "compiler/base/error.h"
#include "compiler/scalar/rounding.h"

namespace lenz {
namespace {

__extension__ using Wide = __int128;

const ScalarRow& row_of(std::string_view name) {
  const ScalarRow* row = find_scalar(name);
  if (row == nullptr) throw InternalError("no row " + std::string(name));
  return *row;
}

int64_t on_integers(std::string_view name, Dtype dtype, int64_t a, int64_t b) {
  const ScalarRow& row = row_of(name);
  const ScalarValue operands[] = {ScalarValue(a), ScalarValue(b)};
  return evaluate(row, dtype, {operands, static_cast<size_t>(row.arity)}).integer();
}
double on_reals(std::string_view name, Dtype dtype, std::initializer_list<double> values) {
  std::vector<ScalarValue> operands;
  for (double v : values) operands.emplace_back(v);
  const ScalarValue result = evaluate(row_of(name), dtype, operands);
  return result.kind() == ScalarKind::integer ? static_cast<double>(result.integer()) : result.real();
}
double convert(Dtype from, Dtype to, ScalarValue value) {
  const ScalarValue result = evaluate(row_of("to_dtype"), from, {&value, 1}, to);
  return result.kind() == ScalarKind::integer ? static_cast<double>(result.integer()) : result.real();
}

TEST(ScalarTable, rows_are_complete) {
  std::set<std::string_view> names;
  for (const ScalarRow& row : scalar_table()) {
    EXPECT_TRUE(names.insert(row.name).second) << row.name << " stands twice";
    EXPECT_EQ(find_scalar(row.name), &row);
    EXPECT_FALSE(row.semantics.empty()) << row.name;
    EXPECT_GE(row.arity, 1);
    EXPECT_LE(row.arity, 3);
    EXPECT_EQ(row.eval.integers != nullptr, !(row.dtypes & (dtypes::integers | dtypes::boolean)).empty()) << row.name;
    EXPECT_EQ(row.eval.reals != nullptr, !(row.dtypes & (dtypes::floats | dtypes::float8)).empty()) << row.name;
    EXPECT_EQ(row.eval.complexes != nullptr, !(row.dtypes & dtypes::complexes).empty()) << row.name;
    if (row.error.rule == ErrorRule::lipschitz) {
      EXPECT_GT(row.error.lipschitz, 0) << row.name;
    }
    if (row.error.rule == ErrorRule::derivative) {
      EXPECT_NE(row.error.slope, nullptr) << row.name;
    }
    for (const auto& domain : row.domain)
      for (const Interval& i : domain) EXPECT_LE(i.low, i.high) << row.name;
  }
  EXPECT_GE(scalar_table().size(), 130u);
  EXPECT_EQ(find_scalar("no such primitive"), nullptr);
}

constexpr Dtype kIntegers[] = {Dtype::u8, Dtype::i8, Dtype::i16, Dtype::i32, Dtype::i64};

int64_t cut(Dtype dtype, Wide value) { return wrap_to(dtype, static_cast<int64_t>(static_cast<uint64_t>(value))); }

// Any value of the dtype, often at its ends or near zero.
int64_t integer_of(Dtype dtype) {
  const auto any = *rc::gen::arbitrary<int64_t>();
  const auto small = *rc::gen::inRange<int64_t>(-3, 4);
  switch (*rc::gen::inRange(0, 3)) {
    case 0: return wrap_to(dtype, any);
    case 1: return wrap_to(dtype, small);
    default:  // around the least and the greatest
      return wrap_to(dtype, static_cast<int64_t>((info(dtype).is_signed ? uint64_t{1} << (info(dtype).bits - 1) : 0) +
                                                 static_cast<uint64_t>(small)));
  }
}

RC_GTEST_PROP(ScalarIntegers, arithmetic_wraps, ()) {
  for (Dtype dtype : kIntegers) {
    const int64_t a = integer_of(dtype), b = integer_of(dtype);
    const Wide x = a, y = b;
    RC_ASSERT(on_integers("add", dtype, a, b) == cut(dtype, x + y));
    RC_ASSERT(on_integers("sub", dtype, a, b) == cut(dtype, x - y));
    RC_ASSERT(on_integers("mul", dtype, a, b) == cut(dtype, x * y));
    RC_ASSERT(on_integers("neg", dtype, a, 0) == cut(dtype, -x));
    RC_ASSERT(on_integers("abs", dtype, a, 0) == cut(dtype, x < 0 ? -x : x));
    RC_ASSERT(on_integers("square", dtype, a, 0) == cut(dtype, x * x));
    if (b == 0) continue;
    Wide q = x / y, r = x % y;
    RC_ASSERT(on_integers("trunc_div", dtype, a, b) == cut(dtype, q));
    RC_ASSERT(on_integers("fmod", dtype, a, b) == cut(dtype, r));
    if (r != 0 && (r < 0) != (y < 0)) q -= 1, r += y;
    RC_ASSERT(on_integers("floor_divide", dtype, a, b) == cut(dtype, q));
    RC_ASSERT(on_integers("remainder", dtype, a, b) == cut(dtype, r));
  }
}

RC_GTEST_PROP(ScalarIntegers, bits_and_shifts, ()) {
  for (Dtype dtype : kIntegers) {
    const int64_t a = integer_of(dtype);
    const auto n = wrap_to(dtype, *rc::gen::inRange<int64_t>(-70, 140));
    const bool outside = n < 0 || n >= info(dtype).bits;
    const Wide power = outside ? 0 : Wide{1} << n;
    RC_ASSERT(on_integers("bitwise_left_shift", dtype, a, n) == (outside ? 0 : cut(dtype, Wide{a} * power)));
    const Wide floor = outside ? (a < 0 ? -1 : 0) : (Wide{a} - ((Wide{a} % power + power) % power)) / power;
    RC_ASSERT(on_integers("bitwise_right_shift", dtype, a, n) == cut(dtype, floor));
    RC_ASSERT(on_integers("bitwise_not", dtype, a, 0) == cut(dtype, -1 - Wide{a}));
    const int64_t b = integer_of(dtype);
    const int64_t both = on_integers("bitwise_and", dtype, a, b), either = on_integers("bitwise_or", dtype, a, b);
    RC_ASSERT(cut(dtype, Wide{both} + either) == cut(dtype, Wide{a} + b));
    RC_ASSERT(on_integers("bitwise_xor", dtype, a, b) == cut(dtype, Wide{either} - both));
  }
}

RC_GTEST_PROP(ScalarIntegers, powers_by_repeated_multiplication, ()) {
  for (Dtype dtype : kIntegers) {
    const int64_t a = integer_of(dtype);
    const auto n = *rc::gen::inRange<int64_t>(0, 70);
    int64_t product = wrap_to(dtype, 1);
    for (int64_t i = 0; i < n; ++i) product = cut(dtype, Wide{product} * a);
    RC_ASSERT(on_integers("pow", dtype, a, n) == product);
  }
}

RC_GTEST_PROP(ScalarIntegers, divisors, ()) {
  const auto g = *rc::gen::inRange<int64_t>(1, 1000);
  const int64_t a = g * *rc::gen::inRange<int64_t>(-1000, 1000), b = g * *rc::gen::inRange<int64_t>(-1000, 1000);
  const int64_t d = on_integers("gcd", Dtype::i64, a, b);
  RC_ASSERT(d >= 0);
  if (d == 0) {
    RC_ASSERT(a == 0 && b == 0);
  } else {
    RC_ASSERT(a % d == 0 && b % d == 0 && d % g == 0);
    RC_ASSERT(on_integers("lcm", Dtype::i64, a, b) * d == std::abs(a * b));
  }
}

// The least integer is its own magnitude.
TEST(ScalarIntegers, divisors_of_the_least) {
  for (const Dtype dtype : {Dtype::i8, Dtype::i16, Dtype::i32, Dtype::i64}) {
    const int64_t least = -(int64_t{1} << (info(dtype).bits - 2)) * 2;
    EXPECT_EQ(on_integers("gcd", dtype, 15, least), -1);
    EXPECT_EQ(on_integers("gcd", dtype, least, -15), -1);
    EXPECT_EQ(on_integers("gcd", dtype, least, 6), -2);
    EXPECT_EQ(on_integers("gcd", dtype, least, -1), 1);
    EXPECT_EQ(on_integers("gcd", dtype, least, 0), least);
    EXPECT_EQ(on_integers("gcd", dtype, least, least), least);
  }
}

TEST(ScalarIntegers, negative_exponents) {
  EXPECT_EQ(on_integers("pow", Dtype::i32, 1, -3), 1);
  EXPECT_EQ(on_integers("pow", Dtype::i32, -1, -3), -1);
  EXPECT_EQ(on_integers("pow", Dtype::i32, -1, -4), 1);
  EXPECT_EQ(on_integers("pow", Dtype::i32, 2, -1), 0);
}

TEST(ScalarIntegers, division_by_zero_raises) {
  for (const char* name : {"floor_divide", "trunc_div", "remainder", "fmod"})
    EXPECT_THROW(on_integers(name, Dtype::i32, 7, 0), UserError) << name;
}

TEST(ScalarBooleans, are_logic) {
  for (int64_t a : {0, 1})
    for (int64_t b : {0, 1}) {
      EXPECT_EQ(on_integers("add", Dtype::b8, a, b), a | b);
      EXPECT_EQ(on_integers("mul", Dtype::b8, a, b), a & b);
      EXPECT_EQ(on_integers("bitwise_xor", Dtype::b8, a, b), a ^ b);
      EXPECT_EQ(on_integers("bitwise_not", Dtype::b8, a, b), 1 - a);
      EXPECT_EQ(on_integers("maximum", Dtype::b8, a, b), a | b);
    }
  EXPECT_THROW(on_integers("sub", Dtype::b8, 1, 1), Unsupported);
  EXPECT_THROW(on_integers("neg", Dtype::b8, 1, 0), Unsupported);
}

TEST(ScalarReals, rounding_is_half_to_even) {
  for (auto [x, want] : {std::pair{0.5, 0.0}, {1.5, 2.0}, {2.5, 2.0}, {-0.5, -0.0}, {-1.5, -2.0}, {2.500001, 3.0}}) {
    EXPECT_EQ(on_reals("round", Dtype::f64, {x}), want);
    EXPECT_EQ(std::signbit(on_reals("round", Dtype::f64, {x})), std::signbit(want));
  }
  EXPECT_TRUE(std::signbit(on_reals("ceil", Dtype::f32, {-0.5})));
  EXPECT_TRUE(std::isnan(on_reals("frac", Dtype::f32, {dd::kInfinity})));
}

TEST(ScalarReals, division_and_remainder_follow_python) {
  EXPECT_EQ(on_reals("floor_divide", Dtype::f64, {-7, 2}), -4);
  EXPECT_EQ(on_reals("remainder", Dtype::f64, {-7, 2}), 1);
  EXPECT_EQ(on_reals("remainder", Dtype::f64, {7, -2}), -1);
  EXPECT_EQ(on_reals("fmod", Dtype::f64, {-7, 2}), -1);
  EXPECT_EQ(on_reals("floor_divide", Dtype::f64, {1, dd::kInfinity}), 0);
  EXPECT_EQ(on_reals("floor_divide", Dtype::f64, {-1, dd::kInfinity}), -1);
  EXPECT_EQ(on_reals("floor_divide", Dtype::f64, {1, 0}), dd::kInfinity);
  EXPECT_TRUE(std::isnan(on_reals("remainder", Dtype::f64, {1, 0})));
  EXPECT_EQ(on_reals("floor_divide", Dtype::f64, {1, 0.1}), 9);  // 0.1 is a little more than a tenth
  // The quotient rounds to an integer before it is truncated, in the dtype that computes it.
  EXPECT_EQ(on_reals("trunc_div", Dtype::f64, {0x1.fffffffffffffp+1, 1}), 3);
  EXPECT_EQ(on_reals("trunc_div", Dtype::f16, {0x1.fffffffp+1, 1}), 4);
}

TEST(ScalarReals, fma_rounds_once) {
  // In float: a * b = 1 + 2^-11 + 2^-24 exactly; the product rounded first would lose the last term.
  const double a = 1 + 0x1p-12;
  EXPECT_EQ(on_reals("fma", Dtype::f32, {a, a, -1}), 0x1p-11 + 0x1p-24);
  // A tie that only the third operand breaks, far below a double's precision.
  EXPECT_EQ(round_to(Dtype::f16, on_reals("fma", Dtype::f16, {0x1.008p0, 0x1p11, 0x1p-24})), 0x1.008p11);
}

TEST(ScalarReals, infinities_and_nans_of_minima) {
  const double nan = dd::kNan;
  EXPECT_TRUE(std::isnan(on_reals("minimum", Dtype::f32, {nan, 1})));
  EXPECT_TRUE(std::isnan(on_reals("maximum", Dtype::f32, {1, nan})));
  EXPECT_EQ(on_reals("fmin", Dtype::f32, {nan, 1}), 1);
  EXPECT_EQ(on_reals("fmax", Dtype::f32, {1, nan}), 1);
  EXPECT_TRUE(std::isnan(on_reals("clamp", Dtype::f32, {1, nan, 2})));
  EXPECT_EQ(on_reals("clamp", Dtype::f32, {5, 3, 1}), 1);
  EXPECT_EQ(on_reals("sign", Dtype::f32, {nan}), 0);
  for (const double any : {nan, std::numeric_limits<double>::signaling_NaN()}) {
    EXPECT_EQ(on_reals("pow", Dtype::f32, {any, -0.0}), 1);
    EXPECT_EQ(on_reals("pow", Dtype::f64, {any, 0}), 1);
    EXPECT_EQ(on_reals("pow", Dtype::f32, {1, any}), 1);
  }
}

TEST(ScalarConversions, follow_pytorch) {
  EXPECT_EQ(convert(Dtype::i32, Dtype::u8, ScalarValue(int64_t{-1})), 255);
  EXPECT_EQ(convert(Dtype::i64, Dtype::i8, ScalarValue(int64_t{128})), -128);
  EXPECT_EQ(convert(Dtype::f32, Dtype::i32, ScalarValue(-2.9)), -2);
  EXPECT_EQ(convert(Dtype::f32, Dtype::b8, ScalarValue(dd::kNan)), 1);
  EXPECT_EQ(convert(Dtype::f32, Dtype::b8, ScalarValue(-0.0)), 0);
  EXPECT_EQ(convert(Dtype::b8, Dtype::f16, ScalarValue(int64_t{1})), 1);
  EXPECT_EQ(convert(Dtype::i64, Dtype::f32, ScalarValue(int64_t{16777217})), 16777216);
  EXPECT_EQ(convert(Dtype::f64, Dtype::f16, ScalarValue(65520.0)), dd::kInfinity);
  EXPECT_TRUE(std::isnan(convert(Dtype::f32, Dtype::f8e4m3, ScalarValue(500.0))));
  // Through float: 1 + 2^-11 + 2^-30 is above the tie of f16, but float puts it on the tie.
  EXPECT_EQ(convert(Dtype::f64, Dtype::f16, ScalarValue(1 + 0x1p-11 + 0x1p-30)), 1);
}

TEST(ScalarConversions, out_of_range_is_not_defined) {
  auto defined = [](Dtype to, double x) {
    const ScalarValue value(x);
    return is_defined(row_of("to_dtype"), Dtype::f64, {&value, 1}, to);
  };
  EXPECT_TRUE(defined(Dtype::i8, 127.9));
  EXPECT_FALSE(defined(Dtype::i8, 128));
  EXPECT_TRUE(defined(Dtype::i8, -128.9));
  EXPECT_FALSE(defined(Dtype::u8, -1));
  EXPECT_TRUE(defined(Dtype::u8, -0.9));
  EXPECT_TRUE(defined(Dtype::i64, 0x1.fffffffffffffp62));
  EXPECT_FALSE(defined(Dtype::i64, 0x1p63));
  EXPECT_FALSE(defined(Dtype::i32, dd::kNan));
  EXPECT_TRUE(defined(Dtype::b8, dd::kNan));
  EXPECT_TRUE(defined(Dtype::f16, 1e300));
}

TEST(ScalarConversions, bitcast_keeps_every_bit) {
  for (uint64_t bits = 0; bits < 65536; ++bits) {
    const ScalarValue half = from_bits(Dtype::f16, {bits, 0});
    const ScalarValue integer = evaluate(row_of("bitcast"), Dtype::f16, {&half, 1}, Dtype::i16);
    ASSERT_EQ(to_bits(Dtype::i16, integer)[0], bits);
    const ScalarValue back = evaluate(row_of("bitcast"), Dtype::i16, {&integer, 1}, Dtype::bf16);
    ASSERT_EQ(to_bits(Dtype::bf16, back)[0], bits);
  }
}

TEST(ScalarConversions, to_another_format_make_a_nan_quiet) {
  const auto bits = [](Dtype from, uint64_t word, Dtype to) {
    const ScalarValue given = from_bits(from, {word, 0});
    return to_bits(to, evaluate(row_of("to_dtype"), from, {&given, 1}, to))[0];
  };
  EXPECT_EQ(bits(Dtype::f32, 0x7f800001, Dtype::f64), 0x7ff8000020000000U);
  EXPECT_EQ(bits(Dtype::f32, 0xff802000, Dtype::f16), 0xfe01U);
  EXPECT_EQ(bits(Dtype::f64, 0x7ff0000000000001, Dtype::f32), 0x7fc00000U);
  EXPECT_EQ(bits(Dtype::c64, 0xff8000017f800001, Dtype::c64), 0xff8000017f800001U);
  EXPECT_EQ(bits(Dtype::f32, 0x7f800001, Dtype::f32), 0x7f800001U);
}

TEST(ScalarTable, wrong_calls) {
  const ScalarValue one(1.0), whole(int64_t{1});
  EXPECT_THROW(evaluate(row_of("add"), Dtype::f32, {&one, 1}), InternalError);
  EXPECT_THROW(evaluate(row_of("exp"), Dtype::i32, {&whole, 1}), Unsupported);
  EXPECT_THROW(evaluate(row_of("exp"), Dtype::f32, {&whole, 1}), InternalError);
  const ScalarValue wide[] = {ScalarValue(DoubleDouble(1)), ScalarValue(DoubleDouble(2))};
  EXPECT_THROW(evaluate(row_of("nextafter"), Dtype::f64, wide), Unsupported);
  EXPECT_THROW(evaluate(row_of("to_dtype"), Dtype::f32, {&one, 1}), InternalError);
}

// --- what rows declare -----------------------------------------------------------------------------------------------

class Draw {
 public:
  double in(std::span<const Interval> domain) {
    const double exponent = std::uniform_real_distribution<double>(-12, 7)(bits_);
    double x = std::exp2(exponent) * ((bits_() & 1) != 0 ? 1 : -1);
    if (domain.empty()) return round_to(Dtype::f32, x);
    const Interval& i = domain[bits_() % domain.size()];
    if ((bits_() & 1) != 0 && i.high - i.low < 1e4) x = std::uniform_real_distribution<double>(i.low, i.high)(bits_);
    if (i.low >= 0) x = std::fabs(x);
    return round_to(Dtype::f32, std::clamp(x, i.low, i.high));
  }
  int64_t whole(int64_t n) { return static_cast<int64_t>(bits_() % static_cast<uint64_t>(n)); }

 private:
  std::mt19937_64 bits_{5};
};

using Operands = std::array<ScalarValue, 3>;

Operands drawn(const ScalarRow& row, Draw& draw) {
  Operands operands;
  for (size_t i = 0; i < static_cast<size_t>(row.arity); ++i) {
    const Dtype dtype = operand_dtype(row, Dtype::f64, static_cast<int>(i));
    operands[i] =
        is_integral(dtype, true) ? ScalarValue(wrap_to(dtype, draw.whole(5))) : ScalarValue(draw.in(row.domain[i]));
  }
  return operands;
}
ScalarValue at(const ScalarRow& row, const Operands& operands) {
  return evaluate(row, Dtype::f64, {operands.data(), static_cast<size_t>(row.arity)});
}
double number(const ScalarValue& v) {
  if (v.kind() == ScalarKind::integer) return static_cast<double>(v.integer());
  return v.kind() == ScalarKind::double_double ? static_cast<double>(v.double_double()) : v.real();
}
// Equal up to what the reference may be off by.
bool close(double a, double b) {
  return a == b || (std::isnan(a) && std::isnan(b)) || std::fabs(a - b) <= 4 * last_place(Dtype::f64, a);
}

void for_each_real_row(const std::function<void(const ScalarRow&, Draw&)>& visit) {
  Draw draw;
  for (const ScalarRow& row : scalar_table())
    if (row.dtypes.has(Dtype::f64) && row.result != ResultRule::target && row.result != ResultRule::complex_of)
      for (int i = 0; i < 100; ++i) visit(row, draw);
}

TEST(ScalarDeclarations, symmetries) {
  for_each_real_row([](const ScalarRow& row, Draw& draw) {
    const Operands x = drawn(row, draw);
    const double y = number(at(row, x));
    if (row.has(traits::commutative)) {
      ASSERT_EQ(row.arity, 2);
      const double swapped = number(at(row, {x[1], x[0]}));
      EXPECT_TRUE(close(y, swapped)) << row.name;
    }
    Operands mirrored = x;
    mirrored[0] = ScalarValue(x[0].kind() == ScalarKind::real ? -x[0].real() : 0.0);
    if (row.has(traits::even)) {
      EXPECT_TRUE(close(y, number(at(row, mirrored)))) << row.name << " " << number(x[0]);
    }
    if (row.has(traits::odd)) {
      EXPECT_TRUE(close(y, -number(at(row, mirrored)))) << row.name << " " << number(x[0]);
    }
    if (row.has(traits::involution)) {
      EXPECT_EQ(number(at(row, {ScalarValue(y)})), number(x[0])) << row.name;
    }
    if (row.has(traits::idempotent)) {
      const Operands again = row.arity == 1 ? Operands{ScalarValue(y)} : Operands{ScalarValue(y), ScalarValue(y)};
      EXPECT_EQ(number(at(row, again)), y) << row.name;
    }
    if (row.has(traits::associative)) {
      const double c = draw.in(row.domain[0]);
      const double left = number(at(row, {ScalarValue(y), ScalarValue(c)}));
      const double right = number(at(row, {x[0], ScalarValue(number(at(row, {x[1], ScalarValue(c)})))}));
      EXPECT_EQ(left, right) << row.name;
    }
  });
}

TEST(ScalarDeclarations, monotone_rows_are) {
  for_each_real_row([](const ScalarRow& row, Draw& draw) {
    if (row.monotone == Monotone::no) return;
    Operands x = drawn(row, draw), greater = x;
    greater[0] = ScalarValue(draw.in(row.domain[0]));
    if (number(greater[0]) < number(x[0])) std::swap(x[0], greater[0]);
    const double y = number(at(row, x)), z = number(at(row, greater));
    const double slack = row.accuracy.kind == AccuracyClass::ulps ? 2 * last_place(Dtype::f64, y) : 0;
    if (row.monotone == Monotone::increasing) {
      EXPECT_LE(y, z + slack) << row.name << " " << number(x[0]);
    }
    if (row.monotone == Monotone::decreasing) {
      EXPECT_GE(y, z - slack) << row.name << " " << number(x[0]);
    }
  });
}

// Where a row rounds late, its operands may be rounded to a narrower dtype before it or its result behind it.
TEST(ScalarDeclarations, rows_that_round_late) {
  for_each_real_row([](const ScalarRow& row, Draw& draw) {
    if (!row.has(traits::rounds_late)) return;
    for (Dtype dtype : {Dtype::bf16, Dtype::f16}) {
      const Operands x = drawn(row, draw);
      Operands rounded = x;
      for (ScalarValue& v : rounded)
        if (v.kind() == ScalarKind::real) v = ScalarValue(round_to(dtype, v.real()));
      EXPECT_EQ(number(at(row, rounded)), round_to(dtype, number(at(row, x)))) << row.name << " " << number(x[0]);
    }
  });
}

TEST(ScalarDeclarations, nan_rules) {
  for_each_real_row([](const ScalarRow& row, Draw& draw) {
    for (size_t i = 0; i < static_cast<size_t>(row.arity); ++i) {
      Operands x = drawn(row, draw);
      if (x[i].kind() != ScalarKind::real) continue;
      x[i] = ScalarValue(dd::kNan);
      const double y = number(at(row, x));
      if (row.nan == NanRule::propagates) {
        EXPECT_TRUE(std::isnan(y)) << row.name << " operand " << i;
      }
      if (row.nan == NanRule::ignores) {
        EXPECT_EQ(y, number(x[1 - i])) << row.name;
      }
    }
    EXPECT_EQ(row.nan == NanRule::tests, row.result == ResultRule::boolean || row.result == ResultRule::int32)
        << row.name;
  });
}

// The domain is where the row gives numbers.
TEST(ScalarDeclarations, domains_give_numbers) {
  for_each_real_row([](const ScalarRow& row, Draw& draw) {
    const Operands x = drawn(row, draw);
    if (!row.domain[0].empty()) {
      EXPECT_FALSE(std::isnan(number(at(row, x)))) << row.name << " " << number(x[0]);
    }
  });
}

// Two evaluations of one row: in double, and in double-double.
TEST(ScalarDeclarations, both_evaluations_agree) {
  for_each_real_row([](const ScalarRow& row, Draw& draw) {
    if (row.eval.dds == nullptr) return;
    const Operands x = drawn(row, draw);
    Operands wide = x;
    for (ScalarValue& v : wide)
      if (v.kind() == ScalarKind::real) v = ScalarValue(DoubleDouble(v.real()));
    const double y = number(at(row, x)), z = number(at(row, wide));
    EXPECT_TRUE(close(y, z)) << row.name << " " << number(x[0]) << ": " << y << " " << z;
  });
}

}  // namespace
}  // namespace lenz
