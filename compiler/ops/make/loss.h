// Generators of calls of losses and histograms.
#pragma once

#include "compiler/ops/call_maker.h"

namespace lenz::make {

void loss(CallMaker& m);  // self and target of one shape, reduction, margins
void broadcast_loss(CallMaker& m);
void promoting_loss(CallMaker& m);  // its operands may differ in dtype  // target broadcasts
void cross_entropy(CallMaker& m);   // binary: probabilities and weights
void logits(CallMaker& m);          // binary with logits: weights that broadcast
void loss_backward(CallMaker& m);
void ranking_loss(CallMaker& m);  // three tensors of one shape
void nll_loss(CallMaker& m);
void nll_loss2d(CallMaker& m);
void nll_loss_nd(CallMaker& m);
void nll_loss_backward(CallMaker& m);
void classes_or_probabilities(CallMaker& m);
void histogram(CallMaker& m);
void bincount(CallMaker& m);
void row_pairs(CallMaker& m);  // x1, x2 that broadcast; distances along one dim
void cosine_embedding(CallMaker& m);
void multi_margin(CallMaker& m);
void multilabel_margin(CallMaker& m);  // and its gradient

}  // namespace lenz::make
