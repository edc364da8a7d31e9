// The vocabulary in which rows are written; for rows_*.cpp and table.cpp only.
//
// A row starts from row(), which says what every row must, and adds the rest by chained calls. An evaluator is a
// captureless lambda over plain values; reals<F>, dds<F>, ... turn it into an Evaluator. F may take the EvalContext
// first.
#pragma once

#include <type_traits>
#include <vector>

#include "compiler/scalar/scalar.h"

namespace lenz::scalar_rows {

inline ScalarValue to_value(bool x) { return ScalarValue(static_cast<int64_t>(x)); }
inline ScalarValue to_value(int64_t x) { return ScalarValue(x); }
inline ScalarValue to_value(double x) { return ScalarValue(x); }
inline ScalarValue to_value(DoubleDouble x) { return ScalarValue(x); }
inline ScalarValue to_value(std::complex<double> x) { return ScalarValue(x); }
inline ScalarValue to_value(ScalarValue x) { return x; }

template <class T>
T from_value(const ScalarValue& v) {
  if constexpr (std::is_same_v<T, int64_t>) {
    return v.integer();
  } else if constexpr (std::is_same_v<T, double>) {
    return v.real();
  } else if constexpr (std::is_same_v<T, DoubleDouble>) {
    return v.double_double();
  } else {
    return v.complex();
  }
}

// Calls F with operands of type T; the operand at index Integer, if any, is an integer in any case.
template <class T, auto F, int Integer>
ScalarValue call(const EvalContext& context, const ScalarValue* v) {
  using A = std::conditional_t<Integer == 0, int64_t, T>;
  using B = std::conditional_t<Integer == 1, int64_t, T>;
  using Fn = decltype(F);
  // Without the context first: asking a generic lambda about it would instantiate its body.
  if constexpr (std::is_invocable_v<Fn, A>) {
    return to_value(F(from_value<A>(v[0])));
  } else if constexpr (std::is_invocable_v<Fn, A, B>) {
    return to_value(F(from_value<A>(v[0]), from_value<B>(v[1])));
  } else if constexpr (std::is_invocable_v<Fn, A, B, T>) {
    return to_value(F(from_value<A>(v[0]), from_value<B>(v[1]), from_value<T>(v[2])));
  } else if constexpr (std::is_invocable_v<Fn, const EvalContext&, A>) {
    return to_value(F(context, from_value<A>(v[0])));
  } else if constexpr (std::is_invocable_v<Fn, const EvalContext&, A, B>) {
    return to_value(F(context, from_value<A>(v[0]), from_value<B>(v[1])));
  } else {
    return to_value(F(context, from_value<A>(v[0]), from_value<B>(v[1]), from_value<T>(v[2])));
  }
}

template <auto F, int Integer = -1>
inline constexpr Evaluator integers = call<int64_t, F, Integer>;
template <auto F, int Integer = -1>
inline constexpr Evaluator reals = call<double, F, Integer>;
template <auto F, int Integer = -1>
inline constexpr Evaluator dds = call<DoubleDouble, F, Integer>;
template <auto F>
inline constexpr Evaluator complexes = call<std::complex<double>, F, -1>;

// A function written once, in double-double, for both.
template <auto F, int Integer = -1>
inline constexpr Evaluator reals_by_dd = [](const EvalContext& context, const ScalarValue* v) {
  ScalarValue wide[3];
  for (int i = 0; i < 3; ++i) wide[i] = v[i].kind() == ScalarKind::real ? ScalarValue(DoubleDouble(v[i].real())) : v[i];
  ScalarValue result = call<DoubleDouble, F, Integer>(context, wide);
  if (result.kind() != ScalarKind::double_double) return result;
  // One rounding to the compute dtype's double, not two: what lies between two doubles is settled there.
  return ScalarValue(static_cast<double>(result.double_double()));
};
template <auto F, int Integer = -1>
inline constexpr Evaluators real_function{.reals = reals_by_dd<F, Integer>, .dds = dds<F, Integer>};

template <auto F>
inline constexpr Evaluators all_of{
    .integers = integers<F>, .reals = reals<F>, .dds = dds<F>, .complexes = complexes<F>};
template <auto F>
inline constexpr Evaluators all_real{.integers = integers<F>, .reals = reals<F>, .dds = dds<F>};
template <auto F>
inline constexpr Evaluators floats_only{.reals = reals<F>, .dds = dds<F>};

inline constexpr DtypeSet kInexact = dtypes::floats | dtypes::complexes;

// Domains. An empty one is every value of the dtype.
namespace domains {
inline constexpr Interval anything[] = {{-1e300, 1e300}};
inline constexpr Interval moderate[] = {{-100, 100}};
inline constexpr Interval positive[] = {{1e-30, 1e30}};
inline constexpr Interval up_to_100[] = {{1e-3, 100}};
inline constexpr Interval nonnegative[] = {{0, 1e30}};
inline constexpr Interval nonzero[] = {{-1e30, -1e-30}, {1e-30, 1e30}};
inline constexpr Interval unit[] = {{-1, 1}};
inline constexpr Interval open_unit[] = {{-0.9990234375, 0.9990234375}};
inline constexpr Interval probability[] = {{0.0009765625, 0.9990234375}};
inline constexpr Interval at_least_one[] = {{1, 1e30}};
inline constexpr Interval above_minus_one[] = {{-0.9990234375, 1e30}};
inline constexpr Interval exponents[] = {{-80, 80}};
inline constexpr Interval small_exponents[] = {{-10, 10}};
inline constexpr Interval degrees[] = {{0, 12}};
inline constexpr Interval orders[] = {{1.125, 30}};
}  // namespace domains

// The builder. Every call returns the row, so that a row reads as one declaration.
struct Row : ScalarRow {
  Row&& with(uint32_t t) && { return traits |= t, std::move(*this); }
  Row&& taking(OperandRule rule) && { return operands = rule, std::move(*this); }
  Row&& giving(ResultRule rule) && { return result = rule, std::move(*this); }
  Row&& passes(ErrorRule rule, Jump jump = Jump::none) && {
    error.rule = rule, error.jump = jump;
    return std::move(*this);
  }
  Row&& lipschitz(double constant, double (*derivative)(double) = nullptr, double curvature = 0) && {
    error.rule = ErrorRule::lipschitz, error.lipschitz = constant;
    error.derivative = derivative, error.curvature = curvature;
    return std::move(*this);
  }
  Row&& turning_at(std::initializer_list<double> points) && {
    error.rule = ErrorRule::corners;
    for (double p : points) error.critical[static_cast<size_t>(error.critical_count++)] = p;
    return std::move(*this);
  }
  Row&& bounded_for_reals_only() && { return error.real_only = true, std::move(*this); }
  Row&& slope(double (*bound)(int, const double*, const double*)) && {
    error.rule = ErrorRule::derivative, error.slope = bound;
    return std::move(*this);
  }
  Row&& complex_slope(double (*bound)(std::complex<double>, double), BranchCut cut = BranchCut::none) && {
    error.cut = cut;
    return error.complex_slope = bound, std::move(*this);
  }
  Row&& rounded() && {
    accuracy.kind = accuracy.of_complex = AccuracyClass::correctly_rounded, accuracy.ulps = 0.5;
    return std::move(*this);
  }
  Row&& quickly(double (*in_doubles)(double, double)) && { return quick = in_doubles, std::move(*this); }
  Row&& within(double ulps, double absolute = 0) && {
    accuracy.kind = accuracy.of_complex = AccuracyClass::ulps, accuracy.ulps = ulps, accuracy.absolute = absolute;
    return std::move(*this);
  }
  // After within(), which then holds of complex operands alone.
  Row&& exact_of_reals() && { return accuracy.kind = AccuracyClass::exact, std::move(*this); }
  Row&& reaching(double (*reach)(Dtype, const double*, const double*)) && {
    return accuracy.reach = reach, std::move(*this);
  }
  Row&& of_operands() && { return accuracy.of_operands = true, std::move(*this); }
  Row&& on_nan(NanRule rule) && { return nan = rule, std::move(*this); }
  Row&& rising() && { return monotone = Monotone::increasing, std::move(*this); }
  Row&& falling() && { return monotone = Monotone::decreasing, std::move(*this); }
  Row&& over(std::span<const Interval> first, std::span<const Interval> second = {},
             std::span<const Interval> third = {}) && {
    domain = {first, second, third};
    return std::move(*this);
  }
  Row&& defined_where(bool (*test)(const EvalContext&, const ScalarValue*)) && {
    return defined = test, std::move(*this);
  }
  Row&& eager_within(double ulps, double absolute = 0) && {
    eager.ulps = ulps, eager.absolute = absolute;
    return std::move(*this);
  }
  Row&& eager_narrow_within(double ulps) && { return eager.narrow_ulps = ulps, std::move(*this); }
  Row&& eager_f64_within(double ulps) && { return eager.f64_ulps = ulps, std::move(*this); }
  Row&& eager_complex_within(double ulps) && { return eager.complex_ulps = ulps, std::move(*this); }
  Row&& composite_for(DtypeSet more) && { return eager.composite = more, std::move(*this); }
  Row&& except(std::span<const EagerException> list) && { return eager.exceptions = list, std::move(*this); }
};

inline Row row(std::string_view name, int arity, DtypeSet dtypes, Evaluators eval, std::string_view eager_call,
               std::string_view semantics) {
  Row r;
  r.name = name, r.arity = arity, r.dtypes = dtypes, r.eval = eval, r.semantics = semantics;
  r.eager.call = eager_call;
  return r;
}

// Each file of rows appends its own.
using Table = std::vector<ScalarRow>;
void add_arithmetic(Table& table);
void add_comparisons(Table& table);
void add_rounding(Table& table);
void add_elementary(Table& table);
void add_float_parts(Table& table);
void add_special(Table& table);
void add_bessel(Table& table);
void add_polynomials(Table& table);
void add_conversions(Table& table);

}  // namespace lenz::scalar_rows
