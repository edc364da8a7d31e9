// What a row's type rule sees: the arguments' types, the graph's facts, and a place for the results.
// A rule that must decide what the facts leave open decides as typical values of the symbols say, and the condition is
// recorded: it becomes a guard of the graph. Of sizes that only a run knows nothing is decided so: the rule runs once
// for each answer. Where they give one type, that is the type (its strides are those of dims of several elements; where
// a dim may turn out to have fewer, no element's place depends on them). An answer for which the rule raises is
// excluded by a run-time assertion; where types differ, the call is refused (DataDependent), and says which fact it
// lacks. Thread-safety: one Infer per call of a rule.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "compiler/base/error.h"
#include "compiler/graph/assumptions.h"
#include "compiler/graph/context.h"
#include "compiler/graph/op_def.h"

namespace lenz {

struct InferredResult {
  const Type* type = nullptr;
  ValueId alias_of = kNone;  // shares the storage of this operand
};

// Whether two types are one under what is known, however they are written.
bool equal_types(const Assumptions& known, const Type& a, const Type& b);

class Infer {
 public:
  // `type_of` answers the type of a value; `assumptions` gathers guards.
  Infer(const std::shared_ptr<Context>& context, const OpTable& table, const OpDef& op, std::span<const Arg> args,
        std::span<const Type* const> value_types, Assumptions& assumptions);

  const OpDef& op() const { return op_; }
  const OpTable& table() const { return table_; }
  Context& context() { return *context_; }
  const std::shared_ptr<Context>& shared_context() const { return context_; }
  Assumptions& assumptions() { return assumptions_; }
  std::span<const Arg> args() const { return args_; }

  // Arguments by parameter name; the name must be one of the schema's. `at` finds its position.
  size_t at(std::string_view param) const;
  bool has_param(std::string_view param) const { return op_.schema.find(param) >= 0; }
  const Arg& arg(std::string_view param) const { return args_[at(param)]; }
  const Arg& arg(size_t i) const { return args_[i]; }
  bool given(std::string_view param) const { return !arg(param).is_none(); }

  // The type of a tensor argument (an error of the user's if it is no tensor).
  const Type& tensor(size_t i) const;
  const Type& tensor(std::string_view param) const { return tensor(at(param)); }
  const Type* tensor_or_null(std::string_view param) const;  // none, or absent from the schema: null
  const Type& type_of(ValueId v) const { return *value_types_[v]; }
  // A list of tensors: an argument list of values, or one value of list type. Absent elements are null.
  std::vector<const Type*> tensors(std::string_view param) const;

  Dim integer(std::string_view param) const;       // int or SymInt, also from a sym_int value
  int64_t constant(std::string_view param) const;  // must be a constant: dims, flags
  std::optional<Dim> maybe_integer(std::string_view param) const;
  bool boolean(std::string_view param) const;  // must be a constant; none counts as false
  DimVec ints(std::string_view param) const;   // a list; one integer counts as a list of one
  SmallVec<int64_t, 6> constants(std::string_view param) const;
  std::optional<Dtype> dtype(std::string_view param) const;
  double real(std::string_view param) const;  // int, real or bool, as a double
  std::string_view string(std::string_view param) const;

  // A dim in [-rank, rank), wrapped. Rank 0 counts as rank 1, as in eager.
  int64_t wrap_dim(int64_t dim, size_t rank) const;

  // Questions about sizes. `decide` answers always (recording a guard when nothing proves it); `require` raises with
  // this message when the condition is refuted, and records it when it is open.
  bool decide(const Cond& cond);
  void require(const Cond& cond, std::string_view message);
  void require(bool condition, std::string_view message) const {
    if (!condition) raise(message);
  }
  bool is_one(Dim d) { return d.is_constant() ? d.constant() == 1 : decide(eq(d, 1)); }
  bool is_zero(Dim d) { return d.is_constant() ? d.constant() == 0 : decide(eq(d, 0)); }
  bool same(Dim a, Dim b) { return a == b || (!(a.is_constant() && b.is_constant()) && decide(eq(a, b))); }

  // The one value that an open dim must have for the result's structure (how many tensors there are): its typical
  // value, recorded as a guard.
  int64_t specialize(Dim d);

  // The type of the value that owns the storage of this one; null if nobody told.
  const Type* storage_owner(ValueId v) const;

  // Eager raises here. The text names the op.
  [[noreturn]] void raise(std::string_view message) const;

  // Results, in the schema's order.
  void result(const TensorType& type) { add(context_->tensor(type), kNone); }
  void result(const Type* type) { add(type, kNone); }
  void alias(const TensorType& type, size_t arg) { add(context_->tensor(type), args_[arg].value()); }
  void alias(const Type* type, ValueId of) { add(type, of); }
  // A fresh unbacked symbol in [low, high]: a size that only the run knows. Takes the symbols of `unbacked_symbols`
  // first; then makes new ones, named after the prefix.
  Dim unbacked(Dim low, std::optional<Dim> high);

  std::span<const InferredResult> results() const { return results_; }

  // The sub-graph that an argument names. Only inside a graph that has sub-graphs.
  const Graph& subgraph(std::string_view param) const;

  // Runs the row's rule, with what in-place and out= variants add to it. The op must have a rule. `refusal` answers
  // what eager raises, where no way through open sizes leads on; what is thrown takes several times as long.
  void run();
  std::optional<UserError> refusal();
  // The same for a node whose results are known to have these types: unbacked symbols are those that they carry, so
  // that the results are equal if the rule agrees.
  void run_as(std::span<const Type* const> expected);

  const Graph* owner = nullptr;  // the graph the node belongs to: its sub-graphs, and who owns a storage
  std::string unbacked_prefix;
  SmallVec<Dim, 2> unbacked_symbols;

 private:
  struct Decision {  // of a condition that only the run can tell
    Cond cond;
    bool holds;
    Cond taken() const { return holds ? cond : negate(cond); }
  };
  struct Outcome;  // of the rule on one way through its decisions, or on several that agree
  void add(const Type* type, ValueId alias) { results_.push_back({type, alias}); }
  void see_numbers();
  void move_results(Device device);
  void run_rule();
  void require_rank(const Type& type) const;
  Outcome run_path(std::span<const Decision> decisions);
  Outcome explore(std::span<const Decision> decisions);
  Outcome merge(Outcome likely, Outcome other, std::span<const Decision> shared);
  std::optional<Outcome> general(const Outcome& one, const Outcome& other, std::span<const Decision> there) const;
  Assumptions supposing(std::span<const Decision> decisions) const;
  void settle(const Outcome& outcome);
  void finish_in_place();
  void finish_out();
  void write_to(const Type& target, const Type& computed, std::string_view param, bool exact);
  const Type* written_out(const Type& target, const Type& computed, std::string_view param);

  const std::shared_ptr<Context>& context_;
  const OpTable& table_;
  const OpDef& op_;
  std::span<const Arg> args_;
  SmallVec<Arg, 8> seen_;  // the arguments with numbers in the place of values that hold them, if there are any
  std::span<const Type* const> value_types_;
  Assumptions& assumptions_;
  SmallVec<InferredResult, 4> results_;
  uint32_t unbacked_count_ = 0;
  bool keep_assumptions_ = false;
  std::optional<Assumptions> kept_;  // from before the first unbacked symbol
  // infer_paths.cpp
  std::vector<Decision> path_;       // those that are taken or to be taken on this way, in order
  size_t taken_ = 0;                 // so many of them have been
  bool impossible_ = false;          // what is known excludes this way
  size_t ways_ = 0;                  // run so far
  std::optional<Assumptions> fork_;  // from before the first decision
};

}  // namespace lenz
