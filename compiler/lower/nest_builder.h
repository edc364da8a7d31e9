// Makes the instructions of one nest and keeps their dtypes right. What it is asked twice it makes once.
// Thread-safety: one per nest.
#pragma once

#include <string_view>
#include <unordered_set>

#include "compiler/loops/program.h"

namespace lenz::lower {

using loops::Ssa;

// The names that a program's own symbols have taken.
using SymbolSet = std::unordered_set<const SymNode*>;

class NestBuilder {
 public:
  NestBuilder(loops::Program& program, const SymbolSet& taken, std::string_view name, uint32_t origin);

  // A new axis's coordinate; 0 without an axis where there is but one point.
  Dim axis(Dim extent, loops::AxisKind kind);

  Ssa constant(Dtype dtype, const Arg& number);
  Ssa whole_constant(Dtype dtype, const Arg& number);  // not rounded to half precision: as arithmetic takes it
  Ssa index(Dim value);
  Ssa load(loops::BufferId buffer, std::span<const Dim> at);
  Ssa apply(const ScalarRow& row, std::span<const Ssa> operands, std::optional<Dtype> target = std::nullopt);
  Ssa apply(std::string_view row, std::initializer_list<Ssa> operands);
  Ssa converted(Ssa value, Dtype to);
  Dim position(Ssa value, Dim extent, bool wraps);
  Ssa combined(loops::InstrKind kind, loops::Combine combine, std::span<const Ssa> operands, bool ordered = false);
  Ssa part(Ssa of, uint32_t number);
  Ssa draw(loops::DrawKind kind, Dtype dtype, uint32_t stream, Dim element);
  // A condition on coordinates: a constant where the axes' extents and the program's facts decide it.
  Ssa condition(const Cond& cond);
  // min or max of coordinates: one of them where these decide that.
  Dim smaller(Dim a, Dim b) const;
  Dim larger(Dim a, Dim b) const;

  void store(loops::BufferId buffer, std::span<const Dim> at, Ssa value, loops::StoreMode mode, bool distinct = false);

  // Masks for the loads, positions and stores made until it is popped.
  void push_mask(Ssa condition);
  void pop_mask() { masks_.pop_back(); }

  Dtype dtype(Ssa value) const { return nest_.body[value].dtype; }
  bool is_local(Dim dim) const;     // mentions an axis or a position
  bool is_position(Dim dim) const;  // mentions a position
  void tag(loops::NestTag tag) { nest_.tag = tag; }
  // Adds it to the block. A nest without stores vanishes.
  void finish(loops::Block& block);

 private:
  Ssa add(loops::Instr instr);
  std::optional<Ssa> unchanged(const ScalarRow& row, Dtype compute, std::span<const Ssa> operands) const;
  Dim fresh_symbol(std::string_view prefix);
  Facts facts() const;  // the program's, and where the axes' points are
  Ssa mask() const { return masks_.empty() ? kNone : masks_.back(); }

  loops::Program& program_;
  const SymbolSet& taken_;
  loops::Nest nest_;
  SmallVec<const SymNode*, 8> local_;
  SmallVec<Ssa, 4> masks_;
};

// The conversion of a number to a dtype, as PyTorch wraps it.
ScalarValue number_as(const Arg& number, Dtype dtype);

}  // namespace lenz::lower
