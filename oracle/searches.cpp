#include "oracle/searches.h"

#include <ATen/Functions.h>
#include <ATen/Parallel.h>

#include <algorithm>
#include <array>
#include <bit>

namespace lenz::oracle {

namespace {
constexpr int64_t kTogether = 32;

template <class T>
struct Search {
  const T *sorted, *values;
  int32_t length;  // of each row of `sorted`
  int64_t each;    // values of each row
  int64_t apart;   // from row to row; 0: all values look at one
  bool right;
};

// As compiler/ops/rows/indexing_loops.h: half by half, each as many steps as the longer half may need.
template <bool Right, class T, class To>
[[gnu::always_inline]] inline void some(const T* sorted, int32_t length, const T* values, To* to, int64_t count) {
  std::array<int32_t, kTogether> start{}, left;
  std::array<T, kTogether> x{};
  left.fill(length);
  std::copy_n(values, count, x.begin());
  for (int step = std::bit_width(static_cast<uint32_t>(length)); step > 0; --step) {
    // By masks rather than choices, which would become branches.
#pragma clang loop vectorize(enable)
    for (size_t i = 0; i < kTogether; ++i) {
      const int32_t half = left[i] >> 1, more = -static_cast<int32_t>(left[i] > 0);
      const T b = sorted[(start[i] + half) & more];
      const int32_t before = -static_cast<int32_t>(Right ? !(b > x[i]) : !(b >= x[i])) & more;
      start[i] += (half + 1) & before;
      left[i] = half + ((left[i] - half - 1 - half) & before);
    }
  }
  std::copy_n(start.begin(), count, to);
}

template <bool Right, class T, class To>
[[gnu::always_inline]] inline void range_of(const Search<T>& s, To* to, int64_t first, int64_t last) {
  while (first < last) {
    const int64_t row = s.apart == 0 ? 0 : first / s.each;
    const int64_t end = s.apart == 0 ? last : std::min(last, (row + 1) * s.each);
    for (; first < end; first += kTogether)
      some<Right>(s.sorted + row * s.apart, s.length, s.values + first, to + first, std::min(kTogether, end - first));
    first = end;
  }
}

template <class T, class To>
[[gnu::always_inline]] inline void either(const Search<T>& s, To* to, int64_t first, int64_t last) {
  s.right ? range_of<true>(s, to, first, last) : range_of<false>(s, to, first, last);
}

template <class T, class To>
__attribute__((target("avx512f,avx512vl,avx512dq,avx512bw,avx2,fma"))) void by_avx512(const Search<T>& s, To* to,
                                                                                      int64_t first, int64_t last) {
  either(s, to, first, last);
}
template <class T, class To>
__attribute__((target("avx2,fma"))) void by_avx2(const Search<T>& s, To* to, int64_t first, int64_t last) {
  either(s, to, first, last);
}

template <class T, class To>
void anywhere(const Search<T>& s, To* to, int64_t first, int64_t last) {
  static const bool avx512 = __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
  static const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  if (avx512) return by_avx512(s, to, first, last);
  if (avx2) return by_avx2(s, to, first, last);
  either(s, to, first, last);
}

template <class T, class To>
at::Tensor found(const at::Tensor& sorted, const at::Tensor& values, bool right, at::ScalarType dtype) {
  constexpr int64_t kShare = 4096;  // searches that are worth a thread
  at::Tensor made = at::empty(values.sizes(), values.options().dtype(dtype));
  const int64_t length = sorted.size(-1);
  const Search<T> s{sorted.const_data_ptr<T>(),     values.const_data_ptr<T>(),
                    static_cast<int32_t>(length),   values.size(-1),
                    sorted.dim() == 1 ? 0 : length, right};
  at::parallel_for(0, values.numel(), kShare,
                   [&](int64_t first, int64_t last) { anywhere(s, made.mutable_data_ptr<To>(), first, last); });
  return made;
}

template <class T>
at::Tensor found(const at::Tensor& sorted, const at::Tensor& values, bool narrow, bool right) {
  return narrow ? found<T, int32_t>(sorted, values, right, at::kInt)
                : found<T, int64_t>(sorted, values, right, at::kLong);
}
}  // namespace

std::optional<at::Tensor> searched(const at::Tensor& sorted, const at::Tensor& values, bool narrow, bool right,
                                   std::optional<std::string_view> side) {
  constexpr int64_t kMost = 1 << 30;
  if (side && *side != "right" && (*side != "left" || right)) return std::nullopt;
  if (sorted.scalar_type() != values.scalar_type() || sorted.dim() == 0 || values.dim() == 0) return std::nullopt;
  if (sorted.size(-1) == 0 || sorted.size(-1) > kMost || values.numel() == 0) return std::nullopt;
  if (sorted.dim() > 1 && (sorted.dim() != values.dim() ||
                           sorted.sizes().slice(0, sorted.dim() - 1) != values.sizes().slice(0, sorted.dim() - 1)))
    return std::nullopt;
  const at::Tensor among = sorted.contiguous(), of = values.contiguous();
  right = right || (side && *side == "right");
  switch (sorted.scalar_type()) {
    case at::kFloat: return found<float>(among, of, narrow, right);
    case at::kDouble: return found<double>(among, of, narrow, right);
    case at::kInt: return found<int32_t>(among, of, narrow, right);
    case at::kLong: return found<int64_t>(among, of, narrow, right);
    default: return std::nullopt;
  }
}

}  // namespace lenz::oracle
