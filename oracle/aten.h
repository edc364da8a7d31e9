// The only meeting point of Lenz's types and libtorch's. Only .cpp files of this room include it: it costs seconds.
// Thread-safety: pure functions.
#pragma once

#include <ATen/core/ivalue.h>

#include <optional>

#include "compiler/graph/type.h"
#include "oracle/value.h"

namespace lenz::oracle {

struct Held {
  c10::IValue value;
};

inline RunValue hold(c10::IValue value) { return std::make_shared<const Held>(std::move(value)); }

c10::ScalarType to_aten(Dtype dtype);
std::optional<Dtype> from_aten(c10::ScalarType type);  // nothing for a type that Lenz has not
c10::Device to_aten(Device device);
c10::MemoryFormat to_aten(MemoryFormat format);
c10::Layout to_aten(Layout layout);

}  // namespace lenz::oracle
