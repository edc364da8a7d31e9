#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>

#include <numbers>

#include "compiler/graph/alias.h"
#include "compiler/graph/pattern_functions.h"
#include "compiler/graph/whole_numbers.h"
#include "compiler/ops/rules/elementwise.h"
#include "compiler/scalar/rounding.h"
#include "oracle/aten.h"
#include "oracle/bounds/eager_kernels.h"
#include "oracle/bounds/elementwise.h"
#include "oracle/bounds/flow_parts.h"
#include "oracle/bounds/flows.h"
#include "oracle/bounds/kept_ends.h"
#include "oracle/bounds/odd_ends.h"
#include "oracle/bounds/plane_numbers.h"
#include "oracle/bounds/quantised.h"
#include "oracle/bounds/range_ends.h"
#include "oracle/bounds/zero_signs.h"

namespace lenz::oracle {

using flow::kInf;
using flow::nothing_where;

namespace {
bool is_one(const Arg& a) { return a.is_none() || number_of(a) == 1; }

// An operand: a tensor's planes, or a number's.
struct ElementOperand {
  Planes planes;
  Dtype dtype;
};

at::Scalar scalar_of(const Arg& a, const SymValues& symbols) {
  switch (a.kind) {
    case ArgKind::boolean: return a.boolean();
    case ArgKind::real: return a.real();
    case ArgKind::complex: return c10::complex<double>(*a.complex_value);
    default: return *evaluate(a.dim(), symbols);
  }
}

// `compute`: the dtype that it is computed in.
ElementOperand operand_of(FlowContext& in, const Call& call, size_t at, Dtype compute) {
  const Arg& a = call.args[at];
  if (a.is_value()) {
    const bool settled = std::ranges::find(call.settled, a.value()) != call.settled.end();
    return {in.store.read(call.values[a.value()]->value.toTensor()), settled ? compute : call.dtype_of(a.value())};
  }
  at::Scalar s = scalar_of(a, *call.symbols);
  Dtype d = s.isBoolean() ? Dtype::b8 : s.isIntegral(false) ? Dtype::i64 : s.isComplex() ? Dtype::c128 : Dtype::f64;
  ElementOperand number{{at::scalar_tensor(s, to_aten(d)), {}, {}}, d};
  for (const auto& [index, known] : call.numbers)
    if (const double error = in.store.number_error(known); index == at && error > 0)
      number.planes.error = at::scalar_tensor(error, at::kDouble);
  return number;
}

// The dtype that operands meet in, as the op table's rules promote; integers of an op that makes floats in f32.
Dtype compute_dtype(const Call& call, const ScalarRow& row) {
  const Graph& graph = *call.graph;
  Assumptions none;
  Infer infer(graph.shared_context(), graph.ops(), *call.op, call.args, call.types, none);
  rule::Operands operands;
  size_t first = row.operands == OperandRule::condition_first || row.operands == OperandRule::integer_first ? 1 : 0;
  size_t end = static_cast<size_t>(row.arity) - (row.operands == OperandRule::integer_last ? 1 : 0);
  for (size_t i = first; i < end; ++i) {
    const Arg& a = call.args[i];
    const bool known = !a.is_value();
    if (!known && call.types[a.value()]->is_tensor())
      operands.push_back({call.types[a.value()], Dtype::b8});
    else
      operands.push_back(rule::number_operand(infer, known ? a : Arg::of_real(0)));
  }
  return call.op->has(Trait::makes_float) ? rule::float_result_type(infer, operands)
                                          : rule::result_type(infer, operands);
}

// Planes in logical order, as the loops want them.
struct Laid {
  at::Tensor value, error, lean;
  ElementsIn elements;
};

Laid lay(const Planes& planes, at::IntArrayRef sizes, ScalarKind kind) {
  at::ScalarType type = kind == ScalarKind::complex   ? at::kComplexDouble
                        : kind == ScalarKind::integer ? at::kLong
                                                      : at::kDouble;
  bool one = planes.value.numel() == 1;
  auto laid = [&](const at::Tensor& t, at::ScalarType as) {
    at::Tensor x = t.to(as);
    return in_order(one ? x.reshape({1}) : x.expand(sizes));
  };
  Laid l;
  l.value = laid(planes.value, type);
  if (planes.error.defined()) l.error = laid(planes.error, at::kDouble);
  l.elements = {kind,        l.value.const_data_ptr(), l.error.defined() ? l.error.const_data_ptr<double>() : nullptr,
                one ? 0 : 1, planes.loose_zeros,       planes.never_negative};
  if (planes.lean.defined() && l.error.defined()) {
    l.lean = laid(planes.lean, at::kDouble);
    l.elements.lean = l.lean.const_data_ptr<double>();
  }
  return l;
}

ScalarKind kind_of(Dtype d) {
  return lenz::is_complex(d) ? ScalarKind::complex : is_floating(d) ? ScalarKind::real : ScalarKind::integer;
}

// Whether it is worth knowing which way rounding takes the results: of what is not too large to look at twice, and of
// float64 the reference itself rounds.
constexpr int64_t kManyInDetail = 1 << 16;
bool may_lean(Dtype result, const at::Tensor& value) {
  return is_floating(result) && result != Dtype::f64 && value.numel() <= kManyInDetail;
}

// How far exact results lie above the values, and what that is off by, of their size; undefined: nobody knows.
struct FineValues {
  at::Tensor rest;
  double unsure = 0;
};

// What operands' errors come to below and above each value; undefined: nobody knows yet.
struct Ends {
  at::Tensor below, above;
};

// The row over planes whose operands have met in `compute`.
Planes apply(const ScalarRow& row, Dtype compute, Dtype result, std::span<const Planes> operands,
             const at::Tensor& value, Formula formula, const Ends& ends = {}, const FineValues& fine = {}) {
  std::vector<Laid> laid;
  std::vector<ElementsIn> elements;
  bool marked = false;
  for (size_t i = 0; i < operands.size(); ++i) {
    laid.push_back(lay(operands[i], value.sizes(), kind_of(operand_dtype(row, compute, static_cast<int>(i)))));
    marked |= operands[i].ambiguous.defined();
  }
  for (const Laid& l : laid) elements.push_back(l.elements);
  Laid results = lay({.value = value, .error = {}, .ambiguous = {}}, value.sizes(), kind_of(result));
  at::Tensor error = at::empty(value.sizes(), at::kDouble), open = at::zeros(value.sizes(), at::kBool);
  const bool known = result == Dtype::f64 && fine.rest.defined() && fine.unsure == 0;
  const bool overflows = result == Dtype::f64 && value.is_floating_point() && at::any(at::isinf(value)).item<bool>();
  at::Tensor lean =
      known || overflows || may_lean(result, value) ? at::zeros(value.sizes(), at::kDouble) : at::Tensor();
  ElementsOut out{.kind = kind_of(result),
                  .value = results.value.const_data_ptr(),
                  .error = error.mutable_data_ptr<double>(),
                  .lean = lean.defined() ? lean.mutable_data_ptr<double>() : nullptr,
                  .ambiguous = static_cast<uint8_t*>(open.mutable_data_ptr())};
  if (fine.rest.defined()) out.rest = fine.rest.const_data_ptr<double>();
  out.rest_unsure = fine.unsure;
  out.formula = formula;
  if (ends.below.defined())
    settled_errors(row, compute, result, elements,
                   {ends.below.const_data_ptr<double>(), ends.above.const_data_ptr<double>()}, value.numel(), out);
  else
    elementwise_errors(row, compute, result, elements, value.numel(), out);
  if (overflows) open_overflows(row, compute, elements, value.numel(), out);
  widen_at_ends(row, compute, result, elements, value.numel(), out);
  if (out.any_ambiguous && value.scalar_type() == at::kComplexDouble && value.is_contiguous())
    settle_by_table(row, compute, elements, value.numel(), out,
                    static_cast<std::complex<double>*>(value.mutable_data_ptr()));
  open_loose_zeros(row, compute, result, elements, value.numel(), out);
  Planes made{value, out.any_error ? error : at::Tensor(), {}};
  made.loose_zeros = out.loose_zeros;
  if (out.any_lean) made.lean = lean;
  if (out.any_ambiguous) made.ambiguous = open;
  if (marked && out.any_error) {  // an operand on the other branch: open where that shows
    const at::Tensor bounded = at::isfinite(error);
    for (const Planes& p : operands) {
      if (!p.ambiguous.defined()) continue;
      // What had no end, and has one here, was a number that overflows.
      at::Tensor marks = p.ambiguous;
      if (p.error.defined()) marks = marks.logical_and(at::isinf(p.error).logical_and(bounded).logical_not());
      marks = marks.expand(value.sizes());
      made.ambiguous = made.ambiguous.defined() ? made.ambiguous.logical_or(marks) : marks;
    }
    made.ambiguous = made.ambiguous.logical_and(error != 0);
  }
  return made;
}

// A monotone function of one real operand takes its extremes at the interval's ends: eager's vectorised kernels find
// them faster than a loop over elements, where there are many. Undefined: the general rule has to say.
Ends at_ends(FlowContext& in, const Call& call, const ScalarRow& row, Dtype compute, const Planes& operand,
             const at::Tensor& value) {
  constexpr int64_t kMany = 512;
  constexpr double kSlack = 16 * 0x1p-53;  // the kernels' own error: too much in float64
  bool fits = !(compute == Dtype::f64 && row.eval.dds != nullptr && !row.has(traits::costly) &&
                value.numel() <= kManyInDetail) &&
              row.arity == 1 && row.monotone != Monotone::no && row.error.rule == ErrorRule::corners &&
              row.error.jump == Jump::none && row.error.critical_count == 0 && is_floating(compute) &&
              operand.error.defined() && value.numel() >= kMany && call.args[0].is_value() &&
              operand.value.is_floating_point();
  // What may be anything may be NaN, which is no end of an interval.
  if (!fits || !all_finite(operand.error)) return {};
  auto end = [&](double sign) {
    std::vector<RunValue> values = call.values;
    at::Tensor moved = operand.value + sign * operand.error;
    values[call.args[0].value()] = hold(operand.never_negative ? moved.clamp_min(0) : moved);
    Outcome out = call.run_widened(in.boxed, call.args, values);
    return out.raised ? at::Tensor() : out.results[0]->value.toTensor();
  };
  at::Tensor high = end(1), low = end(-1);
  if (!high.defined() || !low.defined()) return {};
  const Numbers values(value, value), highs(high, value), lows(low, value);
  Ends ends{plane_like(value), plane_like(value)};
  double *below = numbers_of(ends.below), *above = numbers_of(ends.above);
  bool finite = true;
  for (int64_t i = 0; i < value.numel(); ++i) {
    const double v = values[i], h = highs[i], l = lows[i];
    const double slack = std::max(std::fabs(h), std::fabs(l)) * kSlack;
    below[i] = std::max(v - std::min(h, l), 0.0) + slack;
    above[i] = std::max(std::max(h, l) - v, 0.0) + slack;
    finite &= std::isfinite(v) && std::isfinite(h) && std::isfinite(l) && std::isfinite(below[i] + above[i]);
  }
  // Outside the domain, or at a pole, the general rule decides.
  return finite ? ends : Ends{};
}

bool uncertain(std::span<const Planes> operands) {
  for (const Planes& p : operands)
    if (p.error.defined()) return true;
  return false;
}

// Rows whose meaning is tied to the dtype (the next value of it) are computed in it, one by one.
at::Tensor evaluated_natively(const ScalarRow& row, Dtype compute, Dtype result, std::span<const Planes> operands,
                              const at::Tensor& like) {
  std::vector<Laid> laid;
  for (size_t i = 0; i < operands.size(); ++i)
    laid.push_back(lay(operands[i], like.sizes(), kind_of(operand_dtype(row, compute, static_cast<int>(i)))));
  at::Tensor made = at::empty(like.sizes(), at::kDouble);
  auto* to = made.mutable_data_ptr<double>();
  for (int64_t i = 0; i < made.numel(); ++i) {
    ScalarValue at[3];
    for (size_t k = 0; k < laid.size(); ++k) at[k] = laid[k].elements.at(i);
    to[i] = round_to(result, table_value(row, compute, {at, laid.size()}).real());
  }
  return made;
}
// Values of float64 from double-double, where eager's are only as right as those that they are to judge, and what
// double-double has beyond them: of a sum or a product of two numbers it holds all. Of narrow floats the latter alone,
// for of these float64 may lose nothing.
FineValues evaluated_finely(const ScalarRow& row, Dtype compute, Dtype result, std::span<const Planes> operands,
                            const at::Tensor& value) {
  constexpr double kUnsure = 0x1p-62;
  const bool rounded = row.accuracy.kind == AccuracyClass::correctly_rounded;
  const bool two =
      row.arity <= 2 && (row.error.rule == ErrorRule::sum || row.error.rule == ErrorRule::product) && rounded;
  const bool rough = row.accuracy.kind == AccuracyClass::ulps;
  const bool wide = compute == Dtype::f64 && result == Dtype::f64 && (rounded || rough);
  const bool narrow = is_reduced_float(compute) && is_reduced_float(result) && two;
  if (!(wide || narrow) || !row.eval.dds || row.has(traits::costly) || value.numel() > kManyInDetail ||
      value.scalar_type() != at::kDouble || (!rough && !all_finite(value)))
    return {};
  std::vector<Laid> laid;
  for (size_t i = 0; i < operands.size(); ++i)
    laid.push_back(lay(operands[i], value.sizes(), kind_of(operand_dtype(row, compute, static_cast<int>(i)))));
  // A function's poles, and what it makes of infinities, stay eager's beside what has a number.
  const at::Tensor given = in_order(value), made = rough ? given.clone() : given;
  FineValues fine{at::empty(value.sizes(), at::kDouble), two ? 0 : kUnsure};
  auto *to = made.mutable_data_ptr<double>(), *rest = fine.rest.mutable_data_ptr<double>();
  for (int64_t i = 0; i < made.numel(); ++i) {
    rest[i] = 0;
    if (!std::isfinite(to[i])) continue;
    ScalarValue at[3];
    for (size_t k = 0; k < laid.size(); ++k) {
      at[k] = laid[k].elements.at(i);
      if (at[k].kind() == ScalarKind::real) at[k] = ScalarValue(DoubleDouble(at[k].real()));
    }
    const DoubleDouble exact = row.eval.dds({compute, result}, at).double_double();
    if (rough) to[i] = static_cast<double>(exact);
    rest[i] = (exact.hi - to[i]) + exact.lo;
    if (!std::isfinite(to[i]) || !std::isfinite(rest[i])) return {};
  }
  if (rough) value.copy_(made);
  return fine;
}
}  // namespace

namespace {
// Sizes of complex numbers: of one whose other part is not finite that of the part that is, which rounds as ever. The
// modulus of two finite parts may be none of float64.
at::Tensor finite_size(const at::Tensor& complex) {
  const at::Tensor parts = at::view_as_real(complex.resolve_conj());
  const at::Tensor finite = parts.isfinite();
  return at::where(
      finite.all(-1), at::abs(complex).clamp_max(std::numeric_limits<double>::max()),
      at::where(finite.any(-1), at::where(finite, parts, at::zeros_like(parts)).abs().sum(-1), at::abs(complex)));
}
}  // namespace

Planes converted(const Planes& given, Dtype from, Dtype to, Formula formula) {
  if (from == to) return given;
  Planes planes = given;
  // Where there is no infinity what overflows is stored as a NaN, which has no end.
  if (planes.lean.defined() && is_floating(from) && std::isnan(round_to(from, HUGE_VAL)))
    planes.lean = nothing_where(at::isfinite(planes.error).logical_not(), planes.lean, 0);
  Planes made{with_odd_ends(planes.value, to).to(to_aten(widened(to))),
              {},
              {},
              planes.loose_zeros && is_inexact(to),
              planes.never_negative,
              planes.whole || is_integral(from, true)};
  if (is_floating(to) && std::isnan(round_to(to, HUGE_VAL)))
    made.value = nothing_where(at::isinf(made.value), made.value, std::numeric_limits<double>::quiet_NaN());
  // Fewer digits, or a smaller range: bfloat16 does not fit into float16, whose numbers have more digits.
  auto fits = [&] {
    if (!is_inexact(from)) return false;
    Dtype a = to_real(from), b = to_real(to);
    return info(a).mantissa_bits <= info(b).mantissa_bits && largest_finite(a) <= largest_finite(b) &&
           smallest_subnormal(a) >= smallest_subnormal(b);
  };
  bool narrows = is_inexact(to) && !fits();
  bool exact = !planes.error.defined();
  bool counts = exact && is_inexact(from) && is_integral(to, false);  // which is not defined beyond the integers
  if (exact && (!is_inexact(to) || !narrows) && !counts) return made;
  made.ambiguous = planes.ambiguous;
  if (to == Dtype::f64 && is_floating(from)) {  // which holds all of it
    made.error = planes.error;
    // What would be stored as an infinity may have been kept as it is.
    if (planes.lean.defined()) {
      const double largest = largest_finite(from);
      const at::Tensor end = at::where(planes.lean > 0, planes.value - largest, -largest - planes.value);
      const at::Tensor way = at::where(planes.lean > 0, 1.0, -1.0).to(at::kDouble);
      made.lean = at::where(at::isinf(planes.lean), way * end.clamp_min(std::numeric_limits<double>::denorm_min()),
                            planes.lean);
    }
    return made;
  }
  if (lenz::is_complex(to) && !lenz::is_complex(from)) {  // the real part alone is rounded
    const Planes part = converted(planes, from, to_real(to), formula);
    made.error = part.error;
    return made;
  }
  if (is_floating(to) || lenz::is_complex(to)) {
    at::Tensor value = in_order(lenz::is_complex(to) ? finite_size(made.value) : made.value);
    at::Tensor error = at::empty(value.sizes(), at::kDouble);
    at::Tensor given = exact ? at::Tensor() : planes.error.contiguous();
    at::Tensor leaning = exact || !planes.lean.defined() ? at::Tensor() : planes.lean.contiguous();
    at::Tensor lean = may_lean(to, value) ? at::empty(value.sizes(), at::kDouble) : at::Tensor();
    ElementsOut out{.error = error.mutable_data_ptr<double>(),
                    .lean = lean.defined() ? lean.mutable_data_ptr<double>() : nullptr};
    conversion_errors({value.const_data_ptr<double>(), exact ? nullptr : given.const_data_ptr<double>(),
                       leaning.defined() ? leaning.const_data_ptr<double>() : nullptr, to_real(from)},
                      value.numel(), to, formula, out);
    if (lenz::is_complex(
            to)) {  // both parts round, each by half a place: together by more than half a place of the size
      const at::Tensor brought = exact ? at::zeros_like(error) : given;
      error = at::where(error.isfinite(), brought + (error - brought) * std::numbers::sqrt2, error);
    }
    if (out.any_error) made.error = error;
    if (out.any_lean) made.lean = lean;
    if (exact && out.any_error && lenz::is_complex(to))  // parts that the dtype holds stay
      made.error = nothing_where(made.value.to(to_aten(to)).to(made.value.scalar_type()).eq(made.value), error, 0);
    return made;
  }
  if (lenz::is_complex(from)) {
    Planes real{at::real(planes.value), planes.error, planes.ambiguous, planes.loose_zeros};
    return converted(real, to_real(from), to, formula);
  }
  const ScalarRow& row = *find_scalar("to_dtype");
  return apply(row, from, to, {&planes, 1}, made.value, Formula::given);
}

namespace {
// Whether no result is less than zero: the row says so, or its operands are not and it keeps that, or it multiplies a
// number by itself.
bool stays_above_zero(const ScalarRow& row, Dtype compute, std::span<const Planes> operands) {
  if (!is_floating(compute)) return false;
  if (row.has(traits::never_negative)) return true;
  const bool product = row.error.rule == ErrorRule::product && operands.size() == 2;
  if (product && operands[0].value.is_same(operands[1].value)) return true;
  if (whole_range(row, compute, compute).low >= 0) return true;
  return row.has(traits::keeps_above_zero) && std::ranges::all_of(operands, above_zero);
}

// Whether each result is a whole number, whichever of those that it may be.
bool stays_whole(const ScalarRow& row, std::span<const Planes> operands) {
  return row.has(traits::gives_whole) || (row.has(traits::keeps_whole) && std::ranges::all_of(operands, all_whole));
}
}  // namespace

namespace {
// What an operand is converted to before it meets the others.
Dtype met_as(const Call& call, const ScalarRow& row, Dtype compute, int i) {
  const Dtype met = operand_dtype(row, compute, i);
  const auto at = static_cast<size_t>(i);
  if ((met != Dtype::f16 && met != Dtype::bf16) || !takes_whole(*call.op, at)) return met;
  if (!call.args[at].is_value()) return Dtype::f32;
  const Type& type = *call.types[call.args[at].value()];
  return !type.is_tensor() || (type.dtype != met && numel(type.sizes()).is(1)) ? Dtype::f32 : met;
}
}  // namespace

Call with_settled_numbers(FlowContext& in, const Call& call, const ScalarRow& row) {
  Call settled = call;
  const Dtype compute = in.errors ? compute_dtype(call, row) : Dtype::f64;
  if (!is_floating(compute) || compute == Dtype::f64) return settled;
  for (int i = 0; i < row.arity; ++i) {
    const auto at = static_cast<size_t>(i);
    if (call.args[at].kind != ArgKind::real) continue;
    const Dtype met = met_as(call, row, compute, i);
    const ElementOperand number = operand_of(in, call, at, met);
    const Planes planes = converted(number.planes, number.dtype, met, in.formula);
    if (!planes.lean.defined()) continue;
    const ValueId v = settled.add(hold(planes.value), call.graph->context().simple(TypeKind::sym_float));
    in.store.carry(planes, planes.value);
    settled.args[at] = Arg::of_value(v);
    settled.settled.push_back(v);
  }
  return settled;
}
namespace {
// Where a row's meaning is NaN, for an operand is, and eager's kernel takes that for a number: it gives what lay about,
// another time another one. Undefined: nowhere.
at::Tensor loses_nan(const ScalarRow& row, Dtype compute, std::span<const Planes> operands, const at::Tensor& value) {
  if (value.scalar_type() != at::kDouble || row.result == ResultRule::target || !row.dtypes.has(Dtype::f64)) return {};
  if (std::ranges::any_of(operands, [](const Planes& p) { return p.value.is_complex(); })) return {};
  if (std::ranges::none_of(operands, [](const Planes& p) { return holds_nan(p.value); })) return {};
  at::Tensor any = at::zeros(value.sizes(), at::kBool);
  for (const Planes& p : operands)
    if (p.value.is_floating_point()) any = any.logical_or(p.value.isnan());
  any = any.logical_and(value.isnan().logical_not());
  if (!at::any(any).item<bool>()) return {};
  const at::Tensor lost = any.logical_and(evaluated_natively(row, compute, Dtype::f64, operands, value).isnan());
  return at::any(lost).item<bool>() ? lost : at::Tensor();
}

// The call with a 1 for each integer that may be any: what stands for it may be the least one, and eager's kernels die
// of some quotients of that. What they give for it is open in any case.
Call without_open_integers(FlowContext& in, const Call& call) {
  Call settled = call;
  for (RunValue& v : settled.values) {
    if (!v || !v->value.isTensor() || !at::isIntegralType(v->value.toTensor().scalar_type(), false)) continue;
    const Planes planes = in.store.read(v->value.toTensor());
    if (!planes.error.defined() || !at::any(planes.error.isinf()).item<bool>()) continue;
    v = hold(at::where(planes.error.isinf(), at::ones({}, planes.value.options()), planes.value));
  }
  return settled;
}

bool is_arithmetic(const ScalarRow& row) {
  return row.error.rule == ErrorRule::product || row.error.rule == ErrorRule::quotient;
}
}  // namespace

Outcome flow_elementwise(FlowContext& in, const Call& call, Dtype& result) {
  const ScalarRow& row = *find_scalar(call.op->scalar);
  Dtype compute = compute_dtype(call, row);
  const bool dies =
      row.arity == 2 && row.defined && is_integral(compute, false) && !writes_operands(*call.op, call.args);
  Outcome out = dies ? without_open_integers(in, call).run_widened(in.boxed) : call.run_widened(in.boxed);
  if (out.raised) return out;
  result = row.result == ResultRule::target ? call.result_dtypes[0] : result_dtype(row, compute);
  if (!row.dtypes.has(compute) && is_float8(compute)) compute = Dtype::f32;  // as loops do
  if (!row.dtypes.has(compute) && compute == Dtype::b8) compute = Dtype::u8;
  at::Tensor value = out.results[0]->value.toTensor();
  std::vector<Planes> operands;
  bool loose = false;  // a zero among the operands may have either sign
  const int alpha = call.op->schema.find("alpha");
  const bool multiplies = alpha >= 0 && !is_one(call.args[static_cast<size_t>(alpha)]);  // by what may be left out
  for (int i = 0; i < row.arity; ++i) {
    const Dtype met = met_as(call, row, compute, i);
    ElementOperand o = operand_of(in, call, static_cast<size_t>(i), met);
    operands.push_back(converted(o.planes, o.dtype, met, in.formula));
    loose = loose || operands.back().loose_zeros;
  }
  if (multiplies) {
    ElementOperand by = operand_of(in, call, static_cast<size_t>(alpha), compute);
    Planes factors[] = {operands[1], converted(by.planes, by.dtype, compute, in.formula)};
    operands[1] =
        apply(*find_scalar("mul"), compute, compute, factors, at::mul(factors[0].value, factors[1].value), in.formula);
    // A fused sum is of the product itself, which may overflow where the sum does not.
    at::Tensor& product = operands[1].value;
    at::Tensor over = at::isinf(product).logical_and(at::isfinite(factors[0].value));
    if (is_floating(compute) && over.any().item<bool>()) {
      at::Tensor error = operands[1].error.defined() ? operands[1].error : at::zeros(product.sizes(), at::kDouble);
      operands[1].error = nothing_where(over, error, kInf);
      operands[1].lean = at::Tensor();
    }
  }
  bool tied = row.error.rule == ErrorRule::unbounded && is_floating(result) && result != Dtype::f64;
  // Where eager's own float64 is known to be off, the table says what is right.
  constexpr double kOff = 1e6;
  bool better = is_floating(compute) && is_floating(result) &&
                (row.eager.f64_ulps > kOff || std::ranges::any_of(row.eager.exceptions, [](const EagerException& e) {
                   return e.dtypes.has(Dtype::f64) && e.ulps > kOff;
                 }));
  const bool listed = in.of_eager && has_exception(row, compute);
  if (row.error.jump == Jump::at_nonpositive_integers && is_floating(compute) && !better) {
    at::Tensor right = evaluated_natively(row, compute, Dtype::f64, operands, value);
    value = at::where(right.isfinite(), value, right);  // eager's kernels miss poles
    out.results[0] = hold(value);
  }
  if (tied || better) {
    value = evaluated_natively(row, compute, better ? Dtype::f64 : result, operands, value);
    out.results[0] = hold(value);
  }
  const at::Tensor lost = loses_nan(row, compute, operands, value);
  if (lost.defined()) {
    value = at::where(lost, std::numeric_limits<double>::quiet_NaN(), value);
    out.results[0] = hold(value);
  }
  bool exact = row.accuracy.of(compute) == AccuracyClass::exact || !is_inexact(result);
  const bool keeps_signs = !multiplies && (exact || in.formula == Formula::given) && !has_exception(row, compute) &&
                           !lenz::is_complex(result);
  // Of two zeros either may be picked: where none is negative the one that is has a sign.
  auto promises_zeros = [&] {
    if (!keeps_signs || !row.has(traits::loose_zero)) return keeps_signs;
    return row.error.rule == ErrorRule::largest && std::ranges::none_of(operands, may_hold_minus_zero);
  };
  auto without_errors = [&] {
    if (may_hold_zero({.value = value, .error = {}, .ambiguous = {}}) && (loose || !promises_zeros()))
      in.store.loosen_zeros(value);
    return out;
  };
  if (!in.errors || (tied && !uncertain(operands))) return without_errors();
  if (!listed && !loose && !uncertain(operands) && exact && !has_open_ends(row, compute, result) &&
      !reads_signs_of_nan(row, compute))
    return without_errors();
  const FineValues fine = evaluated_finely(row, compute, result, operands, value);
  Planes made = apply(row, compute, result, operands, value, in.formula,
                      at_ends(in, call, row, compute, operands[0], value), fine);
  if (listed && value.is_floating_point()) excuse_row(in, call, row, result, {}, made);
  if (listed && leaves_nan_unset(row, compute)) {
    const at::Tensor unset = operands[0].value.isnan().expand(value.sizes());
    made.error = nothing_where(unset, made.error.defined() ? made.error : at::zeros_like(value), kInf);
    made.ambiguous = made.ambiguous.defined() ? made.ambiguous.logical_or(unset) : unset.clone();
    if (made.lean.defined()) made.lean = nothing_where(unset, made.lean, 0);
  }
  if (in.of_eager && value.is_complex() && !exact && !is_plain_sum(row))
    if (at::Tensor ends = operands_at_end(call, value.sizes(), true, !is_arithmetic(row)); ends.defined())
      excuse_row(in, call, row, result, ends, made);
  if (lost.defined()) {
    made.error = nothing_where(lost, made.error.defined() ? made.error : at::zeros_like(value), kInf);
    made.ambiguous = made.ambiguous.defined() ? made.ambiguous.logical_or(lost) : lost;
  }
  const bool nan_decides = reads_signs_of_nan(row, compute) && std::ranges::any_of(operands, may_be_nan);
  made.loose_zeros = may_hold_zero(made) && (made.loose_zeros || nan_decides || !promises_zeros());
  made.never_negative = stays_above_zero(row, compute, operands) && !above_zero(made);
  made.whole = made.error.defined() && value.is_floating_point() && stays_whole(row, operands);
  if (made.error.defined() && !listed) made.farthest = farthest_of(row, compute, result);
  if (operands.size() == 1 && exact) made.terms = operands[0].terms;
  // A share of what adds up, by a number that is certain.
  const bool divides = row.error.rule == ErrorRule::quotient;
  if (operands.size() == 2 && (divides || row.error.rule == ErrorRule::product) && operands[0].terms > 0 &&
      !operands[1].error.defined() && operands[1].value.numel() == 1 && !operands[1].value.is_complex()) {
    const double number = std::fabs(operands[1].value.to(at::kDouble).item<double>());
    made.terms = divides ? operands[0].terms / number : operands[0].terms * number;
  }
  stand_at_the_end(made, result);
  if (!made.value.is_same(value)) value.copy_(made.value);
  in.store.carry(made, value);
  if (row.error.rule == ErrorRule::sum && operands.size() > 1)
    flow::note_terms(in, value, made.error, [&] {
      double largest = 0;
      for (const Planes& p : operands) {
        const at::Tensor size = at::abs(p.value.to(at::kDouble));
        largest = std::max(largest, nothing_where(size.isfinite().logical_not(), size, 0).max().item<double>());
      }
      return largest;
    });
  return out;
}

Outcome flow_converted(FlowContext& in, const Call& call) {
  Outcome out = call.run_widened(in.boxed);
  if (out.raised) return out;
  at::Tensor value = out.results[0]->value.toTensor();
  ElementOperand from = operand_of(in, call, 0, call.result_dtypes[0]);
  if (value.storage().unsafeGetStorageImpl() == from.planes.value.storage().unsafeGetStorageImpl()) {
    // In the graph's own dtypes it is a copy.
    value = value.clone();
    out.results[0] = hold(value);
  }
  const Dtype to = call.result_dtypes[0];
  Planes made = recorded(in, from.planes, from.dtype, to);
  if (in.errors && in.formula == Formula::given && is_float8(to) && is_floating(from.dtype))
    quantise(from.planes, from.dtype, to, made);
  made.terms = from.planes.terms;
  if (made.lean.defined() || is_float8(to)) value.copy_(made.value);
  in.store.carry(made, value);
  return out;
}

// Fills, ranges: a few roundings of the largest number in sight; a whole number is exact.

}  // namespace lenz::oracle
