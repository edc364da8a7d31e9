#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>

#include "compiler/scalar/rounding.h"
#include "oracle/bounds/flow_parts.h"
#include "oracle/bounds/flows_grid.h"

namespace lenz::oracle {

using namespace flow;

namespace {
// The largest element of a neighbourhood: of the elements that a mean takes, each sees all the others, and those
// beside.
at::Tensor around(const at::Tensor& t) {
  switch (t.dim()) {
    case 3: return at::max_pool1d(t, {5}, {1}, {2});
    case 4: return at::max_pool2d(t, {5, 5}, {1, 1}, {2, 2});
    default: return at::max_pool3d(t, {5, 5, 5}, {1, 1, 1}, {2, 2, 2});
  }
}

// What the op gives for another plane in the place of its operand.
at::Tensor of_plane(FlowContext& in, const Call& call, const at::Tensor& plane) {
  auto made = run_on(in, call, call.args, [&](const Leaf&) { return plane; });
  return made.empty() ? at::full({1}, kInf, at::kDouble) : made[0];
}
}  // namespace

Outcome flow_interpolated(FlowContext& in, const Call& call) {
  Outcome out = call.run_widened(in.boxed);
  if (out.raised || !in.errors) return out;
  Planes operand = in.store.read(leaves(call.values)[0]);
  Dtype d = call.result_dtypes[0];
  at::Tensor value = leaves(out.results)[0];
  if (!is_inexact(d)) {  // integers: rounded means, by kernels that round in their own ways
    if (operand.error.defined())
      mark_unknown(in, out.results);
    else
      in.store.write(value, at::ones(value.sizes(), at::kDouble), {});
    return out;
  }
  if (value.numel() == 0 || operand.value.numel() == 0) return out;
  // An element is a mean of its own image and channel; if its row says so, of its neighbours, by weights that add up to
  // one and are not negative.
  bool near = call.op->flow.terms == ErrorFlow::windowed;
  std::vector<int64_t> places;
  for (int64_t k = 2; k < operand.value.dim(); ++k) places.push_back(k);
  auto greatest = [&](const at::Tensor& t) { return places.empty() ? t : at::amax(t, places, true); };
  at::Tensor width = operand.error.defined() ? greatest(operand.error) : at::zeros({1}, at::kDouble);
  at::Tensor largest = greatest(magnitude(operand.value)) + width;
  if (near) {
    at::Tensor size = magnitude(operand.value);
    if (operand.error.defined()) {
      width = of_plane(in, call, around(operand.error));
      size = size + operand.error;
    }
    largest = of_plane(in, call, around(size));
  }
  const bool by_grid = call.op->schema.find("grid") >= 0;
  const Dtype sums = carrier(d, in.in_storage || (by_grid && sums_in_storage(call)));
  double unit = unit_of(sums) + 0x1p-53;
  at::Tensor error;
  bool jumps = false;
  if (by_grid) {
    const Sampled sampled = errors_by_grid(in, call, operand, value, unit);
    jumps = sampled.jumps;
    largest = sampled.largest;
    error = sampled.error;
  } else {
    double extent = 8;
    for (int64_t k = 2; k < operand.value.dim(); ++k)
      extent = std::max(extent, static_cast<double>(operand.value.size(k) + value.size(k)) + 8);
    // Weights of magnitude two at most altogether; each off by a few places of the position that it is computed from.
    error = 2 * width + 8 * extent * unit * largest;
    // Positions and sums of narrow floats are f32's, but for each dim weights may be stored: each rounds, and so does
    // what one leaves of 1.
    const double all_weights = near ? 1 : 2;
    if (sums != to_real(d)) error = error + 2 * static_cast<double>(places.size()) * unit_of(d) * all_weights * largest;
  }
  constexpr double kTerms = 64;  // of a cubic kernel in three dims
  error = error.expand(value.sizes()) + kTerms * smallest_subnormal(to_real(d));
  if (sums != to_real(d)) error = error + (magnitude(value) + error) * (2 * unit_of(d));
  at::Tensor in_range = 8 * largest < largest_finite(to_real(d));
  error = nothing_where(in_range.logical_not().expand(value.sizes()), error, kInf);
  settle(in, value, error.contiguous(), jumps ? error != 0 : at::Tensor());
  return out;
}

namespace {
// The greatest up to each place along the dim.
at::Tensor so_far(const at::Tensor& t, int64_t dim) { return t.dim() ? std::get<0>(at::cummax(t, dim)) : t; }

// Of exponentials whose arguments lie within less than half a turn, every partial sum lies between them, and is at
// least cos(half that angle) of what its terms' sizes add up to: the inverse of that. Infinite where they lie further
// apart.
at::Tensor share_left(const Planes& operand, int64_t dim) {
  at::Tensor angle = at::imag(operand.value), radius = at::zeros(angle.sizes(), at::kDouble);
  if (operand.error.defined()) radius = operand.error;
  at::Tensor high = angle + radius, low = angle - radius;
  at::Tensor width = so_far(high, dim) + so_far(-low, dim);
  constexpr double kAlmostHalfATurn = 3.1;
  return nothing_where((width < kAlmostHalfATurn).logical_not(), 1 / at::cos(width / 2), kInf);
}

// What the steps to each sum of exponentials add. Two logarithms of sums are put together by x + log1p(exp(y - x)),
// x >= y: that adds a rounding of the result and, as e^-t (t + 4) <= 4, no more than 8 units of one by the exponential
// and the logarithm; what it is made of counts by its share. The result lies between its least term, and its greatest
// and the logarithm of their number. As many steps are made as terms stand before. Complex ones take more.
at::Tensor steps_of_log_sum(const Planes& operand, int64_t dim, double unit, bool complex) {
  at::Tensor size = magnitude(operand.value);
  if (operand.error.defined()) size = size + operand.error;
  if (size.dim() == 0) return (size + 8) * (complex ? 16 * unit : unit);
  std::vector<int64_t> along(static_cast<size_t>(size.dim()), 1);
  const int64_t n = size.size(dim);
  along[static_cast<size_t>(dim < 0 ? dim + size.dim() : dim)] = n;
  const at::Tensor terms = at::arange(1, n + 1, at::kDouble).reshape(along);
  const at::Tensor each = (so_far(size, dim) + at::log(terms + 1) + 8) * unit;
  return each * (complex ? 2 * terms + 16 : terms);
}

// An exponential is exactly nothing of -inf, and what the others come to counts no more beside inf or NaN.
Planes without_infinite_terms(const Planes& terms, const at::Tensor& infinite) {
  Planes finite = terms;
  finite.value = nothing_where(infinite, terms.value, 0);
  if (terms.error.defined()) finite.error = nothing_where(infinite, terms.error, 0);
  return finite;
}

// Sums that are inf, -inf or NaN by terms which certainly are that are so exactly; behind a term that is one of these
// or not nothing is known, but of a sum that a NaN has made NaN.
at::Tensor error_behind_infinite_terms(const Planes& terms, const at::Tensor& infinite, const at::Tensor& value,
                                       const at::Tensor& error, int64_t dim) {
  const at::Tensor known = nothing_where(at::isfinite(value).logical_not(), error, 0);
  if (!terms.error.defined()) return known;
  auto behind = [&](const at::Tensor& which) { return so_far(which.to(at::kDouble), dim) > 0; };
  const at::Tensor open = terms.error.isinf().logical_or(infinite.logical_and(terms.error != 0));
  const at::Tensor none = terms.value.isnan().logical_and(terms.error == 0);
  return nothing_where(behind(open).logical_and(behind(none).logical_not()), known, kInf);
}
}  // namespace

Outcome flow_log_sums(FlowContext& in, const Call& call) {
  Outcome out = call.run_widened(in.boxed);
  if (out.raised || !in.errors) return out;
  Planes operand = in.store.read(leaves(call.values)[0]);
  at::Tensor value = leaves(out.results)[0];
  Dtype d = call.result_dtypes[0];
  if (value.numel() == 0) return out;
  int64_t dim = dim_of(call).value_or(0);
  const bool complex = lenz::is_complex(d);
  at::Tensor share;  // how much of what its terms add up to is left of a sum, from none on
  const at::Tensor infinite = at::isfinite(operand.value).logical_not();
  const bool any_infinite = infinite.any().item<bool>();
  if (complex && any_infinite) {
    in.unbounded.insert(call.op->full_name + ": infinities among the terms");
  } else if (complex) {
    share = share_left(operand, dim);
    if (!all_finite(share))
      in.unbounded.insert(call.op->full_name +
                          ": the sum's argument may differ by whole turns with the order of terms");
  }
  if (complex && (any_infinite || !at::isfinite(share).any().item<bool>())) {
    mark_unknown(in, out.results);
    return out;
  }
  const Planes terms = any_infinite ? without_infinite_terms(operand, infinite) : operand;
  Dtype sums = carrier(d, false);
  // It moves by no more than its terms do; and the sum's relative error is the logarithm's absolute one.
  at::Tensor error = steps_of_log_sum(terms, dim, unit_of(sums) + 0x1p-53, complex);
  if (terms.error.defined()) error = error + so_far(terms.error, dim);
  if (share.defined()) {  // the logarithm of a sum that is off by so much of itself
    error = error * share;
    error = nothing_where((error < 0.5).logical_not(), error * 2, kInf);
  }
  if (sums != to_real(d)) error = error + (magnitude(value) + error) * (2 * unit_of(d));
  if (any_infinite) error = error_behind_infinite_terms(operand, infinite, value, error, dim);
  settle(in, value, error, operand.ambiguous.defined() ? error != 0 : at::Tensor());
  return out;
}

}  // namespace lenz::oracle
