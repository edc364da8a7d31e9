// An op that writes to a tensor while it reads another one in the same memory: what eager refuses of that, and where
// its result would hang on its order.
// Thread-safety: pure, given one Infer.
#pragma once

#include "compiler/graph/infer.h"

namespace lenz {

// How two tensors lie in one memory. As eager does, this looks only at tensors without gaps; of others, and where
// nothing is proved about sizes, it is open.
enum class Overlap : uint8_t { none, partial, full, open };
Overlap overlap(const Facts& facts, const Type& a, const Type& b);

// Whether several coordinates of a tensor of these sizes and strides may name one place in memory.
bool may_meet(const Facts& facts, std::span<const Dim> sizes, std::span<const Dim> strides);

// Whether no place is in both, as far as one can prove; gaps count.
bool lie_apart(const Facts& facts, const Type& a, const Type& b);

// Raises where eager refuses an in-place or out= op that writes to a tensor which another operand overlaps: for
// elementwise ops and scans in part, for those that go through indices at all. A few of eager's kernels do not look
// (ldexp_, the out= variants of threshold, addr, cummax and cummin), and none looks at what has gaps: what they give
// then depends on their order. Such a call is Unsupported, unless the two lie apart, or element by element in the same
// places (no product of matrices, which reads them again). The op must belong to a graph.
void refuse_overlaps(const Infer& in);

// Raises where eager refuses to write to what is lazily conjugated or negated: it writes to a copy, which it then
// copies back, of one tensor alone, and only if that is the first result. Where a schema does not say that something is
// written to, nothing is copied back: Unsupported. The op must belong to a graph.
void refuse_lazy_writes(const Infer& in);

}  // namespace lenz
