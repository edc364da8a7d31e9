#include "oracle/bounds/eager_kernels.h"

#include <ATen/Context.h>
#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>

#include <algorithm>
#include <limits>

#include "compiler/graph/host_kernels.h"
#include "compiler/scalar/rounding.h"
#include "oracle/bounds/elementwise.h"
#include "oracle/bounds/flow_parts.h"
#include "oracle/bounds/plane_numbers.h"

namespace lenz::oracle {

using flow::kInf;
using flow::nothing_where;

namespace {
constexpr double kFar = 0x1p60;
constexpr int64_t kTwoVectors = 128;         // bytes: eager's loops take two of the widest at a time
constexpr int64_t kFill = 64;                // elements that do so of every dtype
constexpr int64_t kMost = int64_t{1} << 22;  // elements of an operand that is repeated so

at::Tensor real_at_end(const at::Tensor& t, Dtype dtype) {
  const at::Tensor size = at::abs(t.to(at::kDouble));
  at::Tensor end = (size < kFar).logical_not();
  if (!is_inexact(dtype)) return end;
  const double least = std::max(1 / kFar, smallest_normal(to_real(dtype)));
  return end.logical_or((size < least).logical_and(size != 0));
}

bool real_at_end(double x) { return !(std::fabs(x) < kFar) || (x != 0 && std::fabs(x) < 1 / kFar); }

bool has_any(const at::Tensor& mask) { return mask.defined() && at::any(mask).item<bool>(); }

at::Tensor either(const at::Tensor& a, const at::Tensor& b) { return a.defined() ? a.logical_or(b) : b; }

bool fits(at::IntArrayRef from, at::IntArrayRef to) {  // expanded
  if (from.size() > to.size()) return false;
  const at::IntArrayRef last = to.slice(to.size() - from.size());
  for (size_t d = 0; d < from.size(); ++d)
    if (from[d] != last[d] && from[d] != 1) return false;
  return true;
}

// How many elements beside each other fill whole vectors of each of these.
int64_t filling_vectors(std::span<const at::Tensor> tensors) {
  int64_t narrowest = kTwoVectors;
  for (const at::Tensor& t : tensors) narrowest = std::min(narrowest, static_cast<int64_t>(t.itemsize()));
  return std::min(kTwoVectors / narrowest, kFill);
}

// A call's operands, each laid anew.
template <class Lay>
std::vector<RunValue> laid(const std::vector<RunValue>& values, Lay&& lay) {
  std::vector<RunValue> made = values;
  for (RunValue& v : made)
    if (v && v->value.isTensor() && v->value.toTensor().dim() > 0) v = hold(lay(v->value.toTensor()));
  return made;
}
}  // namespace

at::Tensor at_range_end(const at::Tensor& t, Dtype dtype) {
  if (!t.is_complex()) return real_at_end(t, dtype);
  const at::Tensor parts = at::view_as_real(t.resolve_conj());
  return real_at_end(parts, dtype).any(-1);
}

namespace {
// The dtype in which a call's operands meet if any of them is complex: the narrowest of these.
std::optional<Dtype> met_as_complex(const Call& call) {
  std::optional<Dtype> met;
  auto meets = [&](Dtype d) {
    if (is_complex(d) && (!met || item_size(d) < item_size(*met))) met = d;
  };
  for (size_t v = 0; v < call.values.size(); ++v)
    if (call.values[v] && call.values[v]->value.isTensor()) meets(call.dtype_of(v));
  if (std::ranges::any_of(call.args, [](const Arg& a) { return a.kind == ArgKind::complex; }))
    for (Dtype d : call.result_dtypes) meets(d);
  return met;
}

// Where an operand is at an end itself, or an exponential in a function of it may overflow: of complex numbers, and
// what meets them, eager takes exponentials, and quotients of them, whichever function it is.
at::Tensor operand_at_range_end(const at::Tensor& t, Dtype dtype, std::optional<Dtype> complex) {
  at::Tensor end = at_range_end(t, dtype);
  if (!complex) return end;
  constexpr double kTurned = 4;  // the exponential of so many times the operand, as of pi times it
  const double most = std::log(largest_finite(to_real(*complex))) / kTurned;
  if (!t.is_complex()) return end.logical_or(at::abs(t.to(at::kDouble)) > most);
  return end.logical_or((at::abs(at::view_as_real(t.resolve_conj())) > most).any(-1));
}
}  // namespace

bool number_at_range_end(const Arg& a) {
  if (a.kind == ArgKind::complex) return real_at_end(a.complex_value->real()) || real_at_end(a.complex_value->imag());
  return a.kind == ArgKind::real && real_at_end(a.d);
}

bool any_operand_at_range_end(const Call& call) {
  if (std::ranges::any_of(call.args, number_at_range_end)) return true;
  const std::optional<Dtype> complex = met_as_complex(call);
  for (size_t v = 0; v < call.values.size(); ++v)
    if (call.values[v] && call.values[v]->value.isTensor() && (complex || is_inexact(call.dtype_of(v))) &&
        has_any(operand_at_range_end(call.values[v]->value.toTensor(), call.dtype_of(v), complex)))
      return true;
  return false;
}

at::Tensor operands_at_end(const Call& call, at::IntArrayRef sizes, bool zeros, bool functions) {
  at::Tensor all;
  const std::optional<Dtype> complex = functions ? met_as_complex(call) : std::nullopt;
  if (std::ranges::any_of(call.args, number_at_range_end)) all = at::ones(sizes, at::kBool);
  for (size_t v = 0; v < call.values.size(); ++v) {
    if (!call.values[v] || !call.values[v]->value.isTensor()) continue;
    const at::Tensor t = call.values[v]->value.toTensor();
    at::Tensor end = operand_at_range_end(t, call.dtype_of(v), complex);
    if (zeros) end = end.logical_or(t.is_complex() ? (at::view_as_real(t.resolve_conj()) == 0).any(-1) : t == 0);
    if (has_any(end) && fits(end.sizes(), sizes)) all = either(all, end.expand(sizes));
  }
  return all;
}

namespace {
// The operands with NaN in the place of elements that may be anything. Empty: there are none.
std::vector<RunValue> with_open_elements_as_nan(FlowContext& in, const Call& call, std::vector<RunValue> operands) {
  bool some = false;
  for (size_t v = 0; v < operands.size(); ++v) {
    if (!operands[v] || !operands[v]->value.isTensor() || !is_inexact(call.dtype_of(v))) continue;
    const Planes p = in.store.read(call.values[v]->value.toTensor());
    if (!p.error.defined()) continue;
    at::Tensor open = p.error.isinf();
    if (p.lean.defined()) open = open.logical_and(p.lean == 0);  // else it is no NaN
    if (!has_any(open)) continue;
    some = true;
    const at::Tensor t = operands[v]->value.toTensor(), others = nothing_where(open, t, std::nan(""));
    // As it lies, for which kernel it is may hang on that.
    operands[v] =
        hold(t.is_non_overlapping_and_dense() ? at::empty_strided(t.sizes(), t.strides(), t.options()).copy_(others)
                                              : others);
  }
  return some ? operands : std::vector<RunValue>();
}

// Which rows of attention's results hang on elements that may be anything: of `sizes`, undefined if there are none.
at::Tensor hangs_on_open(FlowContext& in, const Call& call, at::IntArrayRef sizes, bool scores) {
  at::Tensor rows;
  for (size_t i = 0; i < call.args.size(); ++i) {
    if (!call.args[i].is_value() || !call.values[call.args[i].value()]->value.isTensor()) continue;
    const Planes p = in.store.read(call.values[call.args[i].value()]->value.toTensor());
    if (!p.error.defined() || !has_any(p.error.isinf())) continue;
    const std::string_view name = call.op->schema.params[i].name;
    at::Tensor open = p.error.isinf();
    open = name == "query"                    ? open.any(-1)
           : name == "key" || name == "value" ? open.flatten(-2).any(-1).unsqueeze(-1)
                                              : open.any();  // of a mask
    const bool alike = !rows.defined() || fits(open.sizes(), rows.sizes()) || fits(rows.sizes(), open.sizes());
    rows = alike ? either(rows, open) : at::ones({}, at::kBool);  // heads that share keys
  }
  if (!rows.defined()) return rows;
  if (!scores && rows.dim() > 0) rows = rows.unsqueeze(-1);
  return fits(rows.sizes(), sizes) ? rows.expand(sizes) : at::ones(sizes, at::kBool);
}

// Each of these kernels' results.
std::vector<Outcome> kernels_of(FlowContext& in, const Call& call) {
  const std::vector<RunValue> operands = narrowed(call);
  std::vector<Outcome> kernels;
  auto run = [&](const std::vector<RunValue>& values) {
    Outcome out = call.run_native(in.boxed, values);
    if (!out.raised) kernels.push_back(std::move(out));
    return !kernels.empty();
  };
  if (!run(operands)) return kernels;
  if (is_attention(*call.op)) {
    // Which of eager's two it is hangs on strides and flags; one adds a mask to scores that the other does not look at.
    const bool fused = at::globalContext().userEnabledFlashSDP();
    at::globalContext().setSDPUseFlash(!fused);
    run(operands);
    at::globalContext().setSDPUseFlash(true);
    run(laid(operands, [](const at::Tensor& t) { return t.contiguous(); }));  // the other one asks for neighbours
    at::globalContext().setSDPUseFlash(fused);
    // It may find a NaN where the definition has none.
    if (const std::vector<RunValue> others = with_open_elements_as_nan(in, call, operands); !others.empty())
      run(others);
  }
  if (!call.op->has(Trait::elementwise)) return kernels;
  const at::Tensor result = leaves(kernels[0].results)[0];
  if (result.dim() == 0 || !std::ranges::all_of(leaves(operands), [&](const at::Tensor& t) {
        return fits(t.sizes(), result.sizes());  // not so of an outer product
      }))
    return kernels;
  // No element lies beside its neighbours.
  run(laid(operands, [](const at::Tensor& t) {
    std::vector<int64_t> sizes = t.sizes().vec();
    sizes.push_back(2);
    at::Tensor apart = at::zeros(sizes, t.options()).select(-1, 0);
    apart.copy_(t);
    return apart;
  }));
  std::vector<at::Tensor> taking = leaves(operands);
  taking.push_back(result);
  const int64_t filling = filling_vectors(taking);
  if (result.numel() * filling > kMost) return kernels;
  // Each fills a vector.
  const size_t before = kernels.size();
  const std::vector<int64_t> all = result.sizes().vec();
  std::vector<int64_t> often = all;
  often.push_back(filling);
  run(laid(operands, [&](const at::Tensor& t) { return t.expand(all).unsqueeze(-1).expand(often).contiguous(); }));
  for (size_t k = before; k < kernels.size(); ++k)
    for (RunValue& r : kernels[k].results) r = hold(r->value.toTensor().select(-1, 0));
  return kernels;
}

// How far the farthest of them is from `value`, their `result`-th; infinite where one is a number and the other none.
at::Tensor apart_from(std::span<const Outcome> kernels, size_t result, const at::Tensor& value) {
  at::Tensor farthest = at::zeros(value.sizes(), at::kDouble);
  for (const Outcome& kernel : kernels) {
    const std::vector<at::Tensor> made = leaves(kernel.results);
    if (result >= made.size() || made[result].sizes() != value.sizes()) continue;
    const at::Tensor k = made[result].to(value.scalar_type());
    at::Tensor same = value.eq(k);
    if (!value.is_complex()) same = same.logical_or(value.isnan().logical_and(k.isnan()));
    at::Tensor apart = at::abs(value - k).to(at::kDouble);
    apart = nothing_where(apart.isfinite().logical_not(), apart, kInf);
    farthest = at::maximum(farthest, nothing_where(same, apart, 0));
  }
  return farthest;
}

// Where `where` holds, `apart` is no fault. False: it was none anyway.
bool excuse(FlowContext& in, std::string_view name, const at::Tensor& where, at::Tensor apart, Planes& made) {
  if (where.defined()) apart = nothing_where(where.logical_not(), apart, 0);
  const at::Tensor beyond = made.error.defined() ? apart > made.error : apart > 0;
  if (!has_any(beyond)) return false;
  in.excused.insert(std::string(name));
  // They differ among themselves too, the more so where no digit is right.
  constexpr double kDigitsLeft = 0.125;
  const at::Tensor times = at::where(apart > at::abs(made.value) * kDigitsLeft, 8.0, 2.0);
  const at::Tensor more = nothing_where(beyond.logical_not(), apart * times, 0);
  made.error = made.error.defined() ? made.error + more : more;
  made.ambiguous = either(made.ambiguous, at::isinf(made.error));
  return true;
}

// What the call gives where its operands' least numbers, of which products keep few digits or none, are zeros. Empty if
// there are none.
std::vector<at::Tensor> without_least(FlowContext& in, const Call& call) {
  bool some = false;
  std::vector<RunValue> operands = copied_as_laid(call);
  for (size_t v = 0; v < operands.size(); ++v) {
    if (!operands[v] || !operands[v]->value.isTensor() || !is_inexact(call.dtype_of(v))) continue;
    const at::Tensor t = operands[v]->value.toTensor();  // elements may share memory
    const int64_t count = static_cast<int64_t>(t.storage().nbytes()) / t.element_size();
    const at::Tensor all = t.as_strided({count}, {1}, 0);
    const at::Tensor least = at_range_end(all, call.dtype_of(v)).logical_and(at::abs(all) < 1).logical_and(all != 0);
    some = some || has_any(least);
    all.masked_fill_(least, 0);
  }
  if (!some) return {};
  const Outcome out = call.run_widened(in.boxed, call.args, operands);
  return out.raised ? std::vector<at::Tensor>() : leaves(out.results);
}
}  // namespace

namespace {
// The leans that eager's kernels do not contradict: where every kernel gives the infinity that is certain, or a number
// between the ends that the lean says. `at`: which of the results. `ends`: where kernels are asked.
at::Tensor leans_beside_kernels(std::span<const Outcome> kernels, size_t at, Dtype dtype, const Planes& made,
                                const at::Tensor& ends) {
  if (!made.lean.defined()) return {};
  const bool stores_nan = is_floating(dtype) && std::isnan(round_to(dtype, kInf));  // in place of an infinity
  const Numbers values(made.value, made.value), errors(made.error, made.value), leans(made.lean, made.value);
  at::Tensor lean = plane_like(made.value);
  double* kept = numbers_of(lean);
  for (int64_t i = 0; i < lean.numel(); ++i) kept[i] = leans[i];
  const at::Tensor asked = ends.expand(made.value.sizes()).contiguous();
  const bool* end = asked.const_data_ptr<bool>();
  for (const Outcome& kernel : kernels) {
    const std::vector<at::Tensor> results = leaves(kernel.results);
    if (at >= results.size() || results[at].sizes() != made.value.sizes()) return {};
    const at::Tensor& result = results[at];
    const Numbers given(result, result);
    for (int64_t i = 0; i < lean.numel(); ++i) {
      const double off = given[i] - values[i];
      const Reach reach = leaning(errors[i], leans[i]);
      const bool within = std::isinf(leans[i])
                              ? (stores_nan ? std::isnan(given[i]) : given[i] == leans[i])
                              : !std::isnan(given[i]) && (off < 0 ? -off <= reach.below : off <= reach.above);
      if (end[i] && !within) kept[i] = 0;
    }
  }
  return lean;
}

// A lean says of a finite error by how much it is shorter on one side, and of an infinite one how far that side goes.
// Where a kernel's infinity has made the error infinite, right numbers go as far to the other side as they did.
at::Tensor leans_of_excused(std::span<const Outcome> kernels, size_t at, const Planes& was, const Planes& made) {
  if (!was.lean.defined() || !made.error.defined()) return was.lean;
  const Numbers before(was.error, was.value), errors(made.error, was.value), leans(was.lean, was.value);
  const at::Tensor lean = plane_like(was.value);
  double* l = numbers_of(lean);
  for (int64_t i = 0; i < lean.numel(); ++i) l[i] = std::isinf(errors[i]) && !std::isinf(before[i]) ? 0 : leans[i];
  constexpr double kLeast = std::numeric_limits<double>::denorm_min();
  for (const Outcome& kernel : kernels) {
    const std::vector<at::Tensor> results = leaves(kernel.results);
    if (at >= results.size() || results[at].sizes() != was.value.sizes()) return {};
    const Numbers given(results[at], results[at]);
    for (int64_t i = 0; i < lean.numel(); ++i) {
      if (!std::isinf(errors[i]) || std::isinf(before[i]) || !std::isinf(given[i])) continue;
      const Reach reach = leaning(before[i], leans[i]);
      l[i] = given[i] < 0 ? -std::max(reach.above, kLeast) : std::max(reach.below, kLeast);
    }
  }
  return lean;
}
}  // namespace

void excuse_definition(FlowContext& in, const Call& call, const Outcome& defined) {
  const std::vector<Outcome> kernels = kernels_of(in, call);
  if (kernels.empty()) return;
  const std::vector<at::Tensor> right = leaves(defined.results);
  const bool pointwise = call.op->has(Trait::elementwise);
  const std::vector<at::Tensor> without = without_least(in, call);  // an outer product knows nothing of broadcasting
  for (size_t i = 0; i < right.size(); ++i) {
    const at::Tensor& t = right[i];
    if ((!t.is_floating_point() && !t.is_complex()) || t.numel() == 0) continue;
    const Dtype dtype = call.result_dtypes[std::min(i, call.result_dtypes.size() - 1)];
    at::Tensor end = at_range_end(t, dtype);
    if (pointwise)
      if (const at::Tensor operands = operands_at_end(call, t.sizes(), false, true); operands.defined())
        end = either(operands, end);
    if (i < without.size() && without[i].sizes() == t.sizes()) end = either(end, without[i].to(t.scalar_type()) != t);
    for (const Outcome& kernel : kernels)
      if (const auto made = leaves(kernel.results); i < made.size() && made[i].sizes() == t.sizes())
        end = either(end, at_range_end(made[i].to(t.scalar_type()), dtype));
    if (!has_any(end)) continue;
    Planes p = in.store.read(t);
    // A NaN that attention's kernel loses is certain of nobody: what it gives there hangs on all that may be anything.
    at::Tensor lost;
    if (is_attention(*call.op)) lost = hangs_on_open(in, call, t.sizes(), i > 0);
    if (lost.defined()) lost = lost.logical_and(t.isnan());
    const bool opened = has_any(lost);
    if (opened) {
      in.excused.insert(call.op->full_name);
      p.error = nothing_where(lost, p.error.defined() ? p.error : at::zeros(t.sizes(), at::kDouble), kInf);
      p.ambiguous = either(p.ambiguous, lost);
    }
    const Planes was = p;
    const bool excused = excuse(in, call.op->full_name, end, apart_from(kernels, i, t), p);
    if (excused) p.lean = leans_of_excused(kernels, i, was, p);
    if (excused || opened || p.lean.defined())
      in.store.write(t, p.error, p.ambiguous, leans_beside_kernels(kernels, i, dtype, p, end));
  }
}

void excuse_row(FlowContext& in, const Call& call, const ScalarRow& row, Dtype result, const at::Tensor& where,
                Planes& made) {
  const std::vector<Outcome> kernels = kernels_of(in, call);
  // Of what leans only what overflows for certain knows something of the kernels' own errors.
  if (made.lean.defined()) made.lean = nothing_where(at::isinf(made.lean).logical_not(), made.lean, 0);
  if (kernels.empty()) {
    made.lean = at::Tensor();
    return;
  }
  made.lean = leans_beside_kernels(kernels, 0, result, made, at::ones({}, at::kBool));
  const at::Tensor apart = apart_from(kernels, 0, made.value);
  if (!any_error(in, call.values)) {
    excuse(in, row.name, where, apart, made);
    return;
  }
  // What eager computes from need not be what the reference does: at numbers of the dtype at the ends of intervals and
  // between, by how much more than storing rounds is it off?
  const bool narrow = is_reduced_float(result);
  auto beyond_rounding = [&](const at::Tensor& off, const at::Tensor& value) {
    if (!narrow) return off;
    const at::Tensor size = at::abs(value);
    return off - flow::half_place(size + off, result) - size * kOtherFormula;
  };
  at::Tensor own = narrow ? at::zeros_like(apart) : nothing_where(at::isfinite(apart).logical_not(), apart, 0);
  at::Tensor fails;  // where a kernel gives no number at an end, and a right one is in the dtype's range
  const double most = largest_finite(to_real(result));
  using Operand = std::function<at::Tensor(const Planes&)>;
  auto off_at = [&](const Operand& operand, bool at_an_end) -> at::Tensor {
    Call there = call;
    for (size_t v = 0; v < there.values.size(); ++v) {
      if (!call.values[v] || !call.values[v]->value.isTensor() || !is_inexact(call.dtype_of(v))) continue;
      const Planes p = in.store.read(call.values[v]->value.toTensor());
      if (p.error.defined()) there.values[v] = hold(operand(p).to(to_aten(call.dtype_of(v))).to(p.value.scalar_type()));
    }
    const Outcome right = there.run_widened(in.boxed);
    if (right.raised) return {};
    const at::Tensor value = leaves(right.results)[0];
    const at::Tensor there_apart = apart_from(kernels_of(in, there), 0, value);
    if (there_apart.sizes() != own.sizes()) return {};
    if (at_an_end) fails = either(fails, at::isinf(there_apart).logical_and(at::abs(value) <= most));
    const at::Tensor off = beyond_rounding(there_apart, value);
    return nothing_where(at::isfinite(off).logical_not(), off, 0);
  };
  for (double way : {-1.0, 0.0, 1.0}) {
    if (way == 0 && !narrow) continue;  // that is what they were asked first
    const at::Tensor off = off_at(
        [&](const Planes& p) { return p.value + way * nothing_where(at::isfinite(p.error).logical_not(), p.error, 0); },
        true);
    if (off.defined()) own = at::maximum(own, off);
  }
  // Some kernels of narrow floats are as good as f32's places of 1: what is off elsewhere in the tensor may be off
  // here, and by more at numbers that were not tried. Beside small numbers storing rounds by so little that it shows.
  constexpr double kUntried = 8, kSmall = 0x1p-8;
  if (narrow && own.numel() > 0) {
    double elsewhere = own.max().item<double>();
    if (const at::Tensor off = off_at([&](const Planes& p) { return p.value * kSmall; }, false); off.defined())
      elsewhere = std::max(elsewhere, off.max().item<double>());
    own = own.clamp_min(std::min(elsewhere * kUntried, 0x1p-20));
  }
  const at::Tensor farthest = at::maximum(apart, own);
  excuse(in, row.name, where, fails.defined() ? nothing_where(fails, farthest, kInf) : farthest, made);
  if (!made.error.defined()) return;
  if (where.defined()) own = nothing_where(where.logical_not(), own, 0);
  made.error = made.error + own;  // beside what operands bring
  if (!narrow) return;
  for (double way : {-1.0, 1.0}) {  // and what lies so far off is rounded when it is stored
    const at::Tensor stored = (made.value + way * made.error).to(to_aten(result)).to(at::kDouble);
    const at::Tensor off = at::abs(stored - made.value);
    made.error = at::maximum(made.error, nothing_where(at::isfinite(off).logical_not().logical_or(own == 0), off, 0));
  }
}

}  // namespace lenz::oracle
