// Result types of pooling and interpolation: [batch,] channels, then spatial dims.
// Thread-safety: pure, given one Infer.
#pragma once

#include "compiler/graph/infer.h"

namespace lenz::rule {

void max_pool(Infer& in);  // 1 to 3 spatial dims, by the op's kernel_size
void max_pool_with_indices(Infer& in);
void avg_pool(Infer& in);
void adaptive_avg_pool(Infer& in);
void adaptive_max_pool(Infer& in);
void pool_backward(Infer& in);
void max_unpool(Infer& in);  // a gradient of the input's shape and format

void upsample(Infer& in);      // output_size is given
void upsample_vec(Infer& in);  // output_size or scale_factors
void grid_sampler(Infer& in);
void affine_grid(Infer& in);

}  // namespace lenz::rule
