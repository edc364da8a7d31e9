// Products of small matrices, of which a library's call takes longer than they do: loops of our own, chosen by the
// sizes of the call, so that a program whose sizes are open has them too.
// Only .cpp files of this room include it. Thread-safety: pure functions.
#pragma once

#include <ATen/core/Tensor.h>

#include <optional>

namespace lenz::oracle {

// Of two matrices, or two batches of them, of f32 or f64; what is added to it if given. Nothing where a library is as
// fast, and what does not fit is left for the op to refuse.
std::optional<at::Tensor> small_product(const at::Tensor& left, const at::Tensor& right,
                                        const std::optional<at::Tensor>& addend);

}  // namespace lenz::oracle
