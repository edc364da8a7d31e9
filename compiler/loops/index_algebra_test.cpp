#include "compiler/loops/index_algebra.h"

#include <gtest/gtest.h>

namespace lenz::loops {
namespace {

struct Fixture {
  SymPool pool;
  Facts facts;
  Dim dim(std::string_view text) { return parse_dim(text, pool); }
  std::vector<Dim> dims(std::initializer_list<std::string_view> texts) {
    std::vector<Dim> out;
    for (auto t : texts) out.push_back(dim(t));
    return out;
  }
  IndexSpace space(std::initializer_list<std::pair<std::string_view, std::string_view>> axes) {
    IndexSpace s(pool, facts);
    for (auto [symbol, extent] : axes) s.add_axis(dim(symbol), dim(extent));
    return s;
  }
  void fact(std::string_view text) { EXPECT_TRUE(facts.add(parse_cond(text, pool))); }
};

// Tiles of two axes that became one, where a fact fixes the divisor: its quotient is written with the tile apart then.
TEST(IndexAlgebra, TilesOfJoinedAxesWhoseDivisorIsANumber) {
  Fixture f;
  f.facts.set_range(f.dim("s0").node(), {2, 2});
  f.facts.set_range(f.dim("s3").node(), {2, 64});
  const Dim whole = f.dim("(s3 - s0 + 1)*(7 - s0*2)");
  IndexSpace s(f.pool, f.facts);
  s.add_axis(f.dim("t"), ceil_div(whole, 4));
  s.add_axis(f.dim("i"), min(Dim(4), whole - f.dim("t*4")));
  EXPECT_TRUE(s.in_bounds(f.dim("(i + t*4)//(7 - s0*2)"), f.dim("s3 - s0 + 1")));
  EXPECT_FALSE(s.in_bounds(f.dim("(i + t*4)//(7 - s0*2)"), f.dim("s3 - s0")));
}

// Tiles of three open axes that became one: the quotients are taken one after the other.
TEST(IndexAlgebra, TilesOfThreeJoinedAxesOfOpenSizes) {
  Fixture f;
  f.facts.set_range(f.dim("s3").node(), {2, 64});
  f.facts.set_range(f.dim("s4").node(), {2, 4});
  const Dim whole = f.dim("(s3 - 1)*(10 - s4*2)*(6 - s4)*2");
  IndexSpace s(f.pool, f.facts);
  s.add_axis(f.dim("t"), ceil_div(whole, 4096));
  s.add_axis(f.dim("i"), min(Dim(4096), whole - f.dim("t*4096")));
  EXPECT_TRUE(s.in_bounds(f.dim("(((i + t*4096)//(6 - s4))//(10 - s4*2))//(s3 - 1)"), 2));
  EXPECT_FALSE(s.in_bounds(f.dim("(((i + t*4096)//(6 - s4))//(10 - s4*2))//(s3 - 1)"), 1));
}

// A slice by a step of what a reshape took apart: the last tile has as many points as are left of whole groups.
TEST(IndexAlgebra, TilesOfAQuotientOfAnOpenSize) {
  Fixture f;
  f.facts.set_range(f.dim("s1").node(), {2, std::nullopt});
  IndexSpace s = f.space({{"t", "(s1 + 3071)//3072"}, {"i", "min(4096, ((s1 + 2)//3)*4 - t*4096)"}});
  EXPECT_TRUE(s.in_bounds(f.dim("t*3072 + (i//4)*3"), f.dim("s1")));
  EXPECT_FALSE(s.in_bounds(f.dim("t*3072 + (i//4)*3"), f.dim("s1 - 1")));
  EXPECT_FALSE(s.in_bounds(f.dim("t*3072 + (i//3)*3"), f.dim("s1")));
}

// An open dim of a reshape in tiles, read from what lay otherwise before.
TEST(IndexAlgebra, TilesOfADimAmongOpenOnes) {
  Fixture f;
  f.facts.set_range(f.dim("s0").node(), {1, 64});
  f.facts.set_range(f.dim("s2").node(), {2, 64});
  f.fact("((s0*4) % s2)*8 == 0");
  f.fact("s2*((s0*4)//s2)*8 == 64");
  IndexSpace s =
      f.space({{"k0", "8"}, {"k1", "(s0*4)//s2"}, {"t", "(s2 + 4095)//4096"}, {"i", "min(4096, s2 - t*4096)"}});
  const Dim index = f.dim("t*128 + (k0*s2*((s0*4)//s2) + k1*s2 + i)//32");
  EXPECT_TRUE(s.in_bounds(index, f.dim("s0")));
  EXPECT_FALSE(s.in_bounds(index, f.dim("s0 - 1")));
}

// A slice by steps of half of a square that is even.
TEST(IndexAlgebra, StepsOfAHalfOfAnEvenSquare) {
  Fixture f;
  f.facts.set_range(f.dim("s").node(), {1, 40});
  f.fact("(s*s) % 2 == 0");
  f.fact("(s*s + 4)//6 != 0");
  f.fact("(s*s + 4)//6 != 1");
  IndexSpace s = f.space({{"i", "(s*s + 4)//6"}, {"j", "2"}});
  EXPECT_TRUE(s.in_bounds(f.dim("i*3"), f.dim("(s*s)//2")));
  EXPECT_FALSE(s.in_bounds(f.dim("i*3 + 1"), f.dim("(s*s)//2")));
}

// Each of a few points is tried where a mask says an axis of one point, which the place has no more.
TEST(IndexAlgebra, MasksOverAnAxisOfOnePoint) {
  Fixture f;
  IndexSpace s = f.space({{"k", "8"}, {"j", "1"}, {"i", "2"}, {"r", "12"}});
  s.assume(parse_cond("0 <= j + k - 4", f.pool));
  s.assume(parse_cond("j + k - 4 < 2", f.pool));
  const Dim index = f.dim("j*7 + i*9 + k*7 + (r//4)*3 - ((j*8 + i*12 + r + k*8)//16)*11 - 6");
  EXPECT_TRUE(s.in_bounds(index, 12));
  EXPECT_FALSE(s.in_bounds(index, 11));
}

// A size that facts leave few values is tried too, and the axes that it ends.
TEST(IndexAlgebra, SizesOfFewValues) {
  Fixture f;
  f.facts.set_range(f.dim("s2").node(), {1, 64});
  f.fact("s2 == ((s2 + 2)//3)*2");
  IndexSpace s = f.space({{"i2", "s2"}, {"i3", "6"}, {"i4", "2"}, {"i5", "3"}});
  for (const char* mask : {"0 <= (i2 - i4*2 + 1)//3", "0 <= (i3 + 1)//2 - i5", "(i3 + 1)//2 - i5 < 2"})
    s.assume(parse_cond(mask, f.pool));
  const Dim index = f.dim("((i2 - i4*2 + 1)//3)*2 - i5 + (i3 + 1)//2");
  EXPECT_TRUE(s.in_bounds(index, f.dim("s2")));
  EXPECT_FALSE(s.in_bounds(index, f.dim("s2 - 1")));
}

// Two digits under masks, the higher one of them a quotient, where a fact gives the number of all.
TEST(IndexAlgebra, DigitsUnderMasksInAKnownNumberOfPlaces) {
  Fixture f;
  f.facts.set_range(f.dim("s2").node(), {2, 64});
  f.facts.set_range(f.dim("s3").node(), {3, 64});
  f.fact("12 == s3*((s2 + 1)//2) - ((s2 + 1)//2)*2");
  IndexSpace s = f.space({{"i1", "s2"}, {"i2", "s3"}, {"i3", "3"}, {"i4", "2"}});
  for (const char* mask : {"0 <= (i1 - i3 + 1)//2", "(i1 - i3 + 1)//2 < (s2 + 1)//2", "0 <= i2 - i4*2"})
    s.assume(parse_cond(mask, f.pool));
  const Dim index = f.dim("s3*((i1 - i3 + 1)//2) + i2 - i4*2 - ((i1 - i3 + 1)//2)*2");
  EXPECT_FALSE(s.in_bounds(index, 12));
  s.assume(parse_cond("i2 - i4*2 < s3 - 2", f.pool));
  EXPECT_TRUE(s.in_bounds(index, 12));
}

// Both digits are quotients; of the lower one a mask says that nothing remains.
TEST(IndexAlgebra, DigitsOfWindowsOfOpenSizes) {
  Fixture f;
  f.facts.set_range(f.dim("s2").node(), {1, 64});
  f.facts.set_range(f.dim("s3").node(), {1, 64});
  f.fact("s3 == ((s2 + 1)//2)*((s3 + 1)//3) + (s2 + 1)//2 - (s3 + 1)//3 - 1");
  IndexSpace s = f.space({{"i2", "s2"}, {"i3", "s3"}, {"i4", "3"}});
  s.assume(parse_cond("0 <= (i2 + 1)//2 - i4", f.pool));
  s.assume(parse_cond("(i3 + 1) % 3 == 0", f.pool));
  const Dim index = f.dim("((i2 + 1)//2)*((s3 + 1)//3) - i4*((s3 + 1)//3) - i4 + (i2 + 1)//2 + (i3 + 1)//3");
  EXPECT_FALSE(s.in_bounds(index, f.dim("s3")));
  s.assume(parse_cond("(i2 + 1)//2 - i4 < (s2 + 1)//2 - 1", f.pool));
  EXPECT_TRUE(s.in_bounds(index, f.dim("s3")));
  EXPECT_FALSE(s.in_bounds(index, f.dim("s3 - 1")));
}

// An axis whose factor is open, under a mask that ends it sooner than its extent.
TEST(IndexAlgebra, AnAxisOfOpenFactorUnderAMask) {
  Fixture f;
  f.facts.set_range(f.dim("s0").node(), {2, 64});
  f.facts.set_range(f.dim("s3").node(), {1, 64});
  f.fact("s3 == s0*4 + 4");
  IndexSpace s = f.space({{"i1", "5"}, {"i2", "s0"}, {"i3", "2"}, {"i4", "2"}});
  const Dim index = f.dim("i1*s0 - i3*s0 + i1 + i2 - i3 - i4 + 1");
  s.assume(parse_cond("0 <= i1 - i3", f.pool));
  EXPECT_FALSE(s.in_bounds(index, f.dim("s3")));
  s.assume(parse_cond("i1 - i3 < 4", f.pool));
  EXPECT_TRUE(s.in_bounds(index, f.dim("s3")));
  EXPECT_FALSE(s.in_bounds(index, f.dim("s3 - 1")));
}

// An axis over the rows of a tile and what is in each.
TEST(IndexAlgebra, RowsOfATileJoinedWithWhatIsInThem) {
  Fixture f;
  IndexSpace s = f.space({{"k", "(s3 + 7)//8"}, {"j", "min(8, s3 - k*8)*(2*(s2//s1) + 3)"}});
  EXPECT_TRUE(s.in_bounds(f.dim("k*8 + j//(2*(s2//s1) + 3)"), f.dim("s3")));
  EXPECT_TRUE(s.in_bounds(f.dim("j % (2*(s2//s1) + 3)"), f.dim("2*(s2//s1) + 3")));
  EXPECT_FALSE(s.in_bounds(f.dim("k*8 + j//(2*(s2//s1) + 3)"), f.dim("s3 - 1")));
}

TEST(IndexAlgebra, QuotientsAndRemaindersOfAxes) {
  Fixture f;
  IndexSpace s = f.space({{"i0", "s0"}, {"i1", "8"}, {"i2", "s1"}});
  EXPECT_EQ(s.simplify(f.dim("(i0*8 + i1)//8")), f.dim("i0"));
  EXPECT_EQ(s.simplify(f.dim("(i0*8 + i1)%8")), f.dim("i1"));
  EXPECT_EQ(s.simplify(f.dim("(i0*s1 + i2)//s1")), f.dim("i0"));
  EXPECT_EQ(s.simplify(f.dim("(i0*s1 + i2)%s1")), f.dim("i2"));
  EXPECT_EQ(s.simplify(f.dim("((i0*8 + i1)*s1 + i2)//(8*s1)")), f.dim("i0"));
  EXPECT_EQ(s.simplify(f.dim("((i0*8 + i1)*s1 + i2)//s1%8")), f.dim("i1"));
}

// Added up again, the digits of a number are the number, however their quotients were written.
TEST(IndexAlgebra, DigitsOfANumber) {
  Fixture f;
  IndexSpace s = f.space({{"t", "4"}, {"i", "4096"}});
  const Dim x = f.dim("t*4096 + i");
  auto digits = [&](std::initializer_list<int64_t> sizes) {  // of x, the last one first
    std::vector<Dim> made;
    Dim rest = x;
    for (auto size = std::rbegin(sizes); size != std::rend(sizes); ++size) {
      made.insert(made.begin(), size + 1 == std::rend(sizes) ? rest : mod(rest, *size));
      rest = floor_div(rest, *size);
    }
    return made;
  };
  for (std::initializer_list<int64_t> sizes :
       {std::initializer_list<int64_t>{12, 512, 64}, {3, 7, 11, 13, 5}, {5, 1, 999, 3}, {2, 2, 2, 2, 4099}}) {
    const std::vector<Dim> index = digits(sizes);
    DimVec shape;
    for (int64_t size : sizes) shape.push_back(size);
    const DimVec strides = contiguous_strides(shape);
    Dim address = 0;
    for (size_t d = 0; d < index.size(); ++d) address += index[d] * strides[d];
    EXPECT_EQ(s.simplify(address), x) << to_string(address);
    EXPECT_TRUE(s.injective(index, {&strides, 1}));
  }
  const DimVec wrong{Dim(1), Dim(1), Dim(1)};
  EXPECT_FALSE(s.injective({{Dim(0), Dim(0), mod(x, 4096)}}, {&wrong, 1}));
}

// Of a number that begins elsewhere: what stands beside a quotient is in it too.
TEST(IndexAlgebra, DigitsOfANumberThatBeginsElsewhere) {
  Fixture f;
  IndexSpace s = f.space({{"t", "14"}, {"i", "4"}});
  const std::vector<Dim> index = f.dims({"(i + t*4 + 8)//32", "(t + i//4 + 2) % 8", "i % 4"});
  DimVec shape;
  for (const Dim size : f.dims({"2", "8", "4"})) shape.push_back(size);
  const DimVec strides = contiguous_strides(shape);
  Dim address = 0;
  for (size_t d = 0; d < index.size(); ++d) address += index[d] * strides[d];
  EXPECT_EQ(s.simplify(address), f.dim("t*4 + i + 8")) << to_string(address);
  EXPECT_TRUE(s.injective(index, {&strides, 1}));
}

// The two innermost dims as one number, which is linear, where all four as one are a product of open sizes.
TEST(IndexAlgebra, TheInnermostDimsAsOneNumber) {
  Fixture f;
  f.pool.symbol("s0");  // older than s2, which is then said to be s0 - 2
  for (const char* fact : {"s1 >= 1", "s2 >= 1", "s2 == s0 - 2"}) f.fact(fact);
  IndexSpace s = f.space({{"k0", "s1"}, {"k1", "s1"}, {"t", "(s2*3 + 63)//64"}, {"i", "min(64, s2*3 - t*64)"}});
  const std::vector<Dim> index = f.dims({"k0", "k1", "t*21 + (i + t)//3", "(i + t) % 3"});
  DimVec shape;
  for (const Dim size : f.dims({"s1", "s1", "s2", "3"})) shape.push_back(size);
  const DimVec strides = contiguous_strides(shape);
  EXPECT_TRUE(s.injective(index, {&strides, 1}));
  const std::vector<Dim> wrong = f.dims({"k0", "k1", "t*21 + (i + t)//3", "(i + t) % 2"});
  EXPECT_FALSE(s.injective(wrong, {&strides, 1}));
}

// The digits of a quotient, in an open radix, add up to it.
TEST(IndexAlgebra, BoundsOfDigitsThatAddUp) {
  Fixture f;
  f.fact("s1 >= 1");
  f.fact("s2 >= 1");
  IndexSpace s = f.space({{"i", "s0*s1*s2"}});
  EXPECT_TRUE(s.in_bounds(f.dim("s1*((i//s2)//s1) + (i//s2) % s1"), f.dim("s0*s1")));
  EXPECT_FALSE(s.in_bounds(f.dim("s1*((i//s2)//s1) + (i//s2) % s1"), f.dim("s0*s1 - 1")));
}

// Where a size is another's complement, a divisor may come out negated.
TEST(IndexAlgebra, QuotientsOfComplements) {
  Fixture f;
  for (std::string_view fact : {"s0 >= 2", "s1 >= 2", "s0 + s1 == 9"}) f.fact(fact);
  IndexSpace s = f.space({{"t", "(s0*s1 + 1023)//1024"}, {"i", "min(4096, s0*s1*4 - t*4096)"}});
  EXPECT_TRUE(s.in_bounds(f.dim("(i + t*4096)//(s1*4)"), f.dim("s0")));
  EXPECT_FALSE(s.in_bounds(f.dim("(i + t*4096)//(s1*4)"), f.dim("s0 - 1")));
}

// Heads in groups, all of open number: a digit that is always 0, and what is left once it is gone.
TEST(IndexAlgebra, DigitsOfOpenSizes) {
  Fixture f;
  for (std::string_view fact :
       {"s2 >= 2", "s3 >= 1", "s4 >= 1", "s2 % s4 == 0", "s2 != s4", "s2//s4 != 1", "s2 == s4*(s2//s4)"})
    f.fact(fact);
  IndexSpace s = f.space({{"i1", "s4*(s2//s4)"}, {"i2", "s4"}, {"i3", "s3"}});
  EXPECT_EQ(s.simplify(f.dim("i3//s3")), Dim(0));
  EXPECT_EQ(s.simplify(f.dim("(i2 + i3//s3)//s4")), Dim(0));
  EXPECT_TRUE(s.in_bounds(f.dim("(i1 + (i2 + i3//s3)//s4)//(s2//s4)"), f.dim("s4")));
  EXPECT_TRUE(s.in_bounds(f.dim("(i1 + (i2 + i3//s3)//s4) % (s2//s4)"), f.dim("s2//s4")));
}

// A size that is no number may be known to be one all the same.
TEST(IndexAlgebra, PointsBelowASizeThatFactsKnow) {
  Fixture f;
  for (std::string_view fact : {"s0 >= 2", "6 == s0*s1", "12 == s0 + s1 + 7"}) f.fact(fact);
  IndexSpace s = f.space({{"i", "24"}});
  EXPECT_TRUE(s.in_bounds(f.dim("(i//2)*3 - (i//8)*11"), f.dim("s0 + s1 + 7")));
  EXPECT_FALSE(s.in_bounds(f.dim("(i//2)*3 - (i//8)*11"), f.dim("s0 + s1 + 6")));
}

// A condition on a quotient is one on what is divided.
TEST(IndexAlgebra, ConditionsOnQuotients) {
  Fixture f;
  IndexSpace s = f.space({{"i", "15"}});
  s.assume(parse_cond("0 <= i//3 - 1", f.pool));
  s.assume(parse_cond("i//3 - 1 < 3", f.pool));
  EXPECT_TRUE(s.in_bounds(f.dim("(i + 3)//6 - 1"), Dim(2)));
  EXPECT_FALSE(s.in_bounds(f.dim("(i + 4)//6 - 1"), Dim(1)));
  EXPECT_TRUE(s.proves(parse_cond("i >= 3", f.pool)));
  EXPECT_TRUE(s.proves(parse_cond("i <= 11", f.pool)));
  EXPECT_FALSE(s.proves(parse_cond("i <= 10", f.pool)));
}

TEST(IndexAlgebra, Bounds) {
  Fixture f;
  f.fact("s0 >= 1");
  IndexSpace s = f.space({{"i0", "s0"}, {"i1", "s1"}, {"i2", "s2"}, {"i3", "6"}});
  EXPECT_TRUE(s.in_bounds(f.dim("i0"), f.dim("s0")));
  EXPECT_FALSE(s.in_bounds(f.dim("i0 + 1"), f.dim("s0")));
  EXPECT_TRUE(s.in_bounds(f.dim("s0 - 1 - i0"), f.dim("s0")));
  EXPECT_TRUE(s.in_bounds(f.dim("(i0*s1 + i1)*s2 + i2"), f.dim("s0*s1*s2")));
  EXPECT_TRUE(s.in_bounds(f.dim("((i0*s1 + i1)*s2 + i2)//s2"), f.dim("s0*s1")));
  EXPECT_TRUE(s.in_bounds(f.dim("i3//2"), f.dim("3")));
  EXPECT_FALSE(s.in_bounds(f.dim("i3//2"), f.dim("2")));
  EXPECT_TRUE(s.in_bounds(f.dim("(i0 + i1) % s2"), f.dim("s2")));
  EXPECT_TRUE(s.in_bounds(f.dim("min(i0 + 3, s0 - 1)"), f.dim("s0")));
  EXPECT_TRUE(s.in_bounds(f.dim("i0 + i1"), f.dim("s0 + s1")));
  EXPECT_EQ(s.range(f.dim("2*i3 - 1")), (Range{-1, 9}));
  EXPECT_FALSE(s.in_bounds(f.dim("i0 - 1"), f.dim("s0")));
  s.assume(parse_cond("i0 >= 1", f.pool));
  EXPECT_TRUE(s.in_bounds(f.dim("i0 - 1"), f.dim("s0")));
  s.assume(parse_cond("i0 < 1", f.pool));
  EXPECT_TRUE(s.empty());
  EXPECT_TRUE(s.in_bounds(f.dim("-7"), f.dim("0")));
}

TEST(IndexAlgebra, BoundsOfReflectionsAndUnderConditions) {
  Fixture f;
  IndexSpace s = f.space({{"i0", "7"}, {"i1", "5"}, {"i2", "3"}});
  std::string_view reflected = "min(4 - max(2 - i0, i0 - 2), max(2 - i0, i0 - 2))";
  EXPECT_TRUE(s.in_bounds(f.dim(reflected), 3));
  EXPECT_FALSE(s.in_bounds(f.dim(reflected), 2));
  std::string_view column = "i1*5 - i2*5 + i0//2 + 1";
  EXPECT_FALSE(s.in_bounds(f.dim(column), 15));
  s.assume(parse_cond("0 <= i1 - i2", f.pool));
  s.assume(parse_cond("i1 - i2 < 3", f.pool));
  EXPECT_TRUE(s.in_bounds(f.dim(column), 15));
  EXPECT_FALSE(s.in_bounds(f.dim(column), 14));
}

TEST(IndexAlgebra, StridesAndAxes) {
  Fixture f;
  f.fact("s1 >= 2");
  IndexSpace s = f.space({{"i0", "s0"}, {"i1", "s1"}, {"i2", "4"}});
  Dim address = f.dim("i0 + i1*s0*4 + i2*s0 + 3");
  EXPECT_EQ(s.stride(address, 0), Dim(1));
  EXPECT_EQ(s.stride(address, 1), f.dim("s0*4"));
  EXPECT_FALSE(s.stride(f.dim("i0*i1"), 0));
  EXPECT_EQ(s.stride(f.dim("max(0, i1 - 1)*4 + i0"), 0), Dim(1)) << "whatever others add";
  EXPECT_FALSE(s.stride(f.dim("max(0, i1 - 1)*4 + i0"), 1));
  EXPECT_FALSE(s.stride(f.dim("i0//2"), 0));
  EXPECT_EQ(s.linear(address)->constant, Dim(3));
  EXPECT_TRUE(s.mergeable(1, f.dim("i1*4 + i2")));
  EXPECT_FALSE(s.mergeable(1, f.dim("i1*5 + i2")));
  EXPECT_TRUE(s.mergeable(0, f.dim("7")));
  EXPECT_TRUE(s.mergeable(1, f.dim("i0//2*s0 + i1*4 + i2")));
  EXPECT_TRUE(s.mergeable(1, f.dim("i0 % 3 + i0*i0")));
  EXPECT_FALSE(s.mergeable(1, f.dim("i0//2*s0 + i1*4 + i2//2")));
  EXPECT_FALSE(s.mergeable(1, f.dim("i0*i1*4 + i0*i2 + i1*4 + i2")));
  f.fact("s0 >= 2");
  IndexSpace t = f.space({{"i0", "s0"}, {"i1", "s1"}, {"i2", "4"}});
  EXPECT_EQ(t.order_by_stride(address), (std::vector<size_t>{1, 2, 0}));
}

TEST(IndexAlgebra, Injectivity) {
  Fixture f;
  IndexSpace s = f.space({{"i0", "s0"}, {"i1", "s1"}, {"i2", "6"}});
  EXPECT_TRUE(s.injective(f.dims({"i0", "i1", "i2"})));
  EXPECT_TRUE(s.injective(f.dims({"i2", "i0 + i2", "i1 - i0"})));
  EXPECT_FALSE(s.injective(f.dims({"i0", "i1"})));
  EXPECT_TRUE(s.injective(f.dims({"(i0*s1 + i1)*6 + i2"})));
  EXPECT_TRUE(s.injective(f.dims({"i0 + s0*(i1 + s1*i2)"})));
  EXPECT_TRUE(s.injective(f.dims({"s0 - 1 - i0", "i1*6 + 5 - i2"})));
  EXPECT_FALSE(s.injective(f.dims({"i0*5 + i2", "i1"})));
  EXPECT_TRUE(s.injective(f.dims({"i0", "i1", "i2//2", "i2 % 2"})));
  EXPECT_TRUE(s.injective(f.dims({"i0//4", "i0%4*6 + i2", "i1"})));
  EXPECT_FALSE(s.injective(f.dims({"i0//4", "i0%3*6 + i2", "i1"})));
  EXPECT_TRUE(f.space({{"i0", "1"}}).injective(f.dims({"0"})));
  EXPECT_TRUE(f.space({{"i0", "s0"}}).injective(f.dims({"2*i0 + 1"})));
  IndexSpace one = f.space({{"i0", "s0"}, {"i1", "s1"}});
  one.assume(parse_cond("i1 == 3", f.pool));
  EXPECT_TRUE(one.injective(f.dims({"i0"})));
}

TEST(IndexAlgebra, Partitions) {
  Fixture f;
  f.fact("s0 >= 0");
  f.fact("s1 >= 0");
  auto piece = [&](std::initializer_list<std::pair<std::string_view, std::string_view>> axes,
                   std::initializer_list<std::string_view> index, std::string_view cond = {}) {
    IndexSpace s = f.space(axes);
    if (!cond.empty()) s.assume(parse_cond(cond, f.pool));
    std::vector<Dim> dims = f.dims(index);
    return Piece{std::move(s), DimVec(std::span<const Dim>(dims))};
  };
  auto covers = [&](std::vector<Piece> pieces, std::initializer_list<std::string_view> sizes,
                    std::span<const DimVec> radices = {}) {
    std::vector<Dim> dims = f.dims(sizes);
    return partition(pieces, dims, f.facts, radices);
  };
  EXPECT_TRUE(covers({piece({{"i0", "s0"}, {"i1", "s1"}}, {"i1", "s0 - 1 - i0"})}, {"s1", "s0"}));
  EXPECT_FALSE(covers({piece({{"i0", "s0"}, {"i1", "s1"}}, {"i1", "i0"})}, {"s1", "s0 + 1"}));
  EXPECT_TRUE(covers({piece({{"i0", "12"}}, {"i0//4", "i0%4"})}, {"3", "4"}));
  EXPECT_FALSE(covers({piece({{"i0", "11"}}, {"i0//4", "i0%4"})}, {"3", "4"}));
  // As a concatenation, a stack along the last dim, and two halves by masks.
  EXPECT_TRUE(covers({piece({{"i0", "s0"}}, {"i0"}), piece({{"i0", "s1"}}, {"i0 + s0"}), piece({}, {"s0 + s1"})},
                     {"s0 + s1 + 1"}));
  EXPECT_FALSE(covers({piece({{"i0", "s0"}}, {"i0"}), piece({{"i0", "s1"}}, {"i0 + s0 - 1"})}, {"s0 + s1"}));
  EXPECT_TRUE(covers({piece({{"i0", "s0"}}, {"2*i0"}), piece({{"i0", "s0"}}, {"2*i0 + 1"})}, {"2*s0"}));
  // Two parts of a line that meet inside of a row: no coordinate tells them apart, their number does.
  const DimVec radix{4, 1};
  const auto line = [&](std::string_view second) {
    return covers({piece({{"i0", "5"}}, {"i0//4", "i0%4"}), piece({{"i0", second}}, {"(i0 + 5)//4", "(i0 + 5)%4"})},
                  {"3", "4"}, std::span(&radix, 1));
  };
  EXPECT_TRUE(line("7"));
  EXPECT_FALSE(line("6"));
  f.fact("s0 >= 5");
  EXPECT_TRUE(covers({piece({{"i0", "s0"}}, {"i0"}, "i0 < 5"), piece({{"i0", "s0"}}, {"i0"}, "i0 >= 5")}, {"s0"}));
  EXPECT_FALSE(covers({piece({{"i0", "s0"}}, {"i0"}, "i0 < 5"), piece({{"i0", "s0"}}, {"i0"}, "i0 > 5")}, {"s0"}));
}

}  // namespace
}  // namespace lenz::loops
