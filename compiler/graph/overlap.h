// An op that writes to a tensor while it reads another one in the same memory: what eager refuses of that.
// Thread-safety: pure, given one Infer.
#pragma once

#include "compiler/graph/infer.h"

namespace lenz {

// How two tensors lie in one memory. As eager does, this looks only at tensors without gaps; of others, and where
// nothing is proved about sizes, it is open.
enum class Overlap : uint8_t { none, partial, full, open };
Overlap overlap(const Facts& facts, const Type& a, const Type& b);

// Raises where an in-place or out= op writes to a tensor that another operand overlaps: for elementwise ops and scans
// in part, for those that go through indices at all. The op must belong to a graph. A few of eager's kernels do not
// look (ldexp_, the out= variants of threshold, addr, cummax and cummin): what they would give depends on their order.
void refuse_overlaps(const Infer& in);

}  // namespace lenz
