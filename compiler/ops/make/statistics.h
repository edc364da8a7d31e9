// Generators of calls of quantiles, of integrals of samples, of covariances.
#pragma once

#include "compiler/ops/call_maker.h"

namespace lenz::make {

void quantile(CallMaker& m);    // q: a number, or a tensor of up to one dim
void trapezoid(CallMaker& m);   // samples, and where they were taken or how far apart
void covariance(CallMaker& m);  // rows of observations, how often each was made, and what each weighs

}  // namespace lenz::make
