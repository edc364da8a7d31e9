#include "oracle/bounds/flows.h"

#include <ATen/ExpandUtils.h>
#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>

#include <cmath>
#include <functional>

#include "compiler/scalar/rounding.h"
#include "oracle/aten.h"
#include "oracle/bounds/elementwise.h"

namespace lenz::oracle {

namespace {
constexpr double kInf = HUGE_VAL;

void collect_leaves(const RunValue& v, std::vector<at::Tensor>& all) {
  if (!v) return;
  if (v->value.isTensor() && v->value.toTensor().defined()) all.push_back(v->value.toTensor());
  if (v->value.isTensorList())
    for (const at::Tensor& t : v->value.toTensorVector()) all.push_back(t);
}

// One tensor operand of a call.
struct Leaf {
  at::Tensor value;
  Dtype dtype;
  size_t param;
};
using Replacer = std::function<at::Tensor(const Leaf& leaf)>;

RunValue replaced(const RunValue& v, const Type& type, size_t param, const Replacer& with) {
  if (!v) return v;
  if (v->value.isTensor()) return hold(with({v->value.toTensor(), type.dtype, param}));
  if (v->value.isTensorList()) {
    c10::List<at::Tensor> list;
    size_t i = 0;
    for (const at::Tensor& t : v->value.toTensorVector()) list.push_back(with({t, type.elements()[i++]->dtype, param}));
    return hold(std::move(list));
  }
  return v;
}

// The op on other planes; empty if it refuses them.
std::vector<at::Tensor> run_on(FlowContext& in, const Call& call, std::span<const Arg> args, const Replacer& with) {
  std::vector<RunValue> values(call.values.size());
  for (size_t p = 0; p < call.args.size(); ++p)
    for_each_value(call.args[p], [&](ValueId v) { values[v] = replaced(call.values[v], *call.types[v], p, with); });
  Outcome out = call.run_widened(in.boxed, args, values);
  if (out.raised) return {};
  return leaves(out.results);
}

bool shares_operand(const Call& call, const at::Tensor& result) {
  for (const at::Tensor& t : leaves(call.values))
    if (t.storage().unsafeGetStorageImpl() == result.storage().unsafeGetStorageImpl()) return true;
  return false;
}

at::Tensor zeros_like_plane(const at::Tensor& t) {
  return at::empty_strided(t.sizes(), t.strides(), at::kDouble).zero_();
}
at::Tensor magnitude(const at::Tensor& t) {
  return t.is_complex() ? at::abs(t.resolve_conj()) : at::abs(t.to(at::kDouble));
}

bool flows(FlowContext& in, const Call& call, const Leaf& leaf) {
  if (call.op->schema.params[leaf.param].name == call.op->flow.divisor) return false;
  return is_inexact(leaf.dtype) || !in.store.certain(leaf.value);
}

struct Summary {
  bool error = false, ambiguous = false;
  bool index_error = false;  // of an integer beside floats: which elements are meant is open
  bool floats = false;
};
Summary summary_of(FlowContext& in, const Call& call) {
  Summary s;
  auto each = [&](const at::Tensor& t, Dtype d) {
    Planes p = in.store.read(t);
    s.error |= p.error.defined();
    s.ambiguous |= p.ambiguous.defined();
    s.floats |= is_inexact(d);
    if (p.error.defined() && !is_inexact(d)) s.index_error = true;
  };
  for (size_t v = 0; v < call.values.size(); ++v) {
    if (!call.values[v]) continue;
    if (call.values[v]->value.isTensor()) each(call.values[v]->value.toTensor(), call.types[v]->dtype);
    if (call.values[v]->value.isTensorList()) {
      size_t i = 0;
      for (const at::Tensor& t : call.values[v]->value.toTensorVector()) each(t, call.types[v]->elements()[i++]->dtype);
    }
  }
  if (!s.floats && !call.op->has(Trait::indexing)) s.index_error = false;
  return s;
}

// Number arguments of the op's own (Scalar parameters), each as `map` gives it.
std::vector<Arg> with_numbers(const Call& call, const std::function<double(double)>& map) {
  std::vector<Arg> args = call.args;
  for (size_t i = 0; i < args.size(); ++i) {
    if (call.op->schema.params[i].type.kind != ParamKind::scalar) continue;
    if (args[i].kind == ArgKind::real) args[i] = Arg::of_real(map(args[i].d));
    if (args[i].kind == ArgKind::integer && !args[i].symbolic)
      args[i] = Arg::of_real(map(static_cast<double>(args[i].i)));
    if (args[i].kind == ArgKind::complex) args[i] = Arg::of_real(map(std::abs(*args[i].complex_value)));
  }
  return args;
}

at::Tensor nothing_where(const at::Tensor& condition, const at::Tensor& t, double with) {
  return at::where(condition, at::scalar_tensor(with, at::kDouble), t);
}

// Writes a result's planes; an infinite error is a mark too.
void settle(FlowContext& in, const at::Tensor& value, at::Tensor error, const at::Tensor& ambiguous) {
  error = nothing_where(error.isnan(), error, kInf);
  if (!at::any(error != 0).item<bool>()) return in.store.write(value, {}, {});
  at::Tensor open = error.isinf();
  if (ambiguous.defined()) open = open.logical_or(ambiguous.logical_and(error != 0));
  in.store.write(value, error, at::any(open).item<bool>() ? open : at::Tensor());
}

double unit_of(Dtype d) { return std::ldexp(1.0, -info(d).mantissa_bits); }
// What sums are carried in: a narrow float's in f32 at least.
Dtype carrier(Dtype d, bool in_storage) {
  d = to_real(d);
  return !in_storage && (is_reduced_float(d) || is_float8(d)) ? Dtype::f32 : d;
}

// n roundings, one after the other.
at::Tensor gamma(const at::Tensor& n, double unit) {
  at::Tensor nu = n * unit;
  return nothing_where(nu >= 0.5, nu / (1 - nu), kInf);
}
}  // namespace

bool sums_in_storage(const Call& call) {
  std::string_view when = call.op->flow.in_storage;
  if (when.empty()) return call.op->has(Trait::indexing);
  if (when == "always") return true;
  int at = call.op->schema.find(when);
  return at >= 0 && call.args[static_cast<size_t>(at)].i != 0;
}

std::vector<at::Tensor> leaves(std::span<const RunValue> values) {
  std::vector<at::Tensor> all;
  for (const RunValue& v : values) collect_leaves(v, all);
  return all;
}

bool any_error(FlowContext& in, std::span<const RunValue> values) {
  for (const at::Tensor& t : leaves(values))
    if (!in.store.certain(t)) return true;
  return false;
}

void mark_unknown(FlowContext& in, std::span<const RunValue> results) {
  for (const at::Tensor& t : leaves(results))
    in.store.write(t, at::full(t.sizes(), kInf, at::kDouble), at::ones(t.sizes(), at::kBool));
}

Outcome flow_moved(FlowContext& in, const Call& call) {
  Outcome out = call.run_widened(in.boxed);
  if (out.raised || !in.errors) return out;
  Summary s = summary_of(in, call);
  Dtype to = call.result_dtypes[0];
  // A number among the arguments may not be one of the result's dtype.
  auto number_error = [&](double x) {
    return is_inexact(to) && std::isfinite(x) ? std::fabs(x - round_to(to_real(to), x)) : 0;
  };
  double worst = 0;
  std::vector<Arg> errors_of_numbers = with_numbers(call, [&](double x) {
    worst = std::max(worst, number_error(x));
    return number_error(x);
  });
  if (!s.error && worst == 0) return out;
  if (s.index_error) {
    mark_unknown(in, out.results);
    return out;
  }
  // Integers are what is moved if they are uncertain, or stand in one list with what is; else they say where to.
  auto on = [&](const std::function<at::Tensor(const Planes&)>& plane) {
    return [&, plane](const Leaf& leaf) -> at::Tensor {
      Planes p = in.store.read(leaf.value);
      if (p.error.defined()) return plane(p);
      bool where = !is_inexact(leaf.dtype) && (call.op->has(Trait::indexing) || leaf.value.dtype() == at::kBool ||
                                               (s.floats && call.args[leaf.param].kind == ArgKind::value));
      return where ? leaf.value : zeros_like_plane(leaf.value);
    };
  };
  auto errors = run_on(in, call, errors_of_numbers, on([](const Planes& p) { return p.error; }));
  std::vector<at::Tensor> marks;
  if (s.ambiguous)
    marks = run_on(in, call, with_numbers(call, [](double) { return 0; }), on([](const Planes& p) {
                     return p.ambiguous.defined() ? p.ambiguous.to(at::kDouble) : zeros_like_plane(p.value);
                   }));
  auto results = leaves(out.results);
  if (errors.size() != results.size() || (s.ambiguous && marks.size() != results.size())) {
    in.unbounded.insert(call.op->full_name);
    mark_unknown(in, out.results);
    return out;
  }
  for (size_t i = 0; i < results.size(); ++i) {
    if (shares_operand(call, results[i])) continue;
    at::Tensor e = errors[i].is_complex() ? at::abs(errors[i]) : errors[i].to(at::kDouble);
    settle(in, results[i], e, s.ambiguous ? marks[i] != 0 : at::Tensor());
  }
  return out;
}

namespace {
// How many terms an element of the result has at most, and how many factors a term.
at::Tensor terms_of(FlowContext& in, const Call& call, const std::vector<Arg>& ones, const at::Tensor& result) {
  auto constant = [&](double n) { return at::scalar_tensor(n, at::kDouble); };
  double elements = 0, largest = 1;
  for (const at::Tensor& t : leaves(call.values)) {
    elements += static_cast<double>(t.numel());
    for (int64_t s : t.sizes()) largest = std::max(largest, static_cast<double>(s));
  }
  switch (call.op->flow.terms) {
    case ErrorFlow::counted: {
      auto n = run_on(in, call, ones, [&](const Leaf& leaf) {
        return flows(in, call, leaf) ? at::ones_like(zeros_like_plane(leaf.value)) : leaf.value;
      });
      return n.empty() ? constant(elements) : at::abs(n[0]).to(at::kDouble);
    }
    case ErrorFlow::factors: {
      bool kept = call.op->has(Trait::scan);  // a prefix of one dim
      return constant(kept ? largest : elements / std::max<double>(1, static_cast<double>(result.numel())));
    }
    case ErrorFlow::windowed: {
      int kernel = call.op->schema.find("kernel_size");
      if (kernel >= 0 && call.args[static_cast<size_t>(kernel)].kind == ArgKind::int_list) {
        double n = 1;
        auto dims = call.args[static_cast<size_t>(kernel)].dim_list();
        for (Dim d : dims) n *= static_cast<double>(evaluate(d, *call.symbols).value_or(1));
        if (dims.size() == 1 && result.dim() >= 4) n = std::pow(n, static_cast<double>(result.dim() - 2));
        return constant(n);
      }
      // Adaptive windows: each is at most in / out + 2 long.
      double n = 1;
      at::Tensor x = leaves(call.values)[0];
      for (int64_t d = 1; d <= std::min<int64_t>(3, std::min(x.dim(), result.dim())); ++d) {
        double a = static_cast<double>(x.size(-d)), b = static_cast<double>(result.size(-d));
        n *= std::max(a, b) / std::max(1.0, std::min(a, b)) + 2;
      }
      return constant(n);
    }
    case ErrorFlow::all: return constant(elements);
  }
  return constant(elements);
}
}  // namespace

Outcome flow_positive(FlowContext& in, const Call& call) {
  Outcome out = call.run_widened(in.boxed);
  if (out.raised || out.results.empty() || !in.errors) return out;
  Summary s = summary_of(in, call);
  Dtype d = call.result_dtypes[0];
  auto results = leaves(out.results);
  if (!is_inexact(d) && !s.error) return out;
  int divisor = call.op->flow.divisor.empty() ? -1 : call.op->schema.find(call.op->flow.divisor);
  bool open_divisor = divisor >= 0 && call.args[static_cast<size_t>(divisor)].is_value() &&
                      any_error(in, {&call.values[call.args[static_cast<size_t>(divisor)].value()], 1});
  if ((s.index_error && s.floats) || open_divisor) {
    mark_unknown(in, out.results);
    return out;
  }
  std::vector<Arg> absolute = with_numbers(call, [](double x) { return std::fabs(x); });
  std::vector<Arg> ones = with_numbers(call, [](double x) { return x == 0 ? 0 : 1; });
  bool finite = true, mixed = false;  // infinities and NaN beside uncertain factors
  auto on = [&](bool with_error) {
    return [&, with_error](const Leaf& leaf) -> at::Tensor {
      if (!flows(in, call, leaf)) return leaf.value;
      Planes p = in.store.read(leaf.value);
      at::Tensor size = magnitude(p.value);
      at::Tensor bad = at::isfinite(size).logical_not();
      bool any_bad = at::any(bad).item<bool>();
      finite &= !any_bad;
      if (any_bad) size = nothing_where(bad, size, 0);
      if (!with_error || !p.error.defined()) return size;
      at::Tensor e = p.error;
      if (any_bad) {
        mixed = true;
        e = nothing_where(bad.logical_and(e != 0), e, kInf);
      }
      return size + e;
    };
  };
  auto reach = run_on(in, call, absolute, on(true));
  auto exact = s.error ? run_on(in, call, absolute, on(false)) : reach;
  if (reach.size() != results.size() || exact.size() != results.size()) {
    in.unbounded.insert(call.op->full_name);
    mark_unknown(in, out.results);
    return out;
  }
  Dtype sums = carrier(d, in.in_storage || sums_in_storage(call));
  for (size_t i = 0; i < results.size(); ++i) {
    const at::Tensor& value = results[i];
    at::Tensor far = at::abs(reach[i]).to(at::kDouble), near = at::abs(exact[i]).to(at::kDouble);
    at::Tensor n = terms_of(in, call, ones, value);
    double roundings = lenz::is_complex(d) ? 2 : 1;  // each part of a product is a sum of two
    at::Tensor steps = (n + 2) * roundings;
    at::Tensor error = (far - near).clamp_min(0);
    if (is_inexact(d)) {
      error =
          error + gamma(steps, unit_of(sums)) * far + gamma(steps, 0x1p-53) * far + steps * smallest_subnormal(sums);
      // An average is a sum first.
      at::Tensor sum = call.op->flow.terms == ErrorFlow::windowed ? far * n : far;
      error = nothing_where(sum >= largest_finite(sums), error, kInf);
      if (sums != to_real(d)) {  // stored at the end
        at::Tensor stored = (magnitude(value) + error).contiguous(), rounded = at::empty(stored.sizes(), at::kDouble);
        Rounding storage(to_real(d), 0.5);
        const double* from = stored.const_data_ptr<double>();
        auto* to = rounded.mutable_data_ptr<double>();
        for (int64_t k = 0; k < stored.numel(); ++k) to[k] = storage.at(from[k]);
        error = error + rounded;
      } else {
        error = nothing_where(magnitude(value) + error > largest_finite(sums), error, kInf);
      }
    }
    if (!finite) {
      at::Tensor special = at::isfinite(magnitude(value)).logical_not();
      at::Tensor certain = mixed || s.error ? at::isfinite(error).logical_and(at::scalar_tensor(!mixed, at::kBool))
                                            : at::isfinite(error);
      error = at::where(special, nothing_where(certain, at::full_like(error, kInf), 0), error);
    }
    settle(in, value, error, s.ambiguous ? far != near : at::Tensor());
  }
  return out;
}

namespace {
// For each element of the operand, whether another one of its row may stand in its place: their intervals meet.
at::Tensor has_rival(const Planes& p, int64_t dim, bool ties_open) {
  at::Tensor v = p.value.to(at::kDouble);
  at::Tensor e = p.error.defined() ? p.error : at::zeros(v.sizes(), at::kDouble);
  auto [sorted, order] = at::sort(v, dim);
  at::Tensor width = e.gather(dim, order), open = width.isinf();
  // NaN stands above all numbers.
  at::Tensor low = nothing_where(open, sorted - width, -kInf).nan_to_num(kInf, kInf, -kInf);
  at::Tensor high = nothing_where(open, sorted + width, kInf).nan_to_num(kInf, kInf, -kInf);
  int64_t n = v.size(dim);
  at::Tensor met = at::zeros(v.sizes(), at::kBool);
  if (n > 1) {
    at::Tensor before = std::get<0>(at::cummax(high, dim)).narrow(dim, 0, n - 1);
    at::Tensor after = at::flip(std::get<0>(at::cummin(at::flip(low, {dim}), dim)), {dim}).narrow(dim, 1, n - 1);
    at::Tensor low_here = low.narrow(dim, 1, n - 1), high_here = high.narrow(dim, 0, n - 1);
    at::Tensor below = ties_open ? before >= low_here : before > low_here;
    at::Tensor above = ties_open ? after <= high_here : after < high_here;
    if (!ties_open) {  // two exact numbers that are equal are no rivals: the order among them is promised
      at::Tensor unsure_below = std::get<0>(at::cummax(width, dim)).narrow(dim, 0, n - 1) + width.narrow(dim, 1, n - 1);
      at::Tensor unsure_above =
          at::flip(std::get<0>(at::cummax(at::flip(width, {dim}), dim)), {dim}).narrow(dim, 1, n - 1) +
          width.narrow(dim, 0, n - 1);
      below = below.logical_or((before >= low_here).logical_and(unsure_below > 0));
      above = above.logical_or((after <= high_here).logical_and(unsure_above > 0));
    }
    met.narrow(dim, 1, n - 1).logical_or_(below);
    met.narrow(dim, 0, n - 1).logical_or_(above);
  }
  return at::zeros_like(met).scatter(dim, order, met);
}

std::optional<int64_t> dim_of(const Call& call) {
  int at = call.op->schema.find("dim");
  if (at < 0) return std::nullopt;
  const Arg& a = call.args[static_cast<size_t>(at)];
  return a.kind == ArgKind::integer ? std::optional(a.i) : std::nullopt;
}

// Marks the results that name elements by their index.
void mark_indices(FlowContext& in, const Call& call, const Planes& operand, const at::Tensor& indices) {
  at::Tensor open;
  auto dim = dim_of(call);
  bool pool = operand.value.dim() > 0 && !dim && indices.numel() != 1;
  if (pool) {
    open = at::ones(indices.sizes(), at::kBool);
  } else {
    Planes row = operand;
    int64_t along = dim.value_or(0);
    if (!dim || row.value.dim() == 0) {
      row.value = row.value.reshape({-1});
      if (row.error.defined()) row.error = row.error.reshape({-1});
      along = 0;
    }
    at::Tensor at = !dim || operand.value.dim() == 0       ? indices.reshape({-1})
                    : indices.dim() == operand.value.dim() ? indices
                                                           : indices.unsqueeze(along);
    open = has_rival(row, along, call.op->flow.ties_open).gather(along, at).reshape(indices.sizes());
  }
  if (!at::any(open).item<bool>()) return;
  at::Tensor error = at::zeros(indices.sizes(), at::kDouble).masked_fill(open, kInf);
  in.store.write(indices, error, open);
}
}  // namespace

Outcome flow_monotone(FlowContext& in, const Call& call) {
  Outcome out = call.run_widened(in.boxed);
  if (out.raised || !in.errors) return out;
  Planes operand = in.store.read(leaves(call.values)[0]);
  bool certain = !any_error(in, call.values);
  auto results = leaves(out.results);
  if (certain && !call.op->flow.ties_open) return out;
  bool integral = !operand.value.is_floating_point();
  auto is_index = [&](const at::Tensor& t, size_t i) {
    return t.scalar_type() == at::kLong && (!integral || i > 0 || call.op->schema.packet.starts_with("arg"));
  };
  std::vector<at::Tensor> high, low;
  if (!certain) {
    auto shifted = [&](double sign) {
      return run_on(in, call, call.args, [&](const Leaf& leaf) -> at::Tensor {
        Planes p = in.store.read(leaf.value);
        if (!p.error.defined()) return leaf.value;
        at::Tensor moved = leaf.value.to(at::kDouble) + sign * p.error;
        if (leaf.value.scalar_type() == at::kBool) return moved > 0.5;
        if (leaf.value.is_floating_point()) return moved;
        return (sign > 0 ? moved.ceil() : moved.floor()).clamp(-9e18, 9e18).to(leaf.value.scalar_type());
      });
    };
    high = shifted(1);
    low = shifted(-1);
    if (high.size() != results.size() || low.size() != results.size()) {
      in.unbounded.insert(call.op->full_name);
      mark_unknown(in, out.results);
      return out;
    }
  }
  for (size_t i = 0; i < results.size(); ++i) {
    if (is_index(results[i], i)) {
      mark_indices(in, call, operand, results[i]);
      continue;
    }
    if (certain) continue;
    at::Tensor v = results[i].to(at::kDouble), h = high[i].to(at::kDouble), l = low[i].to(at::kDouble);
    at::Tensor error = at::maximum(h - v, v - l);
    at::Tensor same = h.eq(v).logical_and(l.eq(v)).logical_or(h.isnan().logical_and(v.isnan()).logical_and(l.isnan()));
    settle(in, results[i], nothing_where(same, error, 0), operand.ambiguous.defined() ? error != 0 : at::Tensor());
  }
  return out;
}

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
  double width = operand.error.defined() ? operand.error.max().item<double>() : 0;
  double largest = magnitude(operand.value).max().item<double>() + width;
  double extent = 8;
  for (int64_t k = 2; k < operand.value.dim(); ++k)
    extent = std::max(extent, static_cast<double>(operand.value.size(k) + value.size(k)) + 8);
  Dtype sums = carrier(d, in.in_storage || sums_in_storage(call));
  // Weights of magnitude two at most altogether; each off by a few places of the position that it is computed from.
  double everywhere = 2 * width + 8 * extent * (unit_of(sums) + 0x1p-53) * largest;
  at::Tensor error = at::full(value.sizes(), everywhere, at::kDouble);
  if (sums != to_real(d)) error = error + (magnitude(value) + everywhere) * (2 * unit_of(d));
  if (!(8 * largest < largest_finite(to_real(d)))) error = at::full(value.sizes(), kInf, at::kDouble);
  settle(in, value, error, {});
  return out;
}

Outcome flow_log_sums(FlowContext& in, const Call& call) {
  Outcome out = call.run_widened(in.boxed);
  if (out.raised || !in.errors) return out;
  Planes operand = in.store.read(leaves(call.values)[0]);
  at::Tensor value = leaves(out.results)[0];
  Dtype d = call.result_dtypes[0];
  if (value.numel() == 0) return out;
  if (lenz::is_complex(d) || !at::isfinite(operand.value).all().item<bool>()) {
    in.unbounded.insert(call.op->full_name);
    mark_unknown(in, out.results);
    return out;
  }
  int64_t dim = dim_of(call).value_or(0);
  double n = operand.value.dim() ? static_cast<double>(operand.value.size(dim)) : 1;
  Dtype sums = carrier(d, false);
  // It moves by no more than its terms do; and the sum's relative error is the logarithm's absolute one.
  double largest = 1 + at::abs(operand.value).max().item<double>();
  double own = (2 * n + 16) * (unit_of(sums) + 0x1p-53) * (largest + std::log(n + 1));
  at::Tensor error = at::full(value.sizes(), own, at::kDouble);
  if (operand.error.defined())
    error = error + (operand.error.dim() ? std::get<0>(at::cummax(operand.error, dim)) : operand.error);
  if (sums != to_real(d)) error = error + (magnitude(value) + error) * (2 * unit_of(d));
  settle(in, value, error, operand.ambiguous.defined() ? error != 0 : at::Tensor());
  return out;
}

Outcome flow_opaque(FlowContext& in, const Call& call) {
  Outcome out = call.run_widened(in.boxed);
  if (out.raised || !in.errors) return out;
  bool unknown = any_error(in, call.values);
  for (Dtype d : call.result_dtypes) unknown |= is_inexact(d) && call.op->accuracy != Accuracy::exact;
  // Which of several equal elements an index names is left open.
  if (call.op->flow.ties_open && out.results.size() > 1) mark_unknown(in, {&out.results[1], 1});
  if (!unknown) return out;
  in.unbounded.insert(call.op->full_name);
  mark_unknown(in, out.results);
  for (size_t i = 0; i < call.args.size(); ++i)
    if (call.op->schema.params[i].writes)
      for_each_value(call.args[i], [&](ValueId v) { mark_unknown(in, {&call.values[v], 1}); });
  return out;
}

Outcome flow_unwritten(FlowContext& in, const Call& call) {
  Outcome out = call.run_widened(in.boxed);
  if (!out.raised && in.errors) mark_unknown(in, out.results);
  return out;
}

namespace {
// The whole storage in another dtype, seen as the tensor sees it.
at::Tensor with_storage_in(const at::Tensor& t, at::ScalarType type) {
  int64_t count = static_cast<int64_t>(t.storage().nbytes()) / t.element_size();
  at::Tensor all = t.resolve_conj().as_strided({count}, {1}, 0).to(type, false, true);
  return all.as_strided(t.sizes(), t.strides(), t.storage_offset());
}

std::vector<RunValue> narrowed(const Call& call) {
  std::vector<RunValue> narrow(call.values.size());
  for (size_t v = 0; v < narrow.size(); ++v)
    narrow[v] = replaced(call.values[v], *call.types[v], 0,
                         [](const Leaf& leaf) { return with_storage_in(leaf.value, to_aten(leaf.dtype)); });
  return narrow;
}
}  // namespace

Outcome flow_bits(FlowContext& in, const Call& call) {
  std::vector<RunValue> narrow = narrowed(call);
  Outcome out = call.run_native(in.boxed, narrow);
  if (out.raised) return out;
  for (RunValue& r : out.results) {
    at::Tensor t = r->value.toTensor();
    r = hold(with_storage_in(t, to_aten(widened(*from_aten(t.scalar_type())))));
  }
  if (in.errors && any_error(in, call.values)) mark_unknown(in, out.results);
  return out;
}

Outcome flow_random(FlowContext& in, const Call& call) {
  std::vector<RunValue> narrow = narrowed(call);
  bool unknown = in.errors && any_error(in, call.values), computes = false;
  for (const Type* t : call.types) computes |= t->is_tensor() && is_inexact(t->dtype);
  computes &= !call.op->has(Trait::reads_metadata_only);
  Outcome out = call.run_native(in.boxed, narrow);
  if (out.raised) return out;
  auto settle_drawn = [&](const at::Tensor& wide, Dtype native) {
    at::Tensor error;
    if (computes && is_inexact(native)) error = magnitude(wide) * (4 * unit_of(to_real(native)));
    if (in.errors) in.store.write(wide, error, {});
    RunValue held = hold(wide);
    if (unknown) mark_unknown(in, {&held, 1});
  };
  for (size_t i = 0; i < call.args.size(); ++i) {
    if (!call.op->schema.params[i].writes || !call.args[i].is_value()) continue;
    ValueId v = call.args[i].value();
    at::Tensor wide = call.values[v]->value.toTensor(), drawn = narrow[v]->value.toTensor();
    if (wide.sizes() != drawn.sizes()) wide.resize_(drawn.sizes());
    wide.copy_(drawn);
    settle_drawn(wide, call.types[v]->dtype);
  }
  for (RunValue& r : out.results) {
    if (!r || !r->value.isTensor()) continue;
    at::Tensor drawn = r->value.toTensor();
    bool itself = false;  // written to, or nothing was drawn
    for (size_t v = 0; v < narrow.size() && !itself; ++v) {
      if (!narrow[v] || !narrow[v]->value.isTensor() || !narrow[v]->value.toTensor().is_alias_of(drawn)) continue;
      r = call.values[v];
      itself = true;
    }
    auto native = from_aten(drawn.scalar_type());
    if (itself || !native) continue;
    at::Tensor wide = drawn.to(to_aten(widened(*native)));
    settle_drawn(wide, *native);
    r = hold(wide);
  }
  if (unknown) in.unbounded.insert(call.op->full_name);
  return out;
}

void scale_errors(FlowContext& in, const Call& call, const Outcome& outcome, double factor) {
  for (const at::Tensor& t : leaves(outcome.results)) {
    Planes p = in.store.read(t);
    if (p.error.defined() && !shares_operand(call, t)) in.store.write(t, p.error * factor, p.ambiguous);
  }
}

}  // namespace lenz::oracle
