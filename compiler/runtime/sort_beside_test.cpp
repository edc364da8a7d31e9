// Short lines beside each other are in the order in which each is by itself.
#include "compiler/runtime/sort_beside.h"

#include <gtest/gtest.h>

#include <cmath>

#include "compiler/runtime/sort.h"

namespace lenz::runtime {
namespace {

using loops::Ints;
using loops::Tensor;

Tensor keys_of(Dtype dtype, Ints sizes) {
  Tensor keys(dtype, sizes);
  for (int64_t i = 0; i < keys.numel(); ++i) {
    const int64_t n = (i * 7919 + i / 13) % 23 - 11;
    if (!is_floating(dtype))
      keys.put(i, ScalarValue(dtype == Dtype::u8 ? n + 11 : n));
    else
      keys.put(i, n == 7 ? ScalarValue(std::nan("")) : ScalarValue(n == 0 && i % 2 ? -0.0 : static_cast<double>(n)));
  }
  return keys;
}

TEST(SortBeside, EachLineIsAsByItself) {
  const auto pool = make_pool(2);
  constexpr int64_t kLines = 37;
  for (const Dtype dtype : {Dtype::f32, Dtype::f64, Dtype::i64, Dtype::i32, Dtype::u8, Dtype::bf16})
    for (const int64_t length : {1, 2, 7, 19, 90})
      for (const bool descending : {false, true})
        for (const uint32_t dim : {0U, 1U}) {
          const Tensor keys = keys_of(dtype, dim == 0 ? Ints{length, kLines} : Ints{kLines, length});
          for (const Ints& places : {Ints{}, Ints{length / 2, length - 1}, Ints{0}}) {
            const int64_t count = places.empty() ? (length + 1) / 2 : std::ssize(places);
            const Ints sizes = dim == 0 ? Ints{count, kLines} : Ints{kLines, count};
            Tensor values(dtype, sizes), indices(Dtype::i64, sizes);
            ASSERT_TRUE(sort_beside(keys, values, indices, dim, descending, *pool, places, count));
            for (int64_t line = 0; line < kLines; ++line) {
              auto one = [&](const Tensor& of, int64_t size) {
                const int64_t other = 1 - static_cast<int64_t>(dim);
                return of.view({size}, {of.strides()[dim]},
                               of.offset() + line * of.strides()[static_cast<size_t>(other)]);
              };
              const Tensor alone = one(keys, length);
              Tensor own(dtype, {count}), from(Dtype::i64, {count});
              sort_lines(alone, own, from, 0, descending, *pool, places);
              for (int64_t i = 0; i < count; ++i) {
                ASSERT_EQ(one(indices, count).at(i).integer(), from.at(i).integer()) << length << " " << line;
                const Tensor made = one(values, count);
                ASSERT_EQ(std::memcmp(made.element(made.address(Ints{i})), own.element(own.address(Ints{i})),
                                      static_cast<size_t>(own.item_bytes())),
                          0);
              }
            }
          }
        }
}

TEST(SortBeside, LongLinesAndFewAreNotForIt) {
  const auto pool = make_pool(1);
  auto sorts = [&](int64_t lines, int64_t length) {
    const Tensor keys = keys_of(Dtype::f32, {lines, length});
    return sort_beside(keys, {}, Tensor(Dtype::i64, {lines, length}), 1, false, *pool, {}, length);
  };
  EXPECT_TRUE(sorts(5, 100));
  EXPECT_FALSE(sorts(4, 100));
  EXPECT_FALSE(sorts(50, 1000));
}

}  // namespace
}  // namespace lenz::runtime
