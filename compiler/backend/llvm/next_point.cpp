// Kernels of several nests read memory in the first ones and work in caches from then on: meanwhile a later nest
// fetches what the first ones will read at the kernel's next point. Rows that lie apart, of columns and of squares, are
// fetched ahead within a nest.
#include <algorithm>

#include "compiler/backend/llvm/kernel_emitter.h"
#include "compiler/base/sym_facts.h"
#include "compiler/loops/index_algebra.h"

namespace lenz::native {

using loops::Axis;
using loops::Instr;
using loops::InstrKind;
using loops::Nest;
using loops::Ssa;

namespace {

// How near to bring memory, as LLVM numbers it.
constexpr uint32_t kOuterCache = 2, kFirstCache = 3;  // the former: not into the first one

constexpr int64_t kBytesAhead = 4096;  // of rows that lie apart: what a cache that all cores share takes to answer
constexpr int64_t kSquaresAhead = 4;
constexpr int64_t kNearBytes = 4096;  // of a point: as many lie in the first cache beside what this point works with

bool walk_alike(const Nest& a, const Nest& b) {
  return std::ranges::equal(a.axes, b.axes,
                            [](const Axis& x, const Axis& y) { return x.extent == y.extent && x.lanes == y.lanes; });
}

bool mentions(const DimVec& index, Dim symbol) {
  return std::ranges::any_of(index, [&](Dim d) { return !d.is_constant() && lenz::mentions(d, symbol.node()); });
}

}  // namespace

// What a load reads another stretch of at each point of the kernel: one that the point's number says, or an integer
// that memory has for it.
std::optional<KernelEmitter::Reading> KernelEmitter::reading_of_points(const Instr& load) const {
  if (load.kind != InstrKind::load || load.mask != kNone || program_.buffers[load.buffer].local ||
      !mentions(load.index, lane_axis_->symbol))
    return std::nullopt;
  Reading r{load.buffer, load.index, nest_, nullptr, nullptr};
  const Dim point = kernel_->axes.back().symbol;
  bool by_point = mentions(load.index, point);
  for (const Instr& i : nest_->body) {
    if (i.kind != InstrKind::position || !mentions(load.index, i.symbol)) continue;
    const Instr& number = nest_->body[i.operands[0]];
    const bool told =
        number.kind == InstrKind::load && number.mask == kNone &&
        (number.dtype == Dtype::i64 || number.dtype == Dtype::i32) && mentions(number.index, point) &&
        std::ranges::none_of(nest_->axes, [&](const Axis& a) { return mentions(number.index, a.symbol); });
    if (!told || r.position) return std::nullopt;
    r.position = &i, r.number = &number;
    by_point = true;
  }
  return by_point ? std::optional(std::move(r)) : std::nullopt;
}

// What earlier nests read on their way through axes like this one's; and what this one is the first to read.
void KernelEmitter::find_next() {
  next_.clear();
  if (!lane_axis_ || kernel_->axes.empty()) return;
  std::erase_if(read_, [&](const Reading& r) {
    if (!walk_alike(*r.nest, *nest_)) return false;
    next_.push_back(r);
    for (Dim& d : next_.back().index)
      d = substitute(d, program_.context->syms, [&](const SymNode* s) -> std::optional<Dim> {
        for (size_t k = 0; k < nest_->axes.size(); ++k)
          if (r.nest->axes[k].symbol.node() == s) return nest_->axes[k].symbol;
        return std::nullopt;
      });
    return true;
  });
  for (const Instr& i : nest_->body) {
    std::optional<Reading> reading = reading_of_points(i);
    if (!reading) continue;
    const bool known = std::ranges::any_of(next_, [&](const Reading& n) { return n.buffer == i.buffer; }) ||
                       std::ranges::find(fetched_, i.buffer) != fetched_.end();
    if (known) continue;
    fetched_.push_back(i.buffer);
    read_.push_back(std::move(*reading));
  }
}

// Whether a place is known before the nest's body runs: positions are of numbers that it makes.
bool KernelEmitter::is_told(std::span<const Dim> index, const Frame& f) {
  return std::ranges::all_of(index, [&](Dim d) {
    bool bound = true;
    if (!d.is_constant()) for_each_symbol(d, [&](const SymNode* s) { bound = bound && f.dims.bound(Dim(s)); });
    return bound;
  });
}

// Whether the frame can be that of the kernel's next point, as far as the reading asks: it becomes it.
bool KernelEmitter::step_to_next(const Reading& r, Frame& f) {
  const Axis& point = kernel_->axes.back();
  llvm::Value* number = b_.CreateAdd(f.dims.value_of(point.symbol), b_.getInt64(1));
  if (r.position) {  // which is read, so there has to be one: the last one again
    llvm::Value* last = b_.CreateSub(f.dims(point.extent), b_.getInt64(1));
    f.dims.bind(point.symbol, b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, number, last));
    const Place at = place(r.number->buffer, r.number->index, f);
    llvm::Value* given = fetch(r.number->buffer, at, false, {}).value;
    f.dims.bind(r.position->symbol, b_.CreateSExt(given, b_.getInt64Ty()));
  } else {
    f.dims.bind(point.symbol, number);
  }
  return is_told(r.index, f);
}

// Whether caches have what the kernel works on: it stores rows of results, and all of these stay there.
bool KernelEmitter::stays_in_caches() const {
  if (!far_.empty()) return false;
  return std::ranges::any_of(kernel_->body->nodes, [&](const loops::Node& node) {
    const auto& nest = std::get<Nest>(node.is);
    return std::ranges::any_of(nest.stores, [&](const loops::Store& s) {
      return !program_.buffers[s.buffer].local &&
             std::ranges::any_of(nest.axes, [&](const Axis& a) { return a.lanes > 1 && mentions(s.index, a.symbol); });
    });
  });
}

// Where what the next point reads goes: into the first cache if it is little, so that its first nest waits for none of
// it. Memory takes so long that these fetches are in the way of others there.
uint32_t KernelEmitter::how_near() const {
  if (!stays_in_caches()) return kOuterCache;
  int64_t bytes = 0;
  for (const Reading& r : next_) {
    int64_t of_point = item_size(dtype_of(r.buffer));
    for (const Axis& a : nest_->axes) {
      if (!mentions(r.index, a.symbol)) continue;
      if (!a.extent.is_constant() || __builtin_mul_overflow(of_point, a.extent.constant(), &of_point))
        return kOuterCache;
    }
    if (__builtin_add_overflow(bytes, of_point, &bytes)) return kOuterCache;
  }
  return bytes <= kNearBytes ? kFirstCache : kOuterCache;
}

void KernelEmitter::fetch_next(std::vector<Frame>& frames) {
  const uint32_t cache = how_near();
  for (const Reading& r : next_) {
    const int64_t bytes = lanes_ * item_size(dtype_of(r.buffer));
    int64_t reached = 0, at_byte = 0;  // of the frames' bytes, which follow one another
    for (const Frame& f : frames) {
      at_byte += bytes;
      if (at_byte <= reached) continue;
      Frame next = f;
      if (!step_to_next(r, next)) break;
      const Place at = place(r.buffer, r.index, next);
      if (!at.consecutive) break;
      reached = at_byte - bytes + kLine;
      prefetch(pointer(r.buffer, at.address, 0), cache);
    }
  }
}

void KernelEmitter::prefetch(llvm::Value* place, uint32_t how_near, bool to_write) {
  b_.CreateIntrinsic(llvm::Intrinsic::prefetch, {b_.getPtrTy()},
                     {place, b_.getInt32(to_write), b_.getInt32(how_near), b_.getInt32(1)});
}

// Columns of rows that lie apart in memory: processors fetch ahead along memory, not from one row to the next.
void KernelEmitter::fetch_rows_ahead(const Axis& along, std::vector<Frame>& frames) {
  if (!lane_axis_ || frames[0].mask || (turns_whole() && frames.size() < lane_axis_->unroll)) return;
  for (Ssa i = 0; i < nest_->body.size(); ++i) {
    const Instr& load = nest_->body[i];
    if (!inner_[i] || load.kind != InstrKind::load || load.mask != kNone || program_.buffers[load.buffer].local ||
        !is_told(load.index, frames[0]))
      continue;
    const Dim address = address_of(load.buffer, load.index);
    loops::IndexSpace space(program_.context->syms, *facts_);
    space.add_axis(along.symbol, along.extent);
    const auto stride = space.stride(address, 0);
    const int64_t item = item_size(dtype_of(load.buffer)), row = lanes_ * item * static_cast<int64_t>(frames.size());
    if (!stride || (stride->is_constant() && std::abs(stride->constant()) * item < 2 * row)) continue;
    const int64_t rows = std::max<int64_t>(1, kBytesAhead / row);
    int64_t reached = 0, at_byte = 0;
    for (const Frame& f : frames) {
      at_byte += lanes_ * item;
      if (at_byte <= reached) continue;
      Frame ahead = f;
      ahead.dims.bind(along.symbol,
                      b_.CreateAdd(f.dims.value_of(along.symbol), b_.getInt64(static_cast<uint64_t>(rows))));
      const Place at = place(load.buffer, load.index, ahead);
      if (!at.consecutive) break;
      reached = at_byte - lanes_ * item + kLine;
      prefetch(pointer(load.buffer, at.address, 0), kFirstCache);
    }
  }
}

// What is turned of a square further on: along the lanes, and from their end on in the next rows.
void KernelEmitter::fetch_square_ahead(const Frame& frame, llvm::Value* row, llvm::Value* lane, llvm::Value* lanes) {
  // Where squares are all that a kernel does: between other nests they begin anew at each point.
  if (target_.follows_squares && kernel_->body->nodes.size() == 1) return;
  llvm::Value* next = b_.CreateAdd(lane, b_.getInt64(static_cast<uint64_t>(kSquaresAhead * lanes_)));
  llvm::Value* inside = b_.CreateICmpSLT(next, lanes);
  Frame ahead = lanes_at(frame, b_.CreateSelect(inside, next, b_.CreateSub(next, lanes)));
  ahead.dims.bind(row_axis_->symbol,
                  b_.CreateSelect(inside, row, b_.CreateAdd(row, b_.getInt64(static_cast<uint64_t>(lanes_)))));
  for (const Instr& load : nest_->body)
    if (turns(load, ahead) && !program_.buffers[load.buffer].local)
      for (llvm::Value* place : places_along_rows(load.buffer, load.index, ahead)) prefetch(place, kOuterCache);
  for (const loops::Store& s : nest_->stores) fetch_results_ahead(s, ahead);
}

// Lines that a square's rows are stored to: a processor that waits for one does not ask for the next, and where rows
// begin anywhere in a line each vector has two of them. What goes past the caches is fetched by none.
void KernelEmitter::fetch_results_ahead(const loops::Store& s, const Frame& ahead) {
  if (program_.buffers[s.buffer].local || s.mode != loops::StoreMode::assign || s.mask != kNone) return;
  std::vector<llvm::Value*> places;
  if (turns(s, ahead)) {
    places = places_along_rows(s.buffer, s.index, ahead);
  } else {
    llvm::Value* first_row = ahead.dims.value_of(row_axis_->symbol);
    for (int u = 0; u < lanes_; ++u) {
      Frame of_row = ahead;
      of_row.dims.bind(row_axis_->symbol, b_.CreateAdd(first_row, b_.getInt64(static_cast<uint64_t>(u))));
      const Place at = place(s.buffer, s.index, of_row);
      if (!at.consecutive) return;
      places.push_back(pointer(s.buffer, at.address, 0));
    }
  }
  auto fetch = [&] {
    for (llvm::Value* place : places) prefetch(place, kFirstCache, true);
  };
  const auto far = far_.find(s.buffer);
  if (far == far_.end() || !target_.stores_past_caches) return fetch();
  if (llvm::isa<llvm::ConstantInt>(far->second)) return;
  only_if(b_.CreateNot(far->second), fetch);
}

}  // namespace lenz::native
