// Which neighbouring kernels touch none of each other's memory: they run as one job, so that threads meet once behind
// all of them, rather than behind each. Thread-safety: as the tape's.
#pragma once

#include "compiler/runtime/memory_plan.h"
#include "compiler/runtime/tape.h"

namespace lenz::runtime {

// Says so in Step::together, of this tape and those inside it.
void find_together(Tape& tape, const loops::Program& program, const MemoryPlan& plan);

}  // namespace lenz::runtime
