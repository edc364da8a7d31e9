// Sizes so short that code for them as constants is much better than code for any: loops over them are written out,
// vectors lie across them, rows of them fit registers. Most are what they are by the model's nature, three channels or
// heads of 64, whatever else was left open.
// Thread-safety: as the graph's.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "compiler/graph/graph.h"

namespace lenz {

// Up to here a size is short: eight vectors of 16 numbers.
inline constexpr int64_t kShortSize = 128;

// What whoever chooses code for sizes does with those that are short.
enum class ShortSizes : uint8_t {
  closed,  // they are constants until they change
  open,
};

using ClosedSizes = std::vector<std::pair<const SymNode*, int64_t>>;

// The symbols that are by themselves a size of an input tensor, of those that are short where sizes are these. Not
// those that a number among the inputs gives as well: it is told from call to call.
ClosedSizes short_sizes(const Graph& graph, const SymValues& sizes);

// The graph with these numbers for these symbols, of which nothing in it speaks then. Null if that can't be: a rule or
// a fact refuses it, or a type is known by what the text says alone.
std::unique_ptr<Graph> closed(const Graph& graph, const ClosedSizes& sizes);

}  // namespace lenz
