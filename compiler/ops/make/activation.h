// Generators of calls of activations and their gradients. See call_maker.h.
#pragma once

#include "compiler/ops/call_maker.h"

namespace lenz::make {

void activation(CallMaker& m);
void activation_of_any_sign(
    CallMaker& m);  // its numbers may be negative           // one tensor, and numbers that suit it
void activation_backward(CallMaker& m);  // two tensors that broadcast, and numbers
void mish_backward(CallMaker& m);
void same_shape_backward(CallMaker& m);  // the tensors have one shape and one dtype
void hardtanh(CallMaker& m);
void rrelu(CallMaker& m);
void rrelu_with_noise(CallMaker& m);
void glu(CallMaker& m);           // an even dim; also its gradients
void prelu(CallMaker& m);         // weights per channel
void prelu_kernel(CallMaker& m);  // weights that broadcast; also its gradient

}  // namespace lenz::make
