// Searches among sorted elements whose number is open, by loops of our own: many at a time, step by step, where
// libtorch makes one after another and waits for each of its branches. Only .cpp files of this room include it.
// Thread-safety: pure functions.
#pragma once

#include <ATen/core/Tensor.h>

#include <optional>
#include <string_view>

namespace lenz::oracle {

// Where each value would stand among the elements of `sorted`, or of its own row of these: as libtorch's search finds
// it, also where they are in no order. Nothing where it is for libtorch, or does not fit and is left for the op to
// refuse.
std::optional<at::Tensor> searched(const at::Tensor& sorted, const at::Tensor& values, bool narrow, bool right,
                                   std::optional<std::string_view> side);

}  // namespace lenz::oracle
