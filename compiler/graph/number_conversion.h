// What eager converts the numbers of number_fits.h to. Thread-safety: a pure function.
#pragma once

#include <optional>

#include "compiler/graph/number_fits.h"

namespace lenz {

// On the way to such a result; none where it takes any.
std::optional<Dtype> converted_to(NumberFit::Into into, Dtype result);

}  // namespace lenz
