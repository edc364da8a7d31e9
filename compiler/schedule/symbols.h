// Names for the axes that plans make.
// Thread-safety: as the program's.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <unordered_set>

#include "compiler/loops/program.h"

namespace lenz::schedule {

using SymbolSet = std::unordered_set<const SymNode*>;

// What mean something in the program already: sizes, counters, positions, axes.
SymbolSet symbols_of(const loops::Program& program);

// Gives names that mean nothing yet, beside those that are taken: a kernel's, which others may have too, without a copy
// of what the whole program takes.
class FreshSymbols {
 public:
  // `taken` has to outlive this.
  FreshSymbols(Context& context, const SymbolSet& taken) : context_(context), taken_(taken) {}
  // The prefix with the least number that is free, and is then not.
  Dim operator()(std::string_view prefix);
  void take(Dim symbol) { own_.insert(symbol.node()); }

 private:
  Context& context_;
  const SymbolSet& taken_;
  SymbolSet own_;
  std::map<std::string, size_t, std::less<>> next_;  // none below is free
};

bool mentions(Dim dim, Dim symbol);

}  // namespace lenz::schedule
