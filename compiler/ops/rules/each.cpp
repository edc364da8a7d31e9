#include "compiler/ops/rules/each.h"

namespace lenz {

const OpDef& element_row(const OpDef& op, const OpTable& table) {
  const OpDef& row = *op.each;
  if (op.variant != VariantKind::in_place) return row;
  for (const OpDef* candidate : table.packet(row.schema.space + "." + row.schema.packet + "_"))
    if (candidate->base == &row) return *candidate;
  internal_error("the elements of " + op.full_name + " have no in-place row", __FILE__, __LINE__);
}

size_t element_param(const OpDef& element, const Schema& schema, size_t param) {
  int by_name = element.schema.find(schema.params[param].name);
  return by_name >= 0 ? static_cast<size_t>(by_name) : param;
}

namespace rule {

namespace {
// The arguments and operand types of one element's call.
struct Element {
  SmallVec<Arg, 8> args;
  std::vector<const Type*> types;

  void set(size_t i, const Type* type) {
    args[i] = Arg::of_value(static_cast<ValueId>(types.size()));
    types.push_back(type);
  }
  void set(Infer& in, size_t i, const Arg& arg) {
    if (arg.is_value()) {
      set(i, &in.type_of(arg.value()));
    } else {
      args[i] = arg;
    }
  }
};

size_t length_of(Infer& in, const Param& param, const Arg& arg) {
  return param.type.kind == ParamKind::tensor ? in.tensors(param.name).size() : arg.count;
}

Arg number_at(const Arg& list, size_t i) {
  switch (list.kind) {
    case ArgKind::int_list: return Arg::of_dim(list.dim_list()[i]);
    case ArgKind::real_list: return Arg::of_real(list.real_list()[i]);
    case ArgKind::bool_list: return Arg::of_bool(list.bool_list()[i]);
    default: return list.arg_list()[i];
  }
}
}  // namespace

void each(Infer& in) {
  const OpDef& element = element_row(in.op(), in.table());
  const auto& params = in.op().schema.params;
  size_t count = 0;
  std::vector<std::vector<const Type*>> lists(params.size());
  for (size_t i = 0; i < params.size(); ++i) {
    if (params[i].is_out || !params[i].type.list) continue;
    size_t length = length_of(in, params[i], in.arg(i));
    if (length == 0) in.raise("the lists must hold at least one element");
    if (count && length != count) in.raise("the lists must have one length");
    count = length;
    if (params[i].type.kind == ParamKind::tensor) lists[i] = in.tensors(params[i].name);
  }
  for (size_t i = 0; i < params.size(); ++i) {
    if (params[i].is_out || params[i].type.list || params[i].type.kind != ParamKind::tensor) continue;
    const Type& shared = in.tensor(i);
    if (element.schema.params[element_param(element, in.op().schema, i)].type.kind == ParamKind::scalar) {
      in.require(shared.rank() == 1, "a tensor of numbers must have one dim");
      in.require(!is_float8(shared.dtype), "numbers can't be float8");
      in.require(eq(shared.sizes()[0], static_cast<int64_t>(count)), "there must be one number per element");
      in.require(in.is_one(shared.sizes()[0]) || in.same(shared.strides()[0], 1), "the numbers must be contiguous");
    } else {
      in.require(shared.rank() == 0, "a tensor for all elements must have no dims");
    }
  }

  SmallVec<const Type*, 4> results;
  for (size_t k = 0; k < count; ++k) {
    Element call;
    for (const Param& p : element.schema.params)
      call.args.push_back(p.fallback || p.type.optional ? default_arg(in.context(), p) : Arg::none());
    for (size_t i = 0; i < params.size(); ++i) {
      if (params[i].is_out) continue;
      size_t at = element_param(element, in.op().schema, i);
      bool tensor = params[i].type.kind == ParamKind::tensor;
      if (params[i].type.list && tensor) {
        call.set(at, lists[i][k]);
      } else if (params[i].type.list) {
        call.set(in, at, number_at(in.arg(i), k));
      } else if (!tensor || element.schema.params[at].type.kind == ParamKind::tensor) {
        call.set(in, at, in.arg(i));
      }  // else numbers that only the run knows: they don't decide the type
    }
    Infer one(in.shared_context(), in.table(), element, call.args, call.types, in.assumptions());
    one.run();
    results.push_back(one.results()[0].type);
  }
  in.result(in.context().list(results));
}

}  // namespace rule

}  // namespace lenz
