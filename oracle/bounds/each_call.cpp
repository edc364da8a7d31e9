#include "oracle/bounds/each_call.h"

#include <ATen/Functions.h>

#include "compiler/ops/rules/each.h"
#include "oracle/aten.h"

namespace lenz::oracle {

namespace {
size_t length_of(const Call& call, size_t param) {
  const Arg& a = call.args[param];
  if (!call.op->schema.params[param].type.list) return 0;
  if (a.is_value()) return call.values[a.value()]->value.toTensorVector().size();
  return a.count;
}

Dtype element_dtype(const Call& call, size_t k) {
  const bool makes_a_list = call.op->variant == VariantKind::functional && !call.op->schema.returns.empty();
  if (makes_a_list && k < call.result_dtypes.size()) return call.result_dtypes[k];
  for (size_t i = 0; i < call.args.size(); ++i) {
    if (!call.op->schema.params[i].type.list) continue;
    const Arg& a = call.args[i];
    if (a.kind == ArgKind::value_list) return call.types[a.value_list()[k]]->dtype;
    if (a.is_value()) return call.types[a.value()]->elements()[k]->dtype;
  }
  return Dtype::f32;
}

// A number of a tensor of numbers.
Arg number_of(ElementCall& one, const at::Tensor& number, PlaneStore& store) {
  Context& context = one.call.graph->context();
  const Dtype to = one.call.result_dtypes[0];
  const Planes planes = store.read(number);
  if (planes.error.defined()) {
    one.open = one.open || !is_inexact(to) || (number.is_complex() && !is_complex(to));
    if (!one.open) return Arg::of_value(one.call.add(hold(number), context.simple(TypeKind::sym_float)));
  }
  if (number.is_complex()) {
    const auto z = number.item<c10::complex<double>>();
    if (is_complex(to)) return context.complex({z.real(), z.imag()});
    if (z.imag() != 0)
      one.refused = Outcome{.raised = true,
                            .text = "value cannot be converted to type " + std::string(name(to)) + " without overflow",
                            .results = {}};
    return Arg::of_real(z.real());
  }
  return number.is_floating_point() ? Arg::of_real(number.item<double>()) : Arg::of_int(number.item<int64_t>());
}

Arg argument_at(const Call& call, ElementCall& one, size_t param, size_t k, PlaneStore& store) {
  const Arg& a = call.args[param];
  auto tensor = [&](ValueId v) { return Arg::of_value(one.call.add(call.values[v], call.types[v])); };
  const bool list = call.op->schema.params[param].type.list;
  if (!list && a.is_value()) {
    const OpDef& to = *one.call.op;
    const size_t at = element_param(to, call.op->schema, param);
    if (to.schema.params[at].type.kind != ParamKind::scalar) return tensor(a.value());
    const at::Tensor t = call.values[a.value()]->value.toTensor();
    return number_of(one, t.dim() ? t[static_cast<int64_t>(k)] : t, store);
  }
  if (!list) return a;
  switch (a.kind) {
    case ArgKind::value_list: return tensor(a.value_list()[k]);
    case ArgKind::value:
      return Arg::of_value(
          one.call.add(element(call.values[a.value()], static_cast<int64_t>(k)), call.types[a.value()]->elements()[k]));
    case ArgKind::int_list: return Arg::of_dim(a.dim_list()[k]);
    case ArgKind::real_list: return Arg::of_real(a.real_list()[k]);
    case ArgKind::bool_list: return Arg::of_bool(a.bool_list()[k]);
    case ArgKind::arg_list: {
      const Arg& item = a.arg_list()[k];
      return item.is_value() ? tensor(item.value()) : item;
    }
    default: return a;
  }
}
}  // namespace

size_t elements_of_lists(const Call& call) {
  size_t count = 0;
  for (size_t i = 0; i < call.op->schema.params.size() && !count; ++i) count = length_of(call, i);
  return count;
}

ElementCall element_call(const Call& call, size_t k, PlaneStore& store) {
  const OpDef& op = *call.op;
  const OpDef& element_op = element_row(op, call.graph->ops());
  ElementCall one;
  one.call.op = &element_op;
  one.call.graph = call.graph;
  one.call.symbols = call.symbols;
  one.call.result_dtypes = {element_dtype(call, k)};
  for (const Param& p : element_op.schema.params)
    one.call.args.push_back(p.fallback || p.type.optional ? default_arg(call.graph->context(), p) : Arg::none());
  for (size_t i = 0; i < op.schema.params.size(); ++i)
    if (!op.schema.params[i].is_out)
      one.call.args[element_param(element_op, op.schema, i)] = argument_at(call, one, i, k, store);
  return one;
}

}  // namespace lenz::oracle
