// The state of one graph's lowering, shared by the files of this room. Internal to compiler/lower.
// Thread-safety: one per lowering.
#pragma once

#include <map>
#include <string>

#include "compiler/lower/lower.h"
#include "compiler/lower/nest_builder.h"
#include "compiler/lower/notation.h"

namespace lenz::lower {

class Lowering {
 public:
  // A sub-graph's symbols are its own: what they stand for follows from what it is called with.
  using Bound = std::map<const SymNode*, Dim>;

  Lowering(const Graph& graph, loops::Program& program, const LowerOptions& options);

  // The whole graph: inputs, nodes, outputs.
  void run();

  loops::Program& program;
  SymbolSet taken;      // the symbols that the graph speaks of
  loops::Block* block;  // where nodes go now

  // --- values of the graph at hand, a clone of the caller's: questions to type rules may record guards in it
  Graph& graph() { return *graph_; }
  const Type& type(ValueId v) const { return graph_->type(v); }
  loops::BufferId buffer(ValueId v) const;
  // What v is a view of, through views of elements as wide; v itself if it is none.
  ValueId viewed_memory(ValueId v) const;
  // The same through lazy views too: what those show lies nowhere, and between their elements lies what lies there in
  // memory.
  ValueId viewed_through_lazy(ValueId v) const;

  // --- memory
  loops::BufferId add_buffer(NameId name, Dtype dtype, std::span<const Dim> sizes, Device device = {});
  loops::BufferId add_buffer(std::string_view name, Dtype dtype, std::span<const Dim> sizes, Device device = {}) {
    return add_buffer(program.context->intern(name), dtype, sizes, device);
  }
  // The buffer's storage through other eyes; the buffer becomes placed.
  loops::BufferId view(loops::BufferId of, TensorType type);  // a copy: buffers move as one is added
  NestBuilder nest(std::string_view name, uint32_t origin) { return {program, taken, name, origin}; }
  // A stream for a draw of so many elements: of the ambient seed, or the op's own.
  uint32_t stream(std::optional<uint64_t> seed, Dim elements, bool wide);

  void copy(loops::BufferId from, loops::BufferId to, std::string_view name);

  // Whether it is more than a number. Of a size that is open and may be either: that it is, which takes less time to be
  // wrong about.
  bool more_than(Dim size, int64_t most) const;
  bool multiplies_a_vector(const Node& node) const;

 private:
  void declare_symbols(const Graph& graph);
  void lower_inputs();
  loops::Output output_of(const Arg& arg);
  void say_what_is_lazy(ValueId v, loops::Output& o) const;
  NameId buffer_name(ValueId v) const;
  loops::BufferId result_buffer(const Node& node, ValueId v);
  loops::BufferId tensor_buffer(const Node& node, ValueId v, const Type& type);
  void lower_computed(const Node& node);

  // structural.cpp: Lenz's own ops
  struct Operand {  // of a sub-graph: a buffer, a size, or a token, which is nothing at all
    loops::BufferId buffer = kNone;
    Dim number = 0;
    bool token = false;
    std::optional<DimVec> strides{};  // what symbols of strides are told, where the buffer is laid out otherwise
  };
  std::vector<Operand> operands_of(const Arg& list) const;
  SymbolSet name_own_symbols(Graph& sub, Bound& bound);
  void assume_of(const Graph& sub, const SymbolSet& own, const std::function<Dim(Dim)>& bound);
  // Lowers a sub-graph into `into`; the buffers of what it returns, kNone for tokens.
  std::vector<loops::BufferId> call(const Graph& callee, std::span<const Operand> operands, loops::Block& into);
  loops::BufferId truth(loops::BufferId of);
  std::vector<Operand> fresh_copies(const Node& loop, std::span<const Operand> from);
  void hand_on(std::vector<loops::BufferId> made, std::span<const Operand> carried);
  loops::BufferId shown_buffer(const Node& node, const Arg& shown);  // what a print shows of an operand
  void lower_structural(const Node& node);
  void lower_constant(const Node& node);
  void lower_getitem(const Node& node);
  // Control flow whose sub-graphs draw of the ambient seed: how far that is behind it depends on the way taken, so a
  // buffer counts the offsets. kNone: it draws nothing.
  loops::BufferId count_draws(const Node& node);
  void take_draws(loops::BufferId counter, loops::Block& into);  // goes on from what is counted
  void note_draws(loops::BufferId counter, loops::Block& into);  // counts what was drawn
  void lower_cond(const Node& node);
  void lower_while(const Node& node);
  void lower_scan(const Node& node);
  void lower_assert(const Node& node);
  void lower_print(const Node& node);
  void lower_resized_to(const Node& node);
  void lower_extern(const Node& node, std::span<const loops::BufferId> results);
  bool runs_outside(const Node& node) const;
  bool is_small_product(const Node& node, const OpDef& row) const;
  bool is_thin_convolution(const Node& node, const OpDef& row) const;
  size_t products_by(ValueId factor) const;
  bool is_extern(const Node& node) const;
  bool lies_by_itself(ValueId v) const;
  bool is_apart(ValueId v) const;
  loops::BufferId operand_outside(const Node& node, ValueId v);
  bool resizes_elements(const Node& node) const;
  std::vector<bool> only_shown() const;  // by node
  void check_divisors(const Node& node);
  loops::Ssa has_something(NestBuilder& nest, const Node& node, const NumberFit::Something& what);
  void check_numbers(const Node& node);
  void lower_node(const Node& node);

  LowerOptions options_;
  std::unique_ptr<Graph> whole_;
  Graph* graph_;
  std::vector<loops::BufferId> buffers_;                   // by value of the graph at hand
  std::map<ValueId, std::vector<loops::BufferId>> lists_;  // of its values that are lists of tensors
  std::vector<loops::Output> changed_;                     // what inputs are from now on
  Dim ambient_offset_ = 0;
  std::vector<uint32_t> names_;  // by NameId, how many buffers took it
  uint32_t steps_ = 0;           // loops over steps so far
  uint32_t counts_ = 0;          // symbols for what has been drawn so far
};

// A text says that it has no loops for these operands, before it has made any.
struct NeedsExtern {};

// Lowers a node by its row's scalar primitive (pointwise.cpp) or its text (evaluate.cpp).
void lower_pointwise(Lowering& lowering, const Node& node, loops::BufferId result);
void lower_by_text(Lowering& lowering, const Node& node, std::span<const loops::BufferId> results);

}  // namespace lenz::lower
