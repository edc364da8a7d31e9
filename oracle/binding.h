// What the symbols of a graph stand for in one run: given by the caller, read off inputs, or seen when a data-dependent
// result is there.
// Thread-safety: a value.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "compiler/graph/graph.h"
#include "oracle/value.h"

namespace lenz::oracle {

class Binding {
 public:
  // False: the symbol has another value already.
  bool set(const SymNode* symbol, int64_t value) { return values_.emplace(symbol, value).first->second == value; }
  std::optional<int64_t> value(const SymNode* symbol) const;
  SymValues lookup() const;

  // Reads a size: a symbol by itself that has no value gets this one; anything else must evaluate to it. False if it
  // does not.
  bool match(Dim claimed, int64_t seen);
  // The same for all that a type says: dtype, device, sizes, then strides and offset where they evaluate.
  bool match(const Type& claimed, const Seen& seen);
  // Dtype and sizes alone: what a sub-graph's inputs promise.
  bool match_sizes(const Type& claimed, const Seen& seen);

 private:
  std::unordered_map<const SymNode*, int64_t> values_;
};

// "s0=17,s1=3" over the graph's symbols. Throws UserError for a symbol that the graph has not, or no number.
Binding parse_binding(const std::string& text, const Graph& graph);

// A size that has no value, and why: it names symbols without one, or its numbers overflow.
struct NoValue : UserError {
  Dim size;
  NoValue(Dim of, const SymValues& values);
};

// Gives every symbol of the inputs that has no value yet one: with seed 0 the value that the graph's facts hint at,
// else one drawn from its range so that facts and guards hold, if that is found.
void complete(Binding& binding, const Graph& graph, uint64_t seed = 0);
// What sizes may be, tried out: 0, 1, primes, odd and even ones, as near as facts and guards allow; each another. Those
// that are `given` stay. Empty for a graph of constant sizes.
std::vector<Binding> various_sizes(const Binding& given, const Graph& graph);
// What sizes may be beyond that: each symbol 0, and 1, in turn, where that breaks a guard and no fact. Some may be no
// graph at all (specialised() says so).
std::vector<Binding> sizes_beside_guards(const Binding& given, const Graph& graph);
// UserError names the fact that does not hold.
void check_facts(const Binding& binding, const Graph& graph);
// The same for guards: for who doesn't ask specialised() for the graph that serves sizes which break one.
void check_guards(const Binding& binding, const Graph& graph);

std::string to_text(const Binding& binding, const Graph& graph);  // "s0=17,s1=3", of the inputs' symbols

}  // namespace lenz::oracle
