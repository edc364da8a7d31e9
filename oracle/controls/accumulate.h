// Sums in any order: terms are permuted, dealt to lanes, each lane is summed in sequence, and the lanes' sums are put
// together. One lane is the textbook's sum, as many lanes as terms with a tree are pairwise summation.
// Thread-safety: pure functions.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

namespace lenz::oracle::controls {

struct Order {
  enum Permutation : uint8_t { in_order, backwards, shuffled } permutation = in_order;
  size_t lanes = 1;
  bool dealt = false;       // term k goes to lane k % lanes, else lanes are blocks
  bool tree = false;        // lanes' sums in pairs, else one after the other
  bool contracted = false;  // a product's rounding is left out: fma
  uint64_t seed = 0;        // of the shuffle
};

// The places of n terms as the order permutes them.
inline void permute(const Order& order, size_t n, std::vector<uint32_t>& places) {
  places.resize(n);
  for (size_t i = 0; i < n; ++i)
    places[i] = static_cast<uint32_t>(order.permutation == Order::backwards ? n - 1 - i : i);
  if (order.permutation != Order::shuffled) return;
  uint64_t state = order.seed * 0x9E3779B97F4A7C15u + 1;
  for (size_t i = n; i > 1; --i) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    std::swap(places[i - 1], places[state % i]);
  }
}

template <class Sum>
Sum add_term(Sum sum, double a, const double* b, bool contracted) {
  if (!b) return sum + static_cast<Sum>(a);
  if (!contracted) return sum + static_cast<Sum>(a) * static_cast<Sum>(*b);
  if constexpr (sizeof(Sum) == sizeof(float))
    return static_cast<Sum>(static_cast<double>(sum) + a * *b);
  else if constexpr (sizeof(Sum) == sizeof(double))
    return std::fma(a, *b, sum);
  else
    return sum + static_cast<Sum>(a) * static_cast<Sum>(*b);
}

// The sum of a[k * step_a], or of their products with b[k * step_b], for the k that `places` lists.
template <class Sum>
double accumulate(const Order& order, const std::vector<uint32_t>& places, const double* a, size_t step_a,
                  const double* b, size_t step_b) {
  const size_t n = places.size(), lanes = std::min(std::max<size_t>(order.lanes, 1), std::max<size_t>(n, 1));
  Sum partial[64] = {};
  std::vector<Sum> many;
  Sum* sums = partial;
  if (lanes > 64) {
    many.resize(lanes);
    sums = many.data();
  }
  for (size_t lane = 0; lane < lanes; ++lane) {
    const size_t begin = order.dealt ? lane : n * lane / lanes, end = order.dealt ? n : n * (lane + 1) / lanes;
    const size_t step = order.dealt ? lanes : 1;
    Sum sum = 0;
    for (size_t i = begin; i < end; i += step) {
      const size_t k = places[i];
      // The first term starts the sum, so that no zero is added to it.
      sum = i == begin ? (b ? static_cast<Sum>(a[k * step_a]) * static_cast<Sum>(b[k * step_b])
                            : static_cast<Sum>(a[k * step_a]))
                       : add_term(sum, a[k * step_a], b ? b + k * step_b : nullptr, order.contracted);
    }
    sums[lane] = sum;
  }
  if (!order.tree) {
    for (size_t i = 1; i < lanes; ++i) sums[0] += sums[i];
    return static_cast<double>(sums[0]);
  }
  for (size_t half = 1; half < lanes; half *= 2)
    for (size_t i = 0; i + half < lanes; i += 2 * half) sums[i] += sums[i + half];
  return static_cast<double>(sums[0]);
}

}  // namespace lenz::oracle::controls
