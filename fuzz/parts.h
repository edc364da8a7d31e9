// What the graph has, taken apart and joined again: what passes that take lists of parts look for.
// Thread-safety: as the graph's.
#pragma once

#include "fuzz/idioms.h"

namespace lenz::fuzz {

// Slices of what the graph has, joined again in some order, and a part of that: what lists of parts are taken for.
void grow_parts(Growth& growth, Chooser& choose, const NodeMade& made);

}  // namespace lenz::fuzz
