#include "oracle/direct_call.h"

#include <tuple>
#include <utility>

#include "oracle/aten.h"

namespace lenz::oracle {

namespace {
// How an argument is handed over as an operand of this C++ type: `Stored` holds it for the call.
template <class Operand>
struct Handed;

template <>
struct Handed<const at::Tensor&> {
  using Stored = const at::Tensor*;
  static bool is(const c10::Type& type) { return type.kind() == c10::TypeKind::TensorType; }
  static bool store(const Arg& arg, std::span<const RunValue> values, Stored& tensor) {
    if (!arg.is_value() || arg.value() >= values.size()) return false;
    const RunValue& value = values[arg.value()];
    if (!value || !value->value.isTensor()) return false;
    tensor = &value->value.toTensor();
    return true;
  }
  static const at::Tensor& operand(const Stored& tensor) { return *tensor; }
};

template <>
struct Handed<const at::Scalar&> {
  using Stored = at::Scalar;
  static bool is(const c10::Type& type) { return type.kind() == c10::TypeKind::NumberType; }
  static bool store(const Arg& arg, std::span<const RunValue>, Stored& scalar) {
    if (arg.kind == ArgKind::integer && arg.dim().is_constant())
      scalar = arg.dim().constant();
    else if (arg.kind == ArgKind::real)
      scalar = arg.real();
    else
      return false;
    return true;
  }
  static const at::Scalar& operand(const Stored& scalar) { return scalar; }
};

template <>
struct Handed<at::OptionalIntArrayRef> {
  using Stored = std::optional<SmallVec<int64_t, 6>>;
  static bool is(const c10::Type& type) {
    const auto* optional = type.castRaw<c10::OptionalType>();
    const auto* list = optional ? optional->getElementType()->castRaw<c10::ListType>() : nullptr;
    return list && list->getElementType()->kind() == c10::TypeKind::IntType;
  }
  static bool store(const Arg& arg, std::span<const RunValue>, Stored& dims) {
    if (arg.is_none()) return true;
    if (arg.kind != ArgKind::int_list) return false;
    dims.emplace();
    for (Dim d : arg.dim_list()) {
      if (!d.is_constant()) return false;
      dims->push_back(d.constant());
    }
    return true;
  }
  static at::OptionalIntArrayRef operand(const Stored& dims) {
    return dims ? at::OptionalIntArrayRef(at::IntArrayRef(dims->data(), dims->size())) : at::OptionalIntArrayRef();
  }
};

template <>
struct Handed<bool> {
  using Stored = bool;
  static bool is(const c10::Type& type) { return type.kind() == c10::TypeKind::BoolType; }
  static bool store(const Arg& arg, std::span<const RunValue>, Stored& flag) {
    if (arg.kind != ArgKind::boolean) return false;
    flag = arg.boolean();
    return true;
  }
  static bool operand(const Stored& flag) { return flag; }
};

template <>
struct Handed<std::optional<at::ScalarType>> {
  using Stored = std::optional<at::ScalarType>;
  static bool is(const c10::Type& type) {
    const auto* optional = type.castRaw<c10::OptionalType>();
    return optional && optional->getElementType()->kind() == c10::TypeKind::ScalarTypeType;
  }
  static bool store(const Arg& arg, std::span<const RunValue>, Stored& dtype) {
    if (arg.is_none()) return true;
    if (arg.kind != ArgKind::dtype) return false;
    dtype = to_aten(arg.dtype());
    return true;
  }
  static Stored operand(const Stored& dtype) { return dtype; }
};

template <class Handle>
struct Signature;
template <class... Operands>
struct Signature<c10::TypedOperatorHandle<at::Tensor(Operands...)>> {
  using Handle = c10::TypedOperatorHandle<at::Tensor(Operands...)>;
  using Indices = std::index_sequence_for<Operands...>;

  template <size_t... I>
  static bool is(const std::vector<c10::Argument>& parameters, std::index_sequence<I...>) {
    return parameters.size() == sizeof...(Operands) && (Handed<Operands>::is(*parameters[I].real_type()) && ...);
  }
  template <size_t... I>
  static std::optional<at::Tensor> call(const Handle& handle, std::span<const Arg> args,
                                        std::span<const RunValue> values, std::index_sequence<I...>) {
    std::tuple<typename Handed<Operands>::Stored...> stored;
    if (args.size() != sizeof...(Operands)) return std::nullopt;
    if (!(Handed<Operands>::store(args[I], values, std::get<I>(stored)) && ...)) return std::nullopt;
    return handle.call(Handed<Operands>::operand(std::get<I>(stored))...);
  }
};

// The first of the variant's signatures from `Index` on that the op has.
template <class Any, size_t Index = 0>
std::optional<Any> typed_as_one_of(const c10::OperatorHandle& op) {
  if constexpr (Index < std::variant_size_v<Any>) {
    using Handle = std::variant_alternative_t<Index, Any>;
    using S = Signature<Handle>;
    if (S::is(op.schema().arguments(), typename S::Indices()))
      return []<class... O>(const c10::OperatorHandle& o, c10::TypedOperatorHandle<at::Tensor(O...)>*) {
        return Any(o.typed<at::Tensor(O...)>());
      }(op, static_cast<Handle*>(nullptr));
    return typed_as_one_of<Any, Index + 1>(op);
  } else {
    return std::nullopt;
  }
}
}  // namespace

std::optional<DirectCall> DirectCall::of(const c10::OperatorHandle& op) {
  const auto& results = op.schema().returns();
  if (op.schema().is_mutable() || results.size() != 1 || results[0].type()->kind() != c10::TypeKind::TensorType)
    return std::nullopt;
  auto typed = typed_as_one_of<Any>(op);
  if (!typed) return std::nullopt;
  return DirectCall(std::move(*typed));
}

std::optional<at::Tensor> DirectCall::operator()(std::span<const Arg> args, std::span<const RunValue> values) const {
  return std::visit(
      [&]<class Handle>(const Handle& handle) {
        using S = Signature<Handle>;
        return S::call(handle, args, values, typename S::Indices());
      },
      op_);
}

}  // namespace lenz::oracle
