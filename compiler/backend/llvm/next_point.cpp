// Kernels of several nests read memory in the first ones and work in caches from then on: meanwhile a later nest
// fetches what the first ones will read at the kernel's next point.
#include <algorithm>

#include "compiler/backend/llvm/kernel_emitter.h"
#include "compiler/base/sym_facts.h"
#include "compiler/loops/index_algebra.h"

namespace lenz::native {

using loops::Axis;
using loops::Instr;
using loops::InstrKind;
using loops::Nest;

namespace {

constexpr uint32_t kOuterCache = 2;  // how near to bring them, as LLVM numbers it: not into the first cache

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
  const Dim point = kernel_.axes.back().symbol;
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
  if (!lane_axis_ || kernel_.axes.empty()) return;
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

// Whether the frame can be that of the kernel's next point, as far as the reading asks: it becomes it.
bool KernelEmitter::step_to_next(const Reading& r, Frame& f) {
  const Axis& point = kernel_.axes.back();
  llvm::Value* number = b_.CreateAdd(f.dims.value_of(point.symbol), b_.getInt64(1));
  if (r.position) {  // which is read, so there has to be one: the last one again
    llvm::Value* last = b_.CreateSub(f.dims(point.extent), b_.getInt64(1));
    f.dims.bind(point.symbol, b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, number, last));
    const Place at = place(r.number->buffer, r.number->index, f);
    llvm::Value* given = fetch(r.number->buffer, at, false, nullptr).value;
    f.dims.bind(r.position->symbol, b_.CreateSExt(given, b_.getInt64Ty()));
  } else {
    f.dims.bind(point.symbol, number);
  }
  return std::ranges::all_of(r.index, [&](Dim d) {  // other positions of the nest are not
    bool bound = true;
    if (!d.is_constant()) for_each_symbol(d, [&](const SymNode* s) { bound = bound && f.dims.bound(Dim(s)); });
    return bound;
  });
}

void KernelEmitter::fetch_next(std::vector<Frame>& frames) {
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
      b_.CreateIntrinsic(llvm::Intrinsic::prefetch, {b_.getPtrTy()},
                         {pointer(r.buffer, at.address, 0), b_.getInt32(0), b_.getInt32(kOuterCache), b_.getInt32(1)});
    }
  }
}

}  // namespace lenz::native
