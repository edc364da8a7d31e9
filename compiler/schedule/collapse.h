// Neighbouring axes that are one in all memory that a nest touches become one axis: lanes are full then, however short
// the last dim is.
// Thread-safety: as the program's.
#pragma once

#include <span>

#include "compiler/loops/program.h"

namespace lenz::schedule {

// Whether axes k and k + 1 of the nest are one axis for all that it does. `axes`: its own in some order.
bool collapsible(const loops::Program& program, const loops::Nest& nest, std::span<const loops::Axis> axes, size_t k);

// Whether what is proved to lie inside of buffers still is where `count` of these axes from k on are one: quotients by
// open sizes are more than every proof sees through. `around`: the kernel's axes.
bool proved_as_one(const loops::Program& program, const loops::Nest& nest, std::span<const loops::Axis> axes, size_t k,
                   size_t count, std::span<const loops::Axis> around);

// Makes one axis of as many as may be, by the symbols that `fresh` gives. `around`: the kernel's axes.
template <class F>
void collapse_axes(loops::Program& program, loops::Nest& nest, std::span<const loops::Axis> around, F&& fresh);

// Axes k and k + 1 become one.
void collapse(const loops::Program& program, loops::Nest& nest, size_t k, Dim symbol);

template <class F>
void collapse_axes(loops::Program& program, loops::Nest& nest, std::span<const loops::Axis> around, F&& fresh) {
  for (size_t k = nest.axes.size(); k-- > 1;)
    if (collapsible(program, nest, nest.axes, k - 1) && proved_as_one(program, nest, nest.axes, k - 1, 2, around))
      collapse(program, nest, k - 1, fresh());
}

}  // namespace lenz::schedule
