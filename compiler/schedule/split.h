// Reductions of many elements at few points, for which one core alone would work: the nest becomes one of partial
// results, a row of them for each chunk of an axis, and one that takes these together. Chunks have a fixed size, so
// that results depend on sizes and the target only.
// Thread-safety: as the program's.
#pragma once

#include "compiler/loops/program.h"
#include "compiler/schedule/target.h"

namespace lenz::schedule {

// Which of the nest's axes is cut, and into chunks of how many of its points.
struct Chunks {
  size_t axis = 0;
  int64_t size = 0;
  // The axis is short, its points are neighbours in memory, and those of a point's are a part of a row: each has a
  // partial result of its own, in the order in which rows have them.
  bool of_row = false;
};
// None: it stays as it is.
std::optional<Chunks> chunks_of(const loops::Program& program, const loops::Nest& nest, const Target& target);

void split_reductions(loops::Program& program, const Target& target);

}  // namespace lenz::schedule
