// Generators of calls of quantiles and of integrals of samples.
#pragma once

#include "compiler/ops/call_maker.h"

namespace lenz::make {

void quantile(CallMaker& m);   // q: a number, or a tensor of up to one dim
void trapezoid(CallMaker& m);  // samples, and where they were taken or how far apart

}  // namespace lenz::make
