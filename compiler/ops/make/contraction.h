// Generators of calls of matrix products, convolutions and attention.
#pragma once

#include "compiler/ops/call_maker.h"

namespace lenz::make {

void mm(CallMaker& m);   // two matrices, and an addend if there is one
void bmm(CallMaker& m);  // batches of them
void mv(CallMaker& m);
void dot(CallMaker& m);
void vecdot(CallMaker& m);  // of any ranks
void outer(CallMaker& m);
void matmul(CallMaker& m);  // any ranks
void linear(CallMaker& m);
void inner(CallMaker& m);
void tensordot(CallMaker& m);
void bilinear(CallMaker& m);
void cross(CallMaker& m);
void cdist(CallMaker& m);
void pdist(CallMaker& m);
void convolution(CallMaker& m);  // with all its arguments
void convolution_backward(CallMaker& m);
void conv(CallMaker& m);  // conv1d and its kin: unbatched inputs too
void attention(CallMaker& m);
void einsum(CallMaker& m);  // an equation and tensors that fit it

}  // namespace lenz::make
