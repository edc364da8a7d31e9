// Turns of lanes, and what is left of one where nobody knows how many points there are.
#include "compiler/backend/llvm/kernel_emitter.h"

namespace lenz::native {

constexpr uint32_t kFewInTurn = 4;  // vectors, the rest of which may go one by one

int64_t KernelEmitter::points_of_a_turn() const { return int64_t{lanes_} * lane_axis_->unroll; }
// Whether there are open points, some, and never more, nor many fewer.
bool KernelEmitter::in_one_turn() const {
  const Dim points = lane_axis_->extent;
  return in_one_turn_ && !points.is_constant() && facts_->proves(ge(points, 1)) &&
         facts_->proves(le(points, points_of_a_turn()));
}
// Whether there may be enough points for what is unrolled.
bool KernelEmitter::turns_whole() const {
  return !lane_axis_->extent.is_constant() || lane_axis_->extent.constant() >= points_of_a_turn();
}

bool KernelEmitter::rests_at_once() const {
  return lane_axis_->unroll > kFewInTurn && !lane_axis_->extent.is_constant();
}

// One after another: whole vectors, and a last one that has some lanes, or all.
void KernelEmitter::rest_of_turn(llvm::Value* from, llvm::Value* to,
                                 const std::function<void(llvm::Value*, llvm::Value*)>& vector) {
  only_if(b_.CreateICmpSLT(from, to), [&] {
    llvm::Value* before_last = b_.CreateSub(b_.CreateSub(to, from), b_.getInt64(1));
    llvm::Value* last =
        b_.CreateAdd(from, b_.CreateAnd(before_last, b_.getInt64(static_cast<uint64_t>(-int64_t{lanes_}))));
    if (lane_axis_->unroll > 1) loop(from, last, lanes_, [&](llvm::Value* at) { vector(at, nullptr); });
    vector(last, to);
  });
}

// A turn's vector of that number, of which nobody knows whether it has any point. Has it none, it stands at the last
// point, without lanes: what all of its lanes share is read without a mask, and tables have nothing for other vectors.
KernelEmitter::Frame KernelEmitter::perhaps_at(const Frame& frame, llvm::Value* turn, int64_t number,
                                               llvm::Value* count, bool whole_vectors) {
  llvm::Value* at = b_.CreateAdd(turn, b_.getInt64(static_cast<uint64_t>(number * lanes_)));
  llvm::Value* last = b_.CreateSub(count, b_.getInt64(1));
  llvm::Value* stands = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, at, last);
  Frame made = lanes_at(frame, stands, whole_vectors);
  only_below(made, b_.CreateAdd(stands, b_.CreateSub(count, at)));
  return made;
}

// Columns walk all their rows for each vector, or for many: what is left of a turn goes at once, in one copy, in two,
// or in as many quarters of its copies as it has points in. It ends in the last one, or in the last quarter, whose
// masks have registers.
void KernelEmitter::rest_at_once(llvm::Value* rest, const std::function<void(uint32_t, uint32_t)>& copies) {
  const uint32_t all = lane_axis_->unroll, quarter = all / 4;
  auto more_than = [&](uint32_t vectors) {
    return b_.CreateICmpSGT(rest, b_.getInt64(uint64_t{vectors} * static_cast<uint64_t>(lanes_)));
  };
  uint32_t sure = 0;
  auto up_to = [&](uint32_t most) {
    only_if(b_.CreateAnd(more_than(sure), b_.CreateNot(more_than(most))), [&] { copies(most, sure); });
    sure = most;
  };
  for (uint32_t few = 1; few <= 2 && few < quarter; ++few) up_to(few);
  while (sure < all) up_to((sure / quarter + 1) * quarter);
}

// Copies that are neighbours and may be loaded, or computed, as one.
uint32_t KernelEmitter::copies_at_once() const {
  const auto by_twos = [&](const loops::Instr& i) {
    return i.kind == loops::InstrKind::load && wide_->loads_pairs(dtype_of(i.buffer));
  };
  return may_be_even_and_odd_ || std::ranges::any_of(nest_->body, by_twos) ? 2 : 1;
}

// All copies of a reduction. Of an open number of points, those after the first one have something only where there
// were enough for a turn, or where its rest goes at once.
State KernelEmitter::copies_as_one(const Accumulator& a, size_t copies, Frame& f) {
  const loops::Instr& instr = nest_->body[a.at];
  auto combined = [&] {
    State total = read(a, 0);
    for (size_t c = 1; c < copies; ++c) total = combine_code(*wide_, instr.combine, instr.dtype, total, read(a, c));
    return total;
  };
  if (copies == 1 || in_one_turn() || rests_at_once() || lane_axis_->extent.is_constant()) return combined();
  llvm::Value* turn = b_.getInt64(static_cast<uint64_t>(points_of_a_turn()));
  only_if(b_.CreateICmpSGE(f.dims(lane_axis_->extent), turn), [&] { write(a, 0, combined()); });
  return read(a, 0);
}

}  // namespace lenz::native
