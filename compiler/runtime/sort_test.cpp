// The first few of a line in order are those of the whole line in order, ties and NaN included.
#include "compiler/runtime/sort.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace lenz::runtime {
namespace {

using loops::Tensor;

// Few different numbers, so that many are equal.
ScalarValue number(Dtype dtype, int64_t i) {
  const int64_t n = (i * 7919 + i / 13) % 41 - 20;
  if (!is_floating(dtype)) return ScalarValue(n);
  if (n == 7) return ScalarValue(std::nan(""));
  if (n == 8) return ScalarValue(-std::numeric_limits<double>::infinity());
  return ScalarValue(n == 0 && i % 2 ? -0.0 : static_cast<double>(n) / 4);
}

TEST(Sort, TheFirstFewAreThoseOfTheWhole) {
  const auto pool = make_pool(2);
  for (Dtype dtype : {Dtype::f32, Dtype::f64, Dtype::i64, Dtype::i32, Dtype::bf16, Dtype::u8})
    for (int64_t length : {1, 5, 64, 1000})
      for (uint32_t dim : {0U, 1U})
        for (bool descending : {false, true}) {
          const int64_t rows = dim == 1 ? 9 : length, columns = dim == 1 ? length : 9;
          Tensor keys(dtype, {rows, columns});
          for (int64_t i = 0; i < keys.numel(); ++i) keys.put(i, number(dtype, i));
          Tensor values(dtype, {rows, columns}), indices(Dtype::i64, {rows, columns});
          sort_lines(keys, values, indices, dim, descending, *pool);
          for (int64_t first : {int64_t{1}, std::min<int64_t>(3, length), (length + 1) / 2, length}) {
            loops::Ints sizes{rows, columns};
            sizes[dim] = first;
            Tensor some(dtype, sizes), places(Dtype::i64, sizes);
            sort_lines(keys, some, places, dim, descending, *pool);
            for (int64_t i = 0; i < some.numel(); ++i) {
              const loops::Ints at = some.coordinates(i);
              ASSERT_EQ(places.get(at).integer(), indices.get(at).integer());
              ASSERT_EQ(std::memcmp(some.element(some.address(at)), values.element(values.address(at)),
                                    static_cast<size_t>(some.item_bytes())),
                        0);
            }
          }
        }
}

}  // namespace
}  // namespace lenz::runtime
