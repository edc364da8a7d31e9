// What becomes of loops hangs on such proofs: what is left out of bounds checks, which axes are made one, what may run
// at once. Programs ask them of few forms; here each case asks them of forms of its own, at points that are counted.
#include "fuzz/properties/index_spaces.h"

#include <map>
#include <optional>
#include <set>
#include <vector>

#include "compiler/base/hash.h"
#include "compiler/base/sym_testing.h"
#include "compiler/loops/index_algebra.h"

namespace lenz::fuzz {

using loops::IndexSpace;
using sym_testing::Values;

namespace {

// Axes with constant or symbolic extents and conditions, by chance, with their points at sizes by chance.
class Space {
 public:
  explicit Space(Chooser& c) {
    for (const std::string& s : symbols) {
      sizes_[s] = c.between(1, 5);
      facts.set_range(pool.symbol(s).node(), {c.between(0, 1), 5});
    }
    size_t count = 1 + c.below(3);
    for (size_t i = 0; i < count; ++i) {
      axes.push_back("i" + std::to_string(i));
      extents_.push_back(c.chance(2, 3) ? std::to_string(c.between(1, 6)) : c.pick(symbols));
    }
    if (c.chance(1, 6)) {  // tiles of as many points, or of rows of so many
      const std::string size = std::to_string(c.between(1, 4));
      const std::string whole = c.flip() ? c.pick(symbols) : c.pick(symbols) + "*" + c.pick(symbols);
      extents_[0] = "(" + whole + " + " + size + " - 1)//" + size;
      axes.push_back("i" + std::to_string(count++));
      extents_.push_back("min(" + size + ", " + whole + " - i0*" + size + ")" +
                         (c.flip() ? "*" + c.pick(symbols) : ""));
    }
    space.emplace(pool, facts);
    for (size_t i = 0; i < count; ++i) space->add_axis(pool.symbol(axes[i]), parse_dim(extents_[i], pool));
    if (c.chance(1, 3)) {
      conditions_.push_back(c.pick(axes) + c.any_of({" < ", " >= ", " == "}) + std::to_string(c.between(0, 4)));
      if (c.flip()) conditions_.push_back(c.pick(axes) + " - " + c.pick(axes) + c.any_of({" < 1", " >= 1"}));
      for (const std::string& known : conditions_) space->assume(parse_cond(known, pool));
    }
    enumerate(sizes_, 0);
  }

  SymPool pool;
  Facts facts;
  std::vector<std::string> axes, symbols = {"s0", "s1"};
  std::optional<IndexSpace> space;
  std::vector<Values> points;  // with the sizes
  std::string lost;            // what had no value, where everything has one

  int64_t value(Dim d, const Values& at) {
    const auto v = evaluate(d, sym_testing::lookup(at));
    if (!v) lost = to_string(d);
    return v.value_or(0);
  }
  int64_t of_sizes(Dim d) { return value(d, sizes_); }

  // An index as programs have them, or any expression.
  std::string index(Chooser& c) const {
    if (c.chance(1, 3)) {
      sym_testing::Grammar g;
      g.names = axes;
      g.names.insert(g.names.end(), symbols.begin(), symbols.end());
      g.calls = g.symbolic_divisors = false;
      return sym_testing::random_dim(c, g, 2);
    }
    std::string line;
    for (const std::string& a : axes) {
      if (c.chance(1, 4)) continue;
      const std::string factor = c.flip() ? std::to_string(c.between(1, 6)) : c.pick(symbols);
      line = line.empty() ? a : "(" + line + ")*" + factor + "+" + a;
    }
    if (line.empty()) line = std::to_string(c.between(0, 3));
    if (c.chance(1, 3)) line = "(" + line + ")" + c.any_of({"//", "%"}) + std::to_string(c.between(1, 6));
    if (c.chance(1, 4)) line = "s0 - 1 - (" + line + ")";
    return line;
  }
  Dim drawn(Chooser& c) { return parse_dim(index(c), pool); }

  std::string text() const {
    std::string told = "axes";
    for (size_t i = 0; i < axes.size(); ++i) told += " " + axes[i] + " < " + extents_[i] + ";";
    for (const std::string& c : conditions_) told += " where " + c + ";";
    for (const auto& [name, value] : sizes_) told += " " + name + " = " + std::to_string(value);
    return told;
  }

 private:
  void enumerate(Values at, size_t axis) {
    if (axis == axes.size()) {
      for (const std::string& c : conditions_)
        if (evaluate(parse_cond(c, pool), sym_testing::lookup(at)) != true) return;
      points.push_back(at);
      return;
    }
    const int64_t extent = sym_testing::compute(extents_[axis], at).value_or(0);
    for (int64_t i = 0; i < extent; ++i) {
      at[axes[axis]] = i;
      enumerate(at, axis + 1);
    }
  }

  std::vector<std::string> extents_, conditions_;
  Values sizes_;
};

// What a step says wrongly of an index; empty: nothing.
std::string wrong_bounds(Space& s, Chooser& c, IndexCounts& counts) {
  const std::string text = s.index(c);
  const Dim index = parse_dim(text, s.pool);
  Dim size = parse_dim(c.flip() ? std::to_string(c.between(1, 12)) : c.pick(s.symbols), s.pool);
  if (c.flip()) size = size * parse_dim(c.pick(s.symbols), s.pool);
  const Range r = s.space->range(index);
  const Dim simple = s.space->simplify(index);
  const bool inside = s.space->in_bounds(index, size);
  const auto ends = s.space->ends(index);
  counts.inside += inside;
  for (const Values& at : s.points) {
    const auto v = sym_testing::compute(text, at);
    if (!v) continue;
    if (s.value(index, at) != *v) return text + " is made " + to_string(index);
    if (s.value(simple, at) != *v) return text + " became " + to_string(simple);
    if ((r.low && *r.low > *v) || (r.high && *v > *r.high)) return text + ": its range";
    if (inside && (*v < 0 || *v >= s.value(size, at))) return text + " within " + to_string(size);
    if (ends && (s.value(ends->first, at) > *v || *v > s.value(ends->second, at))) return text + ": its ends";
  }
  return {};
}

std::string wrong_linear(Space& s, Chooser& c, IndexCounts& counts) {
  const Dim index = s.drawn(c);
  const auto form = s.space->linear(index);
  if (!form) return {};
  ++counts.linear;
  for (const Values& at : s.points) {
    int64_t v = s.value(form->constant, at);
    for (size_t k = 0; k < s.axes.size(); ++k) v += s.value(form->coefficients[k], at) * at.at(s.axes[k]);
    if (v != s.value(index, at)) return to_string(index);
  }
  const std::vector<size_t> order = s.space->order_by_stride(index);
  return std::set<size_t>(order.begin(), order.end()).size() == s.axes.size() ? "" : to_string(index) + ": its order";
}

// Where two axes may be made one, places of the joint axis are steps of one length.
std::string wrong_merge(Space& s, Chooser& c, IndexCounts& counts) {
  if (s.axes.size() < 2) return {};
  const size_t k = c.below(s.axes.size() - 1);
  Dim index = s.drawn(c);
  // As rows that lie one behind another, as rows that overlap, or lie apart.
  const Dim extent = s.space->axes()[k + 1].extent;
  if (c.flip()) {
    const Dim row = c.flip() ? extent : c.flip() ? s.space->axes()[k].extent : extent + Dim(c.between(-1, 1));
    index += parse_dim(s.axes[k], s.pool) * row + parse_dim(s.axes[k + 1], s.pool);
  }
  if (!s.space->mergeable(k, index)) return {};
  ++counts.merged;
  std::map<std::vector<int64_t>, std::map<int64_t, int64_t>> lines;  // by the other coordinates: values by place
  for (const Values& at : s.points) {
    std::vector<int64_t> others;
    for (size_t d = 0; d < s.axes.size(); ++d)
      if (d != k && d != k + 1) others.push_back(at.at(s.axes[d]));
    const int64_t place = at.at(s.axes[k]) * s.value(extent, at) + at.at(s.axes[k + 1]);
    lines[others][place] = s.value(index, at);
  }
  for (const auto& [others, line] : lines) {
    const auto [first, from] = *line.begin();
    const auto [last, to] = *line.rbegin();
    for (const auto& [place, value] : line)
      if ((value - from) * (last - first) != (to - from) * (place - first))
        return to_string(index) + ", axes " + std::to_string(k) + " and the next";
  }
  return {};
}

std::string wrong_places(Space& s, Chooser& c, IndexCounts& counts) {
  std::vector<Dim> index;
  std::string told;
  for (size_t d = 0, rank = 1 + c.below(s.axes.size()); d < rank; ++d) {
    index.push_back(parse_dim(c.flip() ? s.axes[d] : s.index(c), s.pool));
    told += (told.empty() ? "[" : ", ") + to_string(index.back());
  }
  told += "]";
  const bool injective = s.space->injective(index);
  counts.injective += injective;
  std::set<std::vector<int64_t>> seen;
  for (const Values& at : s.points) {
    std::vector<int64_t> place;
    for (Dim d : index) place.push_back(s.value(d, at));
    seen.insert(place);
  }
  if (injective && seen.size() != s.points.size()) return told + ": two points at one place";
  if (const auto count = s.space->points()) {
    ++counts.counted;
    if (s.of_sizes(*count) != std::ssize(s.points)) return to_string(*count) + ": how many points";
  }
  DimVec sizes;  // that fit just so, sometimes
  for (Dim d : index) {
    const auto ends = s.space->ends(d);
    const bool fits = ends && !s.space->mentions_axis(ends->second);
    sizes.push_back(fits ? ends->second + 1 : Dim(c.between(1, 6)));
  }
  const loops::Piece piece{*s.space, DimVec(std::span<const Dim>(index))};
  if (!partition(std::span(&piece, 1), sizes, s.facts)) return {};
  ++counts.covered;
  if (std::ssize(seen) != s.of_sizes(numel(sizes))) return told + ": not every place";
  for (const auto& place : seen)
    for (size_t d = 0; d < place.size(); ++d)
      if (place[d] < 0 || place[d] >= s.of_sizes(sizes[d])) return told + ": a place outside";
  return {};
}

std::string wrong_apart(Space& s, Chooser& c, IndexCounts& counts) {
  std::vector<Dim> a, b;
  for (size_t d = 0, rank = 1 + c.below(2); d < rank; ++d) {
    a.push_back(s.drawn(c));
    b.push_back(c.flip() ? s.drawn(c) : a.back() * 2 + Dim(c.between(-4, 12)));
  }
  if (!disjoint(*s.space, a, *s.space, b)) return {};
  ++counts.apart;
  std::set<std::vector<int64_t>> places;
  auto place = [&](const std::vector<Dim>& index, const Values& at) {
    std::vector<int64_t> found;
    for (Dim d : index) found.push_back(s.value(d, at));
    return found;
  };
  for (const Values& at : s.points) places.insert(place(a, at));
  for (const Values& at : s.points)
    if (places.contains(place(b, at))) return to_string(a[0]) + ", ... and " + to_string(b[0]) + ", ...";
  return {};
}
}  // namespace

WrongIndex wrong_index(Chooser& choose, IndexCounts& counts) {
  using Step = std::string (*)(Space&, Chooser&, IndexCounts&);
  constexpr std::pair<const char*, Step> kSteps[] = {{"bounds", wrong_bounds},
                                                     {"linear", wrong_linear},
                                                     {"mergeable", wrong_merge},
                                                     {"places", wrong_places},
                                                     {"disjoint", wrong_apart}};
  Space space(choose);
  auto wrong = [&](const char* step, const std::string& text) {
    return WrongIndex{step, text + "\n  " + space.text()};
  };
  if (!space.points.empty() && space.space->empty()) return wrong("empty", "there are points");
  for (const auto& [name, step] : kSteps) {
    try {
      if (const std::string text = step(space, choose, counts); !text.empty()) return wrong(name, text);
    } catch (const UserError&) {  // an expression that is refused: too large, say
    }
    if (!space.lost.empty()) return wrong(name, space.lost + " has no value");
  }
  return {};
}

namespace {
std::optional<Failure> holds(Subject& subject) {
  constexpr int kDraws = 4;  // in each case, of 0.2 ms
  RandomChooser choose(combine(subject.setting().seed, hash_bytes("index_spaces")));
  IndexCounts counts;
  for (int i = 0; i < kDraws; ++i)
    if (const WrongIndex wrong = wrong_index(choose, counts); !wrong.step.empty())
      return Failure{"index_spaces", wrong.step, "differs", wrong.text};
  return std::nullopt;
}
}  // namespace

Property index_spaces() {
  return {.name = "index_spaces",
          .contract = "what is proved of indices, bounds, strides, places apart or covered, holds at every point",
          .holds = holds,
          .every = 2,
          .of_graph = true};
}

}  // namespace lenz::fuzz
