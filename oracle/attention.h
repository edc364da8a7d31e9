// The kernel that hosts on libtorch have for attention as graphs write it out, lenz.attention: ATen's fused one,
// where rows differ from it the steps one by one.
// Thread-safety: pure functions.
#pragma once

#include <ATen/core/Tensor.h>

#include <optional>

namespace lenz::oracle {

// softmax(where(seen, scale * query key^T, hidden) + bias) value, as the row of lenz.attention says. `narrow`: scores
// and weights may be rounded to the queries' dtype; they are where that is quicker.
at::Tensor attention(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
                     const std::optional<at::Tensor>& bias, const std::optional<at::Tensor>& seen, double scale,
                     double hidden, bool narrow = false);

}  // namespace lenz::oracle
