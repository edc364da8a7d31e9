// Named combines: how a reduction or a scan takes values together. A combine has a state of one to three parts, an
// identity, and a way to take two states together that is associative (over floats, up to rounding).
// Thread-safety: constant tables, pure functions.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "compiler/base/dtype.h"
#include "compiler/scalar/scalar.h"

namespace lenz::loops {

enum class Combine : uint8_t {
  sum,
  product,
  minimum,  // NaN wins
  maximum,  // NaN wins
  any,      // of b8
  all,      // of b8
  xor_sum,  // of integers
  argmin,   // operands value, i64 index; parts value, index. NaN wins; of equal ones, and of NaNs, the least index
  argmax,
  argmin_last,  // the same, but of equal ones, and of NaNs, the greatest index: as cumulative extremes have it
  argmax_last,
  welford,      // operand x; parts mean, sum of squared deviations, count (in x's dtype)
  log_sum_exp,  // operand x; parts maximum m, sum of exp(x - m); an empty one is -inf, 0
  last,         // the value of the last point (for scans: a running copy)
};

struct CombineRow {
  Combine combine;
  std::string_view name;  // in the text form
  uint32_t operands, parts;
  std::string_view semantics;
};
std::span<const CombineRow> combine_table();
const CombineRow& row_of(Combine combine);
std::optional<Combine> find_combine(std::string_view name);
// The scalar primitive of two operands that takes two states together, where it is one (sum: add); else null.
const ScalarRow* primitive(Combine combine);

using CombineState = std::array<ScalarValue, 3>;
Dtype part_dtype(Combine combine, Dtype operand, uint32_t part);
CombineState identity(Combine combine, Dtype dtype);
// The state of one element.
CombineState one(Combine combine, Dtype dtype, std::span<const ScalarValue> operands);
// Two states, `a` of earlier points; floats are rounded to the dtype.
CombineState combine(Combine combine, Dtype dtype, const CombineState& a, const CombineState& b);

}  // namespace lenz::loops
