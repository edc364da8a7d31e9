// Which rows look at an operand's memory and not at its elements. Thread-safety: pure functions.
#pragma once

#include "compiler/graph/op_def.h"

namespace lenz {

// Through sizes and strides of its own: where in memory the operand lies decides what is read.
inline bool looks_at_memory(const OpDef& op) {
  return op.schema.find("storage_offset") >= 0 || (op.has(Trait::view) && op.schema.find("stride") >= 0);
}

}  // namespace lenz
