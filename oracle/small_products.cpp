#include "oracle/small_products.h"

#include <ATen/ExpandUtils.h>
#include <ATen/Functions.h>
#include <ATen/Parallel.h>

#include <algorithm>
#include <array>
#include <utility>

namespace lenz::oracle {

namespace {
constexpr int64_t kBlock = 16;                                    // columns whose sums registers hold
constexpr int64_t kOfEach = 1 << 10, kMultiplications = 1 << 14;  // of one product of many, of all

// Where elements lie: how far the next batch, row and column are.
struct Lies {
  int64_t batch = 0, row = 0, column = 0;
};
Lies lies(const at::Tensor& t) { return {t.dim() == 3 ? t.stride(0) : 0, t.stride(-2), t.stride(-1)}; }

template <class T>
struct Product {
  const T *left, *right, *addend;  // addend: may be none
  T* made;
  Lies of_left, of_right, of_addend;
  int64_t rows, terms, columns;
};

// Of rows `first` on, counted through all batches, up to `last`: Columns columns, from one on.
template <int64_t Columns, class T>
[[gnu::always_inline]] inline void block(const Product<T>& p, int64_t from, int64_t first, int64_t last) {
  int64_t batch = first / p.rows, row = first % p.rows;
  std::array<T, static_cast<size_t>(kMultiplications)> turned;
  T* to = p.made + first * p.columns + from;
  for (int64_t left = last - first; left > 0; row = 0, ++batch) {
    const T* b = p.right + batch * p.of_right.batch + from * p.of_right.column;
    int64_t step = p.of_right.row;
    if (p.of_right.column != 1) {
      for (int64_t t = 0; t < p.terms; ++t)
        for (int64_t c = 0; c < Columns; ++c) turned[t * Columns + c] = b[t * p.of_right.row + c * p.of_right.column];
      b = turned.data();
      step = Columns;
    }
    const T* x = p.left + batch * p.of_left.batch + row * p.of_left.row;
    const T* addend =
        p.addend ? p.addend + batch * p.of_addend.batch + row * p.of_addend.row + from * p.of_addend.column : nullptr;
    const int64_t here = std::min(left, p.rows - row);
    left -= here;
    for (int64_t r = 0; r < here; ++r, x += p.of_left.row, to += p.columns) {
      std::array<T, static_cast<size_t>(Columns)> sums{};
      if (addend)
        for (int64_t c = 0; c < Columns; ++c) sums[c] = addend[r * p.of_addend.row + c * p.of_addend.column];
      for (int64_t t = 0; t < p.terms; ++t)
        for (int64_t c = 0; c < Columns; ++c) sums[c] += x[t * p.of_left.column] * b[t * step + c];
      for (int64_t c = 0; c < Columns; ++c) to[c] = sums[c];
    }
  }
}

template <class T, int64_t... C>
[[gnu::always_inline]] inline void block_of(int64_t columns, const Product<T>& p, int64_t from, int64_t first,
                                            int64_t last, std::integer_sequence<int64_t, C...>) {
  static_cast<void>(((columns == C + 1 && (block<C + 1>(p, from, first, last), true)) || ...));
}

template <class T>
[[gnu::always_inline]] inline void rows_of(const Product<T>& p, int64_t first, int64_t last) {
  for (int64_t c = 0; c < p.columns; c += kBlock)
    block_of(std::min(kBlock, p.columns - c), p, c, first, last, std::make_integer_sequence<int64_t, kBlock>());
}

__attribute__((target("avx512f,avx512vl,avx512dq,avx2,fma"))) void rows_by_avx512(const Product<float>& p,
                                                                                  int64_t first, int64_t last) {
  rows_of(p, first, last);
}
__attribute__((target("avx512f,avx512vl,avx512dq,avx2,fma"))) void rows_by_avx512(const Product<double>& p,
                                                                                  int64_t first, int64_t last) {
  rows_of(p, first, last);
}
__attribute__((target("avx2,fma"))) void rows_by_avx2(const Product<float>& p, int64_t first, int64_t last) {
  rows_of(p, first, last);
}
__attribute__((target("avx2,fma"))) void rows_by_avx2(const Product<double>& p, int64_t first, int64_t last) {
  rows_of(p, first, last);
}

template <class T>
void rows_by_any(const Product<T>& p, int64_t first, int64_t last) {
  static const bool avx512 = __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
  static const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  if (avx512) return rows_by_avx512(p, first, last);
  if (avx2) return rows_by_avx2(p, first, last);
  rows_of(p, first, last);
}

template <class T>
at::Tensor multiplied(const at::Tensor& left, const at::Tensor& right, const std::optional<at::Tensor>& addend,
                      at::IntArrayRef sizes) {
  constexpr int64_t kShare = 1 << 15;  // multiplications that are worth a thread
  at::Tensor made = at::empty(sizes, left.options());
  Product<T> p{left.const_data_ptr<T>(),
               right.const_data_ptr<T>(),
               nullptr,
               made.mutable_data_ptr<T>(),
               lies(left),
               lies(right),
               {},
               left.size(-2),
               left.size(-1),
               right.size(-1)};
  if (addend) {
    const at::Tensor whole = addend->expand(sizes);
    p.addend = whole.const_data_ptr<T>();
    p.of_addend = lies(whole);
  }
  const int64_t rows = made.numel() / p.columns, each = std::max<int64_t>(p.terms * p.columns, 1);
  at::parallel_for(0, rows, std::max<int64_t>(kShare / each, 1),
                   [&](int64_t first, int64_t last) { rows_by_any(p, first, last); });
  return made;
}
}  // namespace

std::optional<at::Tensor> small_product(const at::Tensor& left, const at::Tensor& right,
                                        const std::optional<at::Tensor>& addend) {
  const at::ScalarType dtype = left.scalar_type();
  if ((dtype != at::kFloat && dtype != at::kDouble) || right.scalar_type() != dtype) return std::nullopt;
  if (left.dim() != right.dim() || left.dim() < 2 || left.dim() > 3) return std::nullopt;
  if (left.size(-1) != right.size(-2) || (left.dim() == 3 && left.size(0) != right.size(0))) return std::nullopt;
  const int64_t terms = left.size(-1), columns = right.size(-1);
  at::DimVector sizes(left.sizes());
  sizes.back() = columns;
  const int64_t elements = c10::multiply_integers(sizes);
  if (elements == 0) return std::nullopt;
  const bool few = left.dim() == 3 && elements / left.size(0) * terms <= kOfEach;
  if (terms == 0 || !(few || elements * terms <= kMultiplications)) return std::nullopt;
  if (addend && (addend->scalar_type() != dtype || !at::is_expandable_to(addend->sizes(), sizes))) return std::nullopt;
  return dtype == at::kFloat ? multiplied<float>(left, right, addend, sizes)
                             : multiplied<double>(left, right, addend, sizes);
}

}  // namespace lenz::oracle
