// What one side's calls took.
// Thread-safety: values.
#pragma once

#include <functional>
#include <vector>

namespace lenz::bench {

// Of the calls of one turn, or of the best ones of several turns: milliseconds. Where others want the cores too, a best
// call says more of a program than a usual one.
struct Times {
  double best = 0, median = 0;  // 0: none

  static Times of(std::vector<double> seconds);
  void keep_better(const Times& other);
};

// A turn: calls for so long, at least so many.
Times turn_of(double seconds, size_t least, const std::function<void()>& call);

}  // namespace lenz::bench
