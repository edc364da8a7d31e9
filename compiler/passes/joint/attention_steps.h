// The steps of attention written out, as they stand in a graph: from the product of weights and values back to that of
// queries and keys.
// Thread-safety: as the graph's.
#pragma once

#include <optional>
#include <vector>

#include "compiler/graph/alias.h"
#include "compiler/passes/joint/attention_patterns.h"

namespace lenz {

enum class AttentionRole : uint8_t { cast, reshape, turn, scale, factor, divisor, bias, seen, hidden };

struct AttentionStep {
  AttentionRole role;
  ValueId operand, result;
  ValueId mask = kNone, other = kNone;  // other: what is added, or stands in place of a hidden score, or scales
  double number = 0;    // scale, weight of what is added, or in place of a hidden score where `other` is none
  bool turned = false;  // queries count the last dim here, keys the one before
};

struct AttentionSteps {
  ValueId left = kNone, right = kNone, scores = kNone;  // the first product
  double scale = 1;                                     // of the product itself
  bool scores_turned = false;                           // left and right are keys and queries then
  ValueId weights = kNone;                              // what the softmax gives, of the dtype that it is taken in
  bool late = false;                                    // they are divided by their sum when the product is done
  ValueId value = kNone;
  bool turned = false;                    // the second product is of values and weights, both transposed
  std::vector<AttentionStep> on_scores;   // in the order in which they are done
  std::vector<AttentionStep> on_weights;  // casts are left out
  std::vector<NodeId> nodes;              // all of them; nobody else uses what they make, but for the last

  NodeId root() const { return nodes[0]; }

  // Those that end at this product; nothing if it is none, if another node or the caller sees something in between, or
  // if memory involved is written to.
  static std::optional<AttentionSteps> find(const Graph& graph, AliasClasses& aliases, NodeId product);
};

}  // namespace lenz
