// What graphs seldom reach of the runtime and of its interpreter, drawn by itself: lines that are sorted, threads,
// kernels cut for them.
// Thread-safety: pure functions.
#pragma once

#include <string>

#include "compiler/base/chooser.h"
#include "fuzz/property.h"

namespace lenz::fuzz {

// What is wrong with lines of drawn dtype, length, strides and order, sorted by the runtime or by the interpreter: held
// to std::stable_sort. Empty: nothing.
std::string wrongly_sorted(Chooser& choose);
// What is wrong with a job of a pool: each of its chunks runs once, by a worker that rounds as the caller does, and who
// is not the caller works too.
std::string wrongly_dealt(Chooser& choose);
// What is wrong with kernels of drawn extents, cut for threads by a drawn grain, some as one job: each point is
// computed once.
std::string wrongly_cut(Chooser& choose);

// What is wrong about what is said of this machine: which targets it runs, how many threads, what eager has here.
std::string wrongly_seen_machine();
// What is wrong with objects that are kept, some of them again, until there are too many.
std::string wrongly_kept(Chooser& choose);

Property runtime_parts();

}  // namespace lenz::fuzz
