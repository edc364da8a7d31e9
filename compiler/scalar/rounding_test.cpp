#include "compiler/scalar/rounding.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <bit>
#include <cmath>

namespace lenz {
namespace {

constexpr Dtype kSmallFloats[] = {Dtype::f16, Dtype::bf16, Dtype::f8e4m3, Dtype::f8e5m2};

uint64_t count_of(Dtype dtype) { return uint64_t{1} << info(dtype).bits; }
uint64_t sign_of(Dtype dtype) { return count_of(dtype) / 2; }
double decoded(Dtype dtype, uint64_t bits) { return from_bits(dtype, {bits, 0}).real(); }

TEST(Rounding, every_small_float_survives_the_way_there_and_back) {
  for (Dtype dtype : kSmallFloats)
    for (uint64_t bits = 0; bits < count_of(dtype); ++bits) {
      const double value = decoded(dtype, bits);
      ASSERT_EQ(to_bits(dtype, ScalarValue(value))[0], bits) << name(dtype) << " " << bits;
      if (std::isnan(value)) continue;
      ASSERT_EQ(round_to(dtype, value), value) << name(dtype) << " " << bits;
    }
}

// Between every two neighbours: below the middle, the middle itself (to the even one), above it; of both signs.
TEST(Rounding, between_all_neighbours_of_small_floats) {
  for (Dtype dtype : kSmallFloats)
    for (uint64_t bits = 0; bits + 1 < sign_of(dtype); ++bits) {
      const double low = decoded(dtype, bits), high = decoded(dtype, bits + 1);
      if (!std::isfinite(low) || !std::isfinite(high)) continue;
      const double middle = low + (high - low) / 2;  // exact: one bit more
      const double even = bits % 2 == 0 ? low : high;
      for (double sign : {1.0, -1.0}) {
        ASSERT_EQ(round_to(dtype, sign * middle), sign * even) << name(dtype) << " " << middle;
        ASSERT_EQ(round_to(dtype, sign * std::nextafter(middle, low)), sign * low) << name(dtype) << " " << middle;
        ASSERT_EQ(round_to(dtype, sign * std::nextafter(middle, high)), sign * high) << name(dtype) << " " << middle;
        // A tie in the high part that the low part breaks.
        const double nudge = middle * 0x1p-70;
        ASSERT_EQ(round_to(dtype, DoubleDouble(sign * middle, sign * nudge)), sign * high) << name(dtype);
        ASSERT_EQ(round_to(dtype, DoubleDouble(sign * middle, -sign * nudge)), sign * low) << name(dtype);
        ASSERT_EQ(next_after(dtype, sign * low, sign * high), sign * high) << name(dtype) << " " << low;
        ASSERT_EQ(next_after(dtype, sign * high, sign * low), sign * low) << name(dtype) << " " << high;
      }
      ASSERT_EQ(last_place(dtype, low), high - low) << name(dtype) << " " << low;
    }
}

TEST(Rounding, beyond_the_largest_value) {
  struct Edge {
    Dtype dtype;
    double largest, tie;
  };
  for (const Edge& e : {Edge{Dtype::f16, 65504, 65520}, Edge{Dtype::bf16, 0x1.fep127, 0x1.ffp127},
                        Edge{Dtype::f32, 0x1.fffffep127, 0x1.ffffffp127}, Edge{Dtype::f8e5m2, 57344, 61440}}) {
    EXPECT_EQ(largest_finite(e.dtype), e.largest);
    EXPECT_EQ(round_to(e.dtype, std::nextafter(e.tie, 0)), e.largest) << name(e.dtype);
    EXPECT_EQ(round_to(e.dtype, e.tie), dd::kInfinity) << name(e.dtype);
    EXPECT_EQ(round_to(e.dtype, -e.tie), -dd::kInfinity) << name(e.dtype);
    EXPECT_EQ(round_to(e.dtype, dd::kInfinity), dd::kInfinity) << name(e.dtype);
    EXPECT_EQ(next_after(e.dtype, e.largest, dd::kInfinity), dd::kInfinity);
    EXPECT_EQ(next_after(e.dtype, dd::kInfinity, 0), e.largest);
  }
}

TEST(Rounding, float8_e4m3_has_no_infinity) {
  EXPECT_EQ(round_to(Dtype::f8e4m3, 464), 448);  // the tie goes to the even mantissa, 448's
  EXPECT_TRUE(std::isnan(round_to(Dtype::f8e4m3, 465)));
  EXPECT_TRUE(std::isnan(round_to(Dtype::f8e4m3, dd::kInfinity)));
  EXPECT_TRUE(std::isnan(round_to(Dtype::f8e4m3, -1e300)));
  EXPECT_EQ(to_bits(Dtype::f8e4m3, ScalarValue(dd::kInfinity))[0], 0x7f);
  EXPECT_EQ(to_bits(Dtype::f8e4m3, ScalarValue(-dd::kInfinity))[0], 0xff);
}

TEST(Rounding, signed_zeros_and_underflow) {
  for (Dtype dtype : kSmallFloats) {
    const double tiny = smallest_subnormal(dtype);
    EXPECT_EQ(round_to(dtype, tiny / 2), 0);
    EXPECT_EQ(round_to(dtype, tiny * 0.50001), tiny);
    EXPECT_TRUE(std::signbit(round_to(dtype, -tiny / 4)));
    EXPECT_TRUE(std::signbit(round_to(dtype, -5e-324)));
    EXPECT_TRUE(std::signbit(decoded(dtype, sign_of(dtype))));
    EXPECT_EQ(next_after(dtype, 0, -1), -tiny);
    EXPECT_EQ(next_after(dtype, -tiny, 1), 0);
  }
}

RC_GTEST_PROP(Rounding, float32_is_the_machine_s, ()) {
  const auto bits = *rc::gen::arbitrary<uint64_t>();
  const auto single = *rc::gen::arbitrary<uint32_t>();
  const auto offset = *rc::gen::inRange(-2, 3);
  // Any double at all, and doubles around the middle of two floats.
  for (double x : {std::bit_cast<double>(bits),
                   std::bit_cast<double>(std::bit_cast<uint64_t>(static_cast<double>(std::bit_cast<float>(single))) +
                                         0x10000000u + static_cast<uint64_t>(offset))}) {
    const double machine = static_cast<float>(x);
    if (std::isnan(x)) {
      RC_ASSERT(std::isnan(round_to(Dtype::f32, x)));
    } else {
      // f32 is rounded by the machine; as a part of c64 it is by the steps that all other dtypes are.
      for (Dtype dtype : {Dtype::f32, Dtype::c64})
        RC_ASSERT(std::bit_cast<uint64_t>(round_to(dtype, x)) == std::bit_cast<uint64_t>(machine));
      RC_ASSERT(to_bits(Dtype::f32, ScalarValue(x))[0] == std::bit_cast<uint32_t>(static_cast<float>(x)));
    }
  }
}

RC_GTEST_PROP(Rounding, is_idempotent_and_monotone, ()) {
  const double x = std::bit_cast<double>(*rc::gen::arbitrary<uint64_t>());
  const double y = x * (1 + *rc::gen::inRange(0, 1000) * 0x1p-14);
  RC_PRE(std::isfinite(x) && std::isfinite(y));
  for (Dtype dtype : {Dtype::f16, Dtype::bf16, Dtype::f32, Dtype::f8e5m2}) {
    const double rx = round_to(dtype, x), ry = round_to(dtype, y);
    RC_ASSERT(round_to(dtype, rx) == rx);
    RC_ASSERT((x < 0 ? ry <= rx : rx <= ry));
  }
}

RC_GTEST_PROP(Rounding, integer_bits_wrap, ()) {
  const auto value = *rc::gen::arbitrary<int64_t>();
  for (Dtype dtype : {Dtype::u8, Dtype::i8, Dtype::i16, Dtype::i32, Dtype::i64}) {
    const int64_t wrapped = wrap_to(dtype, value);
    __extension__ using Wide = __int128;
    const Wide modulus = Wide{1} << info(dtype).bits;
    RC_ASSERT((Wide{value} - wrapped) % modulus == 0);
    RC_ASSERT(wrap_to(dtype, wrapped) == wrapped);
    RC_ASSERT(from_bits(dtype, to_bits(dtype, ScalarValue(value))).integer() == wrapped);
  }
  RC_ASSERT(wrap_to(Dtype::b8, value) == (value != 0 ? 1 : 0));
}

TEST(Rounding, complex_bits) {
  const ScalarValue z(std::complex<double>(1.0, -2.0));
  EXPECT_EQ(to_bits(Dtype::c64, z)[0], 0xc00000003f800000u);
  EXPECT_EQ(to_bits(Dtype::c128, z), (ScalarBits{0x3ff0000000000000u, 0xc000000000000000u}));
  EXPECT_EQ(from_bits(Dtype::c64, {0xc00000003f800000u, 0}).complex(), z.complex());
  EXPECT_EQ(from_bits(Dtype::c128, {0x3ff0000000000000u, 0xc000000000000000u}).complex(), z.complex());
}

}  // namespace
}  // namespace lenz
