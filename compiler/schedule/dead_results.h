// Results of a nest that nobody reads: where two come of one pass (the greatest of a window and where it is), many
// programs ask for one.
// Thread-safety: as the program's.
#pragma once

#include "compiler/loops/program.h"

namespace lenz::schedule {

// Takes out nests of which nobody reads anything, as where a shape alone is asked for, and of others such stores and
// what only they need; what may raise stays in these. The greatest with its index becomes the greatest, if nobody asks
// for the index.
void drop_dead_results(loops::Program& program);

// What no store needs, as above.
void drop_dead_instructions(loops::Nest& nest);

}  // namespace lenz::schedule
