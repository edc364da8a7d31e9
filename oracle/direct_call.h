// Calls of libtorch's ops that have one of the commonest signatures, past the dispatcher's stack, which takes a tenth
// of the time of small ones: tensors to a tensor, such with a scale behind them, reductions. Thread-safety: a value; a
// call is as safe as its op.
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>

#include <optional>
#include <span>
#include <variant>

#include "compiler/graph/graph.h"
#include "oracle/value.h"

namespace lenz::oracle {

class DirectCall {
 public:
  // Nothing for an op of another signature.
  static std::optional<DirectCall> of(const c10::OperatorHandle& op);

  // Nothing, and nothing is run, where an argument is of a kind that only the stack takes. Raises what eager raises.
  std::optional<at::Tensor> operator()(std::span<const Arg> args, std::span<const RunValue> values) const;

 private:
  template <class... Operands>
  using Op = c10::TypedOperatorHandle<at::Tensor(Operands...)>;
  using Tensor = const at::Tensor&;
  using Scale = const at::Scalar&;
  using Any = std::variant<Op<Tensor>, Op<Tensor, Tensor>, Op<Tensor, Tensor, Tensor>, Op<Tensor, Tensor, Scale>,
                           Op<Tensor, at::OptionalIntArrayRef, bool, std::optional<at::ScalarType>>>;

  explicit DirectCall(Any op) : op_(std::move(op)) {}
  Any op_;
};

}  // namespace lenz::oracle
