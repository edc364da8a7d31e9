#include "oracle/bounds/made_of.h"

#include <algorithm>
#include <cmath>

#include "compiler/scalar/rounding.h"
#include "oracle/bounds/plane_elements.h"

namespace lenz::oracle {

double largest_in(const Bounded& tensor) {
  double largest = 0;
  const Seen seen = look(tensor.value);
  if (seen.kind != TypeKind::tensor) return 0;
  const PlaneElements values(tensor.value);
  const uint64_t count = count_of(seen);
  for (uint64_t i = 0; i < count; ++i) {
    const double size = magnitude(values.scalar(seen.dtype, i));
    if (std::isfinite(size)) largest = std::max(largest, size);
  }
  return largest;
}

void MadeOf::look_at(std::optional<size_t> output) {
  output_ = output;
  largest_input_.reset();
  largest_.reset();
}

bool MadeOf::is_less_than(double error, double size, const Bounded& result, Dtype dtype) {
  if (!std::isfinite(error) || error <= size) return false;
  // What is lost below the least normal number is nothing.
  const double normal = is_inexact(dtype) ? smallest_normal(to_real(dtype)) : 0;
  if (!largest_) largest_ = std::max({std::min(result.terms, largest_input()), largest_in(result), normal});
  return error > *largest_;
}

// Of each input whether the output at hand may hang on it. Where a graph writes, it may on all.
std::vector<bool> MadeOf::inputs_that_count() const {
  std::vector<bool> counts(graph_.inputs().size(), true);
  std::vector<NodeId> nodes;
  bool writes = !output_;
  graph_.for_each_node([&](NodeId id) {
    nodes.push_back(id);
    writes = writes || graph_.node(id).op->may_write;
  });
  if (writes) return counts;
  std::vector<bool> needed(graph_.value_count());
  const auto need = [&](ValueId v) { needed[v] = true; };
  for_each_value(graph_.outputs()[*output_], need);
  for (size_t k = nodes.size(); k-- > 0;) {
    const Node& node = graph_.node(nodes[k]);
    bool asked = false;
    for (uint16_t r = 0; r < node.result_count; ++r) asked = asked || needed[node.result(r)];
    if (asked)
      for (const Arg& arg : node.arguments()) for_each_value(arg, need);
  }
  for (size_t i = 0; i < counts.size(); ++i) counts[i] = needed[graph_.inputs()[i].value];
  return counts;
}

// Few bounds are so wide that anybody asks.
double MadeOf::largest_input() {
  if (!largest_input_) {
    largest_input_ = 0;
    const std::vector<bool> counts = inputs_that_count();
    for (size_t i = 0; i < reference_.inputs.size(); ++i)
      if (counts[i]) *largest_input_ = std::max(*largest_input_, largest_in(reference_.inputs[i]));
  }
  return *largest_input_;
}

}  // namespace lenz::oracle
