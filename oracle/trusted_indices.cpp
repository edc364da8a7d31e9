#include "oracle/trusted_indices.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/tensor.h>

#include <atomic>

namespace lenz::oracle {

namespace {
std::atomic<int> looking{0};

bool outside(const at::Tensor& indices, int64_t size) {
  return indices.numel() > 0 && (indices.min().item<int64_t>() < 0 || indices.max().item<int64_t>() >= size);
}

// The labels of each sequence, as many as it is long; what stands behind them pads. Lengths that fit to no memory are
// refused by libtorch.
bool label_outside(const at::Tensor& log_probs, const at::Tensor& targets, const c10::IValue& target_lengths) {
  if (log_probs.dim() < 2 || !at::isIntegralType(targets.scalar_type(), false)) return false;
  const at::Tensor lengths =
      target_lengths.isTensor() ? target_lengths.toTensor().to(at::kLong) : at::tensor(target_lengths.toIntVector());
  const int64_t labels = log_probs.size(-1);
  if (lengths.numel() == 0 || lengths.min().item<int64_t>() < 0) return false;
  if (targets.dim() == 1) {  // one behind the other
    const int64_t all = lengths.sum().item<int64_t>();
    return all <= targets.size(0) && outside(targets.narrow(0, 0, all), labels);
  }
  if (targets.dim() != 2 || targets.size(0) != lengths.numel()) return false;
  const at::Tensor used = at::arange(targets.size(1)).unsqueeze(0).lt(lengths.reshape({-1, 1}));
  return outside(targets.masked_select(used), labels);
}

// Where each row goes to is a sum of repeats. Libtorch looks at the last sum, and at a sign when it comes to it: what
// stands before a negative number is written by then, behind the memory if it is more than all.
bool repeated_outside(const at::Tensor& repeats, const c10::IValue& output_size, int64_t rows) {
  if (repeats.dim() > 1 || repeats.numel() == 0 || !at::isIntegralType(repeats.scalar_type(), false)) return false;
  const at::Tensor each = repeats.to(at::kLong).reshape({-1}), all = each.numel() == 1 ? each.expand({rows}) : each;
  if (all.numel() == 0 || (output_size.isNone() && each.min().item<int64_t>() < 0)) return false;
  const at::Tensor ends = all.cumsum(0);
  const int64_t total = ends[-1].item<int64_t>(), size = output_size.isNone() ? total : output_size.toInt();
  const at::Tensor beyond = ends.gt(size).logical_or(ends.lt(all));
  return total == size && all.gt(0).logical_and(beyond).any().item<bool>();
}
}  // namespace

TrustedIndices::TrustedIndices() { looking.fetch_add(1, std::memory_order_relaxed); }
TrustedIndices::~TrustedIndices() { looking.fetch_sub(1, std::memory_order_relaxed); }
bool TrustedIndices::are_looked_at() { return looking.load(std::memory_order_relaxed) > 0; }

TrustedIndices::Wrong TrustedIndices::of(const std::string& packet) {
  if (packet == "embedding_dense_backward")  // op name: if told to, it counts how often each is there
    return [](const auto& operands) {
      return operands[4].toBool() && outside(operands[1].toTensor(), operands[2].toInt());
    };
  if (packet == "nll_loss_backward")  // op name: of a loss for each row it looks at no target
    return [](const auto& operands) {
      const at::Tensor &self = operands[1].toTensor(), &target = operands[2].toTensor();
      return operands[4].toInt() == 0 && self.dim() > 0 &&
             outside(target.masked_select(target.ne(operands[5].toInt())), self.size(-1));
    };
  if (packet == "max_pool2d_with_indices_backward")  // op name: it adds where they say
    return [](const auto& operands) {
      const at::Tensor& self = operands[1].toTensor();
      return self.dim() >= 2 && outside(operands[7].toTensor(), self.size(-1) * self.size(-2));
    };
  if (packet == "ctc_loss" || packet == "_ctc_loss")  // op name: it reads the probability of any label
    return
        [](const auto& operands) { return label_outside(operands[0].toTensor(), operands[1].toTensor(), operands[3]); };
  if (packet == "_ctc_loss_backward")  // op name: it writes there too
    return
        [](const auto& operands) { return label_outside(operands[1].toTensor(), operands[2].toTensor(), operands[4]); };
  if (packet == "repeat_interleave")  // op name: it writes as often as they say
    return [](const auto& operands) {
      if (operands.size() == 2) return repeated_outside(operands[0].toTensor(), operands[1], 1);
      if (!operands[1].isTensor()) return false;  // one number of them all
      const at::Tensor& self = operands[0].toTensor();
      const bool flat = operands[2].isNone() || self.dim() == 0;
      return repeated_outside(operands[1].toTensor(), operands[3],
                              flat ? self.numel() : self.size(operands[2].toInt()));
    };
  return nullptr;
}

}  // namespace lenz::oracle
