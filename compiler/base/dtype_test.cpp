#include "compiler/base/dtype.h"

#include <gtest/gtest.h>

#include <set>

namespace lenz {
namespace {

std::vector<Dtype> every_dtype() {
  std::vector<Dtype> out;
  for (int i = 0; i < kDtypeCount; ++i) out.push_back(static_cast<Dtype>(i));
  return out;
}

TEST(Dtype, RowsStandInTheOrderOfTheEnum) {
  std::set<std::string_view> names;
  for (Dtype d : every_dtype()) {
    EXPECT_EQ(info(d).dtype, d);
    for (std::string_view n : {name(d), info(d).torch}) EXPECT_EQ(parse_dtype(n), d) << n;
    EXPECT_TRUE(names.insert(name(d)).second);
    EXPECT_EQ(item_size(d) * 8, info(d).bits);
  }
  EXPECT_EQ(parse_dtype("f17"), std::nullopt);
  EXPECT_EQ(parse_dtype(""), std::nullopt);
}

TEST(Dtype, Predicates) {
  EXPECT_TRUE(is_complex(Dtype::c64) && is_inexact(Dtype::c64) && !is_floating(Dtype::c64));
  EXPECT_TRUE(is_floating(Dtype::bf16) && is_reduced_float(Dtype::bf16) && !is_reduced_float(Dtype::f32));
  EXPECT_TRUE(is_float8(Dtype::f8e5m2) && is_floating(Dtype::f8e5m2) && !is_reduced_float(Dtype::f8e5m2));
  EXPECT_TRUE(is_integral(Dtype::b8, true) && !is_integral(Dtype::b8, false) && is_integral(Dtype::u8, false));
}

TEST(Dtype, PromotionIsALattice) {
  for (Dtype a : every_dtype()) {
    EXPECT_EQ(promote(a, a), a);
    for (Dtype b : every_dtype()) {
      auto ab = promote(a, b);
      EXPECT_EQ(ab, promote(b, a)) << name(a) << " " << name(b);
      if (!ab) {
        EXPECT_TRUE(is_float8(a) || is_float8(b));
        continue;
      }
      EXPECT_EQ(promote(a, *ab), ab) << name(a) << " " << name(b);
      for (Dtype c : every_dtype()) {
        auto bc = promote(b, c);
        if (bc && promote(*ab, c)) {
          EXPECT_EQ(promote(*ab, c), promote(a, *bc));
        }
      }
    }
  }
}

TEST(Dtype, PromotionCrossesCategories) {
  EXPECT_EQ(promote(Dtype::u8, Dtype::i8), Dtype::i16);
  EXPECT_EQ(promote(Dtype::f16, Dtype::bf16), Dtype::f32);
  EXPECT_EQ(promote(Dtype::i64, Dtype::f16), Dtype::f16);
  EXPECT_EQ(promote(Dtype::f64, Dtype::c64), Dtype::c128);
  EXPECT_EQ(promote(Dtype::b8, Dtype::u8), Dtype::u8);
  EXPECT_EQ(promote(Dtype::f8e4m3, Dtype::f32), std::nullopt);
}

TEST(Dtype, RealAndComplexPartners) {
  EXPECT_EQ(to_real(Dtype::c64), Dtype::f32);
  EXPECT_EQ(to_real(Dtype::c128), Dtype::f64);
  EXPECT_EQ(to_real(Dtype::i8), Dtype::i8);
  EXPECT_EQ(to_complex(Dtype::f32), Dtype::c64);
  EXPECT_EQ(to_complex(Dtype::f64), Dtype::c128);
  EXPECT_EQ(to_complex(Dtype::c128), Dtype::c128);
}

TEST(Dtype, Sets) {
  for (Dtype d : every_dtype()) {
    EXPECT_TRUE(dtypes::all.has(d));
    EXPECT_EQ(dtypes::float8.has(d), is_float8(d));
    EXPECT_EQ(dtypes::complexes.has(d), is_complex(d));
    EXPECT_EQ(dtypes::integers.has(d), is_integral(d, false));
  }
  EXPECT_TRUE((dtypes::floats & dtypes::integers).empty());
  EXPECT_EQ((dtypes::real_and_bool - dtypes::real), dtypes::boolean);
}

}  // namespace
}  // namespace lenz
