// What may be one kernel, against a checker of its own: it walks all points of two nests, computes the addresses that
// they touch from expressions of its own, and asks whether a kernel's order keeps what depends on what. Nothing of it
// knows Dims.
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "compiler/base/chooser.h"
#include "compiler/loops/text.h"
#include "compiler/ops/op_table.h"
#include "compiler/schedule/fuse.h"

namespace lenz::schedule {
namespace {

using Point = std::vector<int64_t>;

constexpr int64_t kSide = 16;     // of every dim of every buffer
constexpr int64_t kMostOpen = 4;  // what the symbol of open sizes goes up to

// A coordinate, of the axes at a point and the open size.
struct Coordinate {
  enum Kind { axis, number, plus, sum, times, quotient, remainder, least, mirrored, open, anywhere } kind = number;
  size_t first = 0, second = 0;
  int64_t constant = 0;

  std::string text(const std::string& names) const {
    const std::string a = names + std::to_string(first), b = names + std::to_string(second),
                      c = std::to_string(constant);
    switch (kind) {
      case axis: return a;
      case number: return c;
      case plus: return a + " + " + c;
      case sum: return a + " + " + b;
      case times: return a + "*" + c;
      case quotient: return a + "//" + c;
      case remainder: return a + " % " + c;
      case least: return "min(" + a + ", " + c + ")";
      case mirrored: return c + " - " + a;
      case open: return a + " + s0";
      case anywhere: return "p" + names;
    }
    return "";
  }
  std::vector<int64_t> values(const Point& at, int64_t size) const {
    const int64_t a = at[first], b = at[second], c = constant;
    switch (kind) {
      case axis: return {a};
      case number: return {c};
      case plus: return {a + c};
      case sum: return {a + b};
      case times: return {a * c};
      case quotient: return {a / c};
      case remainder: return {a % c};
      case least: return {std::min(a, c)};
      case mirrored: return {c - a};
      case open: return {a + size};
      case anywhere: break;
    }
    std::vector<int64_t> all(kSide);
    for (int64_t i = 0; i < kSide; ++i) all[static_cast<size_t>(i)] = i;
    return all;
  }
};

struct Memory {
  std::string name;
  int storage;
  std::vector<int64_t> strides;
};
const std::vector<Memory> kMemory{{"p", 0, {kSide, 1}},
                                  {"q", 0, {1, kSide}},
                                  {"t", 1, {kSide, 1}},
                                  {"u", 2, {1}},
                                  {"w", 3, {kSide * kSide, kSide, 1}},
                                  {"v", 3, {1, kSide, kSide* kSide}}};
constexpr std::string_view kDeclarations =
    "  input %p: f32[16, 16] placed mut alias A\n"
    "  input %q: f32[16, 16] strides [1, 16] placed mut alias A\n"
    "  input %places: i64[16] placed\n"
    "  temp %t: f32[16, 16]\n  temp %u: f32[16]\n  temp %w: f32[16, 16, 16] placed\n"
    "  view %v of %w: f32[16, 16, 16] strides [1, 16, 256]\n";

struct Access {
  const Memory* memory = nullptr;
  std::vector<Coordinate> index;
  bool store = false, late = false;  // late: once the inner axes are done

  std::string text(const std::string& names) const {
    std::string out = "%" + memory->name + "[";
    for (size_t d = 0; d < index.size(); ++d) out += (d ? ", " : "") + index[d].text(names);
    return out + "]";
  }
  std::set<std::pair<int, int64_t>> places(const Point& at, int64_t size) const {
    std::set<std::pair<int, int64_t>> made{{memory->storage, 0}};
    for (size_t d = 0; d < index.size(); ++d) {
      std::set<std::pair<int, int64_t>> next;
      for (auto [storage, address] : made)
        for (int64_t x : index[d].values(at, size)) next.insert({storage, address + x * memory->strides[d]});
      made = std::move(next);
    }
    return made;
  }
};

struct Loops {
  std::string names;             // of its axes
  std::vector<int64_t> extents;  // 0: the open size
  std::vector<std::string> kinds;
  std::vector<Access> accesses;

  std::string text() const {
    std::string out = "  for ", body, reduced;
    for (size_t k = 0; k < extents.size(); ++k)
      out += (k ? ", " : "") + kinds[k] + names + std::to_string(k) + " < " +
             (extents[k] ? std::to_string(extents[k]) : "s0");
    int next = 2;
    body = "    %0 = f32 1.0\n    %a = load %places[0]\n    %1 = position %a < 16 as p" + names + "\n";
    std::string last = "%0";
    for (const Access& a : accesses)
      if (!a.store) {
        last = "%x" + std::to_string(next++);
        body += "    " + last + " = load " + a.text(names) + "\n";
      }
    body += "    %r = " + std::string(kinds.back() == "scan " ? "scan" : "reduce") + " sum " + last + "\n";
    if (kinds.back().empty() && kinds.front().empty()) body = body.substr(0, body.rfind("    %r"));
    for (const Access& a : accesses)
      if (a.store) body += "    store " + a.text(names) + " = " + (a.late ? "%r" : last) + "\n";
    return out + " {\n" + body + "  }\n";
  }
  template <class F>
  void for_each_point(int64_t size, F&& visit) const {
    Point at(extents.size());
    auto walk = [&](auto&& self, size_t k) -> void {
      if (k == extents.size()) return visit(at);
      for (at[k] = 0; at[k] < (extents[k] ? extents[k] : size); ++at[k]) self(self, k + 1);
    };
    walk(walk, 0);
  }
  // The outermost parallel coordinates, and the rest.
  std::pair<Point, Point> parts(const Point& at, size_t shared) const {
    std::pair<Point, Point> made;
    for (size_t k = 0; k < at.size(); ++k)
      (kinds[k].empty() && made.first.size() < shared ? made.first : made.second).push_back(at[k]);
    return made;
  }
  size_t parallel() const { return static_cast<size_t>(std::ranges::count(kinds, "")); }
};

class Draw {
 public:
  explicit Draw(uint64_t seed) : choose_(seed) {}

  std::pair<Loops, Loops> pair() {
    Loops a = loops("a", nullptr), b = loops("b", choose_.chance(4, 5) ? &a : nullptr);
    if (choose_.chance(2, 3)) {  // one reads what the other one writes, at what may be the same place
      const Access& from = a.accesses.back();
      Access to = from;
      to.store = to.late = false;
      for (Coordinate& c : to.index) {
        c.first = std::min(c.first, b.extents.size() - 1);
        c.second = std::min(c.second, b.extents.size() - 1);
      }
      b.accesses.insert(b.accesses.begin(), to);
    }
    return {a, b};
  }

 private:
  Loops loops(const std::string& names, const Loops* like) {
    Loops made{names, {}, {}, {}};
    const size_t count = 1 + choose_.below(3);
    for (size_t k = 0; k < count; ++k) {
      const bool same = like && k < like->extents.size() && choose_.chance(5, 6);
      made.extents.push_back(same ? like->extents[k] : choose_.any_of<int64_t>({2, 3, 4, 0}));
      made.kinds.emplace_back();
    }
    if (count > 1 && choose_.chance(1, 3))
      made.kinds.back() = choose_.any_of<std::string>({"reduce ", "reduce ", "scan "});
    if (count > 1 && choose_.chance(1, 12)) made.kinds.front() = "reduce ";
    const bool reduces = !made.kinds.back().empty() || !made.kinds.front().empty();
    for (uint64_t n = 1 + choose_.below(2); n > 0; --n) made.accesses.push_back(load(made));
    for (uint64_t n = 1 + choose_.below(2); n > 0; --n)
      made.accesses.push_back(store(made, reduces && choose_.chance(2, 3)));
    return made;
  }

  Coordinate any_coordinate(const Loops& of, size_t d) {
    Coordinate c;
    c.kind = choose_.chance(3, 4) ? Coordinate::axis : static_cast<Coordinate::Kind>(choose_.below(11));
    c.first = choose_.chance(3, 4) ? std::min(d, of.extents.size() - 1) : choose_.below(of.extents.size());
    c.second = choose_.below(of.extents.size());
    c.constant = c.kind == Coordinate::mirrored ? 4 : 2 + static_cast<int64_t>(choose_.below(2));
    return c;
  }
  Access load(const Loops& of) {
    Access made{&kMemory[choose_.below(kMemory.size())], {}, false, false};
    for (size_t d = 0; d < made.memory->strides.size(); ++d) made.index.push_back(any_coordinate(of, d));
    return made;
  }
  // At a place of its own for each point, mostly.
  Access store(const Loops& of, bool late) {
    std::vector<size_t> axes;
    for (size_t k = 0; k < of.extents.size(); ++k)
      if (!late || of.kinds[k].empty()) axes.push_back(k);
    if (choose_.chance(1, 4)) std::ranges::reverse(axes);
    Access made{&kMemory[choose_.below(kMemory.size())], {}, true, late};
    while (made.memory->strides.size() < axes.size()) made.memory = &kMemory[choose_.below(kMemory.size())];
    for (size_t d = 0; d < made.memory->strides.size(); ++d) {
      made.index.push_back(any_coordinate(of, d));
      if (d < axes.size()) made.index.back().first = axes[d];
      if (d < axes.size() && choose_.chance(7, 8)) made.index.back().kind = Coordinate::axis;
    }
    return made;
  }

  RandomChooser choose_;
};

// Something that two nests do to one place of memory, one of them a write.
struct Meeting {
  Point kernel_a, kernel_b, inner_a, inner_b;
  bool late_a, late_b;
};
template <class F>
void for_each_meeting(const Loops& a, const Loops& b, size_t shared, int64_t size, F&& visit) {
  std::map<std::pair<int, int64_t>, std::vector<std::pair<const Access*, Point>>> of_a;
  a.for_each_point(size, [&](const Point& at) {
    for (const Access& x : a.accesses)
      for (const auto& place : x.places(at, size)) of_a[place].emplace_back(&x, at);
  });
  b.for_each_point(size, [&](const Point& at) {
    for (const Access& y : b.accesses)
      for (const auto& place : y.places(at, size))
        for (const auto& [x, at_a] : of_a[place]) {
          if (!x->store && !y.store) continue;
          auto [kernel_a, inner_a] = a.parts(at_a, shared);
          auto [kernel_b, inner_b] = b.parts(at, shared);
          visit(Meeting{kernel_a, kernel_b, inner_a, inner_b, x->late, y.late});
        }
  });
}

// Whether each place is written at one point, by one store, and read by no other point: what programs have to keep.
bool keeps_rules(const Loops& of) {
  bool kept = true;
  for (int64_t size = 1; size <= kMostOpen && kept; ++size) {
    std::map<std::pair<int, int64_t>, std::pair<const Access*, Point>> written;
    auto where = [&](const Access& a, const Point& at) { return a.late ? of.parts(at, at.size()).first : at; };
    of.for_each_point(size, [&](const Point& at) {
      for (const Access& a : of.accesses)
        for (const auto& place : a.places(at, size)) {
          if (!a.store) continue;
          const auto [found, fresh] = written.try_emplace(place, &a, where(a, at));
          kept = kept && (fresh || found->second == std::pair(&a, where(a, at)));
        }
    });
    of.for_each_point(size, [&](const Point& at) {
      for (const Access& a : of.accesses)
        for (const auto& place : a.places(at, size))
          if (auto found = written.find(place); !a.store && found != written.end())
            kept = kept && found->second.second == where(*found->second.first, at);
    });
  }
  return kept;
}

loops::Program program_of(const Loops& a, const Loops& b) {
  return loops::parse_program("loops @p where s0 in 1.." + std::to_string(kMostOpen) + " {\n" +
                                  std::string(kDeclarations) + a.text() + b.text() + "  return %t\n}\n",
                              op_table());
}

bool same_sizes(const Loops& a, const Loops& b, size_t shared) {
  std::vector<int64_t> x, y;
  for (const auto& [of, to] : {std::pair(&a, &x), std::pair(&b, &y)})
    for (size_t k = 0; k < of->extents.size(); ++k)
      if (of->kinds[k].empty()) to->push_back(of->extents[k]);
  return x.size() >= shared && y.size() >= shared &&
         std::equal(x.begin(), x.begin() + static_cast<ptrdiff_t>(shared), y.begin());
}

TEST(Legality, PointsOfAKernelMeetNowhereElse) {
  size_t legal = 0, refused = 0, apart = 0;
  for (uint64_t seed = 0; seed < 15000; ++seed) {
    const auto [a, b] = Draw(seed).pair();
    if (!keeps_rules(a) || !keeps_rules(b)) continue;
    const loops::Program program = program_of(a, b);
    const auto& x = std::get<loops::Nest>(program.body.nodes[0].is);
    const auto& y = std::get<loops::Nest>(program.body.nodes[1].is);
    for (size_t shared = 0; shared <= std::max(a.parallel(), b.parallel()); ++shared) {
      const std::string why = why_illegal(program, x, y, shared);
      bool meet = false;
      for (int64_t size = 1; size <= kMostOpen && same_sizes(a, b, shared); ++size)
        for_each_meeting(a, b, shared, size, [&](const Meeting& m) { meet = meet || m.kernel_a != m.kernel_b; });
      const bool may = same_sizes(a, b, shared) && !meet;
      if (why.empty()) EXPECT_TRUE(may) << "seed " << seed << ", " << shared << " axes\n" << loops::print(program);
      ++(why.empty() ? legal : refused);
      apart += may && !why.empty();
    }
  }
  EXPECT_GT(legal, 3000u);
  EXPECT_GT(refused, 3000u);
  // Refusals by names and shapes of coordinates alone: some of what is apart is refused, but no more.
  EXPECT_LT(apart, legal);
}

TEST(Legality, PhasesKeepWhatDependsOnWhat) {
  size_t together = 0, in_turn = 0, refused = 0;
  for (uint64_t seed = 0; seed < 15000; ++seed) {
    const auto [a, b] = Draw(seed).pair();
    if (!keeps_rules(a) || !keeps_rules(b)) continue;
    const loops::Program program = program_of(a, b);
    for (uint32_t shared = 0; shared <= std::min(a.parallel(), b.parallel()); ++shared)
      for (bool one : {true, false}) {
        Group group;
        group.nests = {0, 1};
        group.shared = shared;
        if (one) {
          group.phases = {{{0, 1}}};
        } else {
          group.phases = {{{0}}, {{1}}};
        }
        if (!why_illegal(program, program.body, group).empty()) {
          ++refused;
          continue;
        }
        ++(one ? together : in_turn);
        bool kept = same_sizes(a, b, shared);
        for (int64_t size = 1; size <= kMostOpen && kept; ++size)
          for_each_meeting(a, b, shared, size, [&](const Meeting& m) {
            const bool order = !one || (!m.late_a && m.late_b) || (m.late_a == m.late_b && m.inner_a == m.inner_b);
            kept = kept && m.kernel_a == m.kernel_b && order;
          });
        EXPECT_TRUE(kept) << "seed " << seed << ", " << shared << " axes, " << (one ? "one phase" : "two phases")
                          << "\n"
                          << loops::print(program);
      }
  }
  EXPECT_GT(together, 300u);
  EXPECT_GT(in_turn, 2000u);
  EXPECT_GT(refused, 2000u);
}

}  // namespace
}  // namespace lenz::schedule
