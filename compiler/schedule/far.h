// Which results go past the caches: nobody reads them before so much else has moved that caches would have lost them. A
// store there need not fetch its line first, and drives nothing out that somebody will read.
// Thread-safety: as the program's.
#pragma once

#include "compiler/loops/program.h"
#include "compiler/schedule/target.h"

namespace lenz::schedule {

// Of a realised program: says of each buffer that a kernel of the main block fills and does not read when it is far
// (Buffer::far). Between a kernel and one that reads it, of sizes that are open the kernel's own bytes alone count.
void mark_far(loops::Program& program, const Target& target);

}  // namespace lenz::schedule
