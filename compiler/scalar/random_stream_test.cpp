#include "compiler/scalar/random_stream.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "compiler/scalar/rounding.h"

namespace lenz {
namespace {

using Words = std::array<uint32_t, 4>;

// The known answers that the authors publish with Random123 (kat_vectors, philox4x32 10).
TEST(RandomStream, PhiloxGivesThePublishedAnswers) {
  EXPECT_EQ(philox({0, 0}, {0, 0, 0, 0}), (Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox({0xffffffff, 0xffffffff}, {0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}),
            (Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox({0xa4093822, 0x299f31d0}, {0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}),
            (Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(RandomStream, ElementsAreWordsInOrder) {
  RandomStream s{0x0123456789abcdef, (uint64_t{1} << 32) - 1};
  Words first = philox({0x89abcdef, 0x01234567}, {0xffffffff, 0, 0, 0});
  Words second = philox({0x89abcdef, 0x01234567}, {0, 1, 0, 0});  // the offset carries
  for (uint64_t i = 0; i < 4; ++i) {
    EXPECT_EQ(s.word(i), first[i]);
    EXPECT_EQ(s.word(4 + i), second[i]);
  }
  EXPECT_EQ(s.wide_word(1), uint64_t{first[3]} << 32 | first[2]);
  EXPECT_EQ(s.wide_word(2), uint64_t{second[1]} << 32 | second[0]);
  RandomStream later{s.seed, s.offset + offsets_used(5, false)};
  EXPECT_EQ(later.word(0), s.word(8));
  EXPECT_EQ(offsets_used(8, false), 2u);
  EXPECT_EQ(offsets_used(3, true), 2u);
}

TEST(RandomStream, SamplesHaveTheirMoments) {
  constexpr int kCount = 40000;
  for (Dtype d : {Dtype::f32, Dtype::f64, Dtype::bf16}) {
    RandomStream s{7, 3};
    double mean = 0, square = 0, normal = 0, spread = 0;
    for (uint64_t i = 0; i < kCount; ++i) {
      double u = s.uniform(d, i), z = s.normal(d, i);
      ASSERT_TRUE(u >= 0 && u < 1 && round_to(d, u) == u);
      ASSERT_TRUE(std::isfinite(z));
      mean += u / kCount;
      square += u * u / kCount;
      normal += z / kCount;
      spread += z * z / kCount;
    }
    double step = std::ldexp(0.5, -info(d).mantissa_bits);  // the lower end of an interval stands for it
    EXPECT_NEAR(mean + step, 0.5, 0.01);
    EXPECT_NEAR(square - mean * mean, 1 / 12.0, 0.005);
    EXPECT_NEAR(normal, 0, 0.02);
    EXPECT_NEAR(spread, 1, 0.03);
  }
}

TEST(RandomStream, IntegersAndCoinsStayInRange) {
  RandomStream s{1, 0};
  std::set<int64_t> seen;
  int heads = 0;
  for (uint64_t i = 0; i < 2000; ++i) {
    seen.insert(s.integer(i, -3, 4));
    heads += s.coin(i, 0.25);
    int64_t wide = s.integer(i, INT64_MIN, INT64_MAX);
    EXPECT_LT(wide, INT64_MAX);
  }
  EXPECT_EQ(seen.size(), 7u);
  EXPECT_EQ(*seen.begin(), -3);
  EXPECT_NEAR(heads, 500, 80);
  EXPECT_FALSE(s.coin(0, 0));
  EXPECT_TRUE(s.coin(0, 1));
  EXPECT_EQ(s.integer(5, 2, 3), 2);
}

TEST(RandomStream, WideProductsAreExact) {
  RandomStream s{99, 5};
  for (uint64_t i = 0; i < 100; ++i) {
    uint64_t count = (uint64_t{1} << 40) + 12345 * i;
    auto expected = static_cast<uint64_t>((static_cast<unsigned __int128>(s.wide_word(i)) * count) >> 64);
    EXPECT_EQ(s.integer(i, 0, static_cast<int64_t>(count)), static_cast<int64_t>(expected));
  }
}

}  // namespace
}  // namespace lenz
