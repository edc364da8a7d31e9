// What moves elements about: the op itself, run on the planes of errors.
#include <ATen/Functions.h>
#include <ATen/MemoryOverlap.h>
#include <ATen/TensorOperators.h>

#include <algorithm>
#include <cmath>

#include "compiler/ops/looks_at_memory.h"
#include "compiler/scalar/rounding.h"
#include "oracle/bounds/flow_parts.h"
#include "oracle/bounds/open_indices.h"

namespace lenz::oracle {

using namespace flow;

namespace {
// A plane that lies as its value does, whose elements take two places of a plane where they are complex: an op that
// says where in memory elements are finds those of both.
at::Tensor laid_as(const at::Tensor& plane, const at::Tensor& value) {
  if (at::has_internal_overlap(value) == at::MemOverlap::Yes) return plane;
  const auto slots = static_cast<int64_t>(value.storage().nbytes()) / value.element_size();
  at::Tensor laid = at::zeros({slots}, at::kDouble).as_strided(value.sizes(), value.strides(), value.storage_offset());
  return laid.copy_(plane);
}
// Of what is nothing but floats of one dtype.
double farthest_moved(FlowContext& in, const Call& call) {
  for (const Param& param : call.op->schema.params)
    if (param.type.kind == ParamKind::scalar || param.type.kind == ParamKind::real) return HUGE_VAL;
  double farthest = 0;
  bool any = false;  // what nothing is moved to is filled
  for (size_t v = 0; v < call.values.size(); ++v)
    for (const at::Tensor& t : leaves({&call.values[v], 1})) {
      any = true;
      farthest = std::max(farthest, call.dtype_of(v) == call.result_dtypes[0] ? in.store.read(t).farthest : HUGE_VAL);
    }
  return any ? farthest : HUGE_VAL;
}
// What is moved to where another dtype stands is converted first, and convert is to round. Integers say where to in ops
// that index, and bools, which any dtype holds, where.
Call promoted(FlowContext& in, const Call& call) {
  if (call.op->has(Trait::indexing) || call.op->has(Trait::data_dependent) || call.result_dtypes.empty()) return call;
  return with_operands_as(in, call, call.result_dtypes[0], false);
}
// Whether truths that may be others say how many are taken: numbers say which.
bool open_truths_count(FlowContext& in, const Call& call) {
  if (!may_make_sizes(*call.op)) return false;
  if (call.op->has(Trait::data_dependent)) return true;
  for (size_t v = 0; v < call.values.size(); ++v)
    for (const at::Tensor& t : leaves({&call.values[v], 1})) {
      const at::Tensor error = t.scalar_type() == at::kBool ? in.store.read(t).error : at::Tensor();
      if (error.defined() && at::any(error != 0).item<bool>()) return true;
    }
  return false;
}
}  // namespace

Outcome flow_moved(FlowContext& in, const Call& given) {
  const Call call = promoted(in, given);
  Outcome out = call.run_widened(in.boxed);
  if (out.raised || !in.errors) return out;
  Summary s = summary_of(in, call);
  Dtype to = call.result_dtypes[0];
  // Put among integers, as a part of another dtype is.
  if (!call.values.empty() && call.dtype_of(0) == to && has_no_integer(in, call, to)) {
    mark_unknown(in, out.results);
    return out;
  }
  double worst = 0;
  std::vector<Arg> errors_of_numbers = with_numbers(call, [&](double x) {
    worst = std::max(worst, number_error(to, x));
    return number_error(to, x);
  });
  if (!s.error && worst == 0) return out;
  // How many there are hangs on it, too.
  if (s.index_error && open_truths_count(in, call)) {
    in.unbounded.insert(call.op->full_name);
    mark_unknown(in, out.results);
    return out;
  }
  if (s.index_error && call.op->has(Trait::movement) && worst == 0) {
    read_by_open_indices(in, call, out);
    return out;
  }
  // Where is open; or what is uncertain decides it.
  if (s.index_error || (s.floats && call.op->has(Trait::indexing) && is_integral(to, true))) {
    mark_unknown(in, out.results);
    return out;
  }
  // Integers are what is moved, but for those that say where to: of ops that index, or whose sizes follow values.
  const bool places = call.op->has(Trait::indexing) || call.op->has(Trait::data_dependent);
  const bool by_memory = looks_at_memory(*call.op);
  auto on = [&](const std::function<at::Tensor(const Planes&)>& plane) {
    return [&, plane](const Leaf& leaf) -> at::Tensor {
      Planes p = in.store.read(leaf.value);
      if (p.error.defined()) return by_memory ? laid_as(plane(p), leaf.value) : plane(p);
      return places && !is_inexact(leaf.dtype) ? leaf.value : zeros_like_plane(leaf.value);
    };
  };
  auto errors = run_on(in, call, errors_of_numbers, on([](const Planes& p) { return p.error; }));
  std::vector<at::Tensor> marks;
  if (s.ambiguous)
    marks = run_on(in, call, with_numbers(call, [](double) { return 0; }), on([](const Planes& p) {
                     return p.ambiguous.defined() ? p.ambiguous.to(at::kDouble) : zeros_like_plane(p.value);
                   }));
  // What is without end on one side alone.
  std::vector<at::Tensor> leans;
  if (is_floating(to) && in.store.leans())
    leans = run_on(in, call, with_numbers(call, [](double) { return 0; }), on([](const Planes& p) {
                     return p.lean.defined() ? nothing_where(p.error.isinf().logical_not(), p.lean, 0)
                                             : zeros_like_plane(p.value);
                   }));
  // Which open indices they are: where nothing but indices is moved.
  std::vector<at::Tensor> choices;
  if (is_integral(to, true) && in.store.choices()->any())
    choices = run_on(in, call, with_numbers(call, [](double) { return 0; }), on([](const Planes& p) {
                       return p.choice.defined() ? p.choice.to(at::kDouble) : zeros_like_plane(p.value);
                     }));
  auto results = leaves(out.results);
  if (errors.size() != results.size() || (s.ambiguous && marks.size() != results.size())) {
    in.unbounded.insert(call.op->full_name);
    mark_unknown(in, out.results);
    return out;
  }
  const bool above = operands_above_zero(in, call), whole = operands_whole(in, call);
  const double farthest = farthest_moved(in, call);
  double terms = 0;
  for (const at::Tensor& t : leaves(call.values)) terms = std::max(terms, in.store.read(t).terms);
  for (size_t i = 0; i < results.size(); ++i) {
    if (shares_operand(call, results[i])) continue;
    at::Tensor e = errors[i].is_complex() ? at::abs(errors[i]) : errors[i].to(at::kDouble);
    at::Tensor lean;
    if (leans.size() == results.size() && at::any(leans[i] != 0).item<bool>())
      lean = nothing_where(e.isinf().logical_not(), leans[i].to(at::kDouble), 0);
    settle(in, results[i], e, s.ambiguous ? marks[i] != 0 : at::Tensor(), lean);
    if (choices.size() == results.size()) in.store.choose(results[i], choices[i].to(at::kLong));
    if (above) in.store.bound_below(results[i]);
    if (whole) in.store.only_whole(results[i]);
    if (farthest < HUGE_VAL) in.store.bound_size(results[i], farthest);
    in.store.added_up(results[i], terms);
  }
  return out;
}

}  // namespace lenz::oracle
