// Generators of calls that many rows share. See call_maker.h.
#pragma once

#include "compiler/ops/call_maker.h"

namespace lenz::make {

void unary(CallMaker& m);         // one tensor, any layout
void binary(CallMaker& m);        // two operands that broadcast; the second may be a number or have another dtype
void binary_float(CallMaker& m);  // as binary; in place only into floats
void comparison(CallMaker& m);    // as binary; in place into any dtype

// The dtypes that a second operand may have, so that the result can be written into `first` in place.
DtypeSet castable_into(Dtype first, DtypeSet from);

}  // namespace lenz::make
