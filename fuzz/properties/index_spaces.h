// Index expressions without a program around them: axes of small extents, conditions on them, and indices as nests have
// them, of which everything that is proved is held to every point, one by one. Thread-safety: as property.h.
#pragma once

#include <string>

#include "compiler/base/chooser.h"
#include "fuzz/property.h"

namespace lenz::fuzz {

struct WrongIndex {
  std::string step, text;  // empty: nothing is
};
// How often there was something to hold to the points.
struct IndexCounts {
  size_t inside = 0, linear = 0, merged = 0, injective = 0, counted = 0, covered = 0, apart = 0;
};
WrongIndex wrong_index(Chooser& choose, IndexCounts& counts);

Property index_spaces();

}  // namespace lenz::fuzz
