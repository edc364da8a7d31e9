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

// Whole squares; what is left of lanes and rows are squares that are not whole.
void KernelEmitter::squares(const Frame& frame) {
  Frame sizes = frame;
  llvm::Value *rows = sizes.dims(row_axis_->extent), *count = sizes.dims(lane_axis_->extent);
  llvm::Value *zero = b_.getInt64(0), *side = b_.getInt64(static_cast<uint64_t>(lanes_));
  llvm::Value* whole = b_.CreateSub(count, b_.CreateURem(count, side));
  auto whole_number = [&](Dim extent) { return extent.is_constant() && extent.constant() % lanes_ == 0; };
  auto too_few = [&](Dim extent) { return extent.is_constant() && extent.constant() < lanes_; };
  const bool no_whole = too_few(row_axis_->extent) || too_few(lane_axis_->extent);
  loop(zero, rows, lanes_, [&](llvm::Value* row) {
    llvm::Value* left = b_.CreateSub(rows, row);
    llvm::Value* all = b_.CreateICmpSGE(left, side);
    llvm::Value* in_whole = no_whole ? zero : b_.CreateSelect(all, whole, zero);
    loop(zero, in_whole, lanes_, [&](llvm::Value* at) {
      std::vector<Frame> frames;
      for (int u = 0; u < lanes_; ++u) {
        frames.push_back(lanes_at(frame, at));
        frames.back().dims.bind(row_axis_->symbol, b_.CreateAdd(row, b_.getInt64(static_cast<uint64_t>(u))));
      }
      fetch_square_ahead(frame, row, at, in_whole);
      square(frames);
    });
    if (whole_number(lane_axis_->extent) && whole_number(row_axis_->extent)) return;
    loop(in_whole, count, lanes_, [&](llvm::Value* at) {
      Frame first = lanes_at(frame, at);
      first.dims.bind(row_axis_->symbol, row);
      only_below(first, count);
      edge_square(first, b_.CreateSelect(all, side, left));
    });
  });
}

bool KernelEmitter::turns(const Instr& load, const Frame& first) {
  return load.kind == InstrKind::load && load.mask == kNone && crosses(load.buffer, load.index, first);
}

bool KernelEmitter::turns(const Store& s, const Frame& first) {
  return s.mode == loops::StoreMode::assign && s.mask == kNone && crosses(s.buffer, s.index, first);
}

// What is turned is read for all rows first, and stored for all of them last: between, each row has the registers to
// itself.
void KernelEmitter::square(std::vector<Frame>& frames) {
  std::vector<bool> made(nest_->body.size());
  for (Ssa i = 0; i < nest_->body.size(); ++i) {
    const Instr& instr = nest_->body[i];
    if (!turns(instr, frames[0])) continue;
    const std::vector<llvm::Value*> rows = load_square(instr, frames[0], nullptr);
    for (size_t u = 0; u < frames.size(); ++u) frames[u].values[i] = turned_value(instr, rows[u]);
    made[i] = true;
  }
  std::vector<const Store*> last;
  for (const Store& s : nest_->stores)
    if (turns(s, frames[0])) last.push_back(&s);
  for (Frame& f : frames) {
    for (Ssa i = 0; i < nest_->body.size(); ++i)
      if (!made[i]) instruction(i, f);
    for (const Store& s : nest_->stores)
      if (std::ranges::find(last, &s) == last.end()) store(s, f);
  }
  for (const Store* s : last) {
    std::vector<llvm::Value*> rows;
    for (Frame& f : frames) rows.push_back(row_to_turn(*s, f));
    store_square(*s, std::move(rows), frames[0], nullptr);
  }
}

// The first so many rows of the lanes that there are. What is turned lies in memory between, so that one piece of code
// does for every row.
void KernelEmitter::edge_square(const Frame& first, llvm::Value* count) {
  std::map<Ssa, llvm::Value*> read_from;
  std::map<const Store*, llvm::Value*> put_to;
  auto memory = [&](BufferId id) { return llvm::ArrayType::get(wide_->memory_type(dtype_of(id)), lanes_); };
  auto row_in = [&](BufferId id, llvm::Value* square, llvm::Value* row) {
    return b_.CreateInBoundsGEP(memory(id), square, {b_.getInt64(0), row});
  };
  auto fixed = [&](int u) { return b_.getInt64(static_cast<uint64_t>(u)); };
  for (Ssa i = 0; i < nest_->body.size(); ++i) {
    const Instr& instr = nest_->body[i];
    if (!turns(instr, first)) continue;
    llvm::Value* square = read_from[i] = alloca_at_entry(memory(instr.buffer));
    const std::vector<llvm::Value*> rows = load_square(instr, first, count);
    for (int u = 0; u < lanes_; ++u)
      b_.CreateStore(rows[static_cast<size_t>(u)], row_in(instr.buffer, square, fixed(u)));
  }
  for (const Store& s : nest_->stores)
    if (turns(s, first)) put_to[&s] = alloca_at_entry(memory(s.buffer));
  llvm::Value* first_row = first.dims.value_of(row_axis_->symbol);
  loop(b_.getInt64(0), count, 1, [&](llvm::Value* u) {
    Frame f = first;
    f.dims.bind(row_axis_->symbol, b_.CreateAdd(first_row, u));
    for (Ssa i = 0; i < nest_->body.size(); ++i) {
      const Instr& instr = nest_->body[i];
      const auto turned = read_from.find(i);
      if (turned == read_from.end()) {
        instruction(i, f);
      } else {
        llvm::Type* row = wide_->memory_type(dtype_of(instr.buffer));
        f.values[i] = turned_value(instr, b_.CreateLoad(row, row_in(instr.buffer, turned->second, u)));
      }
    }
    for (const Store& s : nest_->stores) {
      const auto turned = put_to.find(&s);
      if (turned == put_to.end()) {
        store(s, f);
      } else {
        b_.CreateStore(row_to_turn(s, f), row_in(s.buffer, turned->second, u));
      }
    }
  });
  for (const auto& [s, square] : put_to) {
    std::vector<llvm::Value*> rows;
    for (int u = 0; u < lanes_; ++u)
      rows.push_back(b_.CreateLoad(wide_->memory_type(dtype_of(s->buffer)), row_in(s->buffer, square, fixed(u))));
    store_square(*s, std::move(rows), first, count);
  }
}

// Whether rows are neighbours in memory, and lanes are not.
bool KernelEmitter::crosses(BufferId id, const DimVec& index, const Frame& f) {
  if (is_complex(dtype_of(id))) return false;
  const Dim address = address_of(id, index);
  loops::IndexSpace space(program_.context->syms, *facts_);
  space.add_axis(row_axis_->symbol, row_axis_->extent);
  space.add_axis(lane_axis_->symbol, lane_axis_->extent);
  auto rows = space.stride(address, 0), lanes = space.stride(address, 1);
  DimCode first = f.dims;
  first.bind(lane_axis_->symbol, f.base);
  bool bound = true;  // positions are not, yet
  if (!address.is_constant()) for_each_symbol(address, [&](const SymNode* s) { bound = bound && first.bound(Dim(s)); });
  return bound && rows && lanes && rows->is(1) && !lanes->is(1) && !lanes->is(0) && !first.varies(address);
}

// For each lane, where the square's first row is: by the first lane's, and by how far lanes are apart, which is the
// same in all squares.
std::vector<llvm::Value*> KernelEmitter::places_along_rows(BufferId id, const DimVec& index, const Frame& first) {
  const Dim address = address_of(id, index);
  loops::IndexSpace space(program_.context->syms, *facts_);
  space.add_axis(lane_axis_->symbol, lane_axis_->extent);
  DimCode dims = first.dims;
  dims.bind(lane_axis_->symbol, first.base);
  llvm::Value *place = pointer(id, dims(address), 0), *apart = dims(*space.stride(address, 0));
  std::vector<llvm::Value*> made{place};
  for (int lane = 1; lane < lanes_; ++lane)
    made.push_back(b_.CreateGEP(narrow_->memory_type(dtype_of(id)), place,
                                b_.CreateMul(apart, b_.getInt64(static_cast<uint64_t>(lane)))));
  return made;
}

// Of each lane: which of its rows there are, of so many. Of a lane that there is not, none.
std::vector<llvm::Value*> KernelEmitter::rows_that_are(const Frame& first, llvm::Value* count) {
  std::vector<llvm::Value*> made;
  for (int lane = 0; lane < lanes_; ++lane) {
    llvm::Value* is = first.mask
                          ? b_.CreateICmpSGT(first.mask.run->below[0].number, b_.getInt64(static_cast<uint64_t>(lane)))
                          : nullptr;
    made.push_back(lanes_of({{}, {{1, count}}, is}));
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

// Rows as memory has them, turned: of each lane all rows, or the first `count`.
std::vector<llvm::Value*> KernelEmitter::load_square(const Instr& i, const Frame& first, llvm::Value* count) {
  llvm::Type* type = wide_->memory_type(dtype_of(i.buffer));
  const std::vector<llvm::Value*> from = places_along_rows(i.buffer, i.index, first);
  std::vector<llvm::Value*> rows, there;
  if (count) there = rows_that_are(first, count);
  for (size_t lane = 0; lane < from.size(); ++lane) {
    if (count)
      rows.push_back(
          b_.CreateMaskedLoad(type, from[lane], alignment(i.buffer), there[lane], llvm::Constant::getNullValue(type)));
    else
      rows.push_back(b_.CreateAlignedLoad(type, from[lane], alignment(i.buffer)));
  }
  return turned(std::move(rows));
}

KernelEmitter::Val KernelEmitter::turned_value(const Instr& load, llvm::Value* row) {
  return {wide_->load_convert(dtype_of(load.buffer), Lanes{row}), true};
}

llvm::Value* KernelEmitter::row_to_turn(const Store& s, Frame& f) {
  return wide_->store_convert(dtype_of(s.buffer), as(f.values[s.value], true), fits_[s.value]).value;
}

void KernelEmitter::store_square(const Store& s, std::vector<llvm::Value*> rows, const Frame& first,
                                 llvm::Value* count) {
  rows = turned(std::move(rows));
  const std::vector<llvm::Value*> to = places_along_rows(s.buffer, s.index, first);
  if (count) {
    const std::vector<llvm::Value*> there = rows_that_are(first, count);
    for (size_t lane = 0; lane < rows.size(); ++lane)
      store_under({there[lane]}, rows[lane], to[lane], alignment(s.buffer));
    return;
  }
  std::vector<Stored> stored;
  for (size_t lane = 0; lane < rows.size(); ++lane) stored.push_back({rows[lane], to[lane]});
  put_vectors(s.buffer, stored);
}

}  // namespace lenz::native
