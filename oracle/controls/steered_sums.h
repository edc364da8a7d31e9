// Sums in orders that are chosen for their roundings to go one way.
// Thread-safety: pure functions.
#pragma once

#include <cstdint>
#include <random>
#include <vector>

#include "compiler/base/dtype.h"

namespace lenz::oracle::controls {

// Terms in the order that they are added in.
struct SumOrder {
  std::vector<double> terms;
  std::vector<uint8_t> joined;  // whether a term is added to the next one first
};

// By `chance` what terms do counts for less, up to so much of it.
struct Chance {
  std::mt19937 bits;
  double most = 0;
  double share() { return most == 0 ? 1 : 1 - most * (bits() * 0x1p-32); }
};

// What a single term loses in a long sum is much the same wherever it stands, and what two lose together is another
// amount: so of the next few terms the one or the two are added that do most for each term. Leaves their
// order. `way`: 1, or -1 for the least sum; `carried`: f32 or f64.
double steered(SumOrder& order, double way, Dtype carried, Chance& chance);

// Sorted so that partial sums are soon as large as they can be, of terms that gain little there: what is rounded by
// more than a quarter of the largest parts' last place stands where its size times `share` would.
void good_ones_late(std::vector<double>& terms, double way, Dtype carried, double share);

// From such an order on terms change places, move elsewhere, and neighbours are added to each other first or not, where
// that does some good: so many times. Leaves the order that did most.
double with_exchanges(SumOrder& order, double way, Dtype carried, size_t times);

}  // namespace lenz::oracle::controls
