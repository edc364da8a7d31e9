// Structural equality of programs, across contexts too: the same nodes in the same order, over the same buffers,
// inputs, outputs, facts and guards (as sets). Buffers are numbered as a text declares them. Names of programs,
// buffers, nests, inputs and origins do not count; those of symbols do. Nor does a field count that its kind of
// instruction has no use for. Reals compare by bits. Thread-safety: pure functions.
#pragma once

#include <string>

#include "compiler/loops/program.h"

namespace lenz::loops {

// `why`, if not null, gets the first difference.
bool equal(const Program& a, const Program& b, std::string* why = nullptr);

}  // namespace lenz::loops
