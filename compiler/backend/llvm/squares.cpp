// Nests in squares of as many rows as lanes. What is contiguous along the rows, but not along the lanes, is read in
// rows and turned in registers, and turned back to be stored: no gathers, and whole cache lines.
#include <algorithm>

#include "compiler/backend/llvm/kernel_emitter.h"
#include "compiler/loops/index_algebra.h"

namespace lenz::native {

using loops::BufferId;
using loops::Instr;
using loops::InstrKind;
using loops::Ssa;
using loops::Store;

// Whole squares; then what is left of the lanes, and what is left of the rows, row by row.
void KernelEmitter::squares(const Frame& frame) {
  Frame sizes = frame;
  llvm::Value *rows = sizes.dims(row_axis_->extent), *count = sizes.dims(lane_axis_->extent);
  llvm::Value* side = b_.getInt64(static_cast<uint64_t>(lanes_));
  auto whole_of = [&](llvm::Value* extent) { return b_.CreateSub(extent, b_.CreateURem(extent, side)); };
  llvm::Value *whole_rows = whole_of(rows), *whole = whole_of(count), *zero = b_.getInt64(0);
  auto whole_number = [&](Dim extent) { return extent.is_constant() && extent.constant() % lanes_ == 0; };
  loop(zero, whole_rows, lanes_, [&](llvm::Value* row) {
    loop(zero, whole, lanes_, [&](llvm::Value* at) {
      std::vector<Frame> frames;
      for (int u = 0; u < lanes_; ++u) {
        frames.push_back(lanes_at(frame, at));
        frames.back().dims.bind(row_axis_->symbol, b_.CreateAdd(row, b_.getInt64(static_cast<uint64_t>(u))));
      }
      square(frames);
    });
  });
  auto row_by_row = [&](llvm::Value* from, llvm::Value* to, llvm::Value* first_lane) {
    loop(from, to, 1, [&](llvm::Value* row) {
      Frame at_row = frame;
      at_row.dims.bind(row_axis_->symbol, row);
      loop(first_lane, count, lanes_, [&](llvm::Value* at) {
        std::vector<Frame> frames{lanes_at(at_row, at)};
        llvm::Value* limit = b_.CreateVectorSplat(static_cast<unsigned>(lanes_), count);
        frames[0].mask = b_.CreateICmpSLT(frames[0].dims.value_of(lane_axis_->symbol), limit);
        points(frames, {});
      });
    });
  };
  if (!whole_number(lane_axis_->extent)) row_by_row(zero, whole_rows, whole);
  if (!whole_number(row_axis_->extent)) row_by_row(whole_rows, rows, zero);
}

// What is turned is read for all rows first, and stored for all of them last: between, each row has the registers to
// itself.
void KernelEmitter::square(std::vector<Frame>& frames) {
  std::vector<bool> made(nest_->body.size());
  for (Ssa i = 0; i < nest_->body.size(); ++i) {
    const Instr& instr = nest_->body[i];
    if (instr.kind != InstrKind::load || instr.mask != kNone || !crosses(instr.buffer, instr.index, frames[0]))
      continue;
    load_square(i, frames);
    made[i] = true;
  }
  std::vector<bool> turns;
  for (const Store& s : nest_->stores)
    turns.push_back(s.mode == loops::StoreMode::assign && s.mask == kNone && crosses(s.buffer, s.index, frames[0]));
  for (Frame& f : frames) {
    for (Ssa i = 0; i < nest_->body.size(); ++i)
      if (!made[i]) instruction(i, f);
    for (size_t s = 0; s < nest_->stores.size(); ++s)
      if (!turns[s]) store(nest_->stores[s], f);
  }
  for (size_t s = 0; s < nest_->stores.size(); ++s)
    if (turns[s]) store_square(nest_->stores[s], frames);
}

// Whether rows are neighbours in memory, and lanes are not.
bool KernelEmitter::crosses(BufferId id, const DimVec& index, const Frame& f) {
  if (is_complex(dtype_of(id))) return false;
  const Dim address = address_of(id, index);
  loops::IndexSpace space(program_.context->syms, program_.assumptions.known());
  space.add_axis(row_axis_->symbol, row_axis_->extent);
  space.add_axis(lane_axis_->symbol, lane_axis_->extent);
  auto rows = space.stride(address, 0), lanes = space.stride(address, 1);
  DimCode first = f.dims;
  first.bind(lane_axis_->symbol, f.base);
  bool bound = true;  // positions are not, yet
  if (!address.is_constant()) for_each_symbol(address, [&](const SymNode* s) { bound = bound && first.bound(Dim(s)); });
  return bound && rows && lanes && rows->is(1) && !lanes->is(1) && !lanes->is(0) && !first.varies(address);
}

// For each lane, where the square's first row is.
std::vector<llvm::Value*> KernelEmitter::places_along_rows(BufferId id, const DimVec& index, const Frame& first) {
  const Dim address = address_of(id, index);
  std::vector<llvm::Value*> made;
  for (int lane = 0; lane < lanes_; ++lane) {
    DimCode dims = first.dims;
    dims.bind(lane_axis_->symbol, b_.CreateAdd(first.base, b_.getInt64(static_cast<uint64_t>(lane))));
    made.push_back(pointer(id, dims(address), 0));
  }
  return made;
}

// Rows become lanes and lanes rows, by exchanging ever smaller blocks.
std::vector<llvm::Value*> KernelEmitter::turned(std::vector<llvm::Value*> rows) {
  for (int block = lanes_ / 2; block > 0; block /= 2) {
    std::vector<int> upper, lower;  // from two rows after one another: elements 0 .. lanes - 1, lanes .. 2*lanes - 1
    for (int c = 0; c < lanes_; ++c) {
      const bool second = (c & block) != 0;
      upper.push_back(second ? lanes_ + c - block : c);
      lower.push_back(second ? lanes_ + c : c + block);
    }
    for (int r = 0; r < lanes_; ++r) {
      if (r & block) continue;
      auto &a = rows[static_cast<size_t>(r)], &b = rows[static_cast<size_t>(r + block)];
      llvm::Value* made = b_.CreateShuffleVector(a, b, upper);
      b = b_.CreateShuffleVector(a, b, lower);
      a = made;
    }
  }
  return rows;
}

void KernelEmitter::load_square(Ssa at, std::vector<Frame>& frames) {
  const Instr& i = nest_->body[at];
  std::vector<llvm::Value*> rows;
  for (llvm::Value* from : places_along_rows(i.buffer, i.index, frames[0]))
    rows.push_back(b_.CreateAlignedLoad(wide_->memory_type(dtype_of(i.buffer)), from, alignment(i.buffer)));
  rows = turned(std::move(rows));
  for (size_t u = 0; u < frames.size(); ++u)
    frames[u].values[at] = {wide_->load_convert(dtype_of(i.buffer), Lanes{rows[u]}), true};
}

void KernelEmitter::store_square(const Store& s, std::vector<Frame>& frames) {
  std::vector<llvm::Value*> rows;
  for (Frame& f : frames)
    rows.push_back(wide_->store_convert(dtype_of(s.buffer), as(f.values[s.value], true), fits_[s.value]).value);
  rows = turned(std::move(rows));
  const std::vector<llvm::Value*> to = places_along_rows(s.buffer, s.index, frames[0]);
  std::vector<Stored> stored;
  for (size_t lane = 0; lane < rows.size(); ++lane) stored.push_back({rows[lane], to[lane]});
  put_vectors(s.buffer, stored);
}

}  // namespace lenz::native
