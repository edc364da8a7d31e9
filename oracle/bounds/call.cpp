#include "oracle/bounds/call.h"

#include <ATen/Functions.h>
#include <c10/core/DefaultDtype.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "compiler/base/dtype.h"
#include "compiler/graph/alias.h"
#include "compiler/graph/pattern_functions.h"
#include "compiler/ops/decompose.h"
#include "compiler/scalar/rounding.h"
#include "compiler/scalar/scalar.h"
#include "oracle/aten.h"
#include "oracle/bounds/odd_ends.h"

namespace lenz::oracle {

std::optional<Call> in_wide_dtypes(const Call& call) {
  std::vector<const Type*> tensors;
  for (const Type* t : call.types)
    if (t->is_tensor()) tensors.push_back(t);
  if (!steps_are_wide(*call.op, tensors)) return std::nullopt;
  Call wide = call;
  for (const Type*& t : wide.types) {
    if (!t->is_tensor()) continue;
    TensorType in_f32 = t->tensor();
    in_f32.dtype = Dtype::f32;
    t = call.graph->shared_context()->tensor(in_f32);
  }
  for (Dtype& d : wide.result_dtypes)
    if (is_reduced_float(d)) d = Dtype::f32;
  return wide;
}

bool eager_adds_more(const Call& call) {
  const ErrorFlow& flow = call.op->flow;
  const size_t equals = flow.eager_for.find('=');
  if (flow.eager == 1 || equals == std::string_view::npos) return flow.eager != 1;
  const int param = call.op->schema.find(flow.eager_for.substr(0, equals));
  return call.args[static_cast<size_t>(param)].string() == flow.eager_for.substr(equals + 1);
}

Dtype widened(Dtype dtype) {
  if (is_complex(dtype)) return Dtype::c128;
  return is_floating(dtype) ? Dtype::f64 : dtype;
}

namespace {
// What a float literal becomes a tensor of. libtorch's own default is one for the whole process.
class DefaultsToDouble {
 public:
  DefaultsToDouble() : before_(c10::get_default_dtype()) { c10::set_default_dtype(caffe2::TypeMeta::Make<double>()); }
  ~DefaultsToDouble() { c10::set_default_dtype(before_); }
  DefaultsToDouble(const DefaultsToDouble&) = delete;
  DefaultsToDouble& operator=(const DefaultsToDouble&) = delete;

 private:
  caffe2::TypeMeta before_;
};

// A value as an argument of another graph's call: numbers stand for themselves.
bool is_number(const RunValue& v) { return v && (v->value.isInt() || v->value.isDouble() || v->value.isBool()); }
Arg number_arg(const RunValue& v) {
  if (v->value.isBool()) return Arg::of_bool(v->value.toBool());
  return v->value.isInt() ? Arg::of_int(v->value.toInt()) : Arg::of_real(v->value.toDouble());
}

// The type of a value as it lies there, in the graph's own dtype.
const Type* concrete_type(Context& context, const Type& claimed, const RunValue& value) {
  if (claimed.kind == TypeKind::list) {
    std::vector<const Type*> elements;
    for (size_t i = 0; i < claimed.elements().size(); ++i)
      elements.push_back(concrete_type(context, *claimed.elements()[i], element(value, static_cast<int64_t>(i))));
    return context.list(elements);
  }
  if (!claimed.is_tensor()) return &claimed;
  Seen seen = look(value);
  TensorType type = claimed.tensor();
  type.sizes.clear();
  type.strides.clear();
  for (int64_t s : seen.sizes) type.sizes.push_back(Dim(s));
  for (int64_t s : seen.strides) type.strides.push_back(Dim(s));
  type.offset = Dim(seen.offset);
  return context.tensor(type);
}

std::vector<Dtype> dtypes_of(const Type& type) {
  if (type.kind != TypeKind::list || type.elements().empty())
    return {type.is_tensor() ? type.dtype : type.kind == TypeKind::list ? Dtype::f32 : Dtype::i64};
  std::vector<Dtype> dtypes;
  for (const Type* element : type.elements()) dtypes.push_back(element->dtype);
  return dtypes;
}
}  // namespace

Call::Call(const Graph& in, const Node& node, std::span<const RunValue> from, const SymValues& known)
    : op(node.op), graph(&in), symbols(&known) {
  auto taken = [&](ValueId v) {
    return add(from[v], from[v] ? concrete_type(in.context(), in.type(v), from[v]) : &in.type(v));
  };
  auto argument = [&](ValueId v) {
    if (!is_number(from[v])) return Arg::of_value(taken(v));
    numbers.emplace_back(args.size(), from[v]);
    return number_arg(from[v]);
  };
  for (const Arg& a : node.arguments()) {
    if (a.kind == ArgKind::value) {
      args.push_back(argument(a.value()));
    } else if (a.kind == ArgKind::value_list) {
      std::vector<ValueId> ids;
      for (ValueId v : a.value_list()) ids.push_back(v == kNone ? kNone : taken(v));
      args.push_back(list_arg(std::move(ids)));
    } else if (a.kind == ArgKind::arg_list) {
      SmallVec<Arg, 8> items(a.arg_list());
      for (Arg& item : items)
        if (item.is_value()) item = argument(item.value());
      args.push_back(in.context().args(items));
    } else {
      args.push_back(a);
    }
  }
  for (uint16_t i = 0; i < node.result_count; ++i)
    for (Dtype d : dtypes_of(in.type(node.result(i)))) result_dtypes.push_back(d);
}

Arg Call::list_arg(std::vector<ValueId> ids) {
  lists_->push_back(std::move(ids));
  Arg a;
  a.kind = ArgKind::value_list;
  a.count = static_cast<uint32_t>(lists_->back().size());
  a.values = lists_->back().data();
  return a;
}

namespace {
// As a dtype that has none holds them.
void without_infinities(RunValue& result, bool in_place) {
  if (!result || !result->value.isTensor()) return;
  at::Tensor t = result->value.toTensor();
  const at::Tensor infinite = at::isinf(t);
  if (!at::any(infinite).item<bool>()) return;
  if (!in_place) t = t.clone();  // another dtype's, wide already, may be the result itself
  t.masked_fill_(infinite, std::numeric_limits<double>::quiet_NaN());
  result = hold(t);
}

// Whose kernels in eager count from a negative operand, their last, up to zero: by the primitive that computes the op,
// or that says what it means though its definition is made of others.
const ScalarRow* counting_row(const OpDef& op) {
  if (op.variant != VariantKind::functional) return nullptr;
  const ScalarRow* row = find_scalar(op.scalar.empty() ? op.schema.packet : op.scalar);
  const bool counts = row && row->has(traits::costly) && row->error.jump == Jump::at_nonpositive_integers;
  return counts ? row : nullptr;
}

// Operands from which that takes long: eager is asked about one as far from a whole number in their place, and the row
// says what its results are. Of what is infinite beside them the way to zero decides alone, and eager's answer stays.
class FarBelowZero {
 public:
  FarBelowZero(const ScalarRow& row, std::vector<Arg>& args, std::vector<RunValue>& values, const SymValues& symbols)
      : row_(row) {
    for (int i = 0; i < row.arity; ++i) operands_.push_back(operand(args[static_cast<size_t>(i)], values, symbols));
    const at::Tensor& counted = operands_.back();
    far_ = (counted < kFar).logical_and_(at::isfinite(counted));
    any_ = at::any(far_).item<bool>();
    Arg& last = args[operands_.size() - 1];
    if (!any_) return;
    constexpr double kNear = 2;
    const at::Tensor near = counted - at::floor(counted) - kNear;
    if (last.is_value()) {
      const at::Tensor given = values[last.value()]->value.toTensor();
      values[last.value()] = hold(at::where(far_, near.to(given.scalar_type()), given));
    } else {
      last = Arg::of_real(near.item<double>());
    }
  }

  void settle(const RunValue& result) const {
    if (!any_) return;
    at::Tensor made = result->value.toTensor();
    at::Tensor places = far_.expand(made.sizes());
    for (const at::Tensor& t : std::span(operands_).first(operands_.size() - 1))
      places = places.logical_and(at::isinf(t).logical_not());
    std::vector<at::Tensor> of;
    for (const at::Tensor& t : operands_) of.push_back(at::masked_select(t.expand(made.sizes()), places));
    at::Tensor values = at::empty({of[0].numel()}, at::kDouble);
    for (int64_t i = 0; i < values.numel(); ++i) {
      std::vector<ScalarValue> at;
      for (const at::Tensor& t : of) {
        const double operand = t.const_data_ptr<double>()[i];
        const bool whole = at.empty() && row_.operands == OperandRule::integer_first;
        at.push_back(whole ? ScalarValue(static_cast<int64_t>(operand)) : ScalarValue(operand));
      }
      values.mutable_data_ptr<double>()[i] = evaluate(row_, Dtype::f64, at).real();
    }
    made.masked_scatter_(places, values.to(made.scalar_type()));
  }

 private:
  static constexpr double kFar = -0x1p12;

  static at::Tensor operand(const Arg& a, std::span<const RunValue> values, const SymValues& symbols) {
    if (a.is_value()) return values[a.value()]->value.toTensor().to(at::kDouble);
    const std::optional<double> number = number_of(a);
    return at::scalar_tensor(number ? *number : static_cast<double>(evaluate(a.dim(), symbols).value()), at::kDouble);
  }

  const ScalarRow& row_;
  std::vector<at::Tensor> operands_;
  at::Tensor far_;
  bool any_ = false;
};

Outcome run_counting_little(Boxed& boxed, const OpDef& op, std::vector<Arg> args, std::vector<RunValue> values,
                            const SymValues& symbols) {
  const ScalarRow* row = counting_row(op);
  if (!row) return boxed.run(op, args, values, symbols);
  const FarBelowZero far_below(*row, args, values, symbols);
  Outcome out = boxed.run(op, args, values, symbols);
  if (!out.raised) far_below.settle(out.results[0]);
  return out;
}
}  // namespace

namespace {
// The narrowest floats that a call's integers become: what is computed of each element on its own, put together or
// copied. f64: none that are narrower.
Dtype met_by_integers(const Call& call) {
  const OpDef& op = *call.op;
  const bool each = find_scalar(op.scalar) != nullptr || op.has(Trait::elementwise) || op.has(Trait::maybe_view) ||
                    op.schema.packet == "cat" || op.schema.packet == "stack";  // op name: they promote elements too
  Dtype met = Dtype::f64;
  auto meet = [&](Dtype d) {
    if (is_inexact(d)) met = info(to_real(d)).mantissa_bits < info(met).mantissa_bits ? to_real(d) : met;
  };
  if (!each) return met;
  for (Dtype d : call.result_dtypes) {
    if (is_inexact(d) && to_real(d) == Dtype::f64) return met;
    meet(d);
  }
  for (const Type* t : call.types)
    if (t->is_tensor()) meet(t->dtype);
  return met;
}

// Integers are read as they are rounded where they meet floats.
void keep_digits(const Call& call, std::span<const Arg> args, std::vector<RunValue>& values) {
  const auto is_long = [](const RunValue& v) {
    return v && v->value.isTensor() && v->value.toTensor().scalar_type() == at::kLong;
  };
  if (std::ranges::none_of(values, is_long)) return;
  const Dtype met = met_by_integers(call);
  if (met == Dtype::f64) return;
  for (size_t i = 0; i < args.size(); ++i) {
    if (writes_operand(*call.op, args, i)) continue;
    for_each_value(args[i], [&](ValueId v) {
      if (is_long(values[v])) values[v] = hold(with_odd_ends(values[v]->value.toTensor(), met));
    });
  }
}
}  // namespace

Outcome Call::run_widened(Boxed& boxed, std::span<const Arg> given, std::span<const RunValue> with) const {
  std::vector<Arg> wide = numbers_read(given, with);
  // A number that is 0 where eager computes makes NaN of infinities, or has eager look at nothing.
  const bool in_f32 = !result_dtypes.empty() && is_inexact(result_dtypes[0]) && to_real(result_dtypes[0]) == Dtype::f32;
  for (const NumberFit& fit : op->number_fits) {
    Arg& a = wide[fit.param];
    const bool narrowed = in_f32 && fit.into == NumberFit::computed && a.kind == ArgKind::real;
    if (narrowed && round_to(Dtype::f32, a.d) == 0) a = Arg::of_real(std::copysign(0.0, a.d));
  }
  for (Arg& a : wide)
    if (a.kind == ArgKind::dtype) a = Arg::of_dtype(widened(a.dtype()));
  DefaultsToDouble defaults;
  // Some of eager's kernels that pick elements of one tensor read what lies otherwise in another order than they
  // should, or beyond it.
  const bool picks = (op->has(Trait::indexing) || op->flow.ties_open) && op->variant == VariantKind::functional &&
                     !op->has(Trait::view) && with.size() == 1;
  std::vector<RunValue> in_order(with.begin(), with.end());
  for (RunValue& v : in_order)
    if (picks && v && v->value.isTensor() && v->value.toTensor().layout() == at::kStrided &&
        !v->value.toTensor().is_contiguous())
      v = hold(v->value.toTensor().contiguous());
  keep_digits(*this, wide, in_order);
  Outcome out = run_counting_little(boxed, *op, std::move(wide), std::move(in_order), *symbols);
  if (!op->has(Trait::view))
    for (size_t i = 0; i < out.results.size() && i < result_dtypes.size(); ++i)
      if (result_dtypes[i] == Dtype::f8e4m3) without_infinities(out.results[i], op->schema.mutates());
  return out;
}

Outcome Call::run_native(Boxed& boxed, std::span<const RunValue> with) const {
  return run_counting_little(boxed, *op, numbers_read(args, with), {with.begin(), with.end()}, *symbols);
}

std::vector<Arg> Call::numbers_read(std::span<const Arg> given, std::span<const RunValue> with) const {
  std::vector<Arg> read(given.begin(), given.end());
  for (Arg& a : read) {
    if (!a.is_value() || types[a.value()]->kind != TypeKind::sym_float || !with[a.value()]->value.isTensor()) continue;
    const at::Scalar number = with[a.value()]->value.toTensor().item();
    a = number.isComplex() ? graph->context().complex(std::complex<double>(number.toComplexDouble()))
                           : Arg::of_real(number.toDouble());
  }
  return read;
}

Dtype Call::dtype_of(size_t v) const {
  if (types[v]->kind != TypeKind::sym_float) return types[v]->dtype;
  return *from_aten(values[v]->value.toTensor().scalar_type());
}

Call Call::functional() const {
  Call made = *this;
  made.op = op->base;
  if (op->variant != VariantKind::out) return made;
  made.args.clear();
  made.numbers.clear();
  for (size_t i = 0; i < args.size(); ++i) {
    if (op->schema.params[i].is_out) continue;
    for (const auto& [index, number] : numbers)
      if (index == i) made.numbers.emplace_back(made.args.size(), number);
    made.args.push_back(args[i]);
  }
  while (made.args.size() < op->base->schema.params.size())
    made.args.push_back(default_arg(graph->context(), op->base->schema.params[made.args.size()]));
  return made;
}

Call Call::conversion(size_t argument, Dtype to) const {
  Call made = *this;
  made.op = graph->ops().find("aten._to_copy");  // op name: the conversion itself
  made.args = {args[argument]};
  for (const Param& param : std::span(made.op->schema.params).subspan(1))
    made.args.push_back(param.name == "dtype" ? Arg::of_dtype(to) : default_arg(graph->context(), param));
  made.numbers.clear();
  made.result_dtypes = {to};
  return made;
}
Call Call::with_converted(size_t argument, Dtype to, const RunValue& converted) const {
  Call made = *this;
  const ValueId v = args[argument].value();
  made.values[v] = converted;
  TensorType type = types[v]->tensor();
  type.dtype = to;
  made.types[v] = graph->context().tensor(type);
  return made;
}

bool begins_with(const OpDef& op, const Node& step) {
  const std::string_view packet = op.schema.packet;
  const bool apart = packet == "_cdist_forward" || packet == "pdist";  // op name: no trait tells distances of rows
  const ScalarRow* row = apart && !step.op->scalar.empty() ? find_scalar(step.op->scalar) : nullptr;
  return row && row->error.rule == ErrorRule::sum;
}

bool rounds_once(const Graph& definition) {
  int computed = 0, once = 0;
  definition.for_each_node([&](NodeId id) {
    const OpDef& op = *definition.node(id).op;
    const ScalarRow* row = op.scalar.empty() ? nullptr : find_scalar(op.scalar);
    computed += op.accuracy != Accuracy::exact;
    once += op.accuracy == Accuracy::rounded && row && row->arity == 2 &&
            (row->error.rule == ErrorRule::sum || row->error.rule == ErrorRule::product);
  });
  return computed == once && once <= 1;
}

std::optional<Call> without_ignored(const Call& call) {
  const int beta = call.op->schema.find("beta"), self = call.op->schema.find("self");
  if (beta < 0 || call.op->schema.find("alpha") < 0 || self < 0 || !call.args[static_cast<size_t>(self)].is_value())
    return std::nullopt;
  const auto is_beta = [&](const auto& number) { return number.first == static_cast<size_t>(beta); };
  const auto weight = number_of(call.args[static_cast<size_t>(beta)]);
  if (!weight || *weight != 0 || std::ranges::any_of(call.numbers, is_beta)) return std::nullopt;
  Call other = call;
  RunValue& ignored = other.values[call.args[static_cast<size_t>(self)].value()];
  if (!ignored || !ignored->value.isTensor()) return std::nullopt;
  // The same value may be a factor too: that is read.
  const at::Tensor zeros = at::zeros_like(ignored->value.toTensor());
  other.args[static_cast<size_t>(self)] =
      Arg::of_value(other.add(hold(zeros), call.types[call.args[static_cast<size_t>(self)].value()]));
  return other;
}

}  // namespace lenz::oracle
