// Result types of matrix products, convolutions and attention.
// Thread-safety: pure, given one Infer.
#pragma once

#include "compiler/graph/infer.h"

namespace lenz::rule {

void one_dtype(Infer& in, std::initializer_list<const Type*> types);  // no bools, which don't multiply

void mm(Infer& in);
void bmm(Infer& in);
void addmm(Infer& in);
void baddbmm(Infer& in);
void addbmm(Infer& in);
void mv(Infer& in);
void addmv(Infer& in);
void dot(Infer& in);
void outer(Infer& in);
void addr(Infer& in);
void matmul(Infer& in);
void linear(Infer& in);
void inner(Infer& in);
void tensordot(Infer& in);
void bilinear(Infer& in);
void cross(Infer& in);
void cdist(Infer& in);
void pdist(Infer& in);

void convolution(Infer& in);
void convolution_by_name(Infer& in);  // of as many spatial dims as the name says; its definition's
void convolution_backward(Infer& in);

void attention(Infer& in);        // the fused kernel where eager takes it, the product of matrices elsewhere
void flash_attention(Infer& in);  // the fused kernel for CPUs
void math_attention(Infer& in);
void written_attention(Infer& in);

}  // namespace lenz::rule
