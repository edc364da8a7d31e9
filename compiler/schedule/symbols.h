// Names for the axes that plans make.
// Thread-safety: as the program's.
#pragma once

#include <string_view>
#include <unordered_set>

#include "compiler/loops/program.h"

namespace lenz::schedule {

using SymbolSet = std::unordered_set<const SymNode*>;

// What mean something in the program already: sizes, counters, positions, axes.
SymbolSet symbols_of(const loops::Program& program);
// One that is not taken, and is then.
Dim fresh_symbol(Context& context, SymbolSet& taken, std::string_view prefix);

bool mentions(Dim dim, Dim symbol);

}  // namespace lenz::schedule
