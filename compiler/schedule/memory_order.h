// Images of channels in their last dim of memory, say: nests that read what does not lie in the order of its dims go
// along it as it lies, and so does what they store of it, until somebody needs it in another order. Thread-safety: as
// the program's.
#pragma once

#include "compiler/loops/program.h"

namespace lenz::schedule {

// Whether neighbours along the last dim are no neighbours in memory.
bool lies_turned(const loops::Buffer& buffer);

// Puts axes in the order in which most of what a nest reads and writes lies in memory, where their own order would go
// along it in strides. What is reduced keeps the order of its axes where that counts. Dims of buffers whose place is
// free follow the axes of the first nest that writes them.
void order_axes_as_memory(loops::Program& program);

}  // namespace lenz::schedule
