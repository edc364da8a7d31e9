// Random numbers as a pure function of (seed, offset, logical index): the same under any fusion, order or number of
// threads. The generator is Philox 4x32-10 (Salmon et al., SC 2011).
//
// * Philox(seed, n) has the key {low, high half of seed} and the counter {low, high half of n, 0, 0}: four words.
// * Narrow samples take one word: element i the word i % 4 of Philox(seed, offset + i / 4). Normal ones take the pair
// of
//   words that theirs belongs to.
// * Wide samples (float64, and integers from more than 2^32) take 64 bits: element i the words 2 * (i % 2) (low) and
// the
//   one after (high) of Philox(seed, offset + i / 2).
// * n elements use ceil(n / 4) offsets, wide ones ceil(n / 2): the next draw of the same seed starts behind them.
//
// How a sample follows from its bits:
// * uniform in [0, 1): the p highest bits (p the dtype's significand, of float16 and bfloat16 too) as a fraction;
// * normal: Box and Muller. Of the words a, b of a pair (the two 64-bit numbers of a wide one): r = sqrt(-2 log u) with
//   u = (a + 1) / 2^32, t = 2 pi b / 2^32; the even element is r cos t, the odd one r sin t; 2^64 for wide ones;
// * an integer from [low, high): low + (word * (high - low)) >> 32; >> 64 of a wide one;
// * a coin: word / 2^32 < p.
// Thread-safety: pure functions.
#pragma once

#include <array>
#include <cstdint>

#include "compiler/base/dtype.h"

namespace lenz {

std::array<uint32_t, 4> philox(std::array<uint32_t, 2> key, std::array<uint32_t, 4> counter);

struct RandomStream {
  uint64_t seed = 0, offset = 0;

  uint32_t word(uint64_t i) const;
  uint64_t wide_word(uint64_t i) const;

  double uniform(Dtype dtype, uint64_t i) const;  // exact in the dtype
  double normal(Dtype dtype, uint64_t i) const;   // not rounded to it
  int64_t integer(uint64_t i, int64_t low, int64_t high) const;
  bool coin(uint64_t i, double probability) const;
};

// How many offsets n elements use.
uint64_t offsets_used(uint64_t elements, bool wide);
bool draws_wide(Dtype dtype);  // float64

}  // namespace lenz
