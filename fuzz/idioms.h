// What rewrite rules look for, as a beginning of graphs: a rule's nodes, with operands and numbers of any kind. What
// the rule asks beside them holds by design or by chance, so that rules apply where they may, and are led on where they
// may not. Rules are read as the passes have them: one that is new is met the same day. Thread-safety: as the graph's.
#pragma once

#include <functional>

#include "fuzz/graph_calls.h"

namespace lenz::fuzz {

using NodeMade = std::function<void(NodeId)>;

// A rule whose turn it is, for the n-th time.
struct IdiomTurn {
  size_t which = 0;
  uint64_t time = 0;
};
// Appends the nodes of one rule, or of its beginning where a call can't be made. False: there was nothing to begin
// with. Without a turn both are chosen.
bool grow_idiom(Growth& growth, Chooser& choose, const NodeMade& made, std::optional<IdiomTurn> turn = {});
size_t idiom_count();

// Attention as it is written out: product, steps on the scores, one of which is the `which`-th that passes know,
// softmax, product. What recognises it strings rules together, each of which alone leads to nothing.
void grow_attention(Growth& growth, Chooser& choose, const NodeMade& made, size_t which);
size_t attention_count();

}  // namespace lenz::fuzz
