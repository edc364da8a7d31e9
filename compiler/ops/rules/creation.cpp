#include "compiler/ops/rules/creation.h"

#include <cmath>
#include <limits>

#include "compiler/ops/rules/elementwise.h"
#include "compiler/ops/rules/layout.h"

namespace lenz::rule {

namespace {
// Where the memory of a new tensor is another one than plain memory of its device.
void require_plain_memory(Infer& in) {
  int i = in.op().schema.find("layout");
  if (i >= 0 && in.arg(static_cast<size_t>(i)).kind == ArgKind::layout &&
      in.arg(static_cast<size_t>(i)).layout() != Layout::strided)
    throw Unsupported(in.op().full_name + ": a sparse layout");
  const int pinned = in.op().schema.find("pin_memory");
  if (pinned >= 0 && in.arg(static_cast<size_t>(pinned)).kind == ArgKind::boolean &&
      in.arg(static_cast<size_t>(pinned)).boolean())
    throw Unsupported(in.op().full_name + ": pinned memory");
}

TensorType made(Infer& in, DimVec sizes, Dtype otherwise, Device device = {}) {
  require_plain_memory(in);
  require_sizes(in, sizes);
  Dtype dtype = in.dtype("dtype").value_or(otherwise);
  in.require(in.op().dtypes.has(dtype), "not of this dtype");
  return contiguous_tensor(dtype, sizes, device_argument(in, device));
}

TensorType made_like(Infer& in, const Type& t) {
  require_plain_memory(in);
  TensorType result = t.tensor();
  result.dtype = in.dtype("dtype").value_or(t.dtype);
  result.device = device_argument(in, t.device);
  result.strides = like_strides(in, t, format_argument(in, "memory_format"));
  result.offset = 0;
  return result;
}
}  // namespace

void empty(Infer& in) {
  TensorType t = made(in, in.ints("size"), Dtype::f32);
  if (auto format = format_argument(in, "memory_format")) t.strides = format_strides(in, *format, t.sizes);
  in.result(t);
}

void empty_strided(Infer& in) {
  bool like = in.op().schema.params[0].type.kind == ParamKind::tensor;
  TensorType t =
      like ? made(in, in.ints("size"), in.tensor(0).dtype, in.tensor(0).device) : made(in, in.ints("size"), Dtype::f32);
  t.strides = in.ints("stride");
  in.require(t.strides.size() == t.sizes.size(), "sizes and strides differ in number");
  for (Dim s : t.strides) in.require(ge(s, 0), "a stride is negative");
  in.result(t);
}

void empty_permuted(Infer& in) {
  TensorType t = made(in, in.ints("size"), Dtype::f32);
  auto order = in.constants("physical_layout");
  in.require(order.size() == t.rank(), "the physical layout must name every dim");
  SmallVec<bool, 8> seen(t.rank(), false);
  Dim at = 1;
  for (size_t i = t.rank(); i-- > 0;) {
    in.require(order[i] >= 0 && order[i] < static_cast<int64_t>(t.rank()), "the physical layout names no dim");
    auto d = static_cast<size_t>(order[i]);
    in.require(!seen[d], "the physical layout names a dim twice");
    seen[d] = true;
    t.strides[d] = at;
    at *= max(t.sizes[d], Dim(1));
  }
  in.result(t);
}

void filled(Infer& in) {
  if (in.has_param("std")) in.require(in.real("std") >= 0, "a negative deviation");
  in.result(made(in, in.ints("size"), Dtype::f32));
}

namespace {
// The dtype that a Python number gives a tensor made of it.
Dtype dtype_of_number(Infer& in, const Arg& number) {
  Dtype d = number_operand(in, number).number;
  return d == Dtype::f64 ? Dtype::f32 : d == Dtype::c128 ? Dtype::c64 : d;
}
}  // namespace

void full(Infer& in) {
  const Arg& value = in.arg("fill_value");
  TensorType t = made(in, in.ints("size"), dtype_of_number(in, value));
  in.result(t);
}

namespace {
// random_ between two integers.
void require_range(Infer& in, Dim low, Dim high, Dtype dtype) {
  in.require(lt(low, high), "an empty range");
  const FiniteRange range = finite_range(dtype);
  for (auto [end, what] : {std::pair(low, "the range's start is out of the dtype's"),
                           {high - 1, "the range's end is out of the dtype's"}}) {
    if (range.low > -0x1p63) in.require(le(Dim(static_cast<int64_t>(range.low)), end), what);
    if (range.high < 0x1p63) in.require(le(end, Dim(static_cast<int64_t>(range.high))), what);
  }
}
}  // namespace

void random_integers(Infer& in) {
  TensorType t = made(in, in.ints("size"), Dtype::f32);
  require_range(in, in.has_param("low") ? in.integer("low") : Dim(0), in.integer("high"), t.dtype);
  in.result(t);
}

void random_integers_like(Infer& in) {
  TensorType t = made_like(in, in.tensor(0));
  in.require(dtypes::real_and_bool.has(t.dtype), "not of this dtype");
  if (in.op().schema.params[in.at("high")].type.kind == ParamKind::tensor) {
    in.require(in.tensor("high").rank() == 0, "high must be a tensor without dims");
  } else {
    require_range(in, in.has_param("low") ? in.integer("low") : Dim(0), in.integer("high"), t.dtype);
  }
  in.result(t);
}

void like_of(Infer& in, DtypeSet results) {
  TensorType t = made_like(in, in.tensor(0));
  in.require(results.has(t.dtype), "not of this dtype");
  in.result(t);
}

void full_like(Infer& in) {
  TensorType t = made_like(in, in.tensor(0));
  in.result(t);
}

void new_sized(Infer& in) {
  const Type& self = in.tensor(0);
  in.result(made(in, in.ints("size"), self.dtype, self.device));
}

void new_full(Infer& in) {
  const Type& self = in.tensor(0);
  TensorType t = made(in, in.ints("size"), self.dtype, self.device);
  in.result(t);
}

namespace {
// A bound of a range: a whole number, perhaps symbolic, or a real one.
struct Bound {
  bool whole;
  Dim number;
  double real;
};

Bound bound(Infer& in, std::string_view param, int64_t otherwise) {
  if (!in.has_param(param)) return {true, otherwise, static_cast<double>(otherwise)};
  const Arg& a = in.arg(param);
  if (a.kind == ArgKind::real) return {false, 0, a.d};
  in.require(a.kind != ArgKind::complex, "a complex bound");
  Dim d = in.integer(param);  // a boolean counts as 0 or 1
  return {true, d, d.is_constant() ? static_cast<double>(d.constant()) : 0};
}

// As eager counts, which overflows: of an i64 range in integers, which wrap, and otherwise in doubles. It compares in
// doubles too.
Dim constant_count(Infer& in, int64_t start, int64_t end, int64_t step, Dtype dtype) {
  const double from = static_cast<double>(start), to = static_cast<double>(end), by = static_cast<double>(step);
  in.require(step != 0, "the step is 0");
  in.require(step > 0 ? to >= from : to <= from, "the step leads away from the end");
  double count = std::ceil((to - from) / by);
  if (dtype == Dtype::i64) {
    const uint64_t towards_0 = step > 0 ? static_cast<uint64_t>(step) - 1 : static_cast<uint64_t>(step) + 1;
    const auto way = static_cast<int64_t>(static_cast<uint64_t>(end) - static_cast<uint64_t>(start) + towards_0);
    in.require(step != -1 || way != std::numeric_limits<int64_t>::min(), "more elements than an i64 counts");
    count = static_cast<double>(way / step);
  }
  in.require(count >= 0 && count <= 9.2e18, "too many elements");
  return static_cast<int64_t>(count);
}

Dim whole_count(Infer& in, Dim start, Dim end, Dim step, Dtype dtype) {
  if (start.is_constant() && end.is_constant() && step.is_constant())
    return constant_count(in, start.constant(), end.constant(), step.constant(), dtype);
  constexpr int64_t kFar = int64_t{1} << 61;
  for (const Dim d : {start, end, step})
    if (d.is_constant() && (d.constant() > kFar || d.constant() < -kFar))
      throw Unsupported(in.op().full_name + ": a symbol beside a number so great that eager's count may overflow");
  in.require(ne(step, 0), "the step is 0");
  bool up = in.decide(gt(step, 0));
  in.require(up ? ge(end, start) : le(end, start), "the step leads away from the end");
  return ceil_div(end - start, step);
}

Dim real_count(Infer& in, double start, double end, double step, Dtype dtype) {
  in.require(std::isfinite(start) && std::isfinite(end), "a bound that is not finite");
  in.require(step > 0 ? end >= start : end <= start, "the step leads away from the end");
  const Dtype counted = is_integral(dtype, false) ? Dtype::i64 : is_reduced_float(dtype) ? Dtype::f32 : Dtype::f64;
  for (double number : {start, end, step}) require_fit(in, "a bound", number, NumberFit::result, counted);
  double first = start, last = end, by = step;
  if (is_integral(dtype, false)) {
    first = std::trunc(start);
    last = std::trunc(end);
    by = std::trunc(step);
    if (dtype == Dtype::i64)  // a step that truncates to 0 kills eager with a division by zero
      return constant_count(in, static_cast<int64_t>(first), static_cast<int64_t>(last), static_cast<int64_t>(by),
                            dtype);
  }
  in.require(step > 0 || step < 0, "the step is 0");
  if (by == 0) by = step;
  in.require(by > 0 ? last >= first : last <= first, "the step leads away from the end");
  double count = std::ceil((end - start) / step);
  in.require(count >= 0 && count <= 9.2e18, "too many elements");
  return static_cast<int64_t>(count);
}
}  // namespace

void arange(Infer& in) {
  Bound start = bound(in, "start", 0), end = bound(in, "end", 0), step = bound(in, "step", 1);
  bool whole = start.whole && end.whole && step.whole;
  Dtype dtype = in.dtype("dtype").value_or(whole ? Dtype::i64 : Dtype::f32);
  in.require((is_integral(dtype, false) || is_floating(dtype)) && !is_float8(dtype), "a range of this dtype");
  Dim count;
  if (whole) {
    count = whole_count(in, start.number, end.number, step.number, dtype);
  } else {
    for (const Bound* b : {&start, &end, &step})
      if (b->whole && !b->number.is_constant())
        throw Unsupported(
            in.op().full_name +
            ": bounds that are symbols and real ones together; multiply an arange of integers by the step");
    count = real_count(in, start.real, end.real, step.real, dtype);
  }
  in.result(made(in, {count}, whole ? Dtype::i64 : Dtype::f32));
}

void linspace(Infer& in) {
  bool complex = false;
  for (std::string_view side : {"start", "end"}) {
    size_t i = in.at(side);
    if (in.op().schema.params[i].type.kind == ParamKind::tensor) {
      in.require(in.tensor(i).rank() == 0, "a bound must be a number or a 0-dim tensor");
      complex = complex || is_complex(in.tensor(i).dtype);
    } else {
      complex = complex || in.arg(i).kind == ArgKind::complex;
    }
  }
  Dim steps = in.integer("steps");
  in.require(ge(steps, 0), "a negative number of steps");
  TensorType t = made(in, {steps}, complex ? Dtype::c64 : Dtype::f32);
  in.require(!complex || is_complex(t.dtype), "complex bounds need a complex dtype");
  const Arg& start = in.arg("start");
  if (steps.is(1) && in.has_param("base") && (start.kind == ArgKind::real || start.kind == ArgKind::integer))
    require_fit(in, "base ^ start", std::pow(in.real("base"), in.real("start")), NumberFit::element, t.dtype);
  in.result(t);
}

void eye(Infer& in) {
  Dim n = in.integer("n");
  in.result(made(in, {n, in.has_param("m") ? in.integer("m") : n}, Dtype::f32));
}

namespace {
// Elements of rows x columns on and below this diagonal.
int64_t below_diagonal(int64_t rows, int64_t columns, int64_t offset) {
  if (rows == 0 || columns == 0) return 0;
  // Rows before `full` have 0 .. columns elements, one more each; from there on all columns count.
  int64_t first = std::clamp<int64_t>(-offset, 0, rows);  // the first row with an element
  int64_t full = std::clamp<int64_t>(columns - 1 - offset, first, rows);
  int64_t growing = full - first, from = first + offset + 1;
  return growing * from + growing * (growing - 1) / 2 + (rows - full) * columns;
}
}  // namespace

void triangle_indices(Infer& in, bool lower) {
  int64_t rows = in.constant("row"), columns = in.constant("col"), offset = in.constant("offset");
  in.require(rows >= 0 && columns >= 0, "a negative size");
  Dtype dtype = in.dtype("dtype").value_or(Dtype::i64);
  in.require(dtype == Dtype::i32 || dtype == Dtype::i64, "indices are i32 or i64");
  int64_t count =
      lower ? below_diagonal(rows, columns, offset) : rows * columns - below_diagonal(rows, columns, offset - 1);
  in.result(made(in, {Dim(2), Dim(count)}, Dtype::i64));
}

void scalar_tensor(Infer& in) {
  TensorType t = made(in, {}, Dtype::f32);
  in.result(t);
}

void window(Infer& in) {
  TensorType t = made(in, {in.integer("window_length")}, Dtype::f32);
  in.require(is_inexact(t.dtype), "a window of integers");
  in.result(t);
}

// Eager asks whether the dtype has all these numbers: of floats up to the first that it has not.
void randperm(Infer& in) {
  const Dim n = in.integer("n");
  const TensorType result = made(in, {n}, Dtype::i64);
  const DtypeInfo& holds = info(result.dtype);
  if (result.dtype == Dtype::f16 || result.dtype == Dtype::f32 || result.dtype == Dtype::f64)
    in.require(le(n, (int64_t{1} << holds.mantissa_bits) + 1), "more numbers than the dtype has without gaps");
  else if (is_integral(result.dtype, false) && result.dtype != Dtype::i64)
    in.require(le(n, int64_t{1} << (holds.bits - (holds.is_signed ? 1 : 0))), "more numbers than the dtype has");
  in.result(result);
}

void fill(Infer& in) {
  const Type& self = in.tensor(0);
  if (in.has_param("value")) {
    size_t i = in.at("value");
    if (in.op().schema.params[i].type.kind == ParamKind::tensor) {
      in.require(in.tensor(i).rank() == 0, "the value must be a 0-dim tensor");
    } else {
    }
  }
  in.result(made_like(in, self));
}

}  // namespace lenz::rule
