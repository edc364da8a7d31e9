// What equations say of a graph's sizes.
// Thread-safety: free functions over the caller's values.
#pragma once

#include "oracle/binding.h"

namespace lenz::oracle {

// Gives symbols of the inputs the values that equations among facts and guards say, by what is known already.
void derive(Binding& binding, const Graph& graph);

}  // namespace lenz::oracle
