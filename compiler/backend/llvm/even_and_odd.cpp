// Vectors of bf16 by twos: one with the elements at even places of both, one with those at odd ones, for nests where
// nobody asks which lane has which element. Then an element is widened by one instruction of any kind of unit: those at
// even places move up, those at odd ones lose their neighbours.
#include <algorithm>

#include "compiler/backend/llvm/kernel_emitter.h"

namespace lenz::native {

using loops::Instr;
using loops::InstrKind;
using loops::Store;

// Elements that lie behind each other, whichever frame asks.
bool KernelEmitter::by_ones(loops::BufferId id, const DimVec& index, bool from_whole_vectors) const {
  const InLanes& at = in_lanes_at(address_of(id, index), from_whole_vectors);
  const auto steps_by_one = [](int64_t a, int64_t b) { return b == a + 1; };
  return at.stride == 1 && !at.apart.empty() &&
         std::ranges::adjacent_find(at.apart, std::not_fn(steps_by_one)) == at.apart.end();
}

// What of the nest runs in lanes: all of it has neighbouring elements of bf16 there, or the same in every lane.
bool KernelEmitter::may_go_even_and_odd(bool from_whole_vectors) const {
  const bool outside = lane_axis_->kind == loops::AxisKind::parallel;
  const SymNode* lane = lane_axis_->symbol.node();
  auto varies = [&](const DimVec& index) {
    bool found = false;
    for (Dim d : index)
      if (!d.is_constant()) for_each_symbol(d, [&](const SymNode* s) { found = found || s == lane; });
    return found;
  };
  auto along = [&](loops::BufferId id, const DimVec& index) {
    return dtype_of(id) == Dtype::bf16 && by_ones(id, index, from_whole_vectors);
  };
  // Sums of columns go to memory once, behind their rows, as they are.
  const bool sums = outside && std::ranges::any_of(nest_->axes, [](const loops::Axis& a) {
                      return a.kind == loops::AxisKind::reduction;
                    });
  auto stored = [&](const Store& s) {
    return along(s.buffer, s.index) ||
           (sums && dtype_of(s.buffer) == Dtype::f32 && by_ones(s.buffer, s.index, from_whole_vectors));
  };
  bool reads = false;
  for (loops::Ssa i = 0; i < nest_->body.size(); ++i) {
    const Instr& instr = nest_->body[i];
    if (instr.kind == InstrKind::reduce) {
      if (loops::row_of(instr.combine).parts != 1 || instr.combine == loops::Combine::last) return false;
      continue;
    }
    if (instr.kind == InstrKind::scan || instr.kind == InstrKind::draw || instr.kind == InstrKind::position)
      return false;
    if (!outside && !inner_[i]) continue;
    if (instr.mask != kNone || instr.kind == InstrKind::part) return false;
    if (!varies(instr.index)) continue;
    if (instr.kind != InstrKind::load || instr.dtype != Dtype::bf16 || !along(instr.buffer, instr.index)) return false;
    reads = true;
  }
  for (size_t s = 0; s < nest_->stores.size(); ++s) {
    const Store& store = nest_->stores[s];
    if (!outside && !store_inner_[s]) continue;
    if (store.mode != loops::StoreMode::assign || store.mask != kNone || !varies(store.index) || !stored(store))
      return false;
  }
  return reads;
}

// Of what is combined and stores nothing on the way: conversions to what is in memory add, and ask units that multiply.
bool KernelEmitter::mostly_adds() const {
  if (std::ranges::none_of(nest_->body, [](const Instr& i) { return i.kind == InstrKind::reduce; })) return false;
  int adds = 0, products = 0;
  for (loops::Ssa i = 0; i < nest_->body.size(); ++i) {
    const Instr& instr = nest_->body[i];
    if (instr.kind != InstrKind::reduce && (instr.kind != InstrKind::scalar || !inner_[i])) continue;
    const bool sum = instr.kind == InstrKind::reduce && instr.combine == loops::Combine::sum;
    const Instr* of = sum ? &nest_->body[instr.operands[0]] : nullptr;
    // A product that is added up is a part of the addition.
    if (of && of->kind == InstrKind::scalar && (of->row->name == "mul" || of->row->name == "pow")) continue;
    const bool adds_up = instr.kind == InstrKind::reduce || instr.row->name == "add" || instr.row->name == "sub" ||
                         instr.row->name == "maximum" || instr.row->name == "minimum";
    (adds_up ? adds : products) += instr.kind == InstrKind::reduce || instr.row->name != "to_dtype";
  }
  return adds >= products && std::ranges::find(store_inner_, true) == store_inner_.end();
}

void KernelEmitter::find_even_and_odd() {
  even_and_odd_ = may_be_even_and_odd_ = false;
  if (!lane_axis_ || lanes_ < 4 || lane_axis_->unroll % 2 != 0 || columns_.contains(nest_)) return;
  may_be_even_and_odd_ = may_go_even_and_odd(true);
  mostly_adds_ = mostly_adds();
}

bool KernelEmitter::goes_even_and_odd(const std::vector<Frame>& frames) const {
  return may_be_even_and_odd_ && frames.size() % 2 == 0 &&
         std::ranges::none_of(frames, [](const Frame& f) { return static_cast<bool>(f.mask); }) &&
         (frames[0].whole_vectors || may_go_even_and_odd(false));
}

// What memory has of two frames that are neighbours there: both vectors as one.
llvm::Type* KernelEmitter::pair_type(loops::BufferId id) const {
  auto* one = llvm::cast<llvm::FixedVectorType>(wide_->memory_type(dtype_of(id)));
  return llvm::FixedVectorType::get(one->getElementType(), 2 * one->getNumElements());
}

llvm::Value* KernelEmitter::store_even_and_odd(const Store& s, const Frame& even, const Frame& odd) {
  auto of = [&](loops::Ssa value, const Frame& f) { return as(f.values[value], true); };
  const Instr& made = nest_->body[s.value];
  const bool relu = made.kind == InstrKind::scalar && made.row->name == "relu" && made.compute == Dtype::bf16;
  if (relu && !fits_[made.operands[0]] && wide_->stores_pairs(Dtype::bf16))
    return wide_->store_even_and_odd_relu(of(made.operands[0], even), of(made.operands[0], odd));
  return wide_->store_even_and_odd(of(s.value, even), of(s.value, odd), fits_[s.value]);
}

}  // namespace lenz::native
