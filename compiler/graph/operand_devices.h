// On which devices the operands of a call may lie: as eager wants it.
// Thread-safety: pure, given one Infer.
#pragma once

#include <optional>

#include "compiler/graph/infer.h"

namespace lenz {

// Raises unless all operands lie on one device, but for those of which the row says otherwise (OpDef::devices), and for
// 0-dim tensors on the CPU, which elementwise ops take beside operands of any device. Control flow and the like, and
// rows over lists, have rules of their own. Returns the device where such a tensor joined operands of another one: the
// results of an elementwise op lie there.
std::optional<Device> require_one_device(const Infer& in);

bool on_one_device(Device a, Device b);  // `cuda` without an index is any of them

}  // namespace lenz
