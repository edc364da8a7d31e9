// Rules are true: against enumeration of small spaces.
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "compiler/base/sym_testing.h"
#include "compiler/loops/index_algebra.h"

namespace lenz::loops {
namespace {

using sym_testing::Grammar;
using sym_testing::Values;

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

// Where two axes may be made one, places of the joint axis are steps of one length.
TEST(IndexAlgebraProperty, MergeableAxes) {
  size_t merged = 0;
  for_spaces(kSpaces, [&](RandomSpace& s, Chooser& c) {
    if (s.axes.size() < 2) return;
    const size_t k = c.below(s.axes.size() - 1);
    Dim index = parse_dim(s.index(c), s.pool);
    if (c.flip())
      index += parse_dim(s.axes[k], s.pool) * s.space->axes()[k + 1].extent + parse_dim(s.axes[k + 1], s.pool);
    if (!s.space->mergeable(k, index)) return;
    ++merged;
    std::map<std::vector<int64_t>, std::map<int64_t, int64_t>> lines;  // by the other coordinates: values by place
    for (const Values& at : s.points) {
      std::vector<int64_t> others;
      for (size_t d = 0; d < s.axes.size(); ++d)
        if (d != k && d != k + 1) others.push_back(at.at(s.axes[d]));
      const int64_t place = at.at(s.axes[k]) * s.value(s.space->axes()[k + 1].extent, at) + at.at(s.axes[k + 1]);
      lines[others][place] = s.value(index, at);
    }
    for (const auto& [others, line] : lines) {
      const auto [first, from] = *line.begin();
      const auto [last, to] = *line.rbegin();
      for (const auto& [place, value] : line)
        EXPECT_EQ((value - from) * (last - first), (to - from) * (place - first)) << to_string(index);
    }
  });
  EXPECT_GT(merged, kSpaces / 10);
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

}  // namespace
}  // namespace lenz::loops
