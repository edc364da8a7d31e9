// Generators of calls of the rows over lists (`_foreach_*`). See call_maker.h.
#pragma once

#include "compiler/ops/call_maker.h"

namespace lenz::make {

void each(CallMaker& m);       // one to four elements, from calls of the element's row
void each_norm(CallMaker& m);  // _foreach_norm

}  // namespace lenz::make
