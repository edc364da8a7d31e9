// Sorts of which the first few places are read: the greatest ten of a row.
// Thread-safety: as the program's.
#pragma once

#include "compiler/loops/program.h"

namespace lenz::schedule {

// Results of sorts that nests alone read, and only so many places of, become as short: what runs them need not put the
// others in order.
void shorten_sorts(loops::Program& program);

}  // namespace lenz::schedule
