// The verifier's parts: structure and effects (verify.cpp), arguments and types (verify_types.cpp), symbols
// (verify_symbols.cpp). Internal to the room.
// Thread-safety: one verifier per thread.
#pragma once

#include <unordered_map>
#include <unordered_set>

#include "compiler/graph/alias.h"
#include "compiler/graph/verify.h"

namespace lenz {

class Verifier {
 public:
  Verifier(const Graph& graph, Level level, std::vector<Violation>& out);
  void run();

 private:
  void report(int rule, NodeId node, std::string message);
  void report_input(int rule, size_t number, std::string message);
  bool full() const;
  std::string name(ValueId v) const { return graph_.value_name(v); }

  // verify.cpp. What stands behind structure() relies on it.
  bool structure();
  bool links();
  bool values();
  bool uses();
  void names();
  void order();
  void level();
  void epilogue();
  bool copies_back(const Node& node) const;
  void effects();

  // verify_types.cpp
  void arguments(NodeId id);
  void constant(NodeId id, const ConstantData& data);
  void input_flags(size_t number);
  void outputs();
  void divisors(NodeId id, std::span<const Arg> args);
  void inputs();
  void layout(NodeId id, ValueId v);
  void results(NodeId id);
  void declared_results(NodeId id);
  void writes(NodeId id);
  void write(NodeId id, ValueId v);
  void shared_operands(NodeId id, const Graph& sub, std::span<const ValueId> operands);
  void alias_classes();
  void guards();

  // verify_resizes.cpp
  void resizes();

  // verify_symbols.cpp
  void symbols();

  void bind(const Type& type);
  std::vector<const SymNode*> made_by(NodeId id) const;
  void bind_results(NodeId id);
  void makes(NodeId id, std::span<const Dim> unbacked);
  void fact_symbols();
  void use(NodeId id, Dim dim);
  void use(NodeId id, const Type& type);
  void use(NodeId id, const Arg& arg);

  const Graph& graph_;
  Level level_;
  std::vector<Violation>& out_;
  Assumptions assumptions_;  // a copy: re-inference must need nothing beyond it
  std::unordered_set<const SymNode*> bound_;
  std::unordered_map<const SymNode*, NodeId> makers_;  // kNone: an input
  std::unordered_set<const SymNode*> made_later_;      // unbacked, by a node that has not been reached
  std::unordered_set<const SymNode*> reported_;
  std::unordered_set<const Type*> seen_types_;  // all their symbols are bound
  std::optional<AliasClasses> aliases_;         // made when first asked
};

}  // namespace lenz
