// Writes one nest out of pieces of others: instructions with their coordinates replaced. What it is given twice it
// writes once.
// Thread-safety: one per nest.
#pragma once

#include <map>
#include <unordered_map>
#include <vector>

#include "compiler/loops/program.h"

namespace lenz::schedule {

using loops::BufferId;
using loops::Instr;
using loops::Ssa;

// Coordinates by what stands for them now.
class Replacement {
 public:
  explicit Replacement(SymPool& pool) : pool_(&pool) {}
  void set(Dim symbol, Dim by) { by_[symbol.node()] = by; }
  Dim operator()(Dim dim) const;
  DimVec operator()(const DimVec& dims) const;

 private:
  SymPool* pool_;
  std::unordered_map<const SymNode*, Dim> by_;
};

class NestWriter {
 public:
  explicit NestWriter(loops::Nest& nest) : nest_(nest) {}
  Ssa add(Instr instr);
  const Instr& at(Ssa value) const { return nest_.body[value]; }
  loops::Nest& nest() { return nest_; }
  // Both masks; either may be none.
  Ssa both(Ssa a, Ssa b);
  Ssa constant(Dtype dtype, ScalarValue value);

 private:
  static uint64_t hash(const Instr& instr);
  loops::Nest& nest_;
  std::unordered_multimap<uint64_t, Ssa> known_;
};

// Whether two instructions give the same value.
bool same_instruction(const Instr& a, const Instr& b);

}  // namespace lenz::schedule
