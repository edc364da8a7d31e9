// Operands for a generated call out of a growing graph: values that it has already, as often as a call takes them, else
// values made from those (cast, reshaped, cut, repeated), else new inputs in any layout.
// Thread-safety: one per thread.
#pragma once

#include <optional>
#include <unordered_map>

#include "compiler/ops/call_maker.h"
#include "compiler/ops/layouts.h"
#include "fuzz/habits.h"

namespace lenz::fuzz {

// What the generator remembers of a graph while it grows.
struct Growth {
  Graph* graph = nullptr;
  Habits habits;
  std::vector<ValueId> values;                       // tensors of constant sizes that calls may use, oldest first
  std::unordered_map<ValueId, TensorWish> made_for;  // new inputs that were made with values of a kind: indices
  size_t most_inputs = 10;
  ValueId token = kNone;     // behind all that the graph does beside its results
  bool wants_input = false;  // the next operand is no parameter, where habits.parameters makes constants of these

  void add(ValueId v);                        // if calls can use it
  int64_t most_elements() const;              // of an input or a result
  bool has_too_many(const Node& node) const;  // in what it gives; of a costly function as many cost more
};

bool shares_memory(const Graph& graph, ValueId a, ValueId b);  // also as two inputs that do
bool is_constant(const Graph& graph, ValueId v);               // or a view of one: nobody may write to it
bool is_made_of_others(const OpDef& op);  // by its definition: its steps may meet every pair of elements
bool has_gaps(const Type& t);             // between its elements, or before them
// It looks at memory, also between a tensor's elements: what lies there is nobody's business.
bool looks_into_gaps(const Graph& graph, const OpDef& op, std::span<const Arg> args);
bool counts_to_operand(const OpDef& op);  // eager takes a step for each unit of it
// Of this parameter, a number or a tensor of numbers.
bool counts_to_operand(const OpDef& op, std::string_view param);
// It counts as far as a number says, or as a series goes: no call for numbers that the graph computes.
bool is_costly(const OpDef& op);

// A row that comes for the number-th time.
struct Visit {
  uint64_t key = 0, number = 0;
};

// What a row chooses of few alternatives comes in turn: each once before any comes again, in orders of their own. A
// choice is known by its place among those that the row makes; numbers and sizes are drawn.
class StratifiedChooser final : public Chooser {
 public:
  StratifiedChooser(Chooser& inner, const Visit& visit) : inner_(inner), visit_(visit) {}
  uint64_t below(uint64_t n) override;

 private:
  Chooser& inner_;
  Visit visit_;
  uint64_t place_ = 0;
};

class GraphCalls final : public CallMaker {
 public:
  // With a visit, what the row's own generator chooses is stratified; where operands come from is not.
  GraphCalls(Growth& growth, Chooser& choose, const OpDef& op, std::optional<Visit> visit = {});

  Chooser& choose() override { return stratified_ ? *stratified_ : chooser_; }
  bool a_flag(std::string_view name) override;
  ValueId tensor(const TensorWish& wish) override;
  int64_t a_size(int64_t low = 0) override;
  Sizes a_shape(int min_rank = 0, int max_rank = 5, int64_t min_size = 0) override;
  Dtype a_dtype(DtypeSet set) override;

 private:
  struct Handed {
    ValueId value;
    bool written;
  };
  int64_t usual_size(int64_t low);
  bool fits(ValueId v, const TensorWish& wish, DtypeSet dtypes) const;
  bool is_input(ValueId v) const { return graph_.value(v).producer == kNone; }
  bool keeps_apart(ValueId v, bool written) const;
  int64_t most_of_shape() const;
  int64_t at_an_edge(int64_t low);
  Sizes a_fresh_shape(int min_rank, int max_rank, int64_t min_size);
  Sizes a_large_shape(int min_rank, int max_rank, int64_t min_size);
  ValueId recent(std::span<const ValueId> from);
  ValueId fresh(const TensorWish& wish, DtypeSet dtypes);
  ValueId far_and_back(ValueId v, const TensorWish& wish);
  ValueId adapted(const TensorWish& wish, DtypeSet dtypes);  // kNone: there is nothing to make it from
  int64_t elements_within(const Sizes& sizes) const;
  ValueId of_no_elements(Dtype dtype);  // of the graph's own: callers' tensors keep their sizes
  // The newest input becomes a constant with the elements that it would have, or some special ones among them.
  ValueId as_constant(ValueId input, bool special);
  void make_special(std::span<std::byte> elements, Dtype dtype);  // some of them
  ValueId hand_out(ValueId v, const TensorWish& wish);

  Growth& growth_;
  const std::optional<Visit> visit_;
  std::optional<StratifiedChooser> stratified_;
  const bool costly_;
  std::vector<Handed> handed_;
  int64_t edges_drawn_ = 1;  // their product
};

}  // namespace lenz::fuzz
