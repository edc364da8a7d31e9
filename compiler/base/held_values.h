// Dtypes that hold all that others do.
// Thread-safety: a pure function.
#pragma once

#include "compiler/base/dtype.h"

namespace lenz {

// Whether each value of one dtype is a value of the other, so that there and back again changes nothing. As many bits
// are not enough: each of two half floats has what the other lacks.
bool holds_values(Dtype wide, Dtype narrow);

}  // namespace lenz
