// One call of an op, cut out of its graph: operands numbered from 0, so that rules may run it again on other planes.
// Internal to oracle/bounds. Thread-safety: belongs to one thread.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "oracle/boxed.h"

namespace lenz::oracle {

struct Call {
  const OpDef* op = nullptr;
  // Values are indices into `values`. A tensor of the type of a number is a number that may be another: it has an
  // error.
  std::vector<Arg> args;
  std::vector<RunValue> values;      // widened
  std::vector<const Type*> types;    // the graph's own
  std::vector<Dtype> result_dtypes;  // the graph's own; of a list: of its elements
  // Numbers of the run among the arguments (in lists too), each with its argument's index. They stand in `args` as
  // literals; here is who they are.
  std::vector<std::pair<size_t, RunValue>> numbers;
  // Numbers among `values` whose errors count what the dtype that they are computed in makes of them.
  std::vector<size_t> settled;
  const Graph* graph = nullptr;  // whose context and op table they live in
  const SymValues* symbols = nullptr;

  Call() = default;
  Call(const Graph& graph, const Node& node, std::span<const RunValue> values, const SymValues& symbols);

  // The values with the i-th operand replaced; run_widened() takes any such list.
  Outcome run_widened(Boxed& boxed, std::span<const Arg> args, std::span<const RunValue> values) const;
  Outcome run_widened(Boxed& boxed) const { return run_widened(boxed, args, values); }
  // In the graph's own dtypes: `values` are native ones.
  Outcome run_native(Boxed& boxed, std::span<const RunValue> values) const;

  // The graph's own dtype of a tensor among `values`.
  Dtype dtype_of(size_t v) const;
  // Of a call that writes: that of the row which gives what is written.
  Call functional() const;
  // The conversion of this argument's tensor, and this call on what that gives.
  Call conversion(size_t argument, Dtype to) const;
  Call with_converted(size_t argument, Dtype to, const RunValue& converted) const;

  ValueId add(RunValue value, const Type* type) {
    values.push_back(std::move(value));
    types.push_back(type);
    return static_cast<ValueId>(values.size() - 1);
  }
  Arg list_arg(std::vector<ValueId> ids);  // a value_list that lives as long as the call

 private:
  std::vector<Arg> numbers_read(std::span<const Arg> args, std::span<const RunValue> values) const;
  std::shared_ptr<std::deque<std::vector<ValueId>>> lists_ = std::make_shared<std::deque<std::vector<ValueId>>>();
};

// Whether all that a definition computes is one sum or one product of two numbers, or it only moves or converts: of
// that there is no other formula.
bool rounds_once(const Graph& definition);

// Whether a step of this op's definition is what every way to compute the op begins with, for it is a distance of rows:
// the difference of two of their numbers. Equal ones have none, and what is made of that is a zero all the way: none of
// |d|, d^p, sums, greatest ones and roots of zeros are anything else, whatever they are scaled by.
bool begins_with(const OpDef& op, const Node& step);

// Where the `beta` of a sum beta a + alpha b is zero, the op does not look at a, NaN and all: the call with zeros in
// its place. Nothing for other calls.
std::optional<Call> without_ignored(const Call& call);

// The call in f32, where that is what the steps of its narrow floats are computed in (OpDef::wide_steps).
std::optional<Call> in_wide_dtypes(const Call& call);

// Whether eager's own steps may add more than the definition's (ErrorFlow::eager, eager_for).
bool eager_adds_more(const Call& call);

// What a dtype is computed in: float64 for floats, complex128 for complex numbers, itself for integers.
Dtype widened(Dtype dtype);

}  // namespace lenz::oracle
