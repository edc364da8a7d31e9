// How the points of a group's kernel are cut: decided here by what its nests do in memory, said by a plan, done by
// realise (kernel_tiles.cpp).
// Thread-safety: pure functions.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "compiler/schedule/nest_facts.h"
#include "compiler/schedule/target.h"

namespace lenz::schedule {

struct Group;

struct Tiles {
  std::vector<uint32_t> order;   // of the shared axes, outermost first, by their places in the nests; empty: as there
  int64_t size = 0;              // so many points of the innermost one lie inside the kernel's nests; 0: it is not cut
  uint32_t joined = 1;           // so many of the innermost ones are cut as if they were one
  std::optional<uint32_t> rows;  // this one, by its place in `order`, is cut as well: squares, where memory is
                                 // contiguous along one axis here and along the other one there
  int64_t row_size = 0;          // so many of its points lie inside; 0: it is not cut
  uint32_t rows_joined = 1;      // so many axes, of which `rows` is the innermost, are cut as if they were one
  bool abreast = false;          // points of `rows` go along what all of them read together (abreast.h)
  friend bool operator==(const Tiles&, const Tiles&) = default;
};

inline constexpr int64_t kLargestTile = 1 << 16;

Tiles choose_tiles(const loops::Program& program, const loops::Block& block, const Uses& uses, const Group& group,
                   const Target& target);

// Why a group that may be a kernel may not be cut so; empty if it may.
std::string why_not_cut(const loops::Program& program, const loops::Block& block, const Group& group);

// Whether somebody sees what a group writes there: not its own nests alone.
bool used_outside(const loops::Program& program, const loops::Block& block, const Uses& uses, const Group& group,
                  BufferId id);

// How well accesses of a nest go along one of these axes, which are its own in some order: neighbours, or one element
// for all, against strides. Not given: all buffers count.
double contiguity(const loops::Program& program, const loops::Nest& nest, std::span<const loops::Axis> axes,
                  size_t axis, const std::function<bool(BufferId)>& counts = {});

// Simple operations that a point takes where those along this axis, its own in some order, run in lanes. `known`: what
// an access takes, where the caller knows better.
double lane_cost(const loops::Program& program, const loops::Nest& nest, std::span<const loops::Axis> axes, size_t axis,
                 const Target& target, const std::function<std::optional<double>(BufferId, const DimVec&)>& known = {});

// Whether a nest that scans rows, no two elements of which may be in lanes, computes so much that several rows had
// better be, along this axis, however they lie.
bool scans_beside(const loops::Program& program, const loops::Nest& nest, std::span<const loops::Axis> axes,
                  size_t axis, const Target& target);

// Another parallel axis of the nest, along which something is contiguous that is strange to this one.
std::optional<size_t> crossing_axis(const loops::Program& program, const loops::Nest& nest, size_t axis);

// Whether lanes along the axis read from memory in steps of more than one element.
bool in_steps(const loops::Program& program, const loops::Nest& nest, const loops::Axis& axis);

// A nest's axes with its outermost parallel ones in another order.
std::vector<loops::Axis> reordered(const loops::Nest& nest, std::span<const uint32_t> order);

}  // namespace lenz::schedule
