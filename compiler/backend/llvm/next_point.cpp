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

constexpr int64_t kLine = 64;        // bytes that memory hands out together
constexpr uint32_t kOuterCache = 2;  // how near to bring them, as LLVM numbers it: not into the first cache

bool walk_alike(const Nest& a, const Nest& b) {
  return std::ranges::equal(a.axes, b.axes,
                            [](const Axis& x, const Axis& y) { return x.extent == y.extent && x.lanes == y.lanes; });
}

bool mentions(const DimVec& index, Dim symbol) {
  return std::ranges::any_of(index, [&](Dim d) { return !d.is_constant() && lenz::mentions(d, symbol.node()); });
}

}  // namespace

// What earlier nests read on their way through axes like this one's; and what this one is the first to read.
void KernelEmitter::find_next() {
  next_.clear();
  if (!lane_axis_ || kernel_.axes.empty()) return;
  std::erase_if(read_, [&](const Reading& r) {
    if (!walk_alike(*r.nest, *nest_)) return false;
    DimVec index;
    for (Dim d : r.index)
      index.push_back(substitute(d, program_.context->syms, [&](const SymNode* s) -> std::optional<Dim> {
        for (size_t k = 0; k < nest_->axes.size(); ++k)
          if (r.nest->axes[k].symbol.node() == s) return nest_->axes[k].symbol;
        return std::nullopt;
      }));
    next_.emplace_back(r.buffer, std::move(index));
    return true;
  });
  for (const Instr& i : nest_->body) {
    if (i.kind != InstrKind::load || i.mask != kNone || program_.buffers[i.buffer].local) continue;
    if (!mentions(i.index, kernel_.axes.back().symbol) || !mentions(i.index, lane_axis_->symbol)) continue;
    const bool known = std::ranges::any_of(next_, [&](const auto& n) { return n.first == i.buffer; }) ||
                       std::ranges::find(fetched_, i.buffer) != fetched_.end();
    if (known) continue;
    fetched_.push_back(i.buffer);
    read_.push_back({i.buffer, i.index, nest_});
  }
}

void KernelEmitter::fetch_next(std::vector<Frame>& frames) {
  if (next_.empty()) return;  // else the kernel has axes
  const Axis& point = kernel_.axes.back();
  for (const auto& [buffer, index] : next_) {
    const int64_t bytes = lanes_ * item_size(dtype_of(buffer));
    int64_t reached = 0, at_byte = 0;  // of the frames' bytes, which follow one another
    for (Frame& f : frames) {
      at_byte += bytes;
      if (at_byte <= reached) continue;
      DimCode dims = f.dims;
      bool bound = true;  // positions of the nest's own are not
      for (Dim d : index)
        if (!d.is_constant()) for_each_symbol(d, [&](const SymNode* s) { bound = bound && dims.bound(Dim(s)); });
      if (!bound) break;
      dims.bind(point.symbol, b_.CreateAdd(dims.value_of(point.symbol), b_.getInt64(1)));
      Frame next = f;
      next.dims = dims;
      const Place at = place(buffer, index, next);
      if (!at.consecutive) break;
      reached = at_byte - bytes + kLine;
      b_.CreateIntrinsic(llvm::Intrinsic::prefetch, {b_.getPtrTy()},
                         {pointer(buffer, at.address, 0), b_.getInt32(0), b_.getInt32(kOuterCache), b_.getInt32(1)});
    }
  }
}

}  // namespace lenz::native
