#include "oracle/bounds/flows.h"

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "compiler/graph/alias.h"
#include "compiler/graph/pattern_functions.h"
#include "compiler/scalar/rounding.h"
#include "oracle/bounds/elementwise.h"
#include "oracle/bounds/fine_sums.h"
#include "oracle/bounds/flow_parts.h"
#include "oracle/bounds/open_ends.h"
#include "oracle/bounds/open_indices.h"
#include "oracle/bounds/sum_roundings.h"
#include "oracle/bounds/term_counts.h"
#include "oracle/bounds/wide_storages.h"

namespace lenz::oracle {

using namespace flow;

namespace {
// Between the elements of a transposed convolution, and around them, stand zeros that each weight of a channel meets.
at::Tensor meets_zeros_between(const Call& call, size_t weight, const at::Tensor& result) {
  const int groups = call.op->schema.find("groups");
  if (!call.args[weight].is_value() || groups < 0 || call.args[static_cast<size_t>(groups)].kind != ArgKind::integer)
    return {};
  const at::Tensor w = call.values[call.args[weight].value()]->value.toTensor();
  const auto apart = evaluate(call.args[static_cast<size_t>(groups)].dim(), *call.symbols).value_or(1);
  if (w.numel() == 0 || result.dim() < 2 || w.size(0) % apart != 0) return {};
  const at::Tensor bad = at::isfinite(magnitude(w)).logical_not();
  const at::Tensor channels = bad.reshape({apart, w.size(0) / apart, w.size(1), -1}).any(3).any(1).reshape({-1});
  std::vector<int64_t> shape(static_cast<size_t>(result.dim()), 1);
  shape[1] = channels.numel();
  return channels.reshape(shape).expand(result.sizes());
}

// Where a factor that is not finite meets zeros around an operand: some kernels multiply them, which gives NaN, and
// others leave them out. Undefined if there are none.
at::Tensor meets_padding(FlowContext& in, const Call& call, const at::Tensor& result) {
  const Schema& schema = call.op->schema;
  int padding = schema.find("padding"), weight = schema.find("weight"), transposed = schema.find("transposed");
  if (padding < 0 || weight < 0) return {};
  if (transposed >= 0 && call.args[static_cast<size_t>(transposed)].i != 0)
    return meets_zeros_between(call, static_cast<size_t>(weight), result);
  const Arg& given = call.args[static_cast<size_t>(padding)];
  if (given.kind != ArgKind::int_list) return {};
  std::vector<int64_t> around;
  for (Dim d : given.dim_list()) around.push_back(evaluate(d, *call.symbols).value_or(0));
  std::vector<Arg> unpadded = call.args;
  unpadded[static_cast<size_t>(padding)] = call.graph->context().ints(std::vector<int64_t>(around.size(), 0));
  // How many such factors are summed, with the zeros and without.
  auto counted = [&](const std::vector<Arg>& args, bool padded) {
    auto counts = run_on(in, call, args, [&](const Leaf& leaf) -> at::Tensor {
      if (static_cast<int>(leaf.param) == weight)
        return at::isfinite(magnitude(leaf.value)).logical_not().to(at::kDouble);
      if (leaf.param != 0) return at::zeros(leaf.value.sizes(), at::kDouble);
      std::vector<int64_t> sizes(leaf.value.sizes().begin(), leaf.value.sizes().end());
      for (size_t i = 2; padded && i < sizes.size(); ++i) sizes[i] += 2 * around[around.size() == 1 ? 0 : i - 2];
      return at::ones(sizes, at::kDouble);
    });
    return counts.empty() ? at::Tensor() : counts[0];
  };
  at::Tensor all = counted(unpadded, true), inside = counted(call.args, false);
  return all.defined() && inside.defined() ? all != inside : at::Tensor();
}

// Where what is not finite has no share in the result, for it is multiplied by a number that is zero: some kernels
// leave it out. Of batches also by one that is zero as a number of the result's dtype: eager's own loops for small ones
// multiply by it, a library's leave it out. Undefined if no number is.
at::Tensor meets_no_share(FlowContext& in, const Call& call) {
  const int alpha = call.op->schema.find("alpha");
  if (alpha < 0) return {};
  const Arg& share = call.args[static_cast<size_t>(alpha)];
  const bool complex = share.kind == ArgKind::complex;
  const std::optional<double> number = complex ? std::abs(*share.complex_value) : number_of(share);
  if (!number) return {};
  const double size = std::fabs(*number);
  const Dtype d = call.result_dtypes[0];
  const bool vanishes = call.op->schema.find("batch1") >= 0 && is_inexact(d) && size < smallest_normal(to_real(d));
  if (size != 0 && !vanishes) return {};
  // A term that is not finite counts more than all that are.
  auto counted = [&](double by) {
    std::vector<Arg> args = with_numbers(call, [](double x) { return x; });  // real, as what counts is
    args[static_cast<size_t>(alpha)] = Arg::of_real(by);
    auto counts = run_on(in, call, args, [&](const Leaf& leaf) {
      if (!flows(in, call, leaf)) return leaf.value;
      const at::Tensor finite = at::isfinite(magnitude(leaf.value));
      return nothing_where(finite, at::full(leaf.value.sizes(), 1.0, at::kDouble), 0x1p-20);
    });
    return counts.empty() ? at::Tensor() : counts[0];
  };
  const at::Tensor with = counted(1), without = counted(0);
  return with.defined() && without.defined() ? at::abs(with - without) >= 0x1p-21 : at::Tensor();
}

}  // namespace

bool only_adds(const Call& call) {
  const OpDef& op = *call.op;
  const bool scales =
      std::ranges::any_of(op.schema.params, [](const Param& p) { return p.type.kind == ParamKind::scalar; });
  return (op.has(Trait::reduction) || op.has(Trait::scan)) && op.flow.terms == ErrorFlow::counted &&
         op.flow.divisor.empty() && !scales;
}

namespace {
// Where a factor or a term that is NaN for certain has a part in the result: that is NaN then, whatever the others are.
std::vector<at::Tensor> meets_certain_nan(FlowContext& in, const Call& call, const std::vector<Arg>& ones) {
  auto counted = [&](double of_nan) {
    return run_on(in, call, ones, [&](const Leaf& leaf) {
      if (!flows(in, call, leaf)) return leaf.value;
      const Planes p = in.store.read(leaf.value);
      at::Tensor nan = at::isnan(magnitude(p.value));
      if (p.error.defined()) nan = nan.logical_and(p.error == 0);
      return nothing_where(nan, at::ones(leaf.value.sizes(), at::kDouble), of_nan);
    });
  };
  std::vector<at::Tensor> all = counted(1), more = counted(2);
  for (size_t i = 0; i < all.size() && i < more.size(); ++i) all[i] = all[i] != more[i];
  return all;
}

// What a number below 1 that every product is multiplied by leaves of a factor, if it comes first; 1 if there is none.
double share_of_products(const Call& call) {
  const int alpha = call.op->schema.find("alpha");
  if (alpha < 0) return 1;
  const Arg& share = call.args[static_cast<size_t>(alpha)];
  return share.kind == ArgKind::real && share.d != 0 ? std::min(std::fabs(share.d), 1.0) : 1;
}

// Where a factor that is infinite, or no number, meets one that may be zero or have either sign: what comes of that is
// open. One that is not normal any more once the call's number has had its share of it may be zero then. Counted by
// marks: with every other factor at 1, the products of both kinds are what remains of these four.
std::vector<at::Tensor> meets_what_may_vanish(FlowContext& in, const Call& call, const std::vector<Arg>& ones,
                                              Dtype sums) {
  const double share = share_of_products(call), least = share < 1 ? smallest_normal(sums) : 0;
  auto marked = [&](double infinite, double vanishing) {
    return run_on(in, call, ones, [&](const Leaf& leaf) {
      if (!flows(in, call, leaf)) return leaf.value;
      const Planes p = in.store.read(leaf.value);
      const at::Tensor size = magnitude(p.value), bad = size.isfinite().logical_not();
      at::Tensor marks = nothing_where(bad, at::ones(leaf.value.sizes(), at::kDouble), infinite);
      if (least > 0) marks = nothing_where((size != 0).logical_and(size * share < least), marks, vanishing);
      if (p.error.defined())
        marks =
            nothing_where((size <= p.error).logical_and(p.error > 0).logical_and(bad.logical_not()), marks, vanishing);
      return marks;
    });
  };
  std::vector<at::Tensor> all = marked(2, 2);
  const std::vector<at::Tensor> one = marked(1, 2), other = marked(2, 1), neither = marked(1, 1);
  for (size_t i = 0; i < all.size(); ++i) all[i] = all[i] + neither[i] != one[i] + other[i];
  return all;
}

// What is carried in f32 and stored in a narrow dtype: its errors then.
struct StoredErrors {
  at::Tensor error, lean;

  StoredErrors() = default;
  StoredErrors(const at::Tensor& values, const at::Tensor& carried, Dtype dtype, Formula formula) {
    const at::Tensor v = in_order(values.to(at::kDouble)), e = carried.contiguous();
    error = at::empty(v.sizes(), at::kDouble);
    lean = at::empty(v.sizes(), at::kDouble);
    const Rounding storage(dtype, 0.5);
    const auto *from = v.const_data_ptr<double>(), *within = e.const_data_ptr<double>();
    ElementsOut out{.error = error.mutable_data_ptr<double>(), .lean = lean.mutable_data_ptr<double>()};
    for (int64_t k = 0; k < v.numel(); ++k) {
      const double all = within[k] + storage.at(std::fabs(from[k]) + within[k]);
      out.set(k, formula == Formula::stored
                     ? Sides{all, all}
                     : storage.spread(from[k], within[k], formula == Formula::given ? 0 : kOtherFormula));
    }
    any_ = out.any_lean;
  }
  // That of a value's errors where they are still these.
  at::Tensor lean_of(const at::Tensor& value, const at::Tensor& now) const {
    if (!any_ || !value.is_floating_point()) return {};
    return nothing_where(now != error, lean, 0);
  }

 private:
  bool any_ = false;
};

// The largest power of two of which all these numbers, which are finite, are multiples; nothing if all are zero.
std::optional<double> quantum_of(const at::Tensor& numbers) {
  const at::Tensor some = numbers.masked_select(numbers != 0);
  if (some.numel() == 0) return std::nullopt;
  auto [fraction, exponent] = at::frexp(some);
  const at::Tensor digits = (fraction * 0x1p53).to(at::kLong);
  const at::Tensor lowest = at::bitwise_and(digits, -digits).to(at::kDouble) * 0x1p-53;
  return at::ldexp(lowest, exponent.to(at::kDouble)).min().item<double>();
}

// Where a sum is exact in whatever order: the terms are multiples of a number of which no part of the sum is more times
// than a format of that unit can count. `sizes`: what the terms add up to without signs.
at::Tensor counts_exactly(const Call& call, const at::Tensor& sizes, double unit) {
  double quantum = HUGE_VAL;
  for (const at::Tensor& t : leaves(call.values))
    quantum = std::min(quantum, t.is_floating_point() ? quantum_of(t).value_or(HUGE_VAL) : 1.0);
  return sizes <= quantum / unit;
}

// What is lost where parts of a sum, or of a product, are stored in a narrow dtype on the way.
at::Tensor lost_by_parts(const Call& call, double parts, const at::Tensor& near, const at::Tensor& most, Dtype d) {
  const double each = multiplies(call) ? parts / (1 - parts * unit_of(d)) : 1;  // times a place: of sums one for all
  at::Tensor lost = most * (each < 0 ? kInf : each * (unit_of(d) + smallest_subnormal(d)));
  if (!multiplies(call)) lost = nothing_where(counts_exactly(call, near, unit_of(d)), lost, 0);
  return nothing_where(most >= largest_finite(d), lost, kInf);
}

// Eager has formulas of its own for sums of floats in definitions, such as a running mean. What a definition counts it
// counts.
bool sums_as_defined(FlowContext& in, const Call& call) {
  return in.formula == Formula::given || std::ranges::none_of(leaves(call.values), [](const at::Tensor& t) {
           return t.is_floating_point() || t.is_complex();
         });
}

// "sum(x, dtype=bf16)" may convert x first, and convert is to round. Integers that add up as floats are floats then.
Call with_converted_operands(FlowContext& in, const Call& call) {
  const int at = call.op->schema.find("dtype");
  if (at < 0 || call.args[static_cast<size_t>(at)].kind != ArgKind::dtype) return call;
  if (!is_inexact(call.args[static_cast<size_t>(at)].dtype())) return call;
  return with_operands_as(in, call, call.args[static_cast<size_t>(at)].dtype(), true);
}
}  // namespace

namespace {
// How many times as far as its quotient by what the divisor is for certain another one may lie from zero, all that the
// divisor may be considered: infinite where that may be zero.
double farthest_quotient(FlowContext& in, const Call& call, size_t divisor) {
  if (!call.args[divisor].is_value()) return 1;
  const Planes by = in.store.read(call.values[call.args[divisor].value()]->value.toTensor());
  if (by.ambiguous.defined()) return kInf;
  if (!by.error.defined()) return 1;
  const at::Tensor size = magnitude(by.value), open = size / (size - by.error);
  return nothing_where((by.error < size).logical_not(), open, kInf).max().item<double>();
}
}  // namespace

Outcome flow_positive(FlowContext& in, const Call& given) {
  const Call call = with_converted_operands(in, given);
  const bool as_defined = sums_as_defined(in, given);
  Outcome out = call.run_widened(in.boxed);
  if (out.raised || out.results.empty() || !in.errors) return out;
  Summary s = summary_of(in, call);
  Dtype d = call.result_dtypes[0];
  auto results = leaves(out.results);
  // Before they are added up.
  if (!is_inexact(d) && call.op->schema.find("dtype") >= 0 && has_no_integer(in, call, d)) {
    mark_unknown(in, out.results);
    return out;
  }
  if (!is_inexact(d) && !s.error) return out;
  int divisor = call.op->flow.divisor.empty() ? -1 : call.op->schema.find(call.op->flow.divisor);
  const double divided = divisor >= 0 ? farthest_quotient(in, call, static_cast<size_t>(divisor)) : 1;
  if ((s.index_error && s.floats) || std::isinf(divided)) {
    mark_unknown(in, out.results);
    return out;
  }
  std::vector<Arg> absolute = with_numbers(call, [](double x) { return std::fabs(x); });
  std::vector<Arg> ones = with_numbers(call, [](double x) { return x == 0 ? 0 : 1; });
  // A value stands among what is added up or multiplied, as one of the dtype.
  const bool stands = call.op->schema.find("value") >= 0;
  double rounded = 0;
  const std::vector<Arg> farthest = !stands ? absolute : with_numbers(call, [&](double x) {
    rounded = std::max(rounded, number_error(d, x));
    return std::fabs(x) + number_error(d, x);
  });
  bool finite = true, mixed = false;  // infinities and NaN beside uncertain factors
  // The instructions that multiply bfloat16 take subnormal factors, and leave subnormal products, for zeros.
  const bool flushes = in.of_eager && d == Dtype::bf16 && call.op->flow.terms == ErrorFlow::counted;
  bool tiny = false;  // there are such factors
  // `decided`: as if what hangs on an open decision were as it is.
  auto on = [&](bool with_error, bool decided = false) {
    return [&, with_error, decided](const Leaf& leaf) -> at::Tensor {
      if (!flows(in, call, leaf)) return leaf.value;
      Planes p = in.store.read(leaf.value);
      at::Tensor size = magnitude(p.value);
      const bool any_bad = !all_finite(p.value);
      const at::Tensor bad = any_bad ? at::isfinite(p.value).logical_not() : at::Tensor();
      finite &= !any_bad;
      if (any_bad) size = nothing_where(bad, size, 0);
      if (p.value.is_complex()) size = size.clamp_max(largest_finite(Dtype::f64));  // finite parts may have no modulus
      at::Tensor lost;
      if (flushes) {
        lost = nothing_where(size >= smallest_normal(Dtype::bf16), size, 0);
        tiny |= at::any(lost != 0).item<bool>();
      }
      if (!with_error || (!p.error.defined() && !lost.defined())) return size;
      at::Tensor e = p.error.defined() ? p.error : at::zeros_like(size);
      if (lost.defined()) e = e + lost;
      if (any_bad) {
        mixed = true;
        e = nothing_where(bad.logical_and(e != 0), e, kInf);
      }
      if (decided && p.ambiguous.defined()) e = e.masked_fill(p.ambiguous, 0);
      return size + e;
    };
  };
  const bool adds = only_adds(call) && !lenz::is_complex(d);
  double greatest = 0;  // of the terms, where it is asked
  auto reach = run_on(in, call, farthest, [&](const Leaf& leaf) {
    at::Tensor size = on(true)(leaf);
    if (adds && flows(in, call, leaf) && size.numel() > 0) greatest = std::max(greatest, size.max().item<double>());
    return size;
  });
  auto exact = s.error || tiny || rounded > 0 ? run_on(in, call, absolute, on(false)) : reach;
  const auto as_decided = s.ambiguous ? run_on(in, call, farthest, on(true, true)) : reach;
  if (reach.size() != results.size() || exact.size() != results.size()) {
    in.unbounded.insert(call.op->full_name);
    mark_unknown(in, out.results);
    return out;
  }
  Dtype sums = carrier(d, in.in_storage || sums_in_storage(call));
  // What stands on the way at most, whatever the order: products of factors that are below 1 come last, and a number
  // may scale a sum that is whole already.
  auto peak = exact, least = exact;
  const bool products = multiplies(call), averages = reduction_of(call) == "mean";
  const bool spread = products || divisor >= 0 || call.op->schema.find("alpha") >= 0;  // factors in any order
  if (spread)
    peak = run_on(in, call, with_numbers(call, [](double x) { return std::max(std::fabs(x), 1.0); }),
                  [&](const Leaf& leaf) {
                    at::Tensor size = on(true)(leaf);
                    if (static_cast<int>(leaf.param) == divisor) return at::abs(size).clamp_max(1);
                    return flows(in, call, leaf) ? size.clamp_min(1) : size;
                  });
  // A number that comes first may leave nothing of a small factor, and what is lost so is multiplied by the others, or
  // divided.
  auto others = exact;
  if (divisor >= 0 || call.op->schema.find("alpha") >= 0)
    others = run_on(in, call, with_numbers(call, [](double x) { return std::max(std::fabs(x), 1.0); }),
                    [&](const Leaf& leaf) {
                      at::Tensor size = on(false)(leaf);
                      if (static_cast<int>(leaf.param) == divisor) return at::abs(size).clamp_max(1);
                      return flows(in, call, leaf) ? size.clamp_min(1) : size;
                    });
  if (products && !finite)
    least = run_on(in, call, absolute, [&](const Leaf& leaf) {
      at::Tensor size = on(false)(leaf);
      return flows(in, call, leaf) ? nothing_where(size == 0, size, 1).clamp_max(1) : size;
    });
  auto live = counted_terms(in, call, ones, true);
  if (live.size() != results.size()) live.assign(results.size(), {});
  auto counted = as_defined ? live : counted_terms(in, call, ones, false);
  if (counted.size() != results.size()) counted.assign(results.size(), {});
  const auto added = counted_by_adding(in, call, ones);
  if (peak.size() != results.size()) peak = exact;
  if (least.size() != results.size()) least = exact;
  if (others.size() != results.size()) others = exact;
  // Whether parts of the sum are no more than what has one sign.
  const bool parts_known =
      !adds && !products && !averages && divisor < 0 && is_floating(d) && call.op->flow.terms == ErrorFlow::counted;
  const TermRoundings of_terms = parts_known ? roundings_of_terms(in, call, ones, sums) : TermRoundings{};
  const bool adds_elements = adds || (parts_known && of_terms.each == 0);
  const bool above = operands_above_zero(in, call);
  const std::vector<at::Tensor> nan = finite ? std::vector<at::Tensor>() : meets_certain_nan(in, call, ones);
  const std::vector<at::Tensor> open_products = finite || only_adds(call) || !(s.error || share_of_products(call) < 1)
                                                    ? std::vector<at::Tensor>()
                                                    : meets_what_may_vanish(in, call, ones, sums);
  for (size_t i = 0; i < results.size(); ++i) {
    const at::Tensor& value = results[i];
    at::Tensor far = at::abs(reach[i].to(at::kDouble)), near = at::abs(exact[i].to(at::kDouble));
    const at::Tensor factors = products && !value.is_complex() ? counted_factors(in, call, i, value) : at::Tensor();
    at::Tensor n = factors.defined()                ? factors
                   : added.size() == results.size() ? added[i]
                                                    : terms_of(call, counted[i], value);
    at::Tensor size = magnitude(value);
    if (!finite)
      size = nothing_where(at::isfinite(size).logical_not(), size, 0);  // infinities are infinite as they are
    std::optional<FineSum> fine;
    if (d == Dtype::f64 && finite && results.size() == 1) fine = summed_finely(in, call, absolute, ones, value);
    double roundings = lenz::is_complex(d) ? 2 : 1;  // each part of a product is a sum of two
    at::Tensor steps = factors.defined() ? (n - 1).clamp_min(1) : (n + 2) * roundings;
    const at::Tensor passed = fine ? fine->passed : (far - near).clamp_min(0);
    at::Tensor error = is_inexact(d) ? passed : at::ceil(passed);  // an average of integers is cut to one
    StoredErrors stored;
    auto finite_value = [&] { return nothing_where(at::isfinite(value).logical_not(), value, 0); };
    if (is_inexact(d)) {
      const at::Tensor most = adds ? most_of_sums(far, near, size, n, sums) : far;
      // A sum that is carried in the storage's dtype is a loop that adds, in eager's own formula too.
      const bool by_parts = adds && (as_defined || (in.in_storage && !in.running_mean));
      auto in_any_order = [&] {
        const at::Tensor all = gamma(steps, unit_of(sums)) * far;
        return parts_known ? at::minimum(all, lost_in_linear(of_terms, n, most_of_sums(far, near, size, n, sums), far))
                           : all;
      };
      const at::Tensor roundings_in_sum =
          by_parts ? lost_in_sums(in, call, {n, most, lesser_of_sums(far, near, size, n), value, greatest, sums}, i)
          : adds   ? n * half_place(most, sums)
                   : in_any_order();
      if (adds && in.running_mean) error = error + steps_of_running_mean(n, near, most, sums);
      error = error + roundings_in_sum + (fine ? fine->error : gamma(steps, 0x1p-53) * far);
      if (by_parts && !s.error && finite) error = nothing_where(counts_exactly(call, near, unit_of(sums)), error, 0);
      // Numbers of a dtype add up to multiples of its least one: below its normal numbers their sums are exact.
      if (!only_adds(call) || !as_defined || s.error) {
        const double least =
            flushes && at::any(near < 0x1p-60).item<bool>() ? smallest_normal(sums) : smallest_subnormal(sums);
        const at::Tensor lost = at::abs(others[i].to(at::kDouble)).clamp_max(largest_finite(sums));
        error = error + steps * least + smallest_subnormal(sums) * (divisor >= 0 ? steps * lost : lost);
      }
      // One term is its own sum, by any formula: it may be rounded, if it has been kept wider.
      if (const at::Tensor alone = n <= 1; (adds_elements || factors.defined()) && at::any(alone).item<bool>()) {
        const bool narrows = sums != to_real(d);  // then it is rounded below
        const at::Tensor own =
            narrows ? passed : StoredErrors(finite_value(), passed.expand(value.sizes()), d, Formula::given).error;
        error = at::where(alone, own, error);
      }
      // An average is a sum first.
      at::Tensor highest = at::maximum(far, at::abs(peak[i].to(at::kDouble))) * divided;
      if (divided > 1) error = error * divided + size * (divided - 1);
      at::Tensor sum = averages || call.op->flow.terms == ErrorFlow::windowed ? highest * divided_by(call, n) : highest;
      error = nothing_where(sum >= largest_finite(sums), error, kInf);
      if (products) error = error + steps * smallest_subnormal(sums) * highest;  // what is lost below is multiplied
      if (const double parts = parts_of_threads(in, call, value); parts > 0 && sums != to_real(d))
        error = error + lost_by_parts(call, parts, near, highest + error, to_real(d));
      if (sums != to_real(d)) {  // stored at the end
        const at::Tensor real = value.is_complex() ? size : finite_value();
        stored = StoredErrors(real, error, to_real(d), in.formula);
        error = stored.error;
      } else {
        error = nothing_where(size + error > largest_finite(sums), error, kInf);
      }
      if (live[i].defined()) error = nothing_where(live[i].eq(0).logical_and(error.isfinite()), error, 0);
    } else {
      // What float64 has no digits for may be what an open operand brings; and what may leave the dtype wraps.
      error = error + nothing_where(far <= 0x1p53, steps * far * 0x1p-52, 0);
      const int digits = 8 * static_cast<int>(item_size(d)) - (info(d).is_signed ? 1 : 0);
      if (is_integral(d, false))
        error = nothing_where((error > 0).logical_and(far >= std::ldexp(1.0, digits)), error, kInf);
    }
    if (!finite) {
      at::Tensor special = at::isfinite(magnitude(value)).logical_not();
      if (value.is_complex()) error = nothing_where(special, error, kInf);  // parts meet in the order of the kernel
      // Of sums what is finite for certain changes nothing; a factor may be zero, or have either sign.
      at::Tensor certain = mixed && !only_adds(call) ? at::zeros_like(special) : at::isfinite(error);
      error = at::where(special, nothing_where(certain, at::full_like(error, kInf), 0), error);
      // An infinity times what is lost on the way is NaN.
      if (products) error = nothing_where(special.logical_and(at::abs(least[i]) < smallest_normal(sums)), error, kInf);
      if (i < open_products.size()) error = nothing_where(special.logical_and(open_products[i]), error, kInf);
      if (divisor >= 0) error = nothing_where(special, error, kInf);  // and what is divided may be infinite by then
      if (tiny) error = nothing_where(special, error, kInf);          // of infinity by what is taken for zero
      if (flushes && call.op->schema.find("weight") >= 0)             // and by zeros that fill up a block of products
        error = at::full_like(error, kInf);
      if (i < nan.size() && !value.is_complex()) error = nothing_where(nan[i].logical_and(value.isnan()), error, 0);
      for (const at::Tensor& open : {meets_padding(in, call, value), meets_no_share(in, call)})
        if (i == 0 && open.defined()) error = nothing_where(open, error, kInf);
    }
    at::Tensor open;  // where decisions that are open have a part in how far it reaches
    if (s.ambiguous)
      open = as_decided.size() == results.size() ? far != at::abs(as_decided[i].to(at::kDouble)) : far != near;
    at::Tensor lean = stored.lean_of(value, error);
    if (!finite && lean.defined()) lean = nothing_where(error.isinf(), lean, 0);
    settle(in, value, error, open, lean);
    note_terms(in, value, error, [&] { return near.max().item<double>(); });
    if (parts_known) in.store.keep_products(value, {far, n});
    if (above && live[i].defined() && !at::any(live[i] < 0).item<bool>()) in.store.bound_below(value);
  }
  // A running mean is no number once it was infinite.
  if (adds && results.size() == 1 && !in.running_mean)
    keep_ends_of_sums(in, call, results[0], [&](const Call& closed) { return flow_positive(in, closed); });
  return out;
}

namespace {
// Where a call's results are numbers, which have no planes, notes how far off they may be.
bool note_numbers(FlowContext& in, const Call& call, const Outcome& out) {
  bool any = false;
  for (const RunValue& r : out.results) {
    if (!r || !(r->value.isDouble() || r->value.isInt() || r->value.isBool())) continue;
    any = true;
    double error = kInf;
    if (const auto from = leaves(call.values); r->value.isDouble() && from.size() == 1 && from[0].numel() == 1)
      if (Planes p = in.store.read(from[0]); p.error.defined()) error = p.error.item<double>();
    in.store.note_number(r, error);
  }
  return any;
}

// What is only compared with a number, as by a search for it: eager first converts that to the dtype of the others, or
// integers beside a float to the default one.
bool compares_with_number(const Call& call) {
  const bool number =
      !call.numbers.empty() || std::ranges::any_of(call.args, [](const Arg& a) { return a.kind == ArgKind::real; });
  return number && call.op->accuracy == Accuracy::exact && std::ranges::none_of(call.result_dtypes, is_inexact);
}

// An extern's kernel is one that nobody compiles: of certain operands it makes the very bits, in the graph's own
// dtypes, as does what compares alone. Nothing: one that writes, or whose results share memory with operands, works on
// the planes themselves.
std::optional<Outcome> run_native(FlowContext& in, const Call& call) {
  if (call.op->infer && !compares_with_number(call)) return std::nullopt;
  if (call.op->schema.mutates() || any_error(in, call.values)) return std::nullopt;
  const std::vector<RunValue> narrow = narrowed(call);
  Outcome out = call.run_native(in.boxed, narrow);
  for (const at::Tensor& made : leaves(out.results))
    for (const at::Tensor& operand : leaves(narrow))
      if (made.is_alias_of(operand)) return std::nullopt;
  for (RunValue& r : out.results) r = WideStorages().widen(r);
  return out;
}
}  // namespace

Outcome flow_opaque(FlowContext& in, const Call& call) {
  if (std::optional<Outcome> same = run_native(in, call)) return *same;
  Outcome out = call.run_widened(in.boxed);
  if (out.raised || !in.errors) return out;
  bool unknown = any_error(in, call.values);
  // What a kernel that nobody knows writes, it may round.
  const bool exact = call.op->accuracy == Accuracy::exact && call.op->infer;
  for (Dtype d : call.result_dtypes) unknown |= is_inexact(d) && !exact;
  std::vector<RunValue> written;
  for (size_t i = 0; i < call.args.size(); ++i)
    if (writes_operand(*call.op, call.args, i))
      for_each_value(call.args[i], [&](ValueId v) { written.push_back(call.values[v]); });
  for (const at::Tensor& t : leaves(written)) unknown |= (t.is_floating_point() || t.is_complex()) && !exact;
  // Which of several equal elements an index names is left open.
  if (call.op->flow.ties_open && out.results.size() > 1)
    mark_indices(in, call, in.store.read(leaves(call.values)[0]), out.results[1]->value.toTensor());
  // NaN has no place in an order, and equals nothing: what is found among it is the way that the search takes.
  for (const at::Tensor& t : leaves(call.values)) {
    if (!t.is_floating_point() || !t.isnan().any().item<bool>()) continue;
    if (call.op->flow.ties_open) {
      mark_unknown(in, out.results);
      continue;
    }
    for (const at::Tensor& r : leaves(out.results))  // each element's number among the others
      if (r.sizes() == t.sizes() && r.scalar_type() == at::kLong && t.numel() > 0)
        settle(in, r, nothing_where(t.isnan(), at::zeros(r.sizes(), at::kDouble), kInf), {});
  }
  if (!unknown || note_numbers(in, call, out)) return out;
  in.unbounded.insert(call.op->full_name);
  mark_unknown(in, out.results);
  mark_unknown(in, written);
  return out;
}

}  // namespace lenz::oracle
