// Which of equal elements comes first. Thread-safety: pure functions.
#pragma once

#include <span>

#include "compiler/graph/op_def.h"

namespace lenz::oracle {

// Whether a call leaves open which of equal elements an index names: its row does, or nobody asked for a stable order.
inline bool ties_open(const OpDef& op, std::span<const Arg> args) {
  if ((op.base ? op.base : &op)->flow.ties_open) return true;
  const int stable = op.schema.find("stable");
  if (stable < 0) return false;
  const Arg& told = args[static_cast<size_t>(stable)];
  return told.kind != ArgKind::boolean || !told.boolean();
}

}  // namespace lenz::oracle
