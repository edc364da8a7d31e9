// Two runs of what should be one program, held against each other as a ladder, cheapest rung first: how they ended,
// what results look like from outside, who shares memory with whom, who wrote beside elements, and every element. The
// first rung that fails names the failure. Thread-safety: pure functions; values.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "oracle/execute.h"

namespace lenz::oracle {

enum class Rung : uint8_t {
  ending,    // finished, raised, out of memory
  metadata,  // count, kind, dtype, sizes, strides, offset
  aliasing,  // which inputs and outputs share a storage
  guard,     // bytes that belong to no element: bands around buffers, gaps between elements
  special,   // where NaN and infinities stand
  bitwise,   // every element; NaNs are one value, zeros are two
  bound,     // further from the reference than any right answer can be (bounds/reference.h)
  likeness,  // where bounds are open: far further from it than rounding noise and eager are (likeness.h)
};
std::string_view name(Rung rung);

struct Mismatch {
  Rung rung = Rung::ending;
  std::string what;               // "output 0", "input %x afterwards"
  std::string expected, got;      // of the first place that differs
  std::vector<int64_t> at;        // its coordinates
  uint64_t element = 0;           // its index in logical order
  std::optional<double> bound;    // how far from what was expected it might have been
  std::optional<double> ulps;     // between two finite numbers of one floating dtype
  uint64_t wrong = 0, total = 0;  // elements of this tensor

  std::string summary() const;  // one line
  nlohmann::json to_json() const;
};

// Nothing if nobody could tell the runs apart. Names of inputs are the graph's.
std::optional<Mismatch> compare_runs(const Graph& graph, const Execution& expected, const Execution& got);
// Whether it is nothing: for who does not ask where they differ.
bool same_runs(const Graph& graph, const Execution& expected, const Execution& got);

// What a value looks like from outside, as two runs' values are compared: kind, dtype, sizes, strides, offset. Where
// nothing is, it is nowhere: eager forgets the offset of an empty copy if its memory is empty too.
std::string outside(Seen seen);

// Of an element by its index in logical order.
std::vector<int64_t> coordinates(std::span<const int64_t> sizes, uint64_t element);

// The lower rungs alone, up to guards: everything but the elements. With `open_sizes`, of the inputs' symbols: outputs
// may have other sizes where the run alone knows them.
std::optional<Mismatch> compare_outside(const Graph& graph, const Execution& expected, const Execution& got,
                                        const Binding* open_sizes = nullptr);

// The elements of two tensors of one dtype and shape.
std::optional<Mismatch> compare_elements(Dtype dtype, std::span<const int64_t> sizes,
                                         std::span<const std::byte> expected, std::span<const std::byte> got);

}  // namespace lenz::oracle
