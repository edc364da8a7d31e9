// The first few of a line in order are those of the whole line in order, ties and NaN included.
#include "compiler/runtime/sort.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>

namespace lenz::runtime {
namespace {

using loops::Tensor;

// Few different numbers, so that many are equal.
ScalarValue number(Dtype dtype, int64_t i) {
  const int64_t n = (i * 7919 + i / 13) % 41 - 20;
  if (dtype == Dtype::b8) return ScalarValue(n > 0 ? int64_t{1} : int64_t{0});
  if (!is_floating(dtype)) return ScalarValue(n);
  if (n == 7) return ScalarValue(std::nan(""));
  if (n == 8) return ScalarValue(-std::numeric_limits<double>::infinity());
  return ScalarValue(n == 0 && i % 2 ? -0.0 : static_cast<double>(n) / 4);
}

constexpr std::array kSorted{Dtype::f32, Dtype::f64, Dtype::i64, Dtype::i32,  Dtype::i16,   Dtype::i8,
                             Dtype::u8,  Dtype::b8,  Dtype::f16, Dtype::bf16, Dtype::f8e4m3};

// By the values as they are read, with no keys made of them.
bool before(const ScalarValue& a, const ScalarValue& b) {
  if (a.kind() == ScalarKind::integer) return a.integer() < b.integer();
  return !std::isnan(a.real()) && (std::isnan(b.real()) || a.real() < b.real());
}

TEST(Sort, EveryDtypeIsInOrderAndEqualOnesStay) {
  const auto pool = make_pool(2);
  for (Dtype dtype : kSorted)
    for (int64_t length : {1, 2, 64, 1000})
      for (bool descending : {false, true}) {
        Tensor keys(dtype, {length}), places(Dtype::i64, {length});
        for (int64_t i = 0; i < length; ++i) keys.put(i, number(dtype, i));
        sort_lines(keys, {}, places, 0, descending, *pool);
        for (int64_t i = 1; i < length; ++i) {
          const int64_t p = places.get(loops::Ints{i - 1}).integer(), q = places.get(loops::Ints{i}).integer();
          const ScalarValue earlier = keys.get(loops::Ints{p}), later = keys.get(loops::Ints{q});
          ASSERT_FALSE(descending ? before(earlier, later) : before(later, earlier));
          ASSERT_TRUE(before(earlier, later) || before(later, earlier) || p < q);
        }
      }
}

// Keys as if drawn: evenly, of which few bits tell nearly all apart, and not; many of them equal, or but for the last
// bits.
TEST(Sort, ManyLongKeys) {
  const auto pool = make_pool(1);
  for (const auto& [shift, mask] :
       {std::pair(0, ~uint64_t{0}), std::pair(30, ~uint64_t{0}), std::pair(0, uint64_t{7}),
        std::pair(40, uint64_t{0xff00000000000003}), std::pair(12, uint64_t{0xfff00000003})})
    for (const Dtype dtype : {Dtype::i64, Dtype::f64})
      for (const int64_t count : {600, 20000}) {
        const bool descending = shift == 30;
        Tensor keys(dtype, {count}), values(dtype, {count}), places(Dtype::i64, {count});
        uint64_t drawn = 1;
        for (int64_t i = 0; i < count; ++i) {
          drawn = drawn * 6364136223846793005 + 1442695040888963407;
          const auto key = static_cast<int64_t>((drawn >> shift) & mask) - (mask == 7 ? 4 : 0);
          keys.put(i, dtype == Dtype::i64 ? ScalarValue(key) : ScalarValue(static_cast<double>(key) * 0x1p-40));
        }
        sort_lines(keys, values, places, 0, descending, *pool);
        for (int64_t i = 1; i < count; ++i) {
          const int64_t p = places.get(loops::Ints{i - 1}).integer(), q = places.get(loops::Ints{i}).integer();
          const ScalarValue earlier = keys.at(p), later = keys.at(q);
          ASSERT_FALSE(descending ? before(earlier, later) : before(later, earlier)) << shift << " " << i;
          ASSERT_TRUE(before(earlier, later) || before(later, earlier) || p < q) << shift << " " << i;
          ASSERT_FALSE(before(values.at(i), later) || before(later, values.at(i)));
        }
      }
}

// What the first bytes that differ leave alike: many and few of them, in order and out of it.
TEST(Sort, LongKeysDifferInTheirLastBytesToo) {
  const auto pool = make_pool(1);
  for (int64_t first : {1, 3, 500}) {
    Tensor keys(Dtype::i64, {4000}), values(Dtype::i64, {4000}), places(Dtype::i64, {4000});
    for (int64_t i = 0; i < 4000; ++i)
      keys.put(i, ScalarValue(((i * 7919 % first) << 40) - (first << 39) + i * 104729 % 1500));
    sort_lines(keys, values, places, 0, false, *pool);
    for (int64_t i = 1; i < 4000; ++i) {
      const int64_t p = places.get(loops::Ints{i - 1}).integer(), q = places.get(loops::Ints{i}).integer();
      const int64_t earlier = keys.get(loops::Ints{p}).integer(), later = keys.get(loops::Ints{q}).integer();
      ASSERT_TRUE(earlier < later || (earlier == later && p < q)) << first << " at " << i;
      ASSERT_EQ(values.get(loops::Ints{i}).integer(), later);
    }
  }
}

TEST(Sort, TheFirstFewAreThoseOfTheWhole) {
  const auto pool = make_pool(2);
  for (Dtype dtype : kSorted)
    for (int64_t length : {1, 5, 64, 1000, 3000})
      for (uint32_t dim : {0U, 1U})
        for (bool descending : {false, true}) {
          const int64_t rows = dim == 1 ? 9 : length, columns = dim == 1 ? length : 35;
          Tensor keys(dtype, {rows, columns});
          for (int64_t i = 0; i < keys.numel(); ++i) keys.put(i, number(dtype, i));
          Tensor values(dtype, {rows, columns}), indices(Dtype::i64, {rows, columns});
          sort_lines(keys, values, indices, dim, descending, *pool);
          for (int64_t first :
               {int64_t{1}, std::min<int64_t>(3, length), (length + 9) / 10, (length + 1) / 2, length}) {
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

TEST(Sort, OfOneResultNothingMayBeWanted) {
  const auto pool = make_pool(1);
  Tensor keys(Dtype::f32, {40, 20}), none(Dtype::f32, {0, 20}), indices(Dtype::i64, {1, 20}),
      no_indices(Dtype::i64, {0, 20});
  for (int64_t i = 0; i < keys.numel(); ++i) keys.put(i, ScalarValue(static_cast<double>(i / 20 == i % 20 ? -1 : i)));
  sort_lines(keys, none, indices, 0, false, *pool);
  for (int64_t i = 0; i < 20; ++i) EXPECT_EQ(indices.get(loops::Ints{0, i}).integer(), i);
  sort_lines(keys, none, no_indices, 0, false, *pool);
}

TEST(Sort, WhatBelongsAtPlacesIsThatOfTheWhole) {
  const auto pool = make_pool(1);
  for (Dtype dtype : kSorted)
    for (int64_t length : {1, 5, 64, 1000})
      for (bool descending : {false, true}) {
        Tensor keys(dtype, {length}), values(dtype, {length}), indices(Dtype::i64, {length});
        for (int64_t i = 0; i < length; ++i) keys.put(i, number(dtype, i));
        sort_lines(keys, values, indices, 0, descending, *pool);
        for (const loops::Ints& places : {loops::Ints{length - 1, (length - 1) / 2}, loops::Ints{0},
                                          loops::Ints{length / 3, length / 3, length / 2, length / 16}}) {
          Tensor some(dtype, {std::ssize(places)}), from(Dtype::i64, {std::ssize(places)});
          sort_lines(keys, some, from, 0, descending, *pool, places);
          for (int64_t i = 0; i < std::ssize(places); ++i) {
            const int64_t place = places[static_cast<size_t>(i)];
            ASSERT_EQ(from.get(loops::Ints{i}).integer(), indices.get(loops::Ints{place}).integer());
            ASSERT_EQ(std::memcmp(some.element(i), values.element(place), static_cast<size_t>(some.item_bytes())), 0);
          }
        }
      }
}

// By digits: of many keys that share their first ones, or all; beside one that is far from the rest.
TEST(Sort, WhatBelongsAtPlacesOfManyIsThatOfTheWhole) {
  const auto pool = make_pool(1);
  constexpr int64_t kLength = 20000;
  for (const Dtype dtype : {Dtype::f32, Dtype::i64, Dtype::bf16, Dtype::u8})
    for (const int64_t kinds : {1, 2, 3000, 1 << 20})
      for (const bool descending : {false, true}) {
        Tensor keys(dtype, {kLength}), values(dtype, {kLength}), indices(Dtype::i64, {kLength});
        for (int64_t i = 0; i < kLength; ++i) {
          const int64_t n = i == 77 ? 100 : i * 104729 % kinds % 100;
          const double fine = static_cast<double>(i * 104729 % kinds) * 0x1p-10;
          keys.put(i, dtype == Dtype::i64                ? ScalarValue(i * 104729 % kinds - (int64_t{i == 77} << 40))
                      : dtype == Dtype::u8               ? ScalarValue(n)
                      : i % 501 == 3 && kinds == 1 << 20 ? ScalarValue(std::nan(""))
                                                         : ScalarValue(i == 77 ? 1e30 : fine));
        }
        sort_lines(keys, values, indices, 0, descending, *pool);
        const loops::Ints places{kLength / 2, kLength - 1, kLength / 5, kLength - 2, 3};
        Tensor some(dtype, {std::ssize(places)}), from(Dtype::i64, {std::ssize(places)});
        sort_lines(keys, some, from, 0, descending, *pool, places);
        for (int64_t i = 0; i < std::ssize(places); ++i) {
          const int64_t place = places[static_cast<size_t>(i)];
          ASSERT_EQ(from.get(loops::Ints{i}).integer(), indices.get(loops::Ints{place}).integer()) << kinds;
          ASSERT_EQ(std::memcmp(some.element(i), values.element(place), static_cast<size_t>(some.item_bytes())), 0);
        }
      }
}

// Of pivots that are always bad the library's own selection is called.
TEST(Sort, WhatBelongsAtAPlaceIsFoundAmongBadPivots) {
  const auto pool = make_pool(1);
  constexpr int64_t kLength = 4000;
  Tensor keys(Dtype::i64, {kLength}), middle(Dtype::i64, {1});
  for (int64_t i = 0; i < kLength; ++i) keys.put(i, ScalarValue(i < kLength / 2 ? 2 * i : 2 * (kLength - i) - 1));
  const loops::Ints places{kLength / 2};
  sort_lines(keys, middle, {}, 0, false, *pool, places);
  EXPECT_EQ(middle.get(loops::Ints{0}).integer(), kLength / 2);
}

}  // namespace
}  // namespace lenz::runtime
