// The ways in which a tensor may lie in memory that eager can be handed.
// Thread-safety: free functions; a chooser belongs to one thread.
#pragma once

#include <string_view>

#include "compiler/base/chooser.h"
#include "compiler/base/small_vec.h"

namespace lenz {

struct Strided {
  SmallVec<int64_t, 6> strides;
  int64_t offset = 0;
};

enum class LayoutClass : uint8_t {
  contiguous,
  permuted,
  sliced,  // of a larger tensor: steps, gaps, an offset
  channels_last,
  offset,
  expanded,     // stride 0
  overlapping,  // small strides
  odd_ones,     // any stride of a dim of one element
};
inline constexpr size_t kLayoutClasses = 8;
std::string_view name(LayoutClass layout);

// A layout of that class; contiguous where the class has none for these sizes, or for a tensor that is written to,
// whose elements may not share memory.
Strided draw_layout(LayoutClass layout, std::span<const int64_t> sizes, bool written, Chooser& choose);

}  // namespace lenz
