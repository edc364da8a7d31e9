#include "oracle/attention.h"

#include <ATen/ExpandUtils.h>
#include <ATen/ops/_scaled_dot_product_flash_attention_for_cpu.h>
#include <ATen/ops/baddbmm.h>
#include <ATen/ops/bmm.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/scalar_tensor.h>
#include <ATen/ops/softmax.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>

#include <limits>

#include "compiler/graph/host_kernels.h"

namespace lenz::oracle {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

struct Operands {
  at::Tensor query, key, value;
  std::optional<at::Tensor> bias, seen;
  double scale, hidden;
  bool narrow;

  at::ScalarType wide() const { return query.scalar_type() == at::kDouble ? at::kDouble : at::kFloat; }
};

at::Tensor step_by_step(const Operands& of) {
  at::Tensor scores = at::matmul(of.query.to(of.wide()), of.key.to(of.wide()).transpose(-2, -1)).mul_(of.scale);
  if (of.seen) scores = at::where(*of.seen, scores, at::Scalar(of.hidden));
  if (of.bias) scores = scores + *of.bias;
  return at::matmul(at::softmax(scores, -1), of.value.to(of.wide())).to(of.query.scalar_type());
}

// Of matrices as large as this one, so many.
std::vector<int64_t> counted_as(std::vector<int64_t> batch, const at::Tensor& matrix) {
  batch.push_back(matrix.size(-2));
  batch.push_back(matrix.size(-1));
  return batch;
}

at::IntArrayRef batch_of(const at::Tensor& t) { return t.sizes().slice(0, static_cast<size_t>(t.dim() - 2)); }

// Of rank 4, with this batch: what stands for several is in memory once.
at::Tensor in_heads(const at::Tensor& t, std::vector<int64_t> sizes, int64_t rows, int64_t columns) {
  sizes.push_back(rows);
  sizes.push_back(columns);
  at::Tensor made = t.expand(sizes);
  while (made.dim() < 4) made = made.unsqueeze(0);
  return made.dim() > 4 ? made.flatten(0, made.dim() - 4) : made;
}

// The kernel walks vectors without asking for their stride.
at::Tensor whole_vectors(const at::Tensor& t) { return t.stride(-1) == 1 ? t : t.contiguous(); }

// What is added to the scores; nothing is left of one that is hidden.
std::optional<at::Tensor> mask_of(const Operands& of, const std::vector<int64_t>& batch) {
  if (!of.seen && !of.bias) return std::nullopt;
  at::Tensor mask = of.bias ? of.bias->to(of.wide()) : at::zeros({}, of.query.options().dtype(of.wide()));
  if (of.seen) mask = at::where(*of.seen, mask, at::Scalar(-kInfinity));
  const int64_t rows = of.query.size(-2), columns = of.key.size(-2);
  return mask.dim() <= 2 ? mask.expand({rows, columns}) : in_heads(mask, batch, rows, columns);
}

// Whether each row has seen something, and so much that hidden scores add nothing to it, and nothing that is not
// finite, which the kernel may lose. `sums`: of the exponentials of each row's scores that are not hidden, as
// logarithms; the kernel says 0 of none.
bool rows_see(const Operands& of, const at::Tensor& sums) {
  if (sums.eq(0).any().item<bool>() || !sums.isfinite().all().item<bool>()) return false;
  double least = -kInfinity;
  if (of.seen) least = of.hidden + (of.bias ? of.bias->max().item<double>() : 0);
  const double nothing = of.wide() == at::kDouble ? 750 : 110;  // an exponential of that much less is 0
  return !sums.le(least + nothing).any().item<bool>();
}

// What is hidden stands among the scores: it has to be a number of their dtype.
bool is_quicker_narrow(const Operands& of, const std::vector<int64_t>& batch) {
  if (!of.narrow || of.query.scalar_type() == of.wide()) return false;
  if (of.seen && at::scalar_tensor(of.hidden, of.query.options()).item<double>() != of.hidden) return false;
  const int64_t scores = c10::multiply_integers(batch) * of.query.size(-2) * of.key.size(-2);
  return narrow_scores_are_quicker(scores * static_cast<int64_t>(of.query.element_size()));
}

// In the queries' dtype. The product scales before it rounds.
at::Tensor narrow_steps(const Operands& of, const std::vector<int64_t>& batch) {
  auto matrices = [&](const at::Tensor& t) {
    return t.expand(counted_as(batch, t)).reshape({-1, t.size(-2), t.size(-1)});
  };
  auto counted = [&](const at::Tensor& t) { return t.reshape(counted_as(batch, t)); };
  const at::Tensor query = matrices(of.query), key = matrices(of.key).transpose(1, 2);
  at::Tensor scores = at::baddbmm(at::zeros({}, query.options()), query, key, 0, of.scale);
  if (of.seen || of.bias) {
    scores = counted(scores);
    if (of.seen) scores.masked_fill_(of.seen->logical_not(), at::Scalar(of.hidden));
    if (of.bias) scores.add_(*of.bias);
    scores = matrices(scores);
  }
  return counted(at::bmm(at::softmax(scores, -1), matrices(of.value)));
}

}  // namespace

at::Tensor attention(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
                     const std::optional<at::Tensor>& bias, const std::optional<at::Tensor>& seen, double scale,
                     double hidden, bool narrow) {
  const Operands of{query, key, value, bias, seen, scale, hidden, narrow};
  const bool none = query.numel() == 0 || key.numel() == 0;
  if (none) return step_by_step(of);
  const std::vector<int64_t> batch = at::infer_size(at::infer_size(batch_of(query), batch_of(key)), batch_of(value));
  if (is_quicker_narrow(of, batch)) return narrow_steps(of, batch);
  if (query.size(-1) != value.size(-1)) return step_by_step(of);
  auto heads = [&](const at::Tensor& t) { return whole_vectors(in_heads(t, batch, t.size(-2), t.size(-1))); };
  auto [made, sums] = at::_scaled_dot_product_flash_attention_for_cpu(heads(query), heads(key), heads(value), 0, false,
                                                                      mask_of(of, batch), scale);
  if (!rows_see(of, sums)) return step_by_step(of);
  return made.reshape(counted_as(batch, query));
}

}  // namespace lenz::oracle
