// A random graph, grown from the op table alone: a row that lands is fuzzed the same day. Every call is legal by
// construction; what a rule refuses all the same (overlapping writes, numbers that make no shape) is left out.
// Thread-safety: pure, given one chooser.
#pragma once

#include <memory>
#include <string>

#include "compiler/graph/graph.h"
#include "fuzz/habits.h"

namespace lenz::fuzz {

struct GrowthStatistics {
  uint64_t calls = 0, refused = 0;  // by the rule of the row whose generator made the call
  std::string sizes;                // of the last graph's symbols, for which its guards hold: "s0=4,s1=2"
};

// Its inputs carry initialisers, but for some integers: who reads those says which they may be.
std::unique_ptr<Graph> grow(Chooser& choose, const Pool& pool, const GrowOptions& options = {},
                            GrowthStatistics* statistics = nullptr);

}  // namespace lenz::fuzz
