// How a random row samples from Lenz's own stream (compiler/scalar/random_stream.h), as OpDef::sampling says:
//
//   uniform(from, to)      from + u (to - from), u in [0, 1)
//   normal(mean, std)      mean + std z
//   exponential(lambd)     -log(1 - u) / lambd
//   log_normal(mean, std)  e^(mean + std z)
//   cauchy(median, sigma)  median + sigma tan(pi (u - 1/2))
//   geometric(p)           the least whole number k >= 1 with k log(1 - p) <= log(1 - u); u has 24 bits for integers
//   coin(p)                1 with probability p, else 0
//   integers(low, high)    from [low, high). `end`, or an operand that is none: behind the dtype's largest integer; of
//                          a float behind the last one up to which it has all; of i64 its largest, which is left out
//   order()                a permutation: the elements' 64-bit numbers sorted, equal ones by their place
//   keep(input, p, train)  the elements of input, each kept with probability 1 - p and then divided by it; unless train
//                          is false. A second result says which were kept
//   keep_channels(...)     the same, one coin for all elements of a channel: its number is the coin's
//   keep_or_saturate(input, p, train), keep_or_saturate_channels(...)
//                          kept ones times a, plus a p s; the others a p s - a s. s = 1.7580993408473766,
//                          a = 1 / sqrt((p s^2 + 1) (1 - p)): mean and deviation stay 0 and 1. All are 0 for p = 1
//   definition(p)          as its definition draws, and nothing unless p is above 0: no random row, for most calls draw
//                          nothing (compiler/graph/drawing.h); the op by itself does not sample from the stream
//
// An operand is a number or a parameter, which may be a tensor that broadcasts. Computed in float64 and converted to
// the dtype. The parts of complex numbers are drawn as twice as many real numbers, normal ones with std / sqrt 2.
// Thread-safety: pure functions.
#pragma once

#include <optional>

#include "compiler/graph/op_def.h"

namespace lenz {

struct Draw {
  enum Kind : uint8_t { uniform, normal, exponential, log_normal, cauchy, geometric, coin, integers, order, keep };
  Kind kind = uniform;
  bool channels = false, saturates = false;  // of keep
  struct Operand {
    int param = -1;  // of the schema; -1: a number
    double number = 0;
    bool end = false;  // the dtype's
  };
  SmallVec<Operand, 3> operands;
};

// Nothing: the row has no such sampling yet, or draws nothing.
std::optional<Draw> draw_of(const OpDef& op);

}  // namespace lenz
