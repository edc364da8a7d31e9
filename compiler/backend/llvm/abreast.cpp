// Rows that go along what all of them read together: it is loaded once for all, and each row's sums stay in registers
// of their own. What each row adds up, in which order, is what it adds up by itself.
#include <algorithm>

#include "compiler/backend/llvm/kernel_emitter.h"

namespace lenz::native {

using loops::Axis;
using loops::AxisKind;
using loops::Instr;
using loops::InstrKind;
using loops::Ssa;

// The axis whose points run beside lanes: of squares, where both are turned; or of rows, along which lanes go.
void KernelEmitter::find_rows() {
  row_axis_ = nullptr;
  abreast_.clear();
  if (!lane_axis_ || lanes_ == 1) return;
  const auto combines = [](const Instr& i) { return i.kind == InstrKind::reduce || i.kind == InstrKind::scan; };
  const auto parallel = [](const Axis& a) { return a.kind == AxisKind::parallel; };
  const bool squares = std::ranges::all_of(nest_->axes, parallel) && std::ranges::none_of(nest_->body, combines);
  // Truths are bits of mask registers, which nothing picks lanes of.
  const auto alone = [](const Instr& i) {
    return i.kind == InstrKind::scan || i.kind == InstrKind::draw ||
           (i.kind == InstrKind::reduce && i.dtype == Dtype::b8);
  };
  const bool rows = lane_axis_->kind == AxisKind::reduction && std::ranges::none_of(nest_->body, alone) &&
                    std::ranges::find(store_inner_, true) == store_inner_.end();
  for (const Axis& a : nest_->axes) {
    if (&a == lane_axis_ || !parallel(a)) continue;
    if (squares && a.unroll == lane_axis_->lanes) row_axis_ = &a;
    if (rows && a.unroll > 1) abreast_.push_back(&a);
  }
}

// As many together as are unrolled, along each of these axes, then the rest, one by one.
void KernelEmitter::abreast(Frame& frame, const Axes& inner) {
  std::vector<llvm::Value*> counts, wholes;
  bool some = true, all = true;
  for (const Axis* axis : abreast_) {
    const auto together = static_cast<int64_t>(axis->unroll);
    counts.push_back(frame.dims(axis->extent));
    llvm::Value* rest = b_.CreateURem(counts.back(), b_.getInt64(axis->unroll));
    wholes.push_back(b_.CreateSub(counts.back(), rest));
    const bool known = axis->extent.is_constant();
    some = some && (!known || axis->extent.constant() >= together);
    all = all && known && axis->extent.constant() % together == 0;
  }
  const std::function<void(std::vector<Frame>&, size_t)> together = [&](std::vector<Frame>& rows, size_t depth) {
    if (depth == abreast_.size()) return points_abreast(rows, inner);
    const Axis& axis = *abreast_[depth];
    loop(b_.getInt64(0), wholes[depth], axis.unroll, [&](llvm::Value* first) {
      std::vector<Frame> made;
      for (const Frame& row : rows)
        for (uint64_t r = 0; r < axis.unroll; ++r) {
          made.push_back(row);
          made.back().dims.bind(axis.symbol, b_.CreateAdd(first, b_.getInt64(r)));
        }
      together(made, depth + 1);
    });
  };
  // Of the last axis only what is behind its whole part, where all others are in theirs.
  const std::function<void(Frame&, size_t, llvm::Value*)> one_by_one = [&](Frame& at, size_t depth,
                                                                           llvm::Value* whole) {
    if (depth == abreast_.size()) {
      std::vector<Frame> one{at};
      return points(one, inner);
    }
    const bool last = depth + 1 == abreast_.size();
    llvm::Value* zero = b_.getInt64(0);
    loop(last ? b_.CreateSelect(whole, wholes[depth], zero) : zero, counts[depth], 1, [&](llvm::Value* point) {
      at.dims.bind(abreast_[depth]->symbol, point);
      one_by_one(at, depth + 1, last ? whole : b_.CreateAnd(whole, b_.CreateICmpSLT(point, wholes[depth])));
    });
  };
  std::vector<Frame> one{frame};
  if (some && !abreast_.empty()) together(one, 0);
  if (!all || abreast_.empty()) one_by_one(frame, 0, b_.getInt1(some));
}

void KernelEmitter::points_abreast(std::vector<Frame>& rows, const Axes& inner) {
  const std::vector<Instr>& body = nest_->body;
  for (Frame& row : rows)
    for (Ssa i = 0; i < body.size(); ++i)
      if (!inner_[i] && !late_[i] && body[i].kind != InstrKind::reduce) instruction(i, row);
  const size_t copies = copies_inside();
  std::vector<std::vector<Accumulator>> all;
  for (size_t r = 0; r < rows.size(); ++r) all.push_back(accumulators(copies));
  walk(inner, 0, rows, [&](std::vector<Frame>& at) {
    in_lanes(at[0], [&](std::vector<Frame>& first) {
      // Each row's few copies to their end, as that needs few registers. What rows share is loaded once all the same.
      const size_t together = copies_at_once();
      for (size_t c = 0; c < first.size(); c += together)
        for (size_t r = 0; r < at.size(); ++r) {
          std::vector<Frame> frames;
          for (size_t k = c; k < std::min(first.size(), c + together); ++k) {
            frames.push_back(lanes_at(at[r], first[k].base, first[k].whole_vectors));
            frames.back().mask = first[k].mask;
          }
          for (Ssa i = 0; i < body.size(); ++i)
            if (inner_[i]) everywhere(i, frames);
          for (const Accumulator& a : all[r])
            for (size_t k = 0; k < frames.size(); ++k) take_in(a, frames[k], c + k, true);
        }
    });
  });
  for (size_t a = 0; a < all[0].size(); ++a) {
    std::vector<State> totals;
    for (size_t r = 0; r < rows.size(); ++r) totals.push_back(copies_as_one(all[r][a], copies, rows[r]));
    totals = each_across_lanes(body[all[0][a].at], std::move(totals));
    for (size_t r = 0; r < rows.size(); ++r) finish_reduce(all[r][a].at, rows[r], std::move(totals[r]), false);
  }
  late(rows, false);
}

namespace {
// Of two vectors, in which rows have `width` lanes each, one after another: the first or the second half of each row's.
std::vector<int> halves(int lanes, int width, bool second) {
  std::vector<int> from;
  for (int row = 0; row < 2 * lanes / width; ++row)
    for (int i = 0; i < width / 2; ++i) from.push_back(row * width + i + (second ? width / 2 : 0));
  return from;
}
}  // namespace

// What `across_lanes` gives of each, two at a time: each step has half as many vectors, and then half as many lanes.
std::vector<State> KernelEmitter::each_across_lanes(const Instr& instr, std::vector<State> states) {
  const size_t rows = states.size();
  int width = lanes_;
  const auto picked = [&](const State& a, const State& b, const std::vector<int>& from) {
    State made;
    const auto of = [&](llvm::Value* x, llvm::Value* y) { return x ? b_.CreateShuffleVector(x, y, from) : nullptr; };
    for (size_t p = 0; p < a.size(); ++p)
      made.push_back({of(a[p].value, b[p].value), of(a[p].imaginary, b[p].imaginary)});
    return made;
  };
  for (; states.size() % 2 == 0 && width > 1; width /= 2) {
    std::vector<State> joined;
    for (size_t r = 0; r < states.size(); r += 2)
      joined.push_back(combine_code(*wide_, instr.combine, instr.dtype,
                                    picked(states[r], states[r + 1], halves(lanes_, width, false)),
                                    picked(states[r], states[r + 1], halves(lanes_, width, true))));
    states = std::move(joined);
  }
  const int stride = width;
  for (; width > 1; width /= 2)
    for (State& s : states) {
      std::vector<int> from;
      for (int i = 0; i < lanes_; ++i) from.push_back(i % stride < width / 2 ? i + width / 2 : i);
      s = combine_code(*wide_, instr.combine, instr.dtype, s, picked(s, s, from));
    }
  std::vector<State> made;
  for (size_t r = 0; r < rows; ++r) {
    const size_t together = static_cast<size_t>(lanes_ / stride);
    const auto lane = static_cast<uint64_t>(r % together) * static_cast<uint64_t>(stride);
    State one;
    const auto of = [&](llvm::Value* v) { return v ? b_.CreateExtractElement(v, lane) : nullptr; };
    for (const Lanes& part : states[r / together]) one.push_back({of(part.value), of(part.imaginary)});
    made.push_back(std::move(one));
  }
  return made;
}

}  // namespace lenz::native
