// Tensors whose elements are all one number: fills, and constants of one element, through views.
// Thread-safety: as the graph's.
#pragma once

#include <optional>

#include "compiler/graph/alias.h"

namespace lenz {

class Uniforms {
 public:
  // `aliases` must outlive this: what is written to is not known.
  Uniforms(const Graph& graph, AliasClasses& aliases) : graph_(graph), aliases_(aliases), bases_(graph) {}

  // The number that every element of a tensor is, as its dtype holds it; nothing for NaN and complex dtypes.
  std::optional<double> of(ValueId v);

 private:
  const Graph& graph_;
  AliasClasses& aliases_;
  GeometryBases bases_;
};

}  // namespace lenz
