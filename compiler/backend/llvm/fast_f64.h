// Powers of f64, which share their special cases with those of f32 but not their arithmetic (fast_f64_rows.cpp).
// Thread-safety: as the builder's module.
#pragma once

#include "compiler/backend/llvm/lane_code.h"

namespace lenz::native {

// size^exponent, of a finite size > 0 and a finite exponent.
V power_f64(V size, V exponent);

}  // namespace lenz::native
