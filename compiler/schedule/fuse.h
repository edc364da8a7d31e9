// Groups of nests that become one kernel each. The nests of a group share their outermost parallel axes: at one point
// of these, whatever a nest reads of another one in the group was written at that point. Inside, phases run one after
// another; a phase is nests over the same inner axes, merged into one.
//
// Legality looks at dependences alone: which coordinates of a written element say the point of the shared axes.
// Thread-safety: as the program's.
#pragma once

#include <string>
#include <vector>

#include "compiler/schedule/nest_facts.h"
#include "compiler/schedule/tiles.h"

namespace lenz::schedule {

struct Phase {
  std::vector<uint32_t> nests;  // numbers of nodes in their block
  friend bool operator==(const Phase&, const Phase&) = default;
};

struct Group {
  std::vector<uint32_t> nests;  // ascending; empty: `node` is none, and runs as it is
  uint32_t node = 0;
  uint32_t shared = 0;  // how many outermost parallel axes
  std::vector<Phase> phases;
  Tiles tiles;
  friend bool operator==(const Group&, const Group&) = default;
};

struct FusionLimits {
  size_t instructions = 512;  // of a group
  size_t body = 192;          // of a phase
  size_t nests = 64;
};

// In an order in which they may run; nobody has cut them yet.
std::vector<Group> fuse(const loops::Program& program, const loops::Block& block, const FusionLimits& limits = {});

// Why two nests of a block may not be in one group that shares this many axes; empty if they may.
std::string why_illegal(const loops::Program& program, const loops::Nest& a, const loops::Nest& b, size_t shared);
// Why a group may not be a kernel with these phases; empty if it may.
std::string why_illegal(const loops::Program& program, const loops::Block& block, const Group& group);

}  // namespace lenz::schedule
