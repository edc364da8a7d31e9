#include "compiler/loops/combine.h"

#include <cmath>

#include "compiler/base/error.h"
#include "compiler/loops/tensor.h"
#include "compiler/scalar/rounding.h"

namespace lenz::loops {

namespace {
using enum Combine;

constexpr CombineRow kTable[] = {
    {sum, "sum", 1, 1, "a + b; integers wrap"},
    {product, "product", 1, 1, "a * b; integers wrap"},
    {minimum, "minimum", 1, 1, "the lesser; NaN if either is NaN"},
    {maximum, "maximum", 1, 1, "the greater; NaN if either is NaN"},
    {any, "any", 1, 1, "whether one of them is true"},
    {all, "all", 1, 1, "whether both are true"},
    {xor_sum, "xor_sum", 1, 1, "the bits in which they differ"},
    {argmin, "argmin", 2, 2, "value and index of the least; NaN is less than all; of equal ones the least index"},
    {argmax, "argmax", 2, 2, "value and index of the greatest; NaN is greater than all; of equal ones the least index"},
    {argmin_last, "argmin_last", 2, 2, "argmin, but of equal ones the greatest index"},
    {argmax_last, "argmax_last", 2, 2, "argmax, but of equal ones the greatest index"},
    {welford, "welford", 1, 3,
     "mean, sum of squared deviations from it, count; infinities and NaN make the squares NaN, an infinity alone "
     "leaves the mean infinite"},
    {log_sum_exp, "log_sum_exp", 1, 2,
     "the maximum m and the sum of exp(x - m), where an infinite x that is m counts as 1"},
    {last, "last", 1, 1, "b; the identity is one on the left only"},
};

// The scalar primitives that some combines are.
struct ByRow {
  Combine combine;
  std::string_view row;
};
constexpr ByRow kByRow[] = {{sum, "add"},        {product, "mul"},     {minimum, "minimum"},    {maximum, "maximum"},
                            {any, "bitwise_or"}, {all, "bitwise_and"}, {xor_sum, "bitwise_xor"}};

bool is_nan(const ScalarValue& v) { return v.kind() == ScalarKind::real && std::isnan(v.real()); }
bool less(const ScalarValue& a, const ScalarValue& b) {
  return a.kind() == ScalarKind::real ? a.real() < b.real() : a.integer() < b.integer();
}
bool of_least(Combine c) { return c == minimum || c == argmin || c == argmin_last; }
bool of_last(Combine c) { return c == argmin_last || c == argmax_last; }

// The value that any other is better than, or as good as.
ScalarValue worst(Combine combine, Dtype dtype) {
  const bool high = of_least(combine);
  if (is_floating(dtype)) {
    double most = dtype == Dtype::f8e4m3 ? largest_finite(dtype) : HUGE_VAL;  // it has no infinity
    return ScalarValue(high ? most : -most);
  }
  LENZ_CHECK(is_integral(dtype, true), "complex numbers have no order");
  if (dtype == Dtype::b8) return ScalarValue(int64_t{high});
  const int bits = info(dtype).bits - (info(dtype).is_signed ? 1 : 0);
  const auto most = static_cast<int64_t>((uint64_t{1} << bits) - 1);
  return ScalarValue(high ? most : info(dtype).is_signed ? -most - 1 : 0);
}

bool left_wins(Combine combine, const CombineState& a, const CombineState& b) {
  const bool nan = is_nan(a[0]);
  if (nan != is_nan(b[0])) return nan;
  if (!nan && less(a[0], b[0])) return of_least(combine);
  if (!nan && less(b[0], a[0])) return !of_least(combine);
  return of_last(combine) ? a[1].integer() > b[1].integer() : a[1].integer() < b[1].integer();
}

CombineState reals(Dtype dtype, double a, double b, double c = 0) {
  return {settled(dtype, ScalarValue(a)), settled(dtype, ScalarValue(b)), settled(dtype, ScalarValue(c))};
}

CombineState merge_moments(Dtype dtype, const CombineState& a, const CombineState& b) {
  const double left = a[2].real(), right = b[2].real(), count = left + right;
  if (left == 0) return b;
  if (right == 0) return a;
  const double delta = b[0].real() - a[0].real();
  // An infinite difference times a share of the count would turn one infinity into NaN.
  const double mean = std::isfinite(delta) ? a[0].real() + delta * (right / count)
                                           : a[0].real() * (left / count) + b[0].real() * (right / count);
  const double squares = a[1].real() + b[1].real() + delta * delta * (left * (right / count));
  return reals(dtype, mean, squares, count);
}

CombineState merge_exponentials(Dtype dtype, const CombineState& a, const CombineState& b) {
  const double x = a[0].real(), y = b[0].real(), most = std::isnan(x) || x > y ? x : y;  // y if that is NaN
  auto scaled = [&](const CombineState& s) {
    return s[0].real() == most ? s[1].real() : s[1].real() * std::exp(s[0].real() - most);
  };
  return reals(dtype, most, scaled(a) + scaled(b));
}

}  // namespace

std::span<const CombineRow> combine_table() { return kTable; }

const CombineRow& row_of(Combine combine) {
  const CombineRow& row = kTable[static_cast<size_t>(combine)];
  LENZ_CHECK(row.combine == combine, "the table of combines is not in the enumeration's order");
  return row;
}

std::optional<Combine> find_combine(std::string_view name) {
  for (const CombineRow& row : kTable)
    if (row.name == name) return row.combine;
  return std::nullopt;
}

const ScalarRow* primitive(Combine combine) {
  static const auto rows = [] {
    std::array<const ScalarRow*, std::size(kTable)> found{};
    for (const ByRow& by : kByRow) found[static_cast<size_t>(by.combine)] = find_scalar(by.row);
    return found;
  }();
  return rows[static_cast<size_t>(combine)];
}

Dtype part_dtype(Combine combine, Dtype operand, uint32_t part) {
  LENZ_CHECK(part < row_of(combine).parts, "a combine has no such part");
  return row_of(combine).operands == 2 && part == 1 ? Dtype::i64 : operand;
}

CombineState identity(Combine combine, Dtype dtype) {
  switch (combine) {
    case sum:
    case any:
    case xor_sum:
    case last: return {zero_of(dtype)};
    case product:
    case all:
      if (is_complex(dtype)) return {ScalarValue(std::complex<double>(1))};
      return {is_floating(dtype) ? ScalarValue(1.0) : ScalarValue(int64_t{1})};
    case minimum:
    case maximum: return {worst(combine, dtype)};
    case argmin:
    case argmax: return {worst(combine, dtype), ScalarValue(INT64_MAX)};
    case argmin_last:
    case argmax_last: return {worst(combine, dtype), ScalarValue(INT64_MIN)};
    case welford: return reals(dtype, 0, 0, 0);
    case log_sum_exp: return reals(dtype, -HUGE_VAL, 0);
  }
  internal_error("an unknown combine", __FILE__, __LINE__);
}

CombineState one(Combine combine, Dtype dtype, std::span<const ScalarValue> operands) {
  LENZ_CHECK(operands.size() == row_of(combine).operands, "wrong number of operands of a combine");
  const ScalarValue& x = operands[0];
  switch (combine) {
    case welford: return reals(dtype, x.real(), x.real() - x.real(), 1);
    case log_sum_exp: return reals(dtype, x.real(), 1);
    default: return {x, operands.size() > 1 ? operands[1] : ScalarValue()};
  }
}

CombineState combine(Combine combine, Dtype dtype, const CombineState& a, const CombineState& b) {
  if (const ScalarRow* row = primitive(combine)) {
    const ScalarValue operands[3] = {a[0], b[0], ScalarValue()};
    return {settled(dtype, evaluator_of(*row, dtype)({dtype, dtype}, operands))};
  }
  switch (combine) {
    case welford: return merge_moments(dtype, a, b);
    case log_sum_exp: return merge_exponentials(dtype, a, b);
    case last: return b;
    default: return left_wins(combine, a, b) ? a : b;
  }
}

}  // namespace lenz::loops
