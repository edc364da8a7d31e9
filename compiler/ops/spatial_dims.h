// How many dims of space an op works on.
// Thread-safety: a pure function.
#pragma once

#include "compiler/graph/op_def.h"

namespace lenz {

// ATen says it in the name and nowhere else: "max_pool2d_with_indices", "conv3d", "upsample_linear1d". Nothing of names
// without such a digit.
inline std::optional<size_t> spatial_dims(const OpDef& op) {
  for (char c : op.schema.packet)  // op name: the one place where the digit is read
    if (c >= '1' && c <= '3') return static_cast<size_t>(c - '0');
  return std::nullopt;
}

}  // namespace lenz
