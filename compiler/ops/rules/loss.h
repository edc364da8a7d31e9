// Result types of the losses that eager computes in one kernel.
// Thread-safety: pure, given one Infer.
#pragma once

#include "compiler/graph/infer.h"

namespace lenz::rule {

void pointwise_loss(Infer& in);  // mse, smooth L1: elementwise, then reduced as `reduction` says
void huber_loss(Infer& in);      // written into a tensor like the first operand
void binary_cross_entropy(Infer& in);
void pointwise_loss_backward(Infer& in);  // zeros_like(first) by way of the legacy format: contiguous
void nll_loss(Infer& in);                 // one or a batch of rows
void nll_loss2d(Infer& in);
void nll_loss_nd(Infer& in);  // one, a batch, an image or what has other dims
void nll_loss_backward(Infer& in);
void histc(Infer& in);
void bincount(Infer& in);
void multi_margin_loss(Infer& in);
void multilabel_margin_loss(Infer& in);  // with or without `is_target`
void multilabel_margin_loss_backward(Infer& in);

}  // namespace lenz::rule
