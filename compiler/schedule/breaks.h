// Loops along coordinates that turn around somewhere, or jump: what is rolled, or padded by what stands beside it.
// Thread-safety: as the program's.
#pragma once

#include <functional>
#include <span>

#include "compiler/loops/program.h"
#include "compiler/schedule/target.h"

namespace lenz::schedule {

// The nest cut where coordinates or conditions along what it stores turn, if that is at few places and its longest part
// has none of them any more: parts that together are its points. Else none.
std::vector<loops::Nest> cut_at_breaks(const loops::Program& program, const Target& target, const loops::Nest& nest,
                                       std::span<const loops::Axis> around, const std::function<Dim()>& fresh);

}  // namespace lenz::schedule
