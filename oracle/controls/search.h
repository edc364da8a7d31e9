// Whether a legal variant gets as far from the exact values as some results do: random variants seldom push an element
// as far as they may, so choices are changed by parts, and kept where they take the element farthest from being
// reached farther out.
// Thread-safety: pure functions.
#pragma once

#include <functional>
#include <optional>

#include "oracle/controls/plan.h"

namespace lenz::oracle::controls {

double deviation(double exact, double got);  // infinite where one of them is NaN

struct FarElement {
  size_t result = 0, element = 0;
  double ratio = 0;  // how many times what is reached
};
// `worst` becomes at least as far as `got` is.
void raise_to(std::vector<Elements>& worst, const std::vector<Elements>& exact, const std::vector<Elements>& got);

// Of the elements of `bad` beyond `worst`, deviations that are reached, the one that is most so.
std::optional<FarElement> farthest(const std::vector<Elements>& exact, const std::vector<Elements>& bad,
                                   const std::vector<Elements>& worst);

// Runs at most `runs` variants, each announced, and has `worst` grow with what they reach.
void search_towards(const Plan& plan, const std::vector<Elements>& exact, const std::vector<Elements>& bad, int runs,
                    uint64_t seed, std::vector<Elements>& worst, const std::function<void()>& alive = {});

}  // namespace lenz::oracle::controls
