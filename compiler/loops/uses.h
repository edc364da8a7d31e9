// Which buffers a node names, which ones outputs do, and which symbols inputs bind.
// Thread-safety: pure functions.
#pragma once

#include <functional>
#include <unordered_set>

#include "compiler/loops/program.h"

namespace lenz::loops {

// Those of the nodes inside it too; one that is named twice is visited twice.
void for_each_buffer(const Node& node, const std::function<void(BufferId)>& visit);
// Those that outputs show.
void for_each_output_buffer(const Program& program, const std::function<void(BufferId)>& visit);

using SymbolSet = std::unordered_set<const SymNode*>;

// Symbols that the inputs bind. All others get their values while the program runs.
SymbolSet early_symbols(const Program& program);
bool all_in(Dim dim, const SymbolSet& symbols);

}  // namespace lenz::loops
