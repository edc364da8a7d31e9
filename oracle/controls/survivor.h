// What can be shown of a mutant that the judge lets pass: that legal results get as far, or not.
// Thread-safety: pure functions; one subject per thread.
#pragma once

#include <functional>

#include "oracle/controls/subject.h"

namespace lenz::oracle::controls {

// From the strongest: what legal results reach of it.
enum class Standing : uint8_t {
  reached,    // some random legal variants are as far off at each element
  attained,   // each element is, by choices of its own (extremes.h)
  found,      // so are legal variants that were searched for such deviations (search.h)
  in_tensor,  // it uses no more of its bounds than these do of theirs elsewhere in the tensor
  redrawn,    // nor than they do in the same result of the same graph, where other inputs are drawn
  beyond,
};
inline constexpr int kStandings = 6;
inline constexpr std::string_view kStandingNames[kStandings] = {"reached",   "attained", "found",
                                                                "in_tensor", "redrawn",  "beyond"};

// What no legal result that is known reaches at the element itself: the last three.
inline bool unreached(Standing s) { return s >= Standing::in_tensor; }

struct Survivor {
  Standing standing = Standing::beyond;
  // Of what is unreached:
  size_t result = 0, element = 0;  // where it is farthest out
  double factor = 1;               // beyond: its share of the bound over the greatest share that is reached
  double reached = 0;              // how far legal results get at that element
};

struct Efforts {
  int search = 400;             // steps towards the mutant's deviation
  int redraws = 100;            // of inputs
  std::function<void()> alive;  // called between steps, if there: whoever watches sees that something moves
};

// `bad`: elements of every result, `at_random` and `utmost`: how far legal ones are known to get.
Survivor look_at(const Subject& subject, Boxed& boxed, const std::vector<Elements>& bad,
                 const std::vector<Elements>& at_random, const std::vector<Elements>& utmost, const Efforts& efforts,
                 uint64_t seed);

// Eager's deviations and those of `variants` random legal ones, the worst by element.
std::vector<Elements> reach_at_random(const Subject& subject, int variants, uint64_t seed);

}  // namespace lenz::oracle::controls
