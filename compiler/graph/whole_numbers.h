// Numbers that half precision does not round.
//
// OpDef::fits says `other:whole` of an operand that takes part in f32 as it is where it is one value beside elements of
// half precision: a number, or a tensor of one element and another dtype; and `weight:computed` of a number that must
// fit into f32 besides. Any other operand is rounded to their dtype first, and 100000 is infinite then. Thread-safety:
// a pure function.
#pragma once

#include <cstddef>

namespace lenz {

struct OpDef;

bool takes_whole(const OpDef& op, size_t param);

}  // namespace lenz
