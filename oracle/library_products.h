// Products of f32 by oneDNN, which libtorch leaves to another library: on processors for which that one is slow.
// Only .cpp files of this room include it. Thread-safety: pure functions.
#pragma once

#include <ATen/core/Tensor.h>

#include <optional>

namespace lenz::oracle {

// How the factors of a product lie, and how large they are: by that, as measured on an EPYC of the fourth generation
// (bench/SHOWN.md), oneDNN's kernel takes less time.
bool takes_less_by_onednn(const at::Tensor& left, const at::Tensor& right);

// Of two matrices, or two batches of them, of f32; what is added to it if given. Nothing where oneDNN is not there, and
// what does not fit is left for the op to refuse.
std::optional<at::Tensor> product_by_onednn(const at::Tensor& left, const at::Tensor& right,
                                            const std::optional<at::Tensor>& addend);

}  // namespace lenz::oracle
