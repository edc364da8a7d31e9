// Angles of f32 within a quarter turn (fast_rows.cpp).
// Thread-safety: as the builder's module.
#pragma once

#include "compiler/backend/llvm/lane_code.h"

namespace lenz::native {

struct Angle {
  V number, high, low;  // quarter turns, i32, of which the two low bits count; and what is left
};
// Of any f32, by way of double; of what is not finite it is not a number.
Angle angle_by_double(V x);

}  // namespace lenz::native
