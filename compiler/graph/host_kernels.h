// Ops that have a definition, and that whoever runs a program may have a kernel for all the same: one that never
// stores what lies between.
// Thread-safety: pure functions.
#pragma once

#include "compiler/graph/graph.h"

namespace lenz {

bool is_attention(const OpDef& op);
bool may_have_host_kernel(const OpDef& op);
// Whether such a kernel may take these operands. Attention: queries, keys and values of one length, a key at least, as
// far as anybody knows (a host takes the steps one by one where a run shows other sizes), not one query alone, whose
// steps read keys and values once, and no dropout, whose numbers are ours. Gradients of convolutions: where that of a
// weight is asked for, unless products give it.
bool has_host_kernel(const Graph& graph, const Node& node);
// Whether a node is attention in f32 that is left to products of its own: of few scores, in bytes; and where a host's
// products are faster than its attention (`quick_products`), all whose scores are looked at while caches hold them, or
// of a graph that had them all, as many as a run says.
bool suits_steps(const Graph& graph, const Node& node, bool quick_products, int64_t few);
// Whether so many bytes of scores in halves are left to products of their own: hosts multiply halves up to twice as
// fast there as within one op, which has its scores in f32. Fewer are not worth three calls; more would not stay in
// caches.
bool narrow_scores_are_quicker(int64_t bytes);
// The gradient of a weight of one tap is a product for each image, and their sum: whether these products are no larger
// than the images, of so many pixels and channels.
bool products_are_small(const Graph& graph, Dim pixels, Dim channels, Dim of_weights);
// Whether what is multiplied is taken zero times, and what it is added to not once (alpha, beta). Kernels are known
// that leave such a result unscaled, or unwritten.
bool has_no_share(const Node& node);

}  // namespace lenz
