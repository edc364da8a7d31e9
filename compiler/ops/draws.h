// How a random row samples from Lenz's own stream (compiler/scalar/random_stream.h), as rows/samplings.h says:
//
//   uniform(from, to)      from + u (to - from), u in [0, 1)
//   normal(mean, std)      mean + std z
//   exponential(lambd)     -log(1 - u) / lambd
//   coin(p)                1 with probability p, else 0
//   integers(low, high)    from [low, high)
//   keep(input, p, train)  the elements of input, each kept with probability 1 - p and then divided by it; unless train
//                          is false. A second result says which were kept
//
// An operand is a number or a parameter, which may be a tensor that broadcasts. Computed in float64, rounded once.
// Thread-safety: pure functions.
#pragma once

#include <optional>

#include "compiler/graph/op_def.h"

namespace lenz {

struct Draw {
  enum Kind : uint8_t { uniform, normal, exponential, coin, integers, keep } kind = uniform;
  struct Operand {
    int param = -1;  // of the schema; -1: a number
    double number = 0;
  };
  SmallVec<Operand, 3> operands;
};

// Nothing: the row has no such sampling yet, or draws nothing.
std::optional<Draw> draw_of(const OpDef& op);

}  // namespace lenz
