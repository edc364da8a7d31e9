// Generators of calls of softmaxes, normalisations and losses.
#pragma once

#include "compiler/ops/call_maker.h"

namespace lenz::make {

void softmax(CallMaker& m);
void softmax_dtype(CallMaker& m);
void softmax_backward(CallMaker& m);
void layer_norm(CallMaker& m);
void group_norm(CallMaker& m);
void native_group_norm(CallMaker& m);
void batch_norm(CallMaker& m);
void instance_norm(CallMaker& m);
void rms_norm(CallMaker& m);
void layer_norm_backward(CallMaker& m);
void group_norm_backward(CallMaker& m);
void batch_norm_backward(CallMaker& m);

}  // namespace lenz::make
