// Whether what shares memory may: a plan of memory held to the loops themselves. Thread-safety: pure functions.
#pragma once

#include <string>

#include "compiler/runtime/memory_plan.h"

namespace lenz::fuzz {

// Empty: no two buffers in one slot are needed at one time, but for one that a kernel is the last to read and one that
// it writes over it; and there each element is read by the point that writes over it, or by none. Else what is wrong.
std::string overwritten(const loops::Program& program, const runtime::MemoryPlan& plan, const SymValues& sizes);

}  // namespace lenz::fuzz
