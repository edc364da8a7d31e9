// Values that are computed again where they are read, rather than stored: what only moves elements about (views,
// broadcasts, conversions, constants), and what one nest reads, each element once, in another order than it was
// written, or for a reduction that is split (split.h), or makes one number of all. Other chains of nests over the same
// points are left to fusion, which shares what they compute.
// Thread-safety: as the program's.
#pragma once

#include <vector>

#include "compiler/loops/program.h"
#include "compiler/schedule/target.h"

namespace lenz::schedule {

// In the order in which they are written.
std::vector<loops::BufferId> choose_recomputed(const loops::Program& program, const Target& target);
// Puts their computation into the nests that read them; their own nests are gone, the buffers are without use.
void recompute(loops::Program& program, const std::vector<loops::BufferId>& chosen);

}  // namespace lenz::schedule
