// Whether a bound says anything: one that is wider than all that comes out holds nobody, for zeros would do. But what
// cancels is held to what it was made of, if that is no more than what is given.
// Internal to the oracle. Thread-safety: belongs to one thread.
#pragma once

#include <optional>
#include <vector>

#include "oracle/bounds/reference.h"

namespace lenz::oracle {

double largest_in(const Bounded& tensor);  // the largest finite number of it; 0 of no tensor

class MadeOf {
 public:
  // Both have to outlive this.
  MadeOf(const Graph& graph, const Reference& reference) : graph_(graph), reference_(reference) {}
  // Of an output, inputs that it can't hang on do not count.
  void look_at(std::optional<size_t> output);
  // Each result has a largest number of its own.
  void forget_result() { largest_.reset(); }
  // Whether the error of an element of this size is more than all that the result, of this dtype, is made of.
  bool is_less_than(double error, double size, const Bounded& result, Dtype dtype);
  double largest_input();  // the largest finite number that it was given

 private:
  std::vector<bool> inputs_that_count() const;

  const Graph& graph_;
  const Reference& reference_;
  std::optional<size_t> output_;  // the one at hand, if it is one
  std::optional<double> largest_input_, largest_;
};

}  // namespace lenz::oracle
