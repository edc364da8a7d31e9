#include "compiler/schedule/fuse.h"

#include <algorithm>
#include <deque>
#include <optional>

#include "compiler/schedule/apart.h"

namespace lenz::schedule {

using loops::AxisKind;
using loops::Block;
using loops::Instr;
using loops::InstrKind;
using loops::Nest;
using loops::Program;
using loops::Store;

namespace {

constexpr size_t kMostBetween = 16;  // groups that another one may be moved past

void add_once(std::vector<BufferId>& list, BufferId id) {
  if (std::ranges::find(list, id) == list.end()) list.push_back(id);
}

struct Access {
  BufferId buffer;
  const DimVec* index;
};

struct Member {
  uint32_t number;
  const Nest* nest;
  NestFacts facts;
  std::vector<Access> loads, stores;
  std::vector<Dim> extents;  // of the parallel axes
};

Member member_of(uint32_t number, const Nest& nest) {
  Member made{number, &nest, facts_of(nest), {}, {}, {}};
  for (const Instr& i : nest.body)
    if (i.kind == InstrKind::load) made.loads.push_back({i.buffer, &i.index});
  for (const Store& s : nest.stores) made.stores.push_back({s.buffer, &s.index});
  for (const loops::Axis& a : nest.axes)
    if (a.kind == AxisKind::parallel) made.extents.push_back(a.extent);
  return made;
}

// How many outermost parallel axes of both an element's coordinates tell, the same ones in the same dims.
size_t told(const Member& a, const DimVec& at_a, const Member& b, const DimVec& at_b, size_t most) {
  for (size_t axis = 0; axis < most; ++axis) {
    bool found = false;
    for (size_t d = 0; d < at_a.size() && d < at_b.size() && !found; ++d)
      found = at_a[d] == a.facts.parallel[axis] && at_b[d] == b.facts.parallel[axis];
    if (!found) return axis;
  }
  return most;
}

// What a coordinate may be: a number, or an axis of a known extent from a number on.
std::optional<std::pair<int64_t, int64_t>> ends_of(const Member& m, Dim d) {
  if (d.is_constant()) return std::pair(d.constant(), d.constant());
  for (const loops::Axis& a : m.nest->axes)
    if (const Dim first = d - a.symbol; first.is_constant() && a.extent.is_constant() && a.extent.constant() > 0)
      return std::pair(first.constant(), first.constant() + a.extent.constant() - 1);
  return std::nullopt;
}

// Whether two nests' elements of a buffer are others at all their points: parts that are joined, say.
bool never_meet(const Member& a, const DimVec& at_a, const Member& b, const DimVec& at_b) {
  for (size_t d = 0; d < at_a.size() && d < at_b.size(); ++d) {
    const auto one = ends_of(a, at_a[d]), other = ends_of(b, at_b[d]);
    if (one && other && (one->second < other->first || other->second < one->first)) return true;
  }
  return false;
}

size_t common_extents(const Member& a, const Member& b) {
  size_t n = 0;
  while (n < a.extents.size() && n < b.extents.size() && a.extents[n] == b.extents[n]) ++n;
  return n;
}

class Conflicts {
 public:
  explicit Conflicts(const Program& program) : storages_(storages_of(program)) {}

  BufferId storage(BufferId id) const { return storages_[id]; }

  // How many axes two nests may share, if one of them stores where the other one loads or stores; none at all if that
  // is memory which they call by two names.
  std::optional<size_t> shareable(const Member& a, const Member& b, size_t most, bool* depend = nullptr) const {
    bool two_names = false;
    auto pairs = [&](const Member& x, const std::vector<Access>& of_x, const Member& y,
                     const std::vector<Access>& of_y) {
      for (const Access& p : of_x)
        for (const Access& q : of_y) {
          if (storages_[p.buffer] != storages_[q.buffer]) continue;
          if (depend) *depend = true;
          two_names = two_names || p.buffer != q.buffer;
          most = told(x, *p.index, y, *q.index, most);
        }
    };
    pairs(a, a.stores, b, b.loads);
    pairs(a, a.loads, b, b.stores);
    pairs(a, a.stores, b, b.stores);
    if (two_names) return std::nullopt;
    return most;
  }

 private:
  std::vector<BufferId> storages_;
};

// ---------------------------------------------------------------------------------------------------------------------
// Phases

struct Inner {  // axes beyond the shared ones
  Dim symbol, extent;
  AxisKind kind;
};

std::vector<Inner> inner_axes(const Member& m, size_t shared) {
  std::vector<Inner> made;
  size_t parallel = 0;
  for (const loops::Axis& a : m.nest->axes)
    if (a.kind != AxisKind::parallel || parallel++ >= shared) made.push_back({a.symbol, a.extent, a.kind});
  return made;
}

// Values of a reduction's result, and what is stored of them.
std::vector<bool> late_stores(const Nest& nest) {
  std::vector<bool> late = loops::epilogue(nest), made;
  for (const Store& s : nest.stores) made.push_back(late[s.value] || (s.mask != kNone && late[s.mask]));
  return made;
}

class PhaseMaker {
 public:
  PhaseMaker(const FusionLimits& limits, size_t shared, const std::vector<const Member*>& members)
      : limits_(limits), shared_(shared), members_(members) {}

  std::vector<Phase> run() {
    for (size_t i = 0; i < members_.size(); ++i) place(i);
    std::vector<Phase> made;
    for (const Open& o : open_) {
      Phase phase;
      for (size_t i : o.members) phase.nests.push_back(members_[i]->number);
      std::ranges::sort(phase.nests);
      made.push_back(std::move(phase));
    }
    return made;
  }

  // Why the members may not be in these phases; empty if they may. `phase_of`: of each.
  std::string why_not(const std::vector<size_t>& phase_of) {
    for (size_t i = 0; i < members_.size(); ++i) {
      const size_t at = phase_of[i];
      for (size_t k = 0; k < i; ++k) {
        bool apart = false;
        if (!conflict(*members_[k], *members_[i], apart)) continue;
        if (phase_of[k] + (apart ? 1 : 0) > at)
          return "nest " + std::to_string(members_[i]->number) + " depends on nest " +
                 std::to_string(members_[k]->number) + ", whose phase has to be an earlier one";
      }
      open_.resize(std::max(open_.size(), at + 1));
      std::vector<Inner> inner = inner_axes(*members_[i], shared_);
      if (!open_[at].members.empty() && !fits(open_[at], *members_[i], inner))
        return "nest " + std::to_string(members_[i]->number) + " has other inner axes than its phase";
      put(i, at, inner);
    }
    return {};
  }

 private:
  struct Open {
    std::vector<size_t> members;
    std::vector<Dim> extents;
    std::vector<AxisKind> kinds;  // as the members that reduce have them; parallel if none does
    bool reduces = false, scans = false;
    size_t body = 0;
  };

  void place(size_t i) {
    const Member& m = *members_[i];
    std::vector<Inner> inner = inner_axes(m, shared_);
    size_t earliest = 0;
    for (size_t k = 0; k < i; ++k) {
      bool apart = false;
      if (!conflict(*members_[k], m, apart)) continue;
      earliest = std::max(earliest, phase_[k] + (apart ? 1 : 0));
    }
    size_t at = earliest;
    while (at < open_.size() && !fits(open_[at], m, inner)) ++at;
    if (at == open_.size()) open_.emplace_back();
    put(i, at, inner);
    phase_.push_back(at);
  }

  void put(size_t i, size_t at, const std::vector<Inner>& inner) {
    const Member& m = *members_[i];
    Open& o = open_[at];
    if (o.members.empty())
      for (const Inner& a : inner) {
        o.extents.push_back(a.extent);
        o.kinds.push_back(AxisKind::parallel);
      }
    o.members.push_back(i);
    o.body += m.nest->body.size();
    o.scans = o.scans || m.facts.scans;
    if (m.facts.reduces || m.facts.scans) {
      o.reduces = true;
      for (size_t d = 0; d < inner.size(); ++d) o.kinds[d] = inner[d].kind;
    }
  }

  bool fits(const Open& o, const Member& m, const std::vector<Inner>& inner) const {
    if (o.body + m.nest->body.size() > limits_.body || o.scans || m.facts.scans) return false;
    if (inner.size() != o.extents.size()) return false;
    for (size_t d = 0; d < inner.size(); ++d) {
      if (inner[d].extent != o.extents[d]) return false;
      if (m.facts.reduces && o.reduces && inner[d].kind != o.kinds[d]) return false;
    }
    return true;
  }

  // Whether the later member depends on the earlier one; and then whether it has to wait until the earlier one's inner
  // axes are done.
  bool conflict(const Member& a, const Member& b, bool& apart) const {
    std::vector<Inner> of_a = inner_axes(a, shared_), of_b = inner_axes(b, shared_);
    std::vector<bool> late = late_stores(*a.nest);
    bool any = false;
    auto same_place = [&](const DimVec& x, const DimVec& y) {
      if (x.size() != y.size() || of_a.size() != of_b.size()) return false;
      for (size_t d = 0; d < x.size(); ++d)
        if (std::optional<int64_t> at = place(a, of_a, x[d]); !at || at != place(b, of_b, y[d])) return false;
      return true;
    };
    for (size_t s = 0; s < a.stores.size(); ++s) {
      for (const Access& load : b.loads) {
        if (load.buffer != a.stores[s].buffer) continue;
        any = true;
        apart = apart || late[s] || !same_place(*a.stores[s].index, *load.index);
      }
      for (const Access& store : b.stores) {
        if (store.buffer != a.stores[s].buffer || never_meet(b, *store.index, a, *a.stores[s].index)) continue;
        any = apart = true;
      }
    }
    std::vector<bool> late_b = late_stores(*b.nest);
    for (const Access& load : a.loads)
      for (size_t s = 0; s < b.stores.size(); ++s) {
        if (load.buffer != b.stores[s].buffer) continue;
        any = true;
        apart = apart || late_b[s] || !same_place(*load.index, *b.stores[s].index);
      }
    return any;
  }

  // A coordinate that is an axis, by the axis's place, or a constant; none for other expressions.
  std::optional<int64_t> place(const Member& m, const std::vector<Inner>& inner, Dim d) const {
    if (d.is_constant()) return -1 - d.constant();
    for (size_t k = 0; k < shared_; ++k)
      if (m.facts.parallel[k] == d) return static_cast<int64_t>(k);
    for (size_t k = 0; k < inner.size(); ++k)
      if (inner[k].symbol == d) return static_cast<int64_t>(shared_ + k);
    return std::nullopt;
  }

  const FusionLimits& limits_;
  size_t shared_;
  const std::vector<const Member*>& members_;
  std::vector<Open> open_;
  std::vector<size_t> phase_;  // of each member
};

// ---------------------------------------------------------------------------------------------------------------------
// Groups

bool may_join(const Member& m) { return !stands_alone(m.nest->tag) && !m.facts.combines; }

// How many of its outermost axes the points of a kernel may differ in.
size_t independent(const Program& program, const Member& m) {
  if (!m.facts.combines) return m.extents.size();
  size_t n = 0;
  while (n < m.extents.size() && m.nest->axes[n].symbol == m.facts.parallel[n] &&
         keeps_apart(program, *m.nest, m.facts.parallel[n]))
    ++n;
  return n;
}

class Fuser {
 public:
  Fuser(const Program& program, const Block& block, const FusionLimits& limits)
      : program_(program),
        block_(block),
        limits_(limits),
        conflicts_(program),
        writer_(program.buffers.size(), -1),
        reader_(program.buffers.size(), -1) {}

  std::vector<Group> run() {
    for (uint32_t i = 0; i < block_.nodes.size(); ++i) {
      if (const auto* nest = std::get_if<Nest>(&block_.nodes[i].is)) {
        add(i, *nest);
      } else {
        open_.push_back({{}, i, 0, 0, false, false, {}, {}});
        forward_.push_back(open_.size() - 1);
        barrier_ = static_cast<int64_t>(open_.size());
      }
    }
    std::vector<Group> made;
    for (Open& o : open_) {
      if (o.gone) continue;
      Group g;
      g.node = o.node;
      g.shared = static_cast<uint32_t>(o.shared);
      std::vector<const Member*> members;
      for (size_t m : o.members) {
        members.push_back(&members_[m]);
        g.nests.push_back(members_[m].number);
      }
      if (!members.empty()) g.phases = PhaseMaker(limits_, o.shared, members).run();
      made.push_back(std::move(g));
    }
    return made;
  }

 private:
  struct Open {
    std::vector<size_t> members;
    uint32_t node = 0;
    size_t shared = 0, instructions = 0;
    bool closed = false;                  // takes no more
    bool gone = false;                    // its members are another group's
    std::vector<BufferId> reads, writes;  // storages
  };

  void add(uint32_t number, const Nest& nest) {
    members_.push_back(member_of(number, nest));
    Member& m = members_.back();
    int64_t lower = barrier_;
    auto after = [&](int64_t group) { lower = std::max(lower, group); };
    for (const Access& a : m.loads) after(last(writer_, a.buffer));
    for (const Access& a : m.stores) {
      after(last(writer_, a.buffer));
      after(last(reader_, a.buffer));
    }
    int64_t at = best(m, lower);
    if (at < 0) {
      at = static_cast<int64_t>(open_.size());
      Open fresh;
      fresh.shared = independent(program_, m);
      fresh.closed = !may_join(m);
      open_.push_back(std::move(fresh));
      forward_.push_back(open_.size() - 1);
    }
    join(static_cast<size_t>(at), m);
    // What else it reads may have been waiting in groups of their own.
    for (const Access& a : m.loads) absorb(last(writer_, a.buffer), static_cast<size_t>(at));
  }

  // Makes an earlier group part of this one, if nothing between them touches what the earlier one does.
  void absorb(int64_t from, size_t into) {
    const auto earlier = static_cast<size_t>(from);
    if (from < barrier_ || earlier >= into || into - earlier > kMostBetween) return;
    Open &a = open_[earlier], &b = open_[into];
    if (a.members.empty() || a.closed || b.closed) return;
    if (a.instructions + b.instructions > limits_.instructions || a.members.size() + b.members.size() > limits_.nests)
      return;
    auto meet = [](const std::vector<BufferId>& x, const std::vector<BufferId>& y) {
      return std::ranges::any_of(x, [&](BufferId id) { return std::ranges::find(y, id) != y.end(); });
    };
    for (size_t k = earlier + 1; k < into; ++k) {
      const Open& between = open_[k];
      if (between.gone) continue;
      if (between.members.empty() || meet(a.writes, between.reads) || meet(a.writes, between.writes) ||
          meet(a.reads, between.writes))
        return;
    }
    size_t shared = std::min({a.shared, b.shared, common_extents(members_[a.members[0]], members_[b.members[0]])});
    if (shared < a.shared || shared < b.shared) return;
    for (size_t x : a.members)
      for (size_t y : b.members)
        if (auto with = conflicts_.shareable(members_[x], members_[y], shared); !with || *with < shared) return;
    b.members.insert(b.members.end(), a.members.begin(), a.members.end());
    std::ranges::sort(b.members);
    b.instructions += a.instructions;
    for (BufferId id : a.reads) add_once(b.reads, id);
    for (BufferId id : a.writes) add_once(b.writes, id);
    forward_[earlier] = into;
    for (BufferId id : a.reads) reader_[id] = std::max(last_of(reader_, id), static_cast<int64_t>(into));
    a.gone = true;
  }

  // The last group that writes or reads a storage.
  int64_t last_of(const std::vector<int64_t>& list, BufferId storage) const {
    int64_t g = list[storage];
    while (g >= 0 && forward_[static_cast<size_t>(g)] != static_cast<size_t>(g))
      g = static_cast<int64_t>(forward_[static_cast<size_t>(g)]);
    return g;
  }
  int64_t last(const std::vector<int64_t>& list, BufferId id) const { return last_of(list, conflicts_.storage(id)); }

  // The group that it gains most by joining; -1 if it had better be alone.
  int64_t best(const Member& m, int64_t lower) {
    if (!may_join(m)) return -1;
    int64_t found = -1;
    // Groups that touch its buffers, the newest first: a producer's before one that reads the same input.
    std::vector<int64_t> candidates;
    for (const Access& a : m.loads)
      for (int64_t g : {last(writer_, a.buffer), last(reader_, a.buffer)})
        if (g >= lower && g >= 0 && std::ranges::find(candidates, g) == candidates.end()) candidates.push_back(g);
    std::ranges::sort(candidates, std::greater());
    for (int64_t g : candidates) {
      const Open& o = open_[static_cast<size_t>(g)];
      if (o.members.empty() || o.closed) continue;
      if (o.instructions + m.nest->body.size() > limits_.instructions || o.members.size() >= limits_.nests) continue;
      bool depends = false;
      if (!shareable(o, m, depends)) continue;
      if (depends) return g;
      if (found < 0) found = g;
    }
    return found;
  }

  // How many axes the group would share with it in; nothing if that is too little.
  std::optional<size_t> shareable(const Open& o, const Member& m, bool& depends) const {
    size_t shared = std::min(o.shared, common_extents(members_[o.members[0]], m));
    for (size_t k : o.members) {
      bool here = false;
      std::optional<size_t> with = conflicts_.shareable(members_[k], m, shared, &here);
      if (!with) return std::nullopt;
      shared = *with;
      depends = depends || here;
    }
    const bool scalar = o.shared == 0 && m.extents.empty() && m.facts.inner.empty();
    if (shared == 0 && !scalar) return std::nullopt;
    // Fewer shared axes mean larger rows, and fewer points to run side by side: for a value that need not be stored.
    if (!depends && (shared < o.shared || shared < m.extents.size())) return std::nullopt;
    return shared;
  }

  void join(size_t group, const Member& m) {
    Open& o = open_[group];
    bool depends = false;
    if (!o.members.empty()) o.shared = *shareable(o, m, depends);
    o.members.push_back(members_.size() - 1);
    o.instructions += m.nest->body.size();
    for (const Access& a : m.loads) {
      reader_[conflicts_.storage(a.buffer)] = std::max(last(reader_, a.buffer), static_cast<int64_t>(group));
      add_once(o.reads, conflicts_.storage(a.buffer));
    }
    for (const Access& a : m.stores) {
      writer_[conflicts_.storage(a.buffer)] = static_cast<int64_t>(group);
      add_once(o.writes, conflicts_.storage(a.buffer));
    }
  }

  const Program& program_;
  const Block& block_;
  const FusionLimits& limits_;
  Conflicts conflicts_;
  std::deque<Member> members_;
  std::vector<Open> open_;
  std::vector<size_t> forward_;           // where a group's members are
  std::vector<int64_t> writer_, reader_;  // the last group that writes and reads each storage
  int64_t barrier_ = 0;                   // groups before it take nothing more
};

}  // namespace

std::vector<Group> fuse(const Program& program, const Block& block, const FusionLimits& limits) {
  return Fuser(program, block, limits).run();
}

std::string why_illegal(const Program& program, const Nest& a, const Nest& b, size_t shared) {
  Member x = member_of(0, a), y = member_of(1, b);
  size_t extents = common_extents(x, y);
  if (extents < shared)
    return "their outermost axes are the same " + std::to_string(extents) + " times only, not " +
           std::to_string(shared);
  std::optional<size_t> most = Conflicts(program).shareable(x, y, shared);
  if (!most) return "what one stores the other one accesses under another name of the same memory";
  if (*most < shared) return "what one stores the other one accesses at another point of axis " + std::to_string(*most);
  return {};
}

std::string why_illegal(const Program& program, const Block& block, const Group& group) {
  std::deque<Member> members;
  std::vector<const Member*> list;
  std::vector<size_t> phase_of;
  for (uint32_t number : group.nests) {
    members.push_back(member_of(number, std::get<Nest>(block.nodes[number].is)));
    list.push_back(&members.back());
    size_t phase = 0;
    while (std::ranges::find(group.phases[phase].nests, number) == group.phases[phase].nests.end()) ++phase;
    phase_of.push_back(phase);
  }
  const Conflicts conflicts(program);
  for (const Member& m : members) {
    const std::string nest = "nest " + std::to_string(m.number);
    if (members.size() > 1 && !may_join(m)) return nest + " stays by itself";
    if (independent(program, m) < group.shared)
      return "points of " + nest + " are apart along " + std::to_string(independent(program, m)) + " axes only, not " +
             std::to_string(group.shared);
    if (common_extents(members[0], m) < group.shared) return nest + " has other outermost axes than the first one";
    for (const Member& other : members) {
      if (&other == &m) break;
      const auto most = conflicts.shareable(other, m, group.shared);
      if (!most || *most < group.shared)
        return "what one of nests " + std::to_string(other.number) + " and " + std::to_string(m.number) +
               " stores the other one accesses at another point";
    }
  }
  return PhaseMaker({.instructions = SIZE_MAX, .body = SIZE_MAX, .nests = SIZE_MAX}, group.shared, list)
      .why_not(phase_of);
}

}  // namespace lenz::schedule
