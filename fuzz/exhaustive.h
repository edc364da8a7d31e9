// All small graphs over a few ops, instead of a sample of large ones: every sequence of choices of a generator that has
// few of them.
// Thread-safety: pure functions; made graphs are handed out by number, for any thread.
#pragma once

#include <string>
#include <vector>

#include "fuzz/case.h"

namespace lenz::fuzz {

struct ExhaustiveOptions {
  std::vector<std::string> ops;              // "add", "aten.sum", "aten.max.dim", "relu_"
  size_t most = 2;                           // ops in a graph
  std::vector<Dtype> dtypes = {Dtype::f32};  // of inputs, where a row takes them
  // A call makes choices: sizes, dims, flags, numbers. All are the plainest but for so many at once, which have their
  // last alternative, or others between: so many alternatives of each. Which operands it takes is not counted.
  size_t deviations = 2;
  uint64_t breadth = 2;
  uint64_t most_graphs = 1 << 20;
};

class SmallGraphs {
 public:
  // Makes them all once. Throws UserError for ops that there are not, and where there are more graphs than may be.
  explicit SmallGraphs(const ExhaustiveOptions& options);
  uint64_t count() const { return records_.size(); }
  uint64_t sequences() const { return sequences_; }  // of choices: equal graphs among them are one
  uint64_t refused() const { return refused_; }      // by a row's rule
  Case at(uint64_t number) const;

 private:
  std::unique_ptr<Graph> made(Chooser& choose) const;  // null: a rule refused
  ExhaustiveOptions options_;
  std::vector<const OpDef*> rows_;
  std::vector<std::vector<uint64_t>> records_;  // choices that lead to each
  uint64_t sequences_ = 0, refused_ = 0;
};

}  // namespace lenz::fuzz
