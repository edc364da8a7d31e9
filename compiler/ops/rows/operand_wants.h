// What rows want of single operands' values, in the language of compiler/ops/wants.h. Composites also want what
// their definitions want. For wants.cpp only.
#pragma once

#include <string_view>

namespace lenz {

struct WantRow {
  std::string_view packets;  // names, in-place and out= variants with them
  std::string_view wants;
};

inline constexpr WantRow kOperandWants[] = {
    {"gather index_select scatter scatter_add scatter_reduce index_add index_reduce index_copy index_fill",
     "index < self[dim]"},
    {"take put", "index < numel(self)"},
    {"take_along_dim", "indices < self[dim]"},
    {"index _unsafe_index index_put", "indices < self"},
    {"embedding", "indices < weight[0]"},
    {"embedding_dense_backward", "indices < num_weights"},
    {"searchsorted", "sorted_sequence sorted; sorter < sorted_sequence[-1]"},
    {"one_hot", "self < num_classes"},
    {"nll_loss_backward", "target < self[-1]"},
    {"max_pool2d_with_indices_backward", "indices < self[-2] * self[-1]"},
    {"multilabel_margin_loss_forward multilabel_margin_loss_backward", "target < self[-1]; is_target in [0, 1]"},
    {"quantile nanquantile", "q in [0, 1]"},
    {"bincount", "self in [0, 9]"},
    {"repeat_interleave", "repeats in [0, 3]"},
    {"native_batch_norm _native_batch_norm_legit", "running_var in [0.25, 4]"},
    {"bernoulli", "self in [0, 1]; p in [0, 1]"},
    {"normal", "std in [0, 2]"},
    {"poisson", "self in [0, 9]"},
    {"binomial", "count in [1, 9]; prob in [0, 1]"},
    {"multinomial", "self in [0.25, 2]"},
    {"randint_like", "high in [1, 9]"},
};

}  // namespace lenz
