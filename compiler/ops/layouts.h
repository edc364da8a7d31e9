// The ways in which a tensor may lie in memory that eager can be handed, in classes: each tensor belongs to one
// (`layout_of`); a class has a tensor of given sizes, or says what it lacks for that (`lacks`); and one of a class that
// it has can be drawn (`draw_of_class`). Strides of dims of one element say nothing but in `odd_ones`.
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
  permuted,  // dense, its dims in another order
  sliced,    // of a larger tensor: gaps between elements, and an offset
  channels_last,
  offset,       // contiguous from there
  expanded,     // stride 0
  overlapping,  // other strides that are too small for the dims within
  odd_ones,     // contiguous, but for the strides of dims of one element
  gaps,         // between elements, without an offset
};
inline constexpr size_t kLayoutClasses = 9;
std::string_view name(LayoutClass layout);

// What has no elements is contiguous.
LayoutClass layout_of(std::span<const int64_t> sizes, const Strided& lies);

// Whether elements come as in a contiguous tensor.
bool in_order(LayoutClass layout);

// What keeps a tensor of these sizes from lying so; empty: nothing does. Elements that are `written` to share no
// memory.
std::string_view lacks(LayoutClass layout, std::span<const int64_t> sizes, bool written);

// A layout of that class, but of a plainer one where choices happen to make it so, or it lacks something.
Strided draw_layout(LayoutClass layout, std::span<const int64_t> sizes, bool written, Chooser& choose);
// A layout of that class; contiguous where it lacks something.
Strided draw_of_class(LayoutClass layout, std::span<const int64_t> sizes, bool written, Chooser& choose);

}  // namespace lenz
