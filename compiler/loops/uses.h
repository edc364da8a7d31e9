// Which buffers a node names, and which ones outputs do.
// Thread-safety: pure functions.
#pragma once

#include <functional>

#include "compiler/loops/program.h"

namespace lenz::loops {

// Those of the nodes inside it too; one that is named twice is visited twice.
void for_each_buffer(const Node& node, const std::function<void(BufferId)>& visit);
// Those that outputs show.
void for_each_output_buffer(const Program& program, const std::function<void(BufferId)>& visit);

}  // namespace lenz::loops
