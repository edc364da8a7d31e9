// Rewrite rules as values: a small graph with holes, conditions beside it, and what it becomes.
//
//   # A scaled product is a product with a scale.            (the comment is the rule's reason)
//   rule fold_scale {
//     %q: floats[..., $s, $e]                                a type that a value must have
//     %t = aten.transpose.int(%k, -2, -1)                    nodes to find; what no node makes is a hole
//     %p = aten.matmul(%q, %t)
//     either { %r = aten.mul(%p, $f) }                       alternatives: one rule each
//     or     { %r = aten.div(%p, $g) let $f = 1 / $g }
//     where rank(%k) == 4, is_number($f), not contiguous(%k)
//     shared %t                                              may have users outside the match
//     replace %r { %n = aten.fancy(%q, %k, scale=$f) return %n }
//   }
//
// %x holds a value, $a an argument or a computed attribute, ?f an op; _ matches anything, a trailing ... in a call
// binds nothing and lets the remaining arguments be what they are (in the replacement: copies them). A hole that stands
// twice must match the same thing twice. An op named without its overload means any functional overload that takes
// these arguments. Left-out arguments must have their defaults. Numbers match numerically (1 matches 1.0; 0 does not
// match -0.0), dims modulo the rank. An op with Trait::commutative also matches with its first two operands exchanged.
// The whole language: PATTERNS.md.
//
// Thread-safety: constant once parsed.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "compiler/graph/graph.h"

namespace lenz {

using Slot = uint32_t;
inline constexpr Slot kNoSlot = 0xFFFFFFFFu;

// An expression over what a match has bound: conditions, computed attributes, arguments of the replacement.
struct Expr {
  enum Kind : uint8_t { literal, word, value, attr, op, call, binary, list, rest } kind = literal;
  Arg number;                  // literal
  std::string text;            // word, name of a call, operator
  Slot slot = kNoSlot;         // value, attr, op
  std::vector<Expr> operands;  // call, binary, list
};

struct ArgPattern {
  enum Kind : uint8_t { any, value, attr, literal, list } kind = any;
  Slot slot = kNoSlot;            // value, attr
  Arg number;                     // literal
  std::vector<ArgPattern> items;  // list
};

struct NodePattern {
  // An overload that the call may mean, with a pattern for each of its parameters.
  struct Choice {
    const OpDef* op;
    std::vector<ArgPattern> args;
  };
  std::vector<Choice> choices;         // of a named op
  Slot op = kNoSlot;                   // of a hole for an op
  std::vector<ArgPattern> positional;  // and its leading arguments
  bool rest = false;                   // the others may be anything,
  Slot rest_slot = kNoSlot;            // and are bound to this, as a list
  std::vector<Slot> results;           // kNoSlot: `_`
};

struct DimPattern {
  enum Kind : uint8_t { any, constant, attr, rest } kind = any;
  int64_t number = 0;
  Slot slot = kNoSlot;
};
struct TypePattern {
  Slot value = kNoSlot;
  DtypeSet dtypes;  // empty: any
  bool has_shape = false;
  std::vector<DimPattern> dims;  // at most one rest
};

struct NewNode {
  std::string op_name;  // empty: the op bound by `op`
  Slot op = kNoSlot;
  std::vector<Expr> positional;
  std::vector<std::pair<std::string, Expr>> keywords;
  std::vector<Slot> results;
};

// How to find the nodes one after another, starting from a root.
struct MatchStep {
  enum Kind : uint8_t { root, producer, user } kind = root;
  uint32_t node = 0;            // of Rule::nodes
  Slot value = kNoSlot;         // producer: it makes this; user: it uses this
  uint32_t conditions_end = 0;  // conditions below this index can be decided after this step
};

// Something to decide, or to compute, once its slots are bound.
struct Condition {
  enum Kind : uint8_t { test, let, type } kind = test;
  Expr expr;  // test, let
  Slot let_slot = kNoSlot;
  TypePattern type_of;  // type
};

struct Rule {
  std::string name, reason;
  std::vector<NodePattern> nodes;
  std::vector<Condition> conditions;  // in the order in which they can be decided
  std::vector<Slot> shared;
  std::vector<Slot> replaced;  // results of nodes, and
  std::vector<Slot> with;      // what each becomes
  std::vector<NewNode> fresh;
  std::vector<MatchStep> plan;
  uint32_t value_slots = 0, attr_slots = 0, op_slots = 0;
  Traits root_traits;                    // a root that is a hole must have these: for a quick no
  bool shrinks = false;                  // makes fewer nodes than it takes away, whatever is shared
  std::vector<std::string> value_names;  // by slot, for messages and for who asks a match,
  std::vector<std::string> attr_names;   // and so these
};

// A predicate or function beyond the built-in ones. Null result: no match. Values arrive as Arg values.
using PatternFunction = std::optional<Arg> (*)(const Graph& graph, std::span<const Arg> args);
struct NamedFunction {
  std::string_view name;
  PatternFunction function;
};

class RuleSet {
 public:
  // Throws UserError with line and column. `source` names the text in messages.
  static RuleSet parse(std::string_view text, const OpTable& ops, std::string_view source = "rules",
                       std::span<const NamedFunction> functions = {});

  std::span<const Rule> rules() const { return rules_; }
  const Rule* find(std::string_view name) const;
  // Rules whose root this op may be, in order of declaration.
  std::span<const uint32_t> rooted_at(const OpDef& op) const;
  PatternFunction function(std::string_view name) const;

 private:
  std::vector<Rule> rules_;
  std::unordered_map<const OpDef*, std::vector<uint32_t>> by_root_;
  std::vector<NamedFunction> functions_;
  std::shared_ptr<Context> literals_;  // memory of literal strings and lists
};

// Whether a parameter names dims of a tensor, and the rank that it counts them by (as the row says).
bool is_dim_param(const Param& param);
std::optional<size_t> rank_for_dims(const Graph& graph, const OpDef& op, std::span<const Arg> args,
                                    ValueId first_result);

}  // namespace lenz
