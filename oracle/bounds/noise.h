// Noise of the size that a dtype's roundings have, for a run that asks how far results go astray by it (likeness.h).
// Internal to oracle/bounds. Thread-safety: free functions; a generator belongs to one thread.
#pragma once

#include <ATen/core/Generator.h>

#include <span>

#include "oracle/bounds/call.h"

namespace lenz::oracle {

// Where a call reads which sign a NaN has, which nobody promises, it reads the other one. Operands that it writes stay.
void turn_signs_of_nan(Call& call);

bool rounds(const OpDef& op);
// Puts every element of what a node that rounds has made (of `dtypes`) off by up to half a last place of its dtype, a
// sum's by the root of its terms as many.
void add_noise(const at::Generator& source, std::span<const RunValue> values, const Graph& graph, const Node& node,
               std::span<const Dtype> dtypes, const Outcome& out);

}  // namespace lenz::oracle
