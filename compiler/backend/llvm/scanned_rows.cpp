// Rows that are scanned one element after another, each of which waits for the one before: several rows at a time, none
// of which waits for another one; or one row in vectors, each of which waits for the one before once.
#include <algorithm>

#include "compiler/backend/llvm/kernel_emitter.h"
#include "compiler/base/sym_facts.h"

namespace lenz::native {

using loops::Axis;
using loops::AxisKind;
using loops::InstrKind;
using loops::Nest;

namespace {
constexpr int64_t kAtOnce = 4;
constexpr size_t kShortBody = 24;  // which registers have four of
}  // namespace

// The kernel's nest, if it is nothing but such rows, all of one size.
const Nest* KernelEmitter::scanned_rows() const {
  if (kernel_->axes.size() != 1 || kernel_->body->nodes.size() != 1) return nullptr;
  const Nest& n = std::get<Nest>(kernel_->body->nodes[0].is);
  if (n.axes.size() != 1 || n.axes[0].kind != AxisKind::scan || n.axes[0].lanes != 1 || n.body.size() > kShortBody)
    return nullptr;
  const Axis &rows = kernel_->axes[0], &row = n.axes[0];
  if (rows.extent.is_constant() && rows.extent.constant() < kAtOnce) return nullptr;
  if (!row.extent.is_constant() && mentions(row.extent, rows.symbol.node())) return nullptr;
  const bool draws = std::ranges::any_of(n.body, [](const auto& i) { return i.kind == InstrKind::draw; });
  return draws ? nullptr : &n;
}

void KernelEmitter::scan_rows(const Nest& n, DimCode& dims) {
  llvm::Value *first = function_->getArg(3), *end = function_->getArg(4);
  llvm::Value* rows = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, b_.CreateSub(end, first), b_.getInt64(0));
  llvm::Value* rest = b_.CreateAnd(rows, b_.getInt64(kAtOnce - 1));
  llvm::Value* whole = b_.CreateSub(b_.CreateAdd(first, rows), rest);
  begin(n);
  const Axes inner{n.axes.data()};
  loop(first, whole, kAtOnce, [&](llvm::Value* at) {
    std::vector<Frame> frames;
    for (int64_t k = 0; k < kAtOnce; ++k) {
      Frame& f = frames.emplace_back(Frame{std::vector<Val>(n.body.size()), {}, dims});
      f.dims.at_points(&*points_);
      f.dims.bind(kernel_->axes[0].symbol, b_.CreateAdd(at, b_.getInt64(static_cast<uint64_t>(k))));
    }
    points(frames, inner);
  });
  loop(whole, end, 1, [&](llvm::Value* at) {
    dims.bind(kernel_->axes[0].symbol, at);
    nest(n, dims);
  });
}

// The states of neighbouring points: each lane takes in the one before it, then what two before it have, then four.
// What came before the vector stands in every lane of the accumulator's first copy, and goes on without waiting for
// them.
State KernelEmitter::scan_lanes(const Accumulator& a, Frame& f) {
  const loops::Instr& instr = nest_->body[a.at];
  auto merged = [&](const State& x, const State& y) { return combine_code(*wide_, instr.combine, instr.dtype, x, y); };
  // Lane i of two vectors, one behind the other.
  auto moved = [&](const State& x, const State& y, const auto& lane) {
    std::vector<int> from;
    for (int i = 0; i < lanes_; ++i) from.push_back(lane(i));
    auto part = [&](llvm::Value* v, llvm::Value* w) { return v ? b_.CreateShuffleVector(v, w, from) : nullptr; };
    State made;
    for (size_t p = 0; p < x.size(); ++p)
      made.push_back({part(x[p].value, y[p].value), part(x[p].imaginary, y[p].imaginary)});
    return made;
  };
  const State none = identity_code(*wide_, instr.combine, instr.dtype);
  State own = element(a.at, f);
  for (int step = 1; step < lanes_; step *= 2)
    own = merged(moved(own, none, [&](int i) { return i < step ? lanes_ + i : i - step; }), own);
  const State before = read(a, 0);
  write(a, 0, merged(before, moved(own, own, [&](int) { return lanes_ - 1; })));
  return merged(before, own);
}

}  // namespace lenz::native
