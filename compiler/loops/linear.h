// Which proofs may be missing. Whether places lie inside a buffer, or apart, is a question about integers. Where it is
// linear in the symbols it can be decided, so a proof that is not found is one to be added: a bug. Where symbols are
// multiplied with, or divided by, each other nothing decides all such questions, and whatever is added, there is one
// more that nothing proves: then less is done (`lower_proved` in compiler/lower, compiler/schedule/proved.h), and what
// checks the compiler counts how often.
//
// A dim is nonlinear if, simplified by what is known of its symbols, it has a product of two symbols or a power of one,
// or a quotient or remainder whose divisor has a symbol; axes are symbols too. A question is nonlinear if one of its
// dims is: the index, the size, the extents of the axes and positions that these have, and the conditions on them.
// Facts that tie the sizes do not count, so that they excuse nothing.
// Thread-safety: as the dim's pool.
#pragma once

#include "compiler/base/sym.h"

namespace lenz::loops {

bool is_nonlinear(Dim simplified);

}  // namespace lenz::loops
