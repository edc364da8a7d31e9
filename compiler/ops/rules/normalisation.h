// Result types of softmaxes and normalisations.
// Thread-safety: pure, given one Infer.
#pragma once

#include "compiler/graph/infer.h"

namespace lenz::rule {

void softmax(Infer& in);  // _softmax, _log_softmax: floats, contiguous
void softmax_backward(Infer& in);
void native_layer_norm(Infer& in);
void native_group_norm(Infer& in);
void native_batch_norm(Infer& in);             // with and without running statistics
void native_batch_norm_functional(Infer& in);  // their new values are results too
void native_layer_norm_backward(Infer& in);
void native_group_norm_backward(Infer& in);
void native_batch_norm_backward(Infer& in);

}  // namespace lenz::rule
