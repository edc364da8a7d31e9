// What is left to say of results that bounds leave open. Worst-case bounds grow with every layer, and behind tens of
// them allow anything; a result that is right still lies about as far from float64 as rounding noise brings float64
// from itself. This is no theorem: it is asked only where bounds say nothing, and its verdicts name it. Thread-safety:
// pure functions.
#pragma once

#include <optional>
#include <span>

#include "oracle/bounds/reference.h"

namespace lenz::oracle {

constexpr int kNoisyRuns = 3;
// A result may lie this many times further off than noise and eager do, by the greatest deviation in its tensor: room
// for orders of sums that a few runs of noise did not meet. Chosen, not derived.
constexpr double kLikeness = 16;
// Of results by anybody else nobody knows what came before, and what is divided by a difference that may vanish has no
// greatest deviation: they have more room, and infinities and NaN are left out.
constexpr double kLikenessOfOthers = 1024;
enum class Whose : uint8_t { ours, others };

// `noisy`: references of the same inputs, with noise. The first result too far off; integers are not looked at.
// `apart`: the share of a tensor's elements that may be: where decisions by floats may fall otherwise.
std::optional<Mismatch> unlike(const Graph& graph, const Reference& right, std::span<const Reference> noisy,
                               const Execution& eager, const Execution& got, Whose whose = Whose::ours,
                               double apart = 0);

}  // namespace lenz::oracle
