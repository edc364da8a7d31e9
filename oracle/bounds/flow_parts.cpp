#include "oracle/bounds/flow_parts.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>

#include <algorithm>

#include "compiler/graph/alias.h"
#include "compiler/graph/pattern_functions.h"
#include "compiler/scalar/rounding.h"
#include "oracle/bounds/open_ends.h"

namespace lenz::oracle {

namespace flow {
std::pair<double, double> integer_range(Dtype d) {
  if (item_size(d) == 8) return {-9e18, 9e18};
  const double values = std::ldexp(1.0, 8 * static_cast<int>(item_size(d)));
  return info(d).is_signed ? std::pair(-values / 2, values / 2 - 1) : std::pair(0.0, values - 1);
}

RunValue replaced(const RunValue& v, const Type& type, size_t param, const Replacer& with) {
  if (!v) return v;
  if (v->value.isTensor()) {
    const at::Tensor t = v->value.toTensor();
    return hold(with({t, type.is_tensor() ? type.dtype : *from_aten(t.scalar_type()), param}));
  }
  if (v->value.isTensorList()) {
    c10::List<at::Tensor> list;
    size_t i = 0;
    for (const at::Tensor& t : v->value.toTensorVector()) list.push_back(with({t, type.elements()[i++]->dtype, param}));
    return hold(std::move(list));
  }
  return v;
}

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

std::optional<int64_t> dim_of(const Call& call) {
  int at = call.op->schema.find("dim");
  if (at < 0) return std::nullopt;
  const Arg& a = call.args[static_cast<size_t>(at)];
  return a.kind == ArgKind::integer ? std::optional(a.i) : std::nullopt;
}

bool has_no_integer(FlowContext& in, const Call& call, Dtype to) {
  if (!is_integral(to, false)) return false;
  const double most = std::ldexp(1.0, info(to).bits - (info(to).is_signed ? 1 : 0));
  return std::ranges::any_of(leaves(call.values), [&](const at::Tensor& t) {
    return (t.is_floating_point() || t.is_complex()) && !at::all(magnitude(in.store.read(t).value) < most).item<bool>();
  });
}

bool may_make_sizes(const OpDef& op) {
  return op.has(Trait::data_dependent) || op.schema.packet == "index";  // op name: no trait tells who takes truths
}

at::Tensor nothing_where(const at::Tensor& condition, const at::Tensor& t, double with) {
  return at::where(condition, at::scalar_tensor(with, at::kDouble), t);
}

void settle(FlowContext& in, const at::Tensor& value, at::Tensor error, const at::Tensor& ambiguous,
            const at::Tensor& lean) {
  error = nothing_where(error.isnan(), error, kInf);
  if (!at::any(error != 0).item<bool>()) return in.store.write(value, {}, {});
  at::Tensor open = error.isinf();
  if (ambiguous.defined()) open = open.logical_or(ambiguous.logical_and(error != 0));
  in.store.write(value, error, at::any(open).item<bool>() ? open : at::Tensor(), lean);
}

void note_terms(FlowContext& in, const at::Tensor& value, const at::Tensor& error,
                const std::function<double()>& terms) {
  if (!error.defined() || value.numel() == 0 || !value.is_floating_point()) return;
  if (greatest_size(error) > greatest_size(value)) in.store.added_up(value, terms());
}

bool operands_above_zero(FlowContext& in, const Call& call) {
  for (size_t i = 0; i < call.args.size(); ++i) {
    const Arg& a = call.args[i];
    const ParamKind kind = call.op->schema.params[i].type.kind;
    if (kind != ParamKind::scalar && kind != ParamKind::real) continue;
    if (a.kind == ArgKind::complex || (a.kind == ArgKind::real && !(a.d >= 0)) ||
        (a.kind == ArgKind::integer && (a.symbolic || a.i < 0)))
      return false;
  }
  return std::ranges::all_of(leaves(call.values), [&](const at::Tensor& t) {
    const Planes p = in.store.read(t);
    if (t.is_floating_point() || t.is_complex() || t.numel() == 0) return above_zero(p);
    return !p.error.defined() && (t.scalar_type() == at::kBool || t.min().item<int64_t>() >= 0);
  });
}

bool operands_whole(FlowContext& in, const Call& call) {
  for (size_t i = 0; i < call.args.size(); ++i)
    if (call.args[i].kind == ArgKind::real && call.args[i].d != std::nearbyint(call.args[i].d)) return false;
  return std::ranges::all_of(leaves(call.values), [&](const at::Tensor& t) { return all_whole(in.store.read(t)); });
}

Call with_operands_as(FlowContext& in, const Call& call, Dtype to, bool truths) {
  Call made = call;
  if (!in.errors) return made;
  for (size_t i = 0; i < call.args.size(); ++i) {
    if (writes_operand(*call.op, call.args, i)) continue;
    for_each_value(call.args[i], [&](ValueId v) {
      if (!call.types[v]->is_tensor()) return;
      if (const Dtype from = call.types[v]->dtype;
          from == to || (from == Dtype::b8 && !truths) || (!is_inexact(from) && !is_inexact(to)))
        return;
      const Planes given = in.store.read(call.values[v]->value.toTensor());
      Planes planes = converted(given, call.types[v]->dtype, to, in.formula);
      stand_at_the_end(planes, to);
      if (planes.value.is_same(given.value)) planes.value = planes.value.clone();
      in.store.carry(planes, planes.value);
      made.values[v] = hold(planes.value);
      TensorType type = call.types[v]->tensor();
      type.dtype = to;
      made.types[v] = call.graph->context().tensor(type);
    });
  }
  return made;
}

// Half of a dtype's last place, as if there were no least one; nothing of zero.
at::Tensor half_place(const at::Tensor& magnitude, Dtype dtype) {
  auto [fraction, exponent] = at::frexp(magnitude);
  at::Tensor half = nothing_where(magnitude == 0, at::exp2((exponent - 1).to(at::kDouble)) * unit_of(dtype), 0);
  return nothing_where(at::isfinite(magnitude).logical_not(), half, kInf);
}

at::Tensor steps_of_running_mean(const at::Tensor& n, const at::Tensor& near, const at::Tensor& most, Dtype sums) {
  constexpr double kSlack = 1 + 0x1p-10;
  const at::Tensor of_means = most * (at::log(n.clamp_min(1)) + 1);
  return (near + of_means) * (3 * unit_of(sums) * kSlack);
}

double parts_of_threads(const FlowContext& in, const Call& call, const at::Tensor& result) {
  constexpr int64_t kGrain = 32768;  // elements, below which a reduction has one thread
  if (!in.of_eager || !call.op->has(Trait::reduction) || result.numel() != 1) return 0;
  int64_t elements = 0;
  for (const at::Tensor& t : leaves(call.values)) elements = std::max(elements, t.numel());
  const int64_t parts = elements / kGrain;
  return parts == 0 ? 0 : static_cast<double>(parts) + 1;
}

double unit_of(Dtype d) { return std::ldexp(1.0, -info(d).mantissa_bits); }
Dtype carrier(Dtype d, bool in_storage) {
  d = to_real(d);
  return !in_storage && (is_reduced_float(d) || is_float8(d)) ? Dtype::f32 : d;
}
bool flows(FlowContext& in, const Call& call, const Leaf& leaf) {
  if (call.op->schema.params[leaf.param].name == call.op->flow.divisor) return false;
  if (is_inexact(leaf.dtype) || !in.store.certain(leaf.value)) return true;
  // Integers beside one that may be another: all of a sum's factors have one dtype, and none of them is an index.
  return !call.op->has(Trait::indexing) && !is_inexact(call.result_dtypes[0]) && any_error(in, call.values);
}

at::Tensor gamma(const at::Tensor& n, double unit) {
  at::Tensor nu = n * unit;
  return nothing_where(nu >= 0.5, nu / (1 - nu), kInf);
}

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

std::vector<Arg> with_numbers(const Call& call, const std::function<double(double)>& map) {
  std::vector<Arg> args = call.args;
  for (size_t i = 0; i < args.size(); ++i) {
    if (args[i].kind == ArgKind::dtype) args[i] = Arg::of_dtype(Dtype::f64);
    // A float says how (a scale), unless it is called a value: that stands among what is moved, as scalars do.
    const Param& param = call.op->schema.params[i];
    if (param.type.kind != ParamKind::scalar && !(param.type.kind == ParamKind::real && param.name.ends_with("value")))
      continue;
    if (const auto number = number_of(args[i])) args[i] = Arg::of_real(map(*number));
    if (args[i].kind == ArgKind::complex) args[i] = Arg::of_real(map(std::abs(*args[i].complex_value)));
  }
  return args;
}

double number_error(Dtype of_result, double x) {
  return is_inexact(of_result) && std::isfinite(x) ? std::fabs(x - round_to(to_real(of_result), x)) : 0;
}
}  // namespace flow

using namespace flow;

namespace {
void collect_leaves(const RunValue& v, std::vector<at::Tensor>& all) {
  if (!v) return;
  if (v->value.isTensor() && v->value.toTensor().defined()) all.push_back(v->value.toTensor());
  if (v->value.isTensorList())
    for (const at::Tensor& t : v->value.toTensorVector()) all.push_back(t);
}
}  // namespace

namespace {
// Whether the dims that a reduction adds up along don't lie behind each other in memory: one step does not pass through
// them.
bool adds_in_several_steps(const Call& call) {
  const TensorType& self = call.types[call.args[0].value()]->tensor();
  const auto rank = static_cast<int64_t>(self.sizes.size());
  std::vector<bool> reduced(self.sizes.size(), true);
  if (const int at = call.op->schema.find("dim"); at >= 0)
    if (const Arg& dims = call.args[static_cast<size_t>(at)]; dims.kind == ArgKind::int_list && dims.count > 0) {
      std::fill(reduced.begin(), reduced.end(), false);
      for (const Dim d : dims.dim_list())
        if (rank > 0) reduced[static_cast<size_t>((d.constant() + rank) % rank)] = true;
    }
  std::vector<std::pair<int64_t, int64_t>> laid;  // strides and sizes
  for (size_t i = 0; i < reduced.size(); ++i)
    if (reduced[i] && self.sizes[i].constant() > 1)
      laid.emplace_back(self.strides[i].constant(), self.sizes[i].constant());
  std::ranges::sort(laid);
  int64_t steps = laid.empty() ? 0 : 1;
  for (size_t i = 1; i < laid.size(); ++i) steps += laid[i].first != laid[i - 1].first * laid[i - 1].second;
  return steps > 1;
}

// Whether a size of 1 among contracted dims stands for another one.
bool contracts_ones(const Call& call) {
  auto contracted = [&](size_t operand, std::string_view dims) {
    const at::IntArrayRef sizes = call.values[call.args[operand].value()]->value.toTensor().sizes();
    const auto rank = static_cast<int64_t>(sizes.size());
    std::vector<int64_t> made;
    for (const Dim d : call.args[static_cast<size_t>(call.op->schema.find(dims))].dim_list())
      made.push_back(sizes[static_cast<size_t>((d.constant() + rank) % rank)]);
    return made;
  };
  return contracted(0, "dims_self") != contracted(1, "dims_other");
}
}  // namespace

bool sums_in_storage(const Call& call) {
  std::string_view when = call.op->flow.in_storage;
  if (when.empty()) return call.op->has(Trait::indexing);
  if (when == "always") return true;
  if (when == "in several steps") return adds_in_several_steps(call);
  if (when == "beside a size of 1") return contracts_ones(call);
  int at = call.op->schema.find(when);
  return at >= 0 && call.args[static_cast<size_t>(at)].i != 0;
}

std::vector<at::Tensor> leaves(std::span<const RunValue> values) {
  std::vector<at::Tensor> all;
  for (const RunValue& v : values) collect_leaves(v, all);
  return all;
}

std::vector<at::Tensor> written_by(const Call& call) {
  std::vector<at::Tensor> written;
  for (size_t i = 0; i < call.args.size(); ++i)
    if (writes_operand(*call.op, call.args, i))
      for_each_value(call.args[i],
                     [&](ValueId v) { std::ranges::copy(leaves({&call.values[v], 1}), std::back_inserter(written)); });
  return written;
}

bool any_error(FlowContext& in, std::span<const RunValue> values) {
  for (const at::Tensor& t : leaves(values))
    if (!in.store.certain(t)) return true;
  return false;
}

namespace {
// Whether a distribution, or another row that wants numbers of an interval, takes its operands, and refuses them where
// they lie as low, or as high, as they may; or the other way. All that any asks is an interval: of probabilities, of
// rates, of what is no negative sum.
bool asks_of_what_is_open(FlowContext& in, const Call& call) {
  const bool asks = call.op->has(Trait::random) || call.op->wants.find(" in [") != std::string_view::npos;
  if (!in.errors || !asks || !any_error(in, call.values)) return false;
  auto raises = [&](double sign) {
    std::vector<RunValue> values(call.values.size());
    for (size_t v = 0; v < values.size(); ++v)
      values[v] = replaced(call.values[v], *call.types[v], 0, [&](const Leaf& leaf) {
        const Planes p = in.store.read(leaf.value);
        const bool moves = sign != 0 && p.error.defined() && leaf.value.is_floating_point();
        return moves ? end_of(p, leaf.dtype, sign) : leaf.value.clone();
      });
    return call.run_widened(in.boxed, call.args, values).raised;
  };
  at::Generator ambient = at::detail::getDefaultCPUGenerator();
  const at::Tensor state = ambient.get_state();  // nobody is to see that these drew
  const bool here = raises(0), open = raises(-1) != here || raises(1) != here;
  ambient.set_state(state);
  return open;
}
}  // namespace

bool may_refuse_others(FlowContext& in, const Call& call) {
  if (call.op->raises.empty()) return false;
  if (asks_of_what_is_open(in, call)) return true;
  const bool looks = call.op->scalar.empty() && !call.op->has(Trait::movement) && !call.op->has(Trait::view);
  return std::ranges::any_of(leaves(call.values), [&](const at::Tensor& t) {
    if (!t.is_floating_point() && !t.is_complex()) return !in.store.certain(t);
    if (!looks) return false;
    const Planes p = in.store.read(t);
    return p.error.defined() && !all_finite(p.error);
  });
}

void mark_unknown(FlowContext& in, std::span<const RunValue> results) {
  for (const at::Tensor& t : leaves(results)) {
    in.store.write(t, at::full(t.sizes(), kInf, at::kDouble), at::ones(t.sizes(), at::kBool));
    in.store.may_be_any(t);
  }
}

namespace {
// The greatest finite magnitude among what a call multiplies; 0 of one operand, which stands in no other order.
double greatest_factor(const Call& call) {
  double greatest = 1;
  int operands = 0;
  for (const at::Tensor& t : leaves(call.values)) {
    if (t.numel() == 0 || !(t.is_floating_point() || t.is_complex())) continue;
    ++operands;
    const at::Tensor size = magnitude(t);
    greatest = std::max(greatest, at::max(nothing_where(at::isfinite(size).logical_not(), size, 0)).item<double>());
  }
  return operands > 1 ? greatest : 0;
}
}  // namespace

void grow_errors(FlowContext& in, const Call& call, const Outcome& outcome, const Outcome& steps, double times) {
  std::vector<at::Tensor> results = leaves(outcome.results), by = leaves(steps.results);
  // Factors in another order lose something else below the normal numbers, which the last of them makes great again.
  const double factor = by.empty() ? 1 : greatest_factor(call);
  for (size_t i = 0; i < std::min(results.size(), by.size()); ++i) {
    Planes p = in.store.read(results[i]), own = in.store.read(by[i]);
    if (!own.error.defined() || shares_operand(call, results[i])) continue;
    const Dtype d = call.result_dtypes[i];
    const double lost = is_inexact(d) ? times * smallest_subnormal(to_real(d)) * factor : 0;
    const at::Tensor grown = own.error * times + nothing_where(own.error == 0, at::full_like(own.error, lost), 0);
    in.store.write(results[i], p.error.defined() ? p.error + grown : grown, p.ambiguous);
  }
}

}  // namespace lenz::oracle
