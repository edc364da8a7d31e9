// The graph IR: a topologically ordered list of nodes, each an op with arguments and typed results.
//
// Values and nodes are indices, stable under rewriting; an erased node's id is not used again. The order of nodes is a
// linked list, so that inserting before a node is O(1). Every value knows its users (a user that mentions it twice
// stands twice) and the value that owns its storage: views share their base's.
//
// Thread-safety: a graph belongs to one thread at a time; graphs of one Context too.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "compiler/graph/context.h"
#include "compiler/graph/infer.h"
#include "compiler/graph/op_def.h"

namespace lenz {

enum class Level : uint8_t { torch, aten, core };
std::string_view name(Level level);

// How an input's values are made when nobody hands them over. Deterministic in the seed.
struct Initialiser {
  enum Kind : uint8_t { none, uniform, normal, integers, zeros, ones, permutation } kind = none;
  double low = 0, high = 1;  // uniform: [low, high); normal: mean and deviation; integers: [low, high]
  uint64_t seed = 0;
  bool sorted = false;  // ascending along the last dim
  friend bool operator==(const Initialiser&, const Initialiser&) = default;
};

struct Value {
  NodeId producer = kNone;    // kNone: a graph input
  uint32_t index = 0;         // which result, or which input
  NameId name = kNone;        // kNone: unnamed; the printer numbers it
  SmallVec<NodeId, 2> users;  // kOutputs for the graph's outputs
};
inline constexpr NodeId kOutputs = 0xFFFFFFFEu;

struct Input {
  ValueId value = kNone;
  bool mutated = false;  // the caller expects mutations to show
  bool requires_grad = false;
  std::optional<NameId> alias;  // inputs with one alias class share storage
  Initialiser init;
};

struct Node {
  const OpDef* op = nullptr;
  const Arg* args = nullptr;  // one per parameter of the schema, defaults filled in
  uint16_t arg_count = 0;
  uint16_t result_count : 15 = 0;
  bool erased : 1 = false;
  ValueId first_result = kNone;
  uint32_t origin = 0;  // Context::origin: names of the nodes it came from
  NodeId next = kNone;

  std::span<const Arg> arguments() const { return {args, arg_count}; }
  ValueId result(size_t i = 0) const { return first_result + static_cast<ValueId>(i); }
};
// Passes walk all nodes many times: two share a cache line, and what few ask for (the node before) lies elsewhere.
static_assert(sizeof(Node) == 32);

class Graph {
 public:
  Graph(std::shared_ptr<Context> context, const OpTable& ops, std::string name);

  std::string name;
  Level level = Level::torch;
  Assumptions assumptions;                        // facts of its symbols, and guards
  std::vector<std::unique_ptr<Graph>> subgraphs;  // for control flow; in the same Context

  Context& context() const { return *context_; }
  const std::shared_ptr<Context>& shared_context() const { return context_; }
  const OpTable& ops() const { return *ops_; }

  // --- inputs and outputs
  ValueId add_input(std::string_view name, const Type* type);
  std::span<const Input> inputs() const { return inputs_; }
  Input& input(size_t i) { return inputs_[i]; }
  void remove_input(size_t i);                     // it must have no users
  void set_outputs(std::span<const Arg> outputs);  // values, literals or none
  std::span<const Arg> outputs() const { return outputs_; }

  // --- nodes, in order
  NodeId first() const { return first_; }
  NodeId last() const { return last_; }
  const Node& node(NodeId id) const { return nodes_[id]; }
  NodeId previous(NodeId id) const { return previous_[id]; }
  size_t node_count() const { return live_; }
  size_t node_capacity() const { return nodes_.size(); }  // ids are below this
  template <class F>
  void for_each_node(F&& visit) const {  // visit(NodeId); it may erase the node it is given, or insert before it
    for (NodeId at = first_; at != kNone;) {
      NodeId next = nodes_[at].next;
      visit(at);
      at = next;
    }
  }

  // Inserts before `before` (kNone: at the end). Results are inferred by the op's rule; `annotated` gives them instead
  // where the rule is missing, and the unbacked symbols of a data-dependent result where it is not. Throws UserError
  // when the rule refuses. `args` may leave out trailing defaults.
  NodeId insert(NodeId before, const OpDef& op, std::span<const Arg> args, uint32_t origin = 0,
                std::span<const Type* const> annotated = {});
  NodeId append(const OpDef& op, std::span<const Arg> args) { return insert(kNone, op, args); }
  // Nothing where the rule refuses, for who tries: exceptions take several times as long.
  std::optional<NodeId> try_append(const OpDef& op, std::span<const Arg> args);
  void erase(NodeId id);  // its results must have no users
  // Erases many at once, in time linear in their operands' users: their results may be used only among themselves.
  void erase_all(std::span<const NodeId> ids);
  void move_before(NodeId id, NodeId before);           // kNone: to the end
  void set_args(NodeId id, std::span<const Arg> args);  // same count; types must stay right (verified later)
  void set_origin(NodeId id, uint32_t origin) { nodes_[id].origin = origin; }

  // --- values
  size_t value_count() const { return values_.size(); }
  const Value& value(ValueId v) const { return values_[v]; }
  const Type& type(ValueId v) const { return *types_[v]; }
  std::span<const Type* const> types() const { return types_; }
  // The value that owns its storage: itself unless it is a view or an in-place result.
  ValueId storage(ValueId v) const { return storage_[v]; }
  void set_name(ValueId v, NameId name) { values_[v].name = name; }
  std::string spelled_name() const;         // "@h", as the text form spells it: for messages
  std::string value_name(ValueId v) const;  // "%h", or "%#12" for an unnamed one: for messages, not for the text form
  // In nodes and outputs. Provenance of from's node goes to to's node; views of `from` now own what `to` owns.
  void replace_uses(ValueId from, ValueId to);
  void set_type(ValueId v, const Type* type) { types_[v] = type; }  // for passes that refine; verified later

  // A deep copy that shares the context. Ids are renumbered densely in order.
  std::unique_ptr<Graph> clone() const;

  size_t memory_bytes() const;  // of this graph, its share of the context included

 private:
  NodeId insert_made(NodeId before, const OpDef& op, std::span<const Arg> full, uint32_t origin,
                     std::span<const InferredResult> results);
  friend struct GraphTestAccess;  // tests of the verifier break what no caller can
  void link(NodeId id, NodeId before);
  void unlink(NodeId id);
  void add_users(NodeId user, std::span<const Arg> args);
  void remove_users(NodeId user, std::span<const Arg> args);
  void move_storage(ValueId from, ValueId to);
  void patch_user(NodeId user, ValueId from, ValueId to);

  std::shared_ptr<Context> context_;
  const OpTable* ops_;
  std::vector<Input> inputs_;
  std::vector<Arg> outputs_;
  std::vector<Node> nodes_;
  std::vector<NodeId> previous_;  // one for each node
  std::vector<Value> values_;
  std::vector<const Type*> types_;  // one for each value
  std::vector<ValueId> storage_;    // one for each value
  NodeId first_ = kNone, last_ = kNone;
  size_t live_ = 0;
  // Where something was found last in a long list: what is sought next mostly lies there or behind it.
  struct Found {
    uint32_t list = kNone, place = 0;
  };
  Found last_operand_;  // of this node, in a list of operands
  Found last_user_;     // of this value
};

// The argument that a schema default stands for. Throws InternalError for a default that no Arg can hold.
Arg default_arg(Context& context, const Param& param);

// Whether an argument fits a parameter's type.
bool fits(const Arg& arg, const ParamType& type, std::span<const Type* const> value_types);

// A list as a text or a person writes it (an arg_list of literals and values, none for an absent tensor) as the list
// kind that the parameter takes; any other argument as it is. An integer for a float becomes a real. Empty if it can't.
std::optional<Arg> shaped_for(Context& context, const Arg& arg, const ParamType& type);

struct Keyword {
  std::string_view name;
  Arg arg;
};
using CallArgs = SmallVec<Arg, 8>;

// The full argument list of a call of `op` with these arguments: positional ones, then keywords, then defaults. False
// if it does not take them; `why` (if not null) then says why not.
bool match_call(const Graph& graph, const OpDef& op, std::span<const Arg> positional, std::span<const Keyword> keywords,
                CallArgs& full, std::string* why = nullptr);

// The ops that a call by this name may mean, in the order in which they are tried: "aten.add" all overloads,
// "aten.add.Tensor" that one, "aten.max.default" the one whose overload has no name. Empty: there is no such op.
std::vector<const OpDef*> candidates(const Context& context, const OpTable& ops, std::string_view name);

// The first candidate that takes these arguments. Throws UserError with the candidates when none does.
struct Resolved {
  const OpDef* op;
  CallArgs args;
};
Resolved resolve(Graph& graph, std::string_view op_name, std::span<const Arg> positional,
                 std::span<const Keyword> keywords);
Resolved resolve(Graph& graph, std::string_view op_name, std::span<const OpDef* const> candidates,
                 std::span<const Arg> positional, std::span<const Keyword> keywords);

}  // namespace lenz
