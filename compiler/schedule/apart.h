// Nests that combine with what is in memory: which of their axes keep the elements that they write apart. Along these,
// points may run side by side, and in lanes; points along the others run one after another, as a sum over positions
// that data decide has to.
// Thread-safety: as the program's.
#pragma once

#include "compiler/loops/program.h"

namespace lenz::schedule {

// Whether the axis alone is a coordinate of all that the nest combines with: the same one of each buffer, none of whose
// elements share places.
bool keeps_apart(const loops::Program& program, const loops::Nest& nest, Dim axis);

// Puts such axes outermost, in the nests that combine. Points that meet keep their order.
void move_out_axes_apart(loops::Program& program);

// Nests of independent points that read what is one value for many of them (a mean of each channel): puts the axes that
// tell which one outermost, as the nests that compute it have them, unless neighbours in memory would be torn apart:
// but where caches keep all rows of some columns, these are beside each other in lanes.
void move_out_axes_of_statistics(loops::Program& program);

}  // namespace lenz::schedule
