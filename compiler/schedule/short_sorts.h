// Sorts of which few places are read: the greatest ten of a row, its median.
// Thread-safety: as the program's.
#pragma once

#include "compiler/loops/program.h"

namespace lenz::schedule {

// Results of sorts that nests alone read (or an output that shows the first place), and only so many places of, become
// as short: what runs them need not put the others in order. Where a few places are read that are not the first ones,
// the results are what belongs there.
void shorten_sorts(loops::Program& program);

}  // namespace lenz::schedule
