// What comes from outside a graph: memory as it was, bits of another dtype, random draws.
#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>

#include <algorithm>

#include "compiler/graph/alias.h"
#include "compiler/graph/drawing.h"
#include "compiler/graph/pattern_functions.h"
#include "compiler/ops/decompose.h"
#include "compiler/ops/draws.h"
#include "compiler/scalar/rounding.h"
#include "oracle/bounds/carried.h"
#include "oracle/bounds/flow_parts.h"
#include "oracle/random_machine.h"

namespace lenz::oracle {

using namespace flow;

Outcome flow_unwritten(FlowContext& in, const Call& call) {
  Outcome out = call.run_widened(in.boxed);
  if (!out.raised && in.errors) mark_unknown(in, out.results);
  return out;
}

namespace {
// The whole storage in another dtype, seen as the tensor sees it.
at::Tensor with_storage_in(const at::Tensor& given, at::ScalarType type) {
  const at::Tensor t = given.resolve_conj();  // memory of its own, if it was a conjugate
  int64_t count = static_cast<int64_t>(t.storage().nbytes()) / t.element_size();
  at::Tensor all = carried(t.as_strided({count}, {1}, 0), type);
  return all.as_strided(t.sizes(), t.strides(), t.storage_offset());
}
}  // namespace

std::vector<RunValue> narrowed(const Call& call) {
  std::vector<RunValue> narrow(call.values.size());
  for (size_t v = 0; v < narrow.size(); ++v)
    narrow[v] = replaced(call.values[v], *call.types[v], 0,
                         [](const Leaf& leaf) { return with_storage_in(leaf.value, to_aten(leaf.dtype)); });
  return narrow;
}

std::vector<RunValue> copied_as_laid(const Call& call) {
  std::vector<RunValue> copies(call.values.size());
  for (size_t v = 0; v < copies.size(); ++v)
    copies[v] = replaced(call.values[v], *call.types[v], 0,
                         [](const Leaf& leaf) { return with_storage_in(leaf.value, leaf.value.scalar_type()); });
  return copies;
}

namespace {
// Bits of floats of one sign, read as integers of their size, grow with them. What may be of either sign, or NaN, is
// open.
std::optional<at::Tensor> bits_moved(FlowContext& in, const Call& call, const Outcome& bits) {
  Planes p = in.store.read(call.values[0]->value.toTensor());
  const Dtype from = call.types[0]->dtype, to = call.result_dtypes[0];
  at::Tensor value = bits.results[0]->value.toTensor();
  if (!is_floating(from) || !is_integral(to, false) || item_size(from) != item_size(to) || !info(to).is_signed)
    return std::nullopt;
  at::Tensor e = p.error.defined() ? p.error : at::zeros(p.value.sizes(), at::kDouble);
  auto read = [&](double sign) {
    return (p.value + sign * e).to(to_aten(from)).contiguous().view(to_aten(to)).to(at::kLong);
  };
  // Counted in integers: the last places of a float64 are none of its bits read as a number.
  at::Tensor here = value.to(at::kLong), far = at::maximum((read(1) - here).abs(), (read(-1) - here).abs());
  at::Tensor open = p.value.isnan().logical_or(at::abs(p.value) <= e);
  if (!p.loose_zeros) open = open.logical_and((e > 0).logical_or(p.value.isnan()));
  return nothing_where(open, far.to(at::kDouble), kInf).contiguous();
}
}  // namespace

Outcome flow_bits(FlowContext& in, const Call& call) {
  if (call.op->has(Trait::view) && call.result_dtypes[0] == call.types[0]->dtype) {  // the memory itself, to be written
    Outcome same;
    same.results = {hold(at::alias(call.values[0]->value.toTensor()))};
    return same;
  }
  // The parts of complex numbers lie in the wider memory as they do in the graph's own.
  if (call.op->has(Trait::view) && to_real(call.result_dtypes[0]) == to_real(call.types[0]->dtype))
    return call.run_widened(in.boxed);
  std::vector<RunValue> narrow = narrowed(call);
  Outcome out = call.run_native(in.boxed, narrow);
  if (out.raised) return out;
  for (RunValue& r : out.results) {
    at::Tensor t = r->value.toTensor();
    r = hold(with_storage_in(t, to_aten(widened(*from_aten(t.scalar_type())))));
  }
  if (call.op->has(Trait::view))  // and what is written to one shows in the other
    in.shared.relate(call.values[0]->value.toTensor(), call.types[0]->dtype, out.results[0]->value.toTensor(),
                     call.result_dtypes[0]);
  bool nan = false;  // whose other bits a wider float does not keep
  for (const at::Tensor& t : leaves(narrow))
    nan |= (t.is_floating_point() || t.is_complex()) && t.isnan().any().item<bool>();
  const Planes from = in.store.read(call.values[0]->value.toTensor());
  const bool loose = from.loose_zeros && may_hold_zero(from);
  if (!in.errors || (!nan && !loose && !any_error(in, call.values))) return out;
  if (std::optional<at::Tensor> error = bits_moved(in, call, out)) {
    in.store.write(out.results[0]->value.toTensor(), *error, error->isinf());
    return out;
  }
  in.unbounded.insert(call.op->full_name + ": bits of a number that may be another, of another size");
  mark_unknown(in, out.results);
  return out;
}

namespace {
// The call as Lenz's stream draws it. Throws Unsupported if its row does not say how.
Outcome drawn_by(NodeMachine& stream, const Call& call, std::span<const RunValue> narrow) {
  Graph scratch(call.graph->shared_context(), call.graph->ops(), "draw");
  for (const Type* t : call.types) scratch.add_input({}, t);
  const NodeId node = scratch.append(*call.op, call.args);
  std::vector<RunValue> values(scratch.value_count());
  std::ranges::copy(narrow, values.begin());
  Outcome outcome;
  stream.run(scratch, scratch.node(node), values, *call.symbols, outcome);
  return outcome;
}

// Of what is drawn by logarithms, roots and angles, code may get the last places alone otherwise.
bool draws_by_functions(const OpDef& op) {
  auto draw = draw_of(op.variant == VariantKind::functional ? op : *op.base);
  return draw && (draw->kind == Draw::normal || draw->kind == Draw::log_normal || draw->kind == Draw::exponential ||
                  draw->kind == Draw::cauchy);
}
// The size of a parameter, for each element that is drawn.
at::Tensor size_of_parameter(const Call& call, std::string_view name, double if_absent) {
  const int at = call.op->schema.find(name);
  const auto of_number = [](double x) { return at::scalar_tensor(std::fabs(x), at::kDouble); };
  if (at < 0) return of_number(if_absent);
  const Arg& a = call.args[static_cast<size_t>(at)];
  if (!a.is_value()) return of_number(number_of(a).value_or(0));
  const c10::IValue& held = call.values[a.value()]->value;  // of the run
  if (held.isTensor()) return at::abs(held.toTensor().to(at::kDouble));
  return of_number(held.isDouble() ? held.toDouble() : held.isInt() ? static_cast<double>(held.toInt()) : 0);
}

// What 32 last places of what is drawn by functions come to, in units. Those of the normal number z, and roundings of
// mean + deviation z, whose terms may cancel; they show in the exponential as so many parts of itself.
at::Tensor places_by_functions(const Call& call, const at::Tensor& drawn) {
  const OpDef& op = *call.op;
  auto draw = draw_of(op.variant == VariantKind::functional ? op : *op.base);
  const bool around = draw->kind == Draw::normal || draw->kind == Draw::log_normal;
  const at::Tensor terms = around ? size_of_parameter(call, "mean", 0) + size_of_parameter(call, "std", 1)
                                  : size_of_parameter(call, "median", 0) + size_of_parameter(call, "sigma", 1);
  if (draw->kind != Draw::log_normal) return 32 * (magnitude(drawn) + terms);
  const at::Tensor exponent = at::abs(at::log(at::clamp_min(drawn.to(at::kDouble), 0x1p-1074)));
  return 32 * magnitude(drawn) * (exponent + terms + 1);
}

struct Passed {
  at::Tensor error;
  at::Tensor kept;             // the operand of which elements are kept or dropped, to nothing; undefined: no such draw
  std::optional<Dtype> whole;  // of integers or bools, which pass as they are: what no float is drawn from
};
bool is_off(const Call& call, std::string_view flag) {
  const int at = call.op->schema.find(flag);
  return at >= 0 && call.args[static_cast<size_t>(at)].kind == ArgKind::boolean &&
         call.args[static_cast<size_t>(at)].i == 0;
}
// What the errors of operands come to: of elements that are kept or dropped, and of normal numbers around means.
// Nothing: which number is drawn jumps.
std::optional<Passed> passed_through(FlowContext& in, const Call& call) {
  constexpr double kFarthest = 10;  // no 53 bits give a normal number beyond
  const OpDef& op = *call.op;
  auto draw = draw_of(op.variant == VariantKind::functional ? op : *op.base);
  if (!draw || (draw->kind != Draw::keep && draw->kind != Draw::normal)) return std::nullopt;
  Passed passed{at::zeros({}, at::kDouble), {}, {}};
  at::Tensor& error = passed.error;
  for (size_t k = 0; k < draw->operands.size(); ++k) {
    const int param = draw->operands[k].param;
    if (param < 0 || !call.args[static_cast<size_t>(param)].is_value()) continue;
    const ValueId v = call.args[static_cast<size_t>(param)].value();
    Planes p = in.store.read(call.values[v]->value.toTensor());
    if (!p.error.defined()) continue;
    // What is drawn is drawn around the number of the graph's own dtype that is next to it.
    if (!is_inexact(call.types[v]->dtype)) {
      passed.whole = call.types[v]->dtype;
    } else {
      const at::Tensor stored = p.value.to(to_aten(call.types[v]->dtype)).to(p.value.scalar_type());
      p.error = p.error + nothing_where(stored.isfinite().logical_not(), at::abs(stored - p.value), 0);
    }
    if (draw->kind == Draw::normal) {
      error = error + p.error * (k == 0 ? 1 : kFarthest);
      continue;
    }
    if (is_off(call, "train")) {  // nothing is dropped, whatever the odds
      error = error + p.error;
      continue;
    }
    const int at = draw->operands[1].param;
    const Arg& odds = call.args[static_cast<size_t>(at)];
    if (k != 0 || at < 0 || odds.kind != ArgKind::real) return std::nullopt;
    // The factor is rounded to the dtype; and what may be no number, or infinite, may be so times zero too.
    error = error + (odds.d < 1 ? p.error * ((1 + 0x1p-7) / (1 - odds.d)) : nothing_where(p.error < kInf, p.error, 0));
    if (!draw->saturates) passed.kept = nothing_where(p.error.isinf(), p.value, 0);
  }
  return passed;
}
}  // namespace

namespace {
// Also by its steps' own definitions: a step of a random row draws nothing either where its definition does not.
bool definition_draws(const Graph& graph, std::span<const Type* const> types, const OpDef& op,
                      std::span<const Arg> given) {
  Graph scratch(graph.shared_context(), graph.ops(), "definition");
  for (const Type* type : types) scratch.add_input({}, type);
  SmallVec<Arg, 12> args;
  for (size_t i = 0; i < given.size(); ++i)
    if (!op.schema.params[i].is_out) args.push_back(given[i]);
  try {
    expand(scratch, kNone, op.base ? *op.base : op, args);
  } catch (const Error&) {
    return true;
  }
  std::vector<const Type*> all(scratch.value_count());
  for (ValueId v = 0; v < all.size(); ++v) all[v] = &scratch.type(v);
  bool draws = false;
  scratch.for_each_node([&](NodeId id) {
    const Node& step = scratch.node(id);
    if (draws || !step.op->has(Trait::random)) return;
    const OpDef& row = step.op->base ? *step.op->base : *step.op;
    draws = has_sampling(row) || row.decompose.empty() || definition_draws(scratch, all, *step.op, step.arguments());
  });
  return draws;
}
}  // namespace

bool definition_draws(const Call& call) { return definition_draws(*call.graph, call.types, *call.op, call.args); }

Outcome flow_random(FlowContext& in, const Call& call) {
  std::vector<RunValue> narrow = narrowed(call);
  std::vector<RunValue> read(call.values.size());  // what an operand that gives the shape alone holds does not matter
  for (size_t i = call.op->has(Trait::reads_metadata_only) ? 1 : 0; i < call.args.size(); ++i)
    for_each_value(call.args[i], [&](ValueId v) { read[v] = call.values[v]; });
  const bool uncertain = in.errors && any_error(in, read);
  const std::optional<Passed> passed = uncertain ? passed_through(in, call) : std::nullopt;
  // What has no sampling from the stream whoever else draws from it drew as they liked.
  const bool elsewhere = in.stream && !has_sampling(*call.op) && draws_numbers(*call.op, call.args);
  const bool unknown = (uncertain && !passed) || elsewhere;
  bool computes = false;
  for (const Type* t : call.types) computes |= t->is_tensor() && is_inexact(t->dtype);
  computes &= !call.op->has(Trait::reads_metadata_only);
  Outcome out = in.stream && !elsewhere ? drawn_by(*in.stream, call, narrow) : call.run_native(in.boxed, narrow);
  if (out.raised) return out;
  const bool by_functions = in.stream && draws_by_functions(*call.op);
  // A zero that a definition computes, of an operand that is none, was rounded to it: who fuses keeps it wider.
  const OpDef& row = call.op->base ? *call.op->base : *call.op;
  auto may_be_rounded = [&](const at::Tensor& wide) {
    at::Tensor some = wide.ne(0);
    if (!row.sampling.empty() || narrow.empty() || !narrow[0] || !narrow[0]->value.isTensor()) return some;
    const at::Tensor operand = narrow[0]->value.toTensor();
    return operand.sizes() == wide.sizes() ? some.logical_or(operand.ne(0)) : some;
  };
  auto settle_drawn = [&](const at::Tensor& wide, Dtype native) {
    at::Tensor error;
    if (computes && is_inexact(native))  // among subnormal numbers a place is one of them
      error = magnitude(wide) * (4 * unit_of(to_real(native))) +
              may_be_rounded(wide).to(at::kDouble) * smallest_subnormal(to_real(native));
    if (by_functions && is_inexact(native))
      error = places_by_functions(call, wide) * unit_of(to_real(native)) + smallest_subnormal(to_real(native));
    // What is no number stays so; of complex ones the parts may meet.
    if (error.defined()) error = nothing_where(error.isfinite().logical_not(), error, wide.is_complex() ? kInf : 0);
    if (passed && (is_inexact(native) || passed->whole == native)) {
      error = (error.defined() ? error : at::zeros(wide.sizes(), at::kDouble)) + passed->error;
      if (is_inexact(native) && passed->kept.defined() && passed->kept.sizes() == wide.sizes())
        error = nothing_where(wide.eq(0).logical_and(magnitude(passed->kept) > smallest_normal(to_real(native))), error,
                              0);  // dropped
    }
    if (in.errors) in.store.write(wide, error, {});
    RunValue held = hold(wide);
    if (unknown) mark_unknown(in, {&held, 1});
  };
  for (size_t i = 0; i < call.args.size(); ++i) {
    if (!writes_operand(*call.op, call.args, i) || !call.args[i].is_value()) continue;
    ValueId v = call.args[i].value();
    at::Tensor wide = call.values[v]->value.toTensor(), drawn = narrow[v]->value.toTensor();
    if (wide.sizes() != drawn.sizes()) wide.resize_(drawn.sizes());
    wide.copy_(drawn);
    in.store.may_be_any(wide);  // whatever it held
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
  if (unknown)
    in.unbounded.insert(call.op->full_name + (elsewhere ? ": it has no sampling from Lenz's stream yet"
                                                        : ": which number is drawn jumps with its operands"));
  return out;
}

}  // namespace lenz::oracle
