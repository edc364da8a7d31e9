// The verifier's parts: declarations and control flow (verify_program.cpp), dtypes (verify_types.cpp), a nest's scopes
// and accesses (verify_nest.cpp), what is written when (verify_order.cpp). Internal to the room.
// Thread-safety: one verifier per thread.
#pragma once

#include <map>
#include <span>
#include <unordered_map>
#include <unordered_set>

#include "compiler/loops/index_algebra.h"
#include "compiler/loops/verify.h"

namespace lenz::loops {

// How much of a buffer has been written.
struct Written {
  enum Level : uint8_t { none, partly, whole } level = none;
  std::vector<Piece> pieces;  // where partly: what is known of it
};

class ProgramVerifier {
 public:
  explicit ProgramVerifier(const Program& program);
  ProgramVerdict run();
  bool inside(const Nest& nest, std::span<const Axis> around);

 private:
  // What is known at a place in the program.
  struct Scope {
    Facts facts;
    SharedTable<const SymNode*> bound;  // by symbol id
  };

  void report(int rule, std::string message, Ssa instr = kNone, size_t store = SIZE_MAX);
  // Of what nothing proves.
  void missing(int rule, bool nonlinear, std::string message, Ssa instr, size_t store);
  void report_buffer(int rule, BufferId buffer, std::string message);
  void unproved(int rule, std::string message, Ssa instr = kNone, size_t store = SIZE_MAX);
  void add(std::vector<ProgramFinding>& list, int rule, ProgramSpot spot, std::string message, bool nonlinear = false);
  std::string name(BufferId id) { return text_.buffer(id); }
  const Buffer& buffer(BufferId id) const { return program_.buffers[id]; }
  BufferId root(BufferId id) const;  // whose storage it is
  bool share(BufferId a, BufferId b) const;

  // verify_program.cpp. What stands behind structure() relies on it.
  bool structure();
  bool changed_inputs();
  bool block_structure(const Block& block);
  bool node_structure(const Node& node);
  bool nest_structure(const Nest& nest);
  bool known(BufferId id, bool optional = false);
  bool known_outputs(const std::vector<Output>& outputs);
  void declarations();
  void declaration(BufferId id);
  void constant(BufferId id);
  void inside_storage(int rule, const TensorType& view, BufferId of, ProgramSpot spot);
  void block(const Block& block, Scope scope);
  void node(const Node& node, Scope& scope);
  void visit(const Nest& n, Scope& scope);
  void visit(const Sort& n, Scope& scope);
  void visit(const Extern& n, Scope& scope);
  void visit(const Bind& n, Scope& scope);
  void visit(const Check& n, Scope& scope);
  void visit(const Print& n, Scope& scope);
  void visit(const If& n, Scope& scope);
  void visit(const While& n, Scope& scope);
  void visit(const Repeat& n, Scope& scope);
  void visit(const Kernel& n, Scope& scope);
  // `once`: in the whole program; else like the axes of a nest.
  bool declare_counter(Dim symbol, Dim extent, Scope& inner, bool once);  // whether it ever counts
  void outputs(const std::vector<Output>& outputs, const Scope& scope);
  void output(const Output& output, const Scope& scope);
  void bind(const SymNode* symbol, Scope& scope);
  void use(Dim dim, const Scope& scope);
  void use_type(BufferId id, const Scope& scope);
  void scalar_of(BufferId id, bool truth, std::string_view what);

  // verify_types.cpp
  void types(const Nest& nest);
  void type_of(const Nest& nest, Ssa at);
  void scalar_types(const Nest& nest, Ssa at);
  void combine_types(const Nest& nest, Ssa at);
  void sort_types(const Sort& sort);

  // verify_nest.cpp
  struct NestState {
    const Nest& nest;
    Scope& scope;
    std::vector<bool> late, inner;
    std::unordered_set<const SymNode*> symbols;        // axes and positions so far
    std::unordered_set<const SymNode*> inner_symbols;  // of one point of the axes that are reduced or scanned
    std::unordered_set<const SymNode*> late_symbols;   // of the epilogue
    std::map<Ssa, std::optional<IndexSpace>> spaces;   // by mask
  };
  void axes(const Nest& nest, const Scope& scope);
  void levels(NestState& state);
  static bool mentions(const std::unordered_set<const SymNode*>& symbols, Dim dim);
  void scoped(const NestState& state, Dim dim, Ssa instr, size_t store);
  std::vector<Ssa> conjuncts(const Nest& nest, Ssa mask) const;
  const IndexSpace& space(NestState& state, Ssa mask);
  // Over the axes of the kernel too, or at one point of it.
  IndexSpace made_space(NestState& state, Ssa mask, bool epilogue, bool of_kernel = true) const;
  bool bounds(NestState& state, int rule, BufferId id, const DimVec& index, Ssa mask, Ssa instr, size_t store);
  void stores(NestState& state);
  Piece piece(NestState& state, const Store& store);
  void store_pairs(NestState& state, const std::vector<Piece>& pieces);

  // verify_order.cpp
  void read(BufferId id, Ssa instr = kNone, size_t store = SIZE_MAX);
  void may_write(BufferId id, size_t store = SIZE_MAX);
  void write_whole(BufferId id);
  void write_piece(BufferId id, Piece piece, const Facts& facts);
  void write_somewhere(BufferId id);
  static void join(std::vector<Written>& into, const std::vector<Written>& other, const std::vector<Written>& before);
  void stack(const std::vector<Written>& before, const Repeat& n, const Scope& scope);

  // verify_kernel.cpp
  struct Access {  // of a kernel's nest, to what is not local
    BufferId buffer;
    DimVec index;
    IndexSpace space;
    bool is_store, distinct;
    size_t node;
    const Node* at;
    size_t number;  // of the store
  };
  void note_load(NestState& state, Ssa instr);
  void note_store(const Store& store, size_t number, const Piece& piece);
  std::vector<DimVec> radices(BufferId id) const;
  bool same_point(const Kernel& n, const Access& a, const Access& b, const Scope& scope) const;
  bool told_by_dims(const Kernel& n, const Access& a, const Access& b, const Scope& scope, bool of_points) const;
  bool told_by_all(const Kernel& n, BufferId id, std::span<const Access> accesses, const Scope& scope) const;
  static bool told_by_tiles(const Kernel& n, const Access& a, const Access& b);
  void points_apart(const Kernel& n, std::span<const Access> accesses, const Scope& scope);

  const Program& program_;
  ProgramText text_;
  ProgramVerdict out_;
  size_t node_ = SIZE_MAX, next_node_ = 0;
  const Node* at_ = nullptr;
  const Kernel* kernel_ = nullptr;
  std::vector<Access>* accesses_ = nullptr;        // inside a kernel
  std::vector<Written> written_;                   // by buffer: its root's
  std::unordered_set<const SymNode*> own_;         // the program's symbols
  std::unordered_set<const SymNode*> bound_once_;  // by a node
  std::unordered_set<const SymNode*> reported_;
};

}  // namespace lenz::loops
