// Generators of calls of pooling and interpolation.
#pragma once

#include "compiler/ops/call_maker.h"

namespace lenz::make {

void pool(CallMaker& m);
void adaptive_pool(CallMaker& m);
void max_pool_backward(CallMaker& m);
void max_unpool(CallMaker& m);
void avg_pool_backward(CallMaker& m);
void adaptive_pool_backward(CallMaker& m);
void upsample(CallMaker& m);
void upsample_vec(CallMaker& m);
// Without u8: eager's antialiasing kernels fail their own assertions on some images of bytes.
void grid_sampler(CallMaker& m);
void affine_grid(CallMaker& m);

}  // namespace lenz::make
