// How a row makes legal calls: its generator draws every choice from a Chooser and asks a CallMaker for tensors.
//
// The maker decides where a tensor comes from: `FreshCalls` makes a new graph input for each; a graph generator may
// instead hand out a value that the graph already has. Sizes are constants here; who wants symbols replaces them later.
// Generators never reject: every sequence of choices gives a legal call. Their numbers are small, so that every dtype
// holds them (OpDef::fits); `break_call` draws those at the edges of dtypes and beyond.
// Thread-safety: one maker per thread.
#pragma once

#include <initializer_list>
#include <optional>
#include <string_view>
#include <vector>

#include "compiler/base/chooser.h"
#include "compiler/graph/graph.h"
#include "compiler/ops/layouts.h"

namespace lenz {

using Sizes = SmallVec<int64_t, 6>;

// What a generator asks of a tensor. Defaults: any rank 0-5, any of the row's dtypes, any layout, the row's domain.
struct TensorWish {
  std::optional<Dtype> dtype = {};    // exactly this one
  DtypeSet dtypes = {};               // else one of these; empty: the row's
  std::optional<Sizes> sizes = {};    // exactly these
  int min_rank = 0, max_rank = 5;     // else a rank in here
  int64_t min_size = 0;               // and sizes not below this
  std::optional<Domain> domain = {};  // values; else the row's
  std::optional<std::pair<int64_t, int64_t>> integers =
      {};                                   // integer values in [first, second]: indices, classes, counts
  bool permutation = false;                 // values are a permutation of 0..numel-1
  bool sorted = false;                      // ascending along the last dim
  bool plain = false;                       // contiguous, offset 0
  bool written = false;                     // the op writes to it: no two elements share memory
  std::optional<Sizes> strides = {};        // exactly these, at offset 0
  std::optional<MemoryFormat> format = {};  // dense in this format
};

class CallMaker {
 public:
  CallMaker(Graph& graph, Chooser& chooser, const OpDef& op);
  virtual ~CallMaker() = default;

  const OpDef& op() const { return op_; }
  virtual Chooser& choose() { return chooser_; }  // of what the row's generator draws itself
  Graph& graph() { return graph_; }
  Context& context() { return graph_.context(); }

  // --- tensors
  virtual ValueId tensor(const TensorWish& wish) = 0;
  // A dense tensor of these sizes in which two dims lie in memory the other way round.
  ValueId transposed(const Sizes& sizes, Dtype dtype, size_t a, size_t b);
  const Type& type(ValueId v) const { return graph_.type(v); }
  Sizes sizes(ValueId v) const;  // constants
  size_t rank(ValueId v) const { return type(v).rank(); }
  int64_t size(ValueId v, int64_t dim) const;  // negative dims count from the end

  // --- choices of sizes
  virtual int64_t a_size(int64_t low = 0);  // one size >= low: often small, sometimes 0 or 1
  virtual Sizes a_shape(int min_rank = 0, int max_rank = 5, int64_t min_size = 0);  // bounded number of elements
  // Shapes that broadcast together; the first has the result's rank at least as often as not.
  std::vector<Sizes> broadcast_shapes(size_t count, int max_rank = 5);
  Sizes shape_like_with_ones(const Sizes& full);  // a shape that broadcasts to `full`
  virtual Dtype a_dtype(DtypeSet set);
  virtual bool a_flag(std::string_view) { return chooser_.flip(); }  // of the parameter of this name
  int64_t a_dim(size_t rank);                                        // in [-max(rank,1), max(rank,1))
  SmallVec<int64_t, 6> some_dims(size_t rank, bool allow_empty);     // distinct dims, in any order, some negative
  Arg a_number(Dtype like);  // a Scalar that keeps a tensor of this dtype in its category
  Arg any_number();          // bool, int, real (seldom complex)
  double a_real(double low, double high);

  // --- arguments
  void set(std::string_view param, Arg arg);
  void set(std::string_view param, ValueId v) { set(param, Arg::of_value(v)); }
  void set_ints(std::string_view param, std::span<const int64_t> values) { set(param, context().ints(values)); }
  void set_tensors(std::string_view param, std::span<const ValueId> values) { set(param, context().values(values)); }
  bool has(std::string_view param) const { return op_.schema.find(param) >= 0; }
  bool is_set(std::string_view param) const;
  const Arg& get(std::string_view param) const;

  // Every parameter that is not set: its default, or a choice by kind where any value is legal (bool flags, optional
  // booleans), or none. Out= parameters get a tensor of the inferred type. Call once, last; then `args` is complete.
  std::span<const Arg> finish();

 protected:
  Graph& graph_;
  Chooser& chooser_;
  const OpDef& op_;
  std::vector<Arg> args_;
  std::vector<bool> set_;
};

// Makes each tensor a new graph input, with all the layouts that eager may be handed (layouts.h). If one is wanted the
// first tensor that can lies so, and of the others every other one.
class FreshCalls final : public CallMaker {
 public:
  FreshCalls(Graph& graph, Chooser& chooser, const OpDef& op, std::optional<LayoutClass> wanted = {})
      : CallMaker(graph, chooser, op), wanted_(wanted) {}
  ValueId tensor(const TensorWish& wish) override;
  // What keeps tensors from the layout that is wanted, one for each that it keeps.
  const std::vector<std::string_view>& lacking() const { return lacking_; }

 private:
  Strided layout_for(const Sizes& sizes, const TensorWish& wish);
  std::optional<LayoutClass> wanted_;
  bool taken_ = false;
  std::vector<std::string_view> lacking_;
};

// A generated call before its row's rule has run: the inputs it made, and the arguments of the node to be.
struct DrawnCall {
  const OpDef* op = nullptr;
  std::unique_ptr<Graph> graph;
  std::vector<Arg> args;
  std::vector<std::string_view> lacking = {};  // of a layout that is wanted: FreshCalls
};
// No graph if the row has no generator. Throws UserError only where out= tensors are asked of a rule that raises.
DrawnCall draw_call(const OpDef& op, const OpTable& table, Chooser& chooser, std::optional<LayoutClass> wanted = {});

// One generated call as a graph: inputs, one node, its results as outputs. Null if the row has no generator.
// In-place and out= variants of a row are made by its generator too.
std::unique_ptr<Graph> generate_call(const OpDef& op, const OpTable& table, Chooser& chooser);

}  // namespace lenz
