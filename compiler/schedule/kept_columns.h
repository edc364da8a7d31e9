// Reductions along columns whose elements are read again with what they gave: softmaxes and norms over a dim that is
// not the last one in memory. Where all rows of some columns fit into a cache, one point of a kernel does everything
// to these columns, and memory is read once.
// Thread-safety: pure functions.
#pragma once

#include <unordered_set>

#include "compiler/loops/program.h"

namespace lenz::schedule {

// Bytes of one point's columns that caches keep between its phases.
inline constexpr int64_t kKeptColumns = int64_t{256} << 10;

// Whether so many rows, along so many axes, of the fewest columns that are worth a visit stay in a cache, and there are
// columns enough for many cores. Of open sizes: if one axis is walked, as softmaxes do, not all but one.
bool columns_stay(Dim rows, size_t row_axes, Dim columns, int64_t item_bytes);

// The nests that reduce what others walk once more together with their results.
std::unordered_set<const loops::Nest*> walked_again(const loops::Program& program);

}  // namespace lenz::schedule
