// Results of a nest that nobody reads: where two come of one pass (the greatest of a window and where it is), many
// programs ask for one.
// Thread-safety: as the program's.
#pragma once

#include "compiler/loops/program.h"

namespace lenz::schedule {

// Takes out such stores, if one is left in the nest, and what only they need; what may raise stays. The greatest with
// its index becomes the greatest, if nobody asks for the index.
void drop_dead_results(loops::Program& program);

// What no store needs, as above.
void drop_dead_instructions(loops::Nest& nest);

}  // namespace lenz::schedule
