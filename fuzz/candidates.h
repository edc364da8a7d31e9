// What a failing case might be reduced to: each candidate is valid, and simpler by a measure that can't go on falling.
// Thread-safety: pure functions; as the graph's context.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "fuzz/case.h"

namespace lenz::fuzz {

// Smaller is simpler: nodes first, then inputs and outputs, sizes, dtypes, layouts, arguments, the setting.
struct Simplicity {
  std::vector<uint64_t> parts;
  friend auto operator<=>(const Simplicity&, const Simplicity&) = default;
};
Simplicity simplicity(const Graph& graph, const Setting& setting);

// The ways of simplifying, boldest first.
struct Simplification {
  std::string_view name;
  std::vector<Case> (*candidates)(const Case& from);
};
std::span<const Simplification> simplifications();

Case copy_of(const Case& c);

}  // namespace lenz::fuzz
