// Why two values are, or are not, computed by one kernel: in words, for whoever asks `lenz compile --explain`.
// Thread-safety: as the program's.
#pragma once

#include <string>
#include <string_view>

#include "compiler/schedule/plan.h"

namespace lenz::schedule {

// `a` and `b` name buffers of the naive program, or nodes of its graph; `prepared` and its plan are what became of it.
// UserError for a name that it has not.
std::string explain(const loops::Program& naive, const loops::Program& prepared, const Plan& plan, std::string_view a,
                    std::string_view b);

}  // namespace lenz::schedule
