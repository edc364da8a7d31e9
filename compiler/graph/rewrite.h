// Applies rules to a graph until none applies any more.
//
// A rewrite happens only if nobody can tell: the new value has the very type of the old one, no new aliasing arises
// between inputs, outputs and what is written to (nor is any lost), no read moves across a write, nothing with an
// effect of its own disappears, and no new guard is needed. What does not hold is a refusal, counted by reason.
//
// New nodes come from all nodes of the match: their origin is the union of the matched nodes' names. A value that takes
// the place of another keeps its name.
//
// Thread-safety: as the graph's.
#pragma once

#include <array>
#include <functional>
#include <string>

#include "compiler/graph/alias.h"
#include "compiler/graph/match.h"

namespace lenz {

enum class Refusal : uint8_t {
  none,
  type,       // the replacement's type differs, or what views and callers see beyond it
  aliasing,   // outputs or inputs would share memory that they don't share, or no longer
  written,    // memory involved is written to
  effects,    // a matched node does more than compute
  order,      // a user of the old value stands before the place of the new one
  inference,  // the replacement's own types don't work out, or would need a new guard
  denied,     // the caller did not allow it
};
inline constexpr size_t kRefusals = 8;
std::string_view name(Refusal refusal);

// Whether `to`, an existing value that stands before every user of `from`, may take its place.
Refusal may_replace(const Graph& graph, AliasClasses& aliases, ValueId from, ValueId to);
// Does it. `to` takes over the name if it has none and may carry one.
void replace_value(Graph& graph, AliasClasses& aliases, ValueId from, ValueId to);

// The names that a node stands for: its own results' and those it came from.
uint32_t provenance(const Graph& graph, NodeId node);

struct RewriteOptions {
  // Asked before each rewrite, when it is known to be legal. Empty: always yes.
  std::function<bool(const Rule& rule, const Match& match)> allow;
  size_t budget = 0;  // rewrites at most; 0: as many as 8 for each node and 1,000 more
};

struct RuleReport {
  size_t applied = 0;
  std::array<size_t, kRefusals> refused{};
};

struct RewriteReport {
  enum Stop : uint8_t { fixpoint, budget, cycle } stop = fixpoint;
  size_t applied = 0;
  std::vector<RuleReport> rules;  // as in the rule set
  std::string why;                // not a fixpoint: which rules went round in circles, and where
};

// Deterministic. Terminates: a rule set whose rules all shrink by themselves, others by the budget and by noticing that
// a term came back that was rewritten before.
RewriteReport rewrite(Graph& graph, const RuleSet& rules, const RewriteOptions& options = {});

// Whether a rule, which need not be one of the set, would rewrite what has this root, as things stand: it matches, and
// nothing refuses. The graph reads as before.
bool would_rewrite(Graph& graph, const RuleSet& rules, const Rule& rule, NodeId root);

}  // namespace lenz
