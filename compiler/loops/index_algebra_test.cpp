#include "compiler/loops/index_algebra.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "compiler/base/sym_testing.h"

namespace lenz::loops {
namespace {

using sym_testing::Grammar;
using sym_testing::Values;

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

// --- rules fire

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
  EXPECT_TRUE(s.contiguous(address, 0));
  EXPECT_FALSE(s.contiguous(address, 1));
  EXPECT_FALSE(s.stride(f.dim("i0*i1"), 0));
  EXPECT_FALSE(s.stride(f.dim("i0//2"), 0));
  EXPECT_EQ(s.linear(address)->constant, Dim(3));
  EXPECT_TRUE(s.mergeable(1, f.dim("i1*4 + i2")));
  EXPECT_FALSE(s.mergeable(1, f.dim("i1*5 + i2")));
  EXPECT_TRUE(s.mergeable(0, f.dim("7")));
  f.fact("s0 >= 2");
  IndexSpace t = f.space({{"i0", "s0"}, {"i1", "s1"}, {"i2", "4"}});
  EXPECT_EQ(t.order_by_stride(address), (std::vector<size_t>{1, 2, 0}));
  EXPECT_EQ(t.split(2, 2, f.dim("a"), f.dim("b")), f.dim("a*2 + b"));
  EXPECT_FALSE(t.split(0, 2, f.dim("c"), f.dim("d")));
  EXPECT_EQ(t.axes().size(), 4u);
  t.merge(2, f.dim("m"));
  EXPECT_EQ(t.axes()[2].extent, Dim(4));
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
  auto covers = [&](std::vector<Piece> pieces, std::initializer_list<std::string_view> sizes) {
    std::vector<Dim> dims = f.dims(sizes);
    return partition(pieces, dims, f.facts);
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
  f.fact("s0 >= 5");
  EXPECT_TRUE(covers({piece({{"i0", "s0"}}, {"i0"}, "i0 < 5"), piece({{"i0", "s0"}}, {"i0"}, "i0 >= 5")}, {"s0"}));
  EXPECT_FALSE(covers({piece({{"i0", "s0"}}, {"i0"}, "i0 < 5"), piece({{"i0", "s0"}}, {"i0"}, "i0 > 5")}, {"s0"}));
}

TEST(IndexAlgebra, Width) {
  Fixture f;
  f.fact("s0 <= 65536");
  f.fact("s1 <= 32767");
  IndexSpace s = f.space({{"i0", "s0"}, {"i1", "s1"}});
  auto bits = [&](std::string_view text) { return s.bits(f.dims({text})); };
  EXPECT_EQ(bits("i0*s1 + i1"), 32);
  EXPECT_EQ(bits("i0*s1 + i1*4"), 64);
  EXPECT_EQ(bits("i0*65536"), 64);
  EXPECT_EQ(bits("(i0*65536 + 1)//65536"), 32);  // canonical form has divided already
  EXPECT_EQ(bits("(i0*65535)//65536"), 64);
  EXPECT_EQ(bits("s2"), 64);
}

// --- rules are true: against enumeration of small spaces

// A space of random axes with constant or symbolic extents and random conditions, with its points at random sizes.
struct RandomSpace {
  SymPool pool;
  Facts facts;
  std::vector<std::string> axes, symbols;
  std::vector<std::string> extents;  // texts
  std::vector<std::string> conditions;
  Values sizes;
  std::optional<IndexSpace> space;
  std::vector<Values> points;  // with the sizes

  explicit RandomSpace(Chooser& c, bool tiles = false) {
    symbols = {"s0", "s1"};
    for (const std::string& s : symbols) {
      sizes[s] = c.between(1, 5);
      facts.set_range(pool.symbol(s).node(), {c.between(0, 1), 5});
    }
    size_t count = 1 + c.below(3);
    for (size_t i = 0; i < count; ++i) {
      axes.push_back("i" + std::to_string(i));
      extents.push_back(c.chance(2, 3) ? std::to_string(c.between(1, 6)) : c.pick(symbols));
    }
    if (tiles && c.chance(1, 4)) {  // tiles of as many points, or of rows of so many
      const std::string size = std::to_string(c.between(1, 4));
      const std::string whole = c.flip() ? c.pick(symbols) : c.pick(symbols) + "*" + c.pick(symbols);
      extents[0] = "(" + whole + " + " + size + " - 1)//" + size;
      axes.push_back("i" + std::to_string(count++));
      extents.push_back("min(" + size + ", " + whole + " - i0*" + size + ")" + (c.flip() ? "*" + c.pick(symbols) : ""));
    }
    space.emplace(pool, facts);
    for (size_t i = 0; i < count; ++i) space->add_axis(pool.symbol(axes[i]), parse_dim(extents[i], pool));
    if (c.chance(1, 3)) {
      std::string cond = c.pick(axes);
      cond += c.any_of({" < ", " >= ", " == "});
      conditions.push_back(cond += std::to_string(c.between(0, 4)));
      if (c.flip()) {
        cond = c.pick(axes) + " - ";
        cond += c.pick(axes);
        conditions.push_back(cond += c.any_of({" < 1", " >= 1"}));
      }
      for (const std::string& known : conditions) space->assume(parse_cond(known, pool));
    }
    enumerate(sizes, 0);
  }

  void enumerate(Values at, size_t axis) {
    if (axis == axes.size()) {
      for (const std::string& c : conditions)
        if (!*evaluate(parse_cond(c, pool), sym_testing::lookup(at))) return;
      points.push_back(at);
      return;
    }
    int64_t extent = *sym_testing::compute(extents[axis], at);
    for (int64_t i = 0; i < extent; ++i) {
      at[axes[axis]] = i;
      enumerate(at, axis + 1);
    }
  }

  int64_t value(Dim d, const Values& at) const {
    auto v = evaluate(d, sym_testing::lookup(at));
    EXPECT_TRUE(v) << to_string(d);
    return v.value_or(0);
  }

  // An index as programs have them, or any expression.
  std::string index(Chooser& c) {
    if (c.chance(1, 3)) {
      Grammar g;
      g.names = axes;
      g.names.insert(g.names.end(), symbols.begin(), symbols.end());
      g.calls = g.symbolic_divisors = false;
      return sym_testing::random_dim(c, g, 2);
    }
    std::string line;
    for (const std::string& a : axes) {
      if (c.chance(1, 4)) continue;
      line = line.empty()
                 ? a
                 : "(" + line + ")*" + (c.flip() ? std::to_string(c.between(1, 6)) : c.pick(symbols)) + "+" + a;
    }
    if (line.empty()) line = std::to_string(c.between(0, 3));
    if (c.chance(1, 3)) {
      line = "(" + line + ")" + c.any_of({"//", "%"});
      line += std::to_string(c.between(1, 6));
    }
    if (c.chance(1, 4)) line = "s0 - 1 - (" + line + ")";
    return line;
  }
};

template <class F>
void for_spaces(uint64_t count, F&& visit, bool tiles = false) {
  for (uint64_t seed = 0; seed < count; ++seed) {
    RandomChooser chooser(seed);
    RandomSpace s(chooser, tiles);
    SCOPED_TRACE("seed " + std::to_string(seed));
    if (!s.points.empty()) {
      EXPECT_FALSE(s.space->empty());
    }
    visit(s, chooser);
    if (testing::Test::HasFailure()) return;
  }
}

constexpr uint64_t kSpaces = 1500;

TEST(IndexAlgebraProperty, BoundsRangesAndSimplification) {
  size_t proven = 0;
  for_spaces(
      kSpaces,
      [&](RandomSpace& s, Chooser& c) {
        std::string text = s.index(c);
        Dim index, size;
        try {
          index = parse_dim(text, s.pool);
          size = parse_dim(c.flip() ? std::to_string(c.between(1, 12)) : c.pick(s.symbols), s.pool);
          if (c.flip()) size = size * parse_dim(c.pick(s.symbols), s.pool);
        } catch (const UserError&) {
          return;
        }
        Range r = s.space->range(index);
        Dim simple = s.space->simplify(index);
        bool inside = s.space->in_bounds(index, size);
        auto ends = s.space->ends(index);
        int bits = s.space->bits(std::span(&index, 1));
        EXPECT_TRUE(bits == 32 || bits == 64);
        proven += inside;
        for (const Values& at : s.points) {
          int64_t v = s.value(index, at);
          EXPECT_EQ(v, *sym_testing::compute(text, at)) << text;
          EXPECT_EQ(v, s.value(simple, at)) << text << " became " << to_string(simple);
          EXPECT_TRUE((!r.low || *r.low <= v) && (!r.high || v <= *r.high)) << text;
          if (inside) {
            EXPECT_TRUE(v >= 0 && v < s.value(size, at)) << text << " in " << to_string(size);
          }
          if (ends) {
            EXPECT_TRUE(s.value(ends->first, at) <= v && v <= s.value(ends->second, at)) << text;
          }
        }
      },
      true);
  EXPECT_GT(proven, kSpaces / 10);
}

TEST(IndexAlgebraProperty, LinearFormsAndStrides) {
  size_t linear = 0;
  for_spaces(kSpaces, [&](RandomSpace& s, Chooser& c) {
    Dim index = parse_dim(s.index(c), s.pool);
    auto form = s.space->linear(index);
    if (!form) return;
    ++linear;
    for (const Values& at : s.points) {
      int64_t v = s.value(form->constant, at);
      for (size_t k = 0; k < s.axes.size(); ++k) v += s.value(form->coefficients[k], at) * at.at(s.axes[k]);
      EXPECT_EQ(v, s.value(index, at)) << to_string(index);
    }
    std::vector<size_t> order = s.space->order_by_stride(index);
    EXPECT_EQ(std::set<size_t>(order.begin(), order.end()).size(), s.axes.size());
  });
  EXPECT_GT(linear, kSpaces / 3);
}

TEST(IndexAlgebraProperty, InjectivityAndCoverage) {
  size_t proven = 0, covered = 0, counted = 0;
  for_spaces(
      kSpaces,
      [&](RandomSpace& s, Chooser& c) {
        std::vector<Dim> index;
        for (size_t d = 0, rank = 1 + c.below(s.axes.size()); d < rank; ++d)
          index.push_back(parse_dim(c.flip() ? s.axes[d] : s.index(c), s.pool));
        bool injective = s.space->injective(index);
        proven += injective;
        std::set<std::vector<int64_t>> seen;
        for (const Values& at : s.points) {
          std::vector<int64_t> place;
          for (Dim d : index) place.push_back(s.value(d, at));
          seen.insert(place);
        }
        if (injective) {
          EXPECT_EQ(seen.size(), s.points.size());
        }
        auto count = s.space->points();
        counted += count.has_value();
        if (count) {
          EXPECT_EQ(s.value(*count, s.sizes), static_cast<int64_t>(s.points.size()));
        }
        // Sizes that fit just so, sometimes.
        DimVec sizes;
        for (Dim d : index) {
          auto ends = s.space->ends(d);
          sizes.push_back(ends ? ends->second + 1 : Dim(c.between(1, 6)));
        }
        Piece piece{*s.space, DimVec(std::span<const Dim>(index))};
        if (!partition(std::span(&piece, 1), sizes, s.facts)) return;
        ++covered;
        EXPECT_EQ(static_cast<int64_t>(seen.size()), s.value(numel(sizes), s.sizes));
        for (const auto& place : seen)
          for (size_t d = 0; d < place.size(); ++d) EXPECT_TRUE(place[d] >= 0 && place[d] < s.value(sizes[d], s.sizes));
      },
      true);
  EXPECT_GT(proven, kSpaces / 6);
  EXPECT_GT(covered, kSpaces / 20);
  EXPECT_GT(counted, kSpaces / 2);
}

TEST(IndexAlgebraProperty, Disjointness) {
  size_t proven = 0;
  for_spaces(kSpaces, [&](RandomSpace& s, Chooser& c) {
    std::vector<Dim> a, b;
    for (size_t d = 0, rank = 1 + c.below(2); d < rank; ++d) {
      a.push_back(parse_dim(s.index(c), s.pool));
      b.push_back(c.flip() ? parse_dim(s.index(c), s.pool) : a.back() * 2 + Dim(c.between(-4, 12)));
    }
    if (!disjoint(*s.space, a, *s.space, b)) return;
    ++proven;
    for (const Values& x : s.points)
      for (const Values& y : s.points) {
        bool same = true;
        for (size_t d = 0; d < a.size(); ++d) same = same && s.value(a[d], x) == s.value(b[d], y);
        EXPECT_FALSE(same);
      }
  });
  EXPECT_GT(proven, kSpaces / 20);
}

TEST(IndexAlgebraProperty, OtherAxesAreTheSamePoints) {
  size_t changed = 0;
  for_spaces(kSpaces, [&](RandomSpace& s, Chooser& c) {
    IndexSpace other = *s.space;
    std::vector<Dim> old;  // coordinates in terms of the new axes
    for (const auto& a : s.space->axes()) old.push_back(a.symbol);
    size_t k = c.below(s.axes.size());
    if (c.flip() && k + 1 < s.axes.size()) {
      auto [high, low] = other.merge(k, s.pool.symbol("m"));
      old[k] = high;
      old[k + 1] = low;
    } else if (auto whole = other.split(k, Dim(c.between(1, 3)), s.pool.symbol("x"), s.pool.symbol("y"))) {
      old[k] = *whole;
    } else {
      return;
    }
    ++changed;
    std::vector<size_t> order(other.axes().size());
    for (size_t i = 0; i < order.size(); ++i) order[i] = order.size() - 1 - i;
    other.reorder(order);
    std::multiset<std::vector<int64_t>> expected, found;
    for (const Values& at : s.points) {
      std::vector<int64_t> place;
      for (const std::string& a : s.axes) place.push_back(at.at(a));
      expected.insert(place);
    }
    std::function<void(Values, size_t)> walk = [&](Values at, size_t axis) {
      if (axis < other.axes().size()) {
        int64_t extent = s.value(other.axes()[axis].extent, s.sizes);
        for (int64_t i = 0; i < extent; ++i) {
          at[std::string(symbol_name(other.axes()[axis].symbol.node()))] = i;
          walk(at, axis + 1);
        }
        return;
      }
      std::vector<int64_t> place;
      for (Dim d : old) place.push_back(s.value(d, at));
      Values named = s.sizes;
      for (size_t i = 0; i < s.axes.size(); ++i) named[s.axes[i]] = place[i];
      for (const std::string& cond : s.conditions)
        if (!*evaluate(parse_cond(cond, s.pool), sym_testing::lookup(named))) return;
      found.insert(place);
    };
    walk(s.sizes, 0);
    EXPECT_EQ(found, expected);
  });
  EXPECT_GT(changed, kSpaces / 4);
}

}  // namespace
}  // namespace lenz::loops
