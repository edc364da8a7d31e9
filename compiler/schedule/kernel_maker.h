// One group of a plan as loops: a kernel over the shared axes, a nest for each phase. What is used in its own phase
// only is never stored; what later phases of the point use lives in a local buffer, unless memory has it anyway.
// Thread-safety: as the program's.
#pragma once

#include <map>

#include "compiler/schedule/nest_writer.h"
#include "compiler/schedule/plan.h"
#include "compiler/schedule/symbols.h"

namespace lenz::schedule {

class KernelMaker {
 public:
  // `taken`: symbols that mean something already, as long as this lives. The block's nests are moved from.
  KernelMaker(loops::Program& program, const Target& target, const Uses& uses, loops::Block& block, const Group& group,
              const SymbolSet& taken);
  // Cuts tiles and decides lanes. Not asked: none.
  void tile();
  std::vector<loops::Node> run();

 private:
  struct Member {
    const loops::Nest* nest;
    NestFacts facts;
    size_t phase;
  };
  struct Value {  // of a buffer that a member of the phase at hand has stored
    Ssa value;
    DimVec index;
  };
  struct Local {
    BufferId buffer;
    std::vector<size_t> dims;   // of the buffer that it stands for, as it has them
    std::vector<size_t> tiled;  // and those that the tile's points tell, which are its last dim
    std::optional<size_t> row;  // and the one that rows abreast tell, which is the one before that
  };

  loops::Nest merged(size_t phase);
  void add_member(NestWriter& writer, const Member& member, Replacement with);
  void store(NestWriter& writer, const Member& member, const Replacement& with, const loops::Store& from, Ssa value,
             Ssa mask);
  bool always_at(BufferId id, size_t d, Dim at) const;
  bool used_later(BufferId id, size_t phase) const;
  const Local& local_for(BufferId id, const DimVec& index);
  DimVec local_index(const Local& local, const DimVec& index) const;
  std::pair<loops::Axis, Dim> cut(size_t k, int64_t size);
  loops::Axis cut_as_one(size_t innermost, uint32_t joined, int64_t size);
  bool may_have_lanes(const loops::Nest& nest, const loops::Axis& axis) const;
  bool may_scan_in_lanes(const loops::Nest& nest, const loops::Axis& axis) const;
  static int64_t widest(const loops::Nest& nest, const loops::Axis& axis);
  std::optional<uint32_t> lanes_of_bytes(const loops::Nest& nest, const loops::Axis& axis) const;
  void add_lanes(loops::Nest& nest) const;
  bool put_abreast(loops::Nest& nest, const loops::Axis& lanes) const;
  uint32_t all_abreast() const;

  loops::Program& program_;
  const Target& target_;
  const Uses& uses_;
  loops::Block& block_;
  const Group& group_;
  std::vector<Member> members_;  // in the order of the group's nests

  std::vector<loops::Axis> axes_;    // the kernel's
  std::vector<Dim> shared_;          // what stands for the shared axes, in order
  std::vector<Dim> point_;           // symbols that tell the kernel's point
  std::optional<loops::Axis> tile_;  // the innermost shared axis, inside
  std::optional<loops::Axis>
      rows_;  // the shared axis along which some memory is contiguous, but not along the innermost
  bool lanes_ = false;
  size_t phase_ = 0;
  std::map<BufferId, Value> values_;
  std::map<BufferId, Local> locals_;
  FreshSymbols fresh_;
};

}  // namespace lenz::schedule
