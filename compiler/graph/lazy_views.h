// Views that are lazily conjugated or negated: the storage holds the conjugates, or negatives, of what the view shows,
// and eager remembers it with a bit. No type says so; the chain of views does. Thread-safety: as the graph's.
#pragma once

#include "compiler/graph/graph.h"

namespace lenz {

struct Laziness {
  bool conjugated = false, negated = false;
  bool any() const { return conjugated || negated; }
  friend bool operator==(const Laziness&, const Laziness&) = default;
};
Laziness laziness(const Graph& graph, ValueId v);

}  // namespace lenz
