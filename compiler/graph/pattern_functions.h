// What conditions and computed attributes may ask: the built-in functions and the evaluation of expressions.
// Thread-safety: pure, given one graph.
#pragma once

#include "compiler/graph/pattern.h"

namespace lenz {

// "floats", "integers", "f16": a set of dtypes by name.
std::optional<DtypeSet> dtype_set(std::string_view name);

// What a match has bound so far.
struct Bindings {
  std::vector<ValueId> values;  // kNone: not yet
  std::vector<Arg> attrs;
  std::vector<bool> attr_bound;
  std::vector<const OpDef*> ops;
};

PatternFunction builtin_function(std::string_view name);  // null: there is none

// Null: an operand does not have what the expression asks of it (no match). A test gives a boolean.
std::optional<Arg> evaluate(const Graph& graph, const RuleSet& rules, const Expr& expr, const Bindings& bound);

// Numbers by value: 1 equals 1.0, 0.0 does not equal -0.0, NaN equals NaN; dims by proof; the rest by content.
bool same_argument(const Graph& graph, const Arg& a, const Arg& b);
std::optional<double> number_of(const Arg& a);  // of a bool, constant integer or real

}  // namespace lenz
