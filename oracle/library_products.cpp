#include "oracle/library_products.h"

#include <ATen/Context.h>
#include <ATen/ExpandUtils.h>
#include <ATen/Functions.h>

#include <algorithm>

// No header of libtorch's declares it; what does for narrow floats goes through it.
namespace at::native {
TORCH_API void mkldnn_matmul(const Tensor& left, const Tensor& right, const Tensor& result, float beta, float alpha);
}  // namespace at::native

namespace lenz::oracle {

namespace {
// Whether the last two dims lie row by row, or column by column, with nothing between them.
bool in_rows(const at::Tensor& t) { return t.stride(-1) == 1 && t.stride(-2) == t.size(-1); }
bool in_columns(const at::Tensor& t) { return t.stride(-2) == 1 && t.stride(-1) == t.size(-2); }

bool are_factors(const at::Tensor& left, const at::Tensor& right) {
  if (left.scalar_type() != at::kFloat || right.scalar_type() != at::kFloat) return false;
  if (left.dim() != right.dim() || left.dim() < 2 || left.dim() > 3) return false;
  return left.size(-1) == right.size(-2) && (left.dim() == 2 || left.size(0) == right.size(0));
}
}  // namespace

namespace {
// Of a right factor that lies column by column oneDNN takes few rows of the left one at a time as it lies; of more it
// turns it first, unless the left one is long enough for another kernel.
constexpr int64_t kFewRows = 12, kWorthTurning = 1 << 16;

bool is_turned_first(const at::Tensor& left, const at::Tensor& right) {
  return in_rows(left) && !in_rows(right) && left.size(-2) * left.size(-1) < kWorthTurning;
}

// Whether a few rows at a time are faster: what is read for each few must be much for a call, and fit into a cache.
bool is_worth_parts(int64_t rows, int64_t inner, int64_t columns) {
  constexpr int64_t kLong = 256, kPartsOfSome = 48, kLeast = 1 << 18, kLeastOfMany = 1 << 19, kMost = 1 << 22;
  const int64_t read = inner * columns;
  return inner >= kLong && read <= kMost && read >= (rows <= kPartsOfSome ? kLeast : kLeastOfMany);
}
}  // namespace

bool takes_less_by_onednn(const at::Tensor& left, const at::Tensor& right) {
  constexpr int64_t kSomeRows = 256, kWide = 512, kShort = 32;
  constexpr int64_t kLeast = 1 << 20, kLarge = 1 << 23;
  if (!are_factors(left, right)) return false;
  const int64_t batch = left.dim() == 3 ? left.size(0) : 1;
  const int64_t rows = left.size(-2), inner = left.size(-1), columns = right.size(-1);
  const int64_t products = batch * rows * inner * columns;
  if (products < kLeast || rows < 2 || columns < 2) return false;
  const bool large = products >= kLarge && inner >= kShort;
  if (batch > 1) return large && in_rows(right) && right.stride(0) == inner * columns && in_rows(left);
  const bool plain = in_rows(right);
  if (!plain && !in_columns(right)) return false;  // it would be copied first
  if (in_rows(left)) {
    if (rows <= kFewRows) return true;
    if (is_turned_first(left, right)) return is_worth_parts(rows, inner, columns);
    if (!plain) return large;
  } else if (!in_columns(left) || !plain) {
    return false;
  }
  return large || (columns >= kWide && rows <= kSomeRows);
}

std::optional<at::Tensor> product_by_onednn(const at::Tensor& left, const at::Tensor& right,
                                            const std::optional<at::Tensor>& addend) {
  if (!are_factors(left, right) || !at::hasMKLDNN() || !at::globalContext().userEnabledMkldnn()) return std::nullopt;
  at::DimVector sizes(left.sizes());
  sizes.back() = right.size(-1);
  at::Tensor made = at::empty(sizes, left.options());
  if (made.numel() == 0) return std::nullopt;
  if (addend) {
    if (addend->scalar_type() != at::kFloat || !at::is_expandable_to(addend->sizes(), sizes)) return std::nullopt;
    made.copy_(*addend);
  }
  const float share = addend ? 1.0F : 0.0F;
  const int64_t rows = left.size(-2);
  if (rows <= kFewRows || (left.dim() == 3 && left.size(0) > 1) || !is_turned_first(left, right)) {
    at::native::mkldnn_matmul(left, right, made, share, 1.0F);
    return made;
  }
  const int64_t parts = (rows + kFewRows - 1) / kFewRows, each = (rows + parts - 1) / parts;
  for (int64_t row = 0; row < rows; row += each) {
    const int64_t of = std::min(each, rows - row);
    at::native::mkldnn_matmul(left.narrow(-2, row, of), right, made.narrow(-2, row, of), share, 1.0F);
  }
  return made;
}

}  // namespace lenz::oracle
