// Rows of open sizes that are no longer than a tile have code of their own, with tables where lanes decide much.
#include <fmt/format.h>

#include "compiler/backend/llvm/compile_kernels.h"
#include "compiler/backend/llvm/same_bits_test.h"

namespace lenz::native {
namespace {

size_t times(std::string_view what, const std::string& text) {
  const std::string code = kernels_as_text(loops::parse_program(text, op_table()), find_target("avx512"), false);
  size_t count = 0;
  for (size_t at = code.find(what); at != std::string::npos; at = code.find(what, at + 1)) ++count;
  return count;
}

// Rows in tiles of 64, whose points are told by three numbers.
const std::string kRows = R"(loops @rows where s0 in 0..100, s1 in 0..100, s2 in 0..1000 {
  input %x: f32[s0, s1, s2] placed
  input %z: f32[s2] placed
  temp %y: f32[s0, s1, s2] placed
  kernel k0 < s0, k1 < s1, t < (s2 + 63)//64 {
    for i < min(64, s2 - t*64) lanes 16 unroll 2 {
      %0 = load %x[k0, k1, i + t*64]
      %1 = load %z[i + t*64]
      %2 = add.f32 %0, %1
      store %y[k0, k1, i + t*64] = %2
    }
  }
  return %y
}
)";

TEST(OneTile, HasCodeOfItsOwn) {
  EXPECT_GT(times("one_tile:", kRows), 0u);
  std::string known = kRows;
  for (size_t at = 0; (at = known.find("s2", at)) != std::string::npos;) known.replace(at, 2, "65");
  known.replace(known.find(", 65 in 0..1000"), 15, "");
  EXPECT_EQ(times("one_tile:", known), 0u);
}

TEST(OneTile, IsWhatTilesAre) {
  for (int64_t n : {1, 7, 15, 16, 17, 31, 32, 33, 48, 63, 64, 65, 129, 200})
    expect_same(kRows, {numbers({3, 5, n}), numbers({n})});
  expect_same(kRows, {numbers({1, 1, 40}), numbers({40})});
  expect_same(kRows, {numbers({7, 1, 40}), numbers({40})});
  expect_same(kRows, {numbers({0, 5, 40}), numbers({40})});
  expect_same(kRows, {numbers({4, 5, 0}), numbers({0})});
}

// Every second element twice, as images are resized: the lanes' places come of arithmetic that is the same in all rows.
const std::string kResized = R"(loops @resized where s0 in 0..100, s1 in 1..5000 {
  input %x: f32[s0, s1] placed
  temp %y: f32[s0, s1*2] placed
  kernel k < s0, t < (s1 + 2047)//2048 {
    for i < min(4096, s1*2 - t*4096) lanes 8 unroll 2 {
      %0 = index[i + t*4096]
      %1: f32 = to_dtype.i64 %0
      %2 = f32 0.5
      %3 = mul.f32 %1, %2
      %4 = floor.f32 %3
      %5: i64 = to_dtype.f32 %4
      %6 = index[s1 - 1]
      %7 = minimum.i64 %5, %6
      %8 = position %7 < s1 as p
      %9 = load %x[k, p]
      store %y[k, i + t*4096] = %9
    }
  }
  return %y
}
)";

TEST(OneTile, HasTables) {
  EXPECT_GT(times("alloca [", kResized), 0u);
  for (int64_t n : {1, 3, 4, 5, 8, 9, 28, 100, 511, 513, 1500, 2048, 2049, 2500})
    expect_same(kResized, {numbers({70, n})});
  expect_same(kResized, {numbers({0, 28})});
}

// Channels of a pixel, which all come from one place, as images are resized where channels lie last.
const std::string kPixels = R"(loops @pixels where s0 in 1..100, s1 in 1..10000 {
  input %x: f32[s0, s1] placed
  temp %y: f32[s0*2, s1] placed
  kernel k < s0*2, t < (s1 + 4095)//4096 {
    for i < min(4096, s1 - t*4096) lanes 16 unroll 2 {
      %0 = index[k]
      %1: f32 = to_dtype.i64 %0
      %2 = f32 0.5
      %3 = mul.f32 %1, %2
      %4 = floor.f32 %3
      %5: i64 = to_dtype.f32 %4
      %6 = position %5 < s0 as p
      %7 = load %x[p, i + t*4096]
      store %y[k, i + t*4096] = %7
    }
  }
  return %y
}
)";

TEST(OneTile, TellsWhatLanesShareBeforeThem) {
  EXPECT_GT(times("\none_tile", kPixels), 0u);
  EXPECT_EQ(times("fptosi", kPixels), times("\none_tile", kPixels) + 1);
  for (int64_t n : {1, 15, 16, 33, 100, 4096, 4097, 5000}) expect_same(kPixels, {numbers({5, n})});
}

// Rows that another phase makes, and that are no tiles: so many columns as there is room for.
const std::string kWhole = R"(loops @whole where s0 in 0..100, s1 in 1..5000 {
  input %x: f32[s0, 3, s1] placed
  temp %y: f32[s0, 2, s1*2] placed
  temp %t: f32[2, s1] local
  kernel k < s0 {
    for j < 2, i < s1 lanes 16 {
      %0 = load %x[k, j, i]
      %1 = load %x[k, j + 1, i]
      %2 = add.f32 %0, %1
      store %t[j, i] = %2
    }
    for j < 2, i < s1*2 lanes 8 {
      %0 = index[i]
      %1: f32 = to_dtype.i64 %0
      %2 = f32 0.5
      %3 = mul.f32 %1, %2
      %4 = floor.f32 %3
      %5: i64 = to_dtype.f32 %4
      %6 = index[s1 - 1]
      %7 = minimum.i64 %5, %6
      %8 = position %7 < s1 as p
      %9 = load %t[j, p]
      store %y[k, j, i] = %9
    }
  }
  return %y
}
)";

TEST(OneTile, HasTablesWhereRowsAreNoTiles) {
  EXPECT_GT(times("alloca [", kWhole), 0u);
  for (int64_t n : {1, 3, 4, 5, 8, 9, 28, 100, 511, 2047, 2048, 2049}) expect_same(kWhole, {numbers({7, 3, n})});
  expect_same(kWhole, {numbers({0, 3, 28})});
}

// Rows that are combined and written in lanes, both at each point, of one size that is open.
const std::string kCombined = R"(loops @combined where s0 in 0..100, s1 in 0..1000 {
  input %x: f32[s0, s1] placed
  temp %y: f32[s0, s1] placed
  temp %most: f32[] local
  kernel k < s0 {
    for reduce i < s1 lanes 16 unroll 4 {
      %0 = load %x[k, i]
      %1 = reduce maximum %0
      store %most[] = %1
    }
    for j < s1 lanes 16 unroll 2 {
      %0 = load %x[k, j]
      %1 = load %most[]
      %2 = sub.f32 %0, %1
      store %y[k, j] = %2
    }
  }
  return %y
}
)";

TEST(FewVectors, HaveCodeOfTheirOwn) {
  EXPECT_GT(times("one_tile", kCombined), 0u);
  std::string long_rows = kCombined;
  long_rows.replace(long_rows.find("0..1000"), 7, "33..1000");
  EXPECT_EQ(times("one_tile", long_rows), 0u);
}

TEST(FewVectors, AreWhatLoopsAre) {
  for (int64_t n : {0, 1, 7, 15, 16, 17, 31, 64, 65, 200}) expect_same(kCombined, {numbers({5, n})});
  expect_same(kCombined, {numbers({0, 7})});
  std::string known = kCombined;  // to have no more
  known.replace(known.find("0..1000"), 7, "1..16");
  for (int64_t n : {1, 2, 16}) expect_same(known, {numbers({5, n})});
}

// A row that is one point, which is known of its size: vectors behind the first have no point to write.
const std::string kOnePoint = R"(loops @one_point where s0 in 1..64 assuming s0 == 2 {
  input %x: f32[s0] placed
  temp %y: f32[s0, 3 - s0] placed
  temp %t: f32[3 - s0] local
  kernel k < s0 {
    for j < 3 - s0 lanes 8 {
      %0 = index[j*4 + k]
      %1: f32 = to_dtype.i64 %0
      store %t[j] = %1
    }
    for i < 3 - s0 lanes 16 {
      %0 = load %t[0]
      store %y[k, i] = %0
    }
  }
  return %y
}
)";

TEST(FewVectors, OfOnePointWriteIt) { expect_same(kOnePoint, {numbers({2})}); }

// What two axes make together keeps its loops beside rows that have few vectors.
const std::string kBesideProducts = R"(loops @beside_products where s0 in 0..100, s1 in 0..100, s2 in 0..100 {
  input %x: f32[s0, s1, s2] placed
  temp %y: f32[s0, s1, s2] placed
  temp %t: f32[s1, s2] local
  kernel k < s0 {
    for i < s1*s2 lanes 16 unroll 2 {
      %0 = load %x[k, i//s2, i % s2]
      %1 = f32 3.0
      %2 = mul.f32 %0, %1
      store %t[i//s2, i % s2] = %2
    }
    for i0 < s1, i1 < s2 lanes 16 {
      %0 = load %t[s1 - i0 - 1, s2 - i1 - 1]
      store %y[k, i0, i1] = %0
    }
  }
  return %y
}
)";

TEST(FewVectors, StandBesideProducts) {
  EXPECT_GT(times("one_tile", kBesideProducts), 0u);
  for (int64_t n : {0, 1, 15, 16, 17, 32, 33}) expect_same(kBesideProducts, {numbers({3, 9, n})});
}

// What is proved where rows have few vectors holds nowhere else: that a size is one, say.
TEST(FewVectors, KeepWhatIsProvedOfThem) {
  const std::string text = R"(loops @all where s0 in 1..100, s1 in 1..100, s2 in 1..100 {
  input %x: f32[s0, s1, s1, s2] placed
  temp %y: f32[s0] placed
  kernel k < s0 {
    for reduce i < s1*s1*s2 lanes 2 unroll 4 {
      %0 = load %x[k, i//(s1*s2), (i % (s1*s2))//s2, i % s2]
      %1 = reduce maximum %0
      store %y[k] = %1
    }
  }
  return %y
}
)";
  EXPECT_GT(times("one_tile", text), 0u);
  for (int64_t n : {1, 2, 3, 5}) expect_same(text, {numbers({3, n, n, 4})});
  expect_same(text, {numbers({3, 1, 1, 1})});
}

// A window within one tile, of few vectors.
TEST(FewVectors, AreWhatOneTileIs) {
  for (int64_t n : {1, 2, 3, 15, 16, 17, 31, 32, 33, 64, 65}) expect_same(kRows, {numbers({2, 3, n}), numbers({n})});
}

}  // namespace
}  // namespace lenz::native
