// Nests: loops over their axes, lanes, reductions.
#include <algorithm>

#include "compiler/backend/llvm/kernel_emitter.h"
#include "compiler/loops/index_algebra.h"
#include "compiler/scalar/rounding.h"

namespace lenz::native {

using loops::Axis;
using loops::AxisKind;
using loops::Instr;
using loops::InstrKind;
using loops::Nest;
using loops::Ssa;
using loops::Store;

// --- nests

static bool combines(const Instr& i) { return i.kind == InstrKind::reduce || i.kind == InstrKind::scan; }

// The nest at hand is this one.
void KernelEmitter::begin(const Nest& n) {
  nest_ = &n;
  lane_axis_ = nullptr;
  for (const Axis& a : n.axes)
    if (a.lanes > 1) lane_axis_ = &a;
  lanes_ = lane_axis_ ? static_cast<int>(lane_axis_->lanes) : 1;
  points_.emplace(points_of(n));
  at_points_.clear();
  along_lanes_.reset();  // by facts that hold in one way to write the kernel
  narrow_.emplace(b_, target_, 1, shares_rows_);
  wide_.emplace(b_, target_, lanes_, shares_rows_);
  find_levels();
  find_otherwise();
  find_late_rounded();
  find_fitting();
  find_even_and_odd();
  find_rows();
}

// A tile's extent hangs on which one it is: there are as many points as it has at most.
loops::IndexSpace KernelEmitter::points_of(const Nest& n) const {
  loops::IndexSpace made(program_.context->syms, *facts_);
  for (const auto* axes : {&kernel_->axes, &n.axes})
    for (const Axis& a : *axes) {
      const auto most = made.mentions_axis(a.extent) ? made.range(a.extent).high : std::nullopt;
      made.add_axis(a.symbol, most ? Dim(*most) : a.extent);
    }
  return made;
}

void KernelEmitter::nest(const Nest& n, const DimCode& outside) {
  for (const auto* axes : {&kernel_->axes, &n.axes})
    for (const Axis& a : *axes)
      if (a.kind == AxisKind::parallel && a.extent.is(0)) return;  // no points
  begin(n);
  find_next();
  Frame frame{std::vector<Val>(n.body.size()), {}, outside};
  frame.dims.at_points(&*points_);
  Axes outer, inner;
  for (const Axis& a : n.axes) {
    if (&a == lane_axis_) continue;
    (a.kind == AxisKind::parallel ? outer : inner).push_back(&a);
  }
  const bool lanes_outside = lane_axis_ && lane_axis_->kind == AxisKind::parallel;
  std::erase(outer, row_axis_);
  for (const Axis* a : abreast_) std::erase(outer, a);
  nested(outer, 0, frame, [&](Frame& at) {
    if (row_axis_) {
      squares(at);
    } else if (lanes_outside) {
      load_before_lanes(at);
      in_lanes(at, [&](std::vector<Frame>& frames) { points(frames, inner); });
    } else {
      abreast(at, inner);
    }
  });
}

void KernelEmitter::nested(const Axes& axes, size_t depth, Frame& frame, const std::function<void(Frame&)>& body) {
  if (depth == axes.size()) return body(frame);
  loop(b_.getInt64(0), frame.dims(axes[depth]->extent), 1, [&](llvm::Value* at) {
    frame.dims.bind(axes[depth]->symbol, at);
    nested(axes, depth + 1, frame, body);
  });
}

// A copy of the frame for the lanes from a value of their axis on.
KernelEmitter::Frame KernelEmitter::lanes_at(const Frame& frame, llvm::Value* base, bool whole_vectors) {
  std::vector<llvm::Constant*> numbers;
  for (int i = 0; i < lanes_; ++i) numbers.push_back(b_.getInt64(static_cast<uint64_t>(i)));
  Frame made = frame;
  made.dims.lanes(lanes_);
  made.dims.along(lane_axis_->symbol, base);
  made.base = base;
  made.whole_vectors = whole_vectors;
  llvm::Value* first = b_.CreateVectorSplat(static_cast<unsigned>(lanes_), base);
  made.dims.bind(lane_axis_->symbol, b_.CreateAdd(first, llvm::ConstantVector::get(numbers)));
  recall(made, false);
  return made;
}

// Of an axis of the nest at hand, in the kernel as it is.
Range KernelEmitter::range_of_whole(const Axis& axis) const {
  const auto is_at_hand = [&](const loops::Node& node) { return std::get_if<Nest>(&node.is) == nest_; };
  const auto node = std::ranges::find_if(kernel_->body->nodes, is_at_hand) - kernel_->body->nodes.begin();
  const Nest& whole = std::get<Nest>(whole_->body->nodes.at(static_cast<size_t>(node)).is);
  return program_.assumptions.known().range(whole.axes[static_cast<size_t>(&axis - nest_->axes.data())].extent);
}

// How many of a turn's copies are neighbours: all, but of a long row that is added up, which is walked in several
// places at once: processors fetch ahead up to the end of a page, and of several at a time. Only what may be combined
// in any order, and what reads few rows, each of which would have to be in a cache in as many places. What is loaded by
// twos stays so.
uint32_t KernelEmitter::copies_of_a_stream() const {
  constexpr int64_t kLong = 1 << 13;
  constexpr size_t kFewRows = 2;
  const uint32_t all = lane_axis_->unroll;
  if (lane_axis_->kind != AxisKind::reduction || !abreast_.empty()) return all;
  // Of open sizes: parts of a row, which have a most. Of the kernel as it is, not of what it is within one tile: what
  // is added up in which order hangs on sizes alone.
  const std::optional<int64_t> most = range_of_whole(*lane_axis_).high;
  if (!most || *most < kLong || std::ranges::find(store_inner_, true) != store_inner_.end()) return all;
  auto in_any_order = [](const Instr& i) {
    if (i.kind == InstrKind::scan || i.kind == InstrKind::draw) return false;
    return i.kind != InstrKind::reduce || loops::row_of(i.combine).parts == 1;
  };
  if (!std::ranges::all_of(nest_->body, in_any_order)) return all;
  size_t rows = 0;  // what is the same all along is no row
  for (Ssa i = 0; i < nest_->body.size(); ++i) rows += nest_->body[i].kind == InstrKind::load && inner_[i] ? 1 : 0;
  if (rows > kFewRows) return all;
  const uint32_t together = copies_at_once();
  return all % together == 0 ? together : all;
}

// Copies of the frame, each for some lanes: as many as are unrolled, then the rest: at once where its points are known,
// else one after another. Where results go past the caches, so many points before that memory's lines begin with those:
// never of lanes that are combined, whose sums would be others wherever their results lie.
void KernelEmitter::in_lanes(const Frame& frame, const Body& write) {
  const Body body = [&](std::vector<Frame>& frames) {
    even_and_odd_ = goes_even_and_odd(frames);
    write(frames);
    even_and_odd_ = false;
  };
  Frame dims = frame;
  llvm::Value *count = dims.dims(lane_axis_->extent), *first = b_.getInt64(0);
  const int64_t turn = points_of_a_turn();
  const bool apart = lane_axis_->kind == AxisKind::parallel && !columns_.contains(nest_);
  llvm::Value* before = turns_whole() && apart ? points_before_a_line(frame) : nullptr;
  const bool whole_vectors = before == nullptr;
  auto vector_at = [&](llvm::Value* at, int64_t number) {
    llvm::Value* points = b_.getInt64(static_cast<uint64_t>(number * lanes_));
    return lanes_at(frame, number == 0 ? at : b_.CreateAdd(at, points), whole_vectors);
  };
  auto one_at = [&](llvm::Value* at, llvm::Value* to) {
    std::vector<Frame> frames{vector_at(at, 0)};
    if (to) only_below(frames[0], to);
    body(frames);
  };
  auto one_by_one = [&](llvm::Value* from, llvm::Value* to) {
    loop(from, to, lanes_, [&](llvm::Value* at) { one_at(at, to); });
  };
  if (in_one_turn()) {
    std::vector<Frame> frames;
    for (int64_t u = 0; u < lane_axis_->unroll; ++u) {
      const bool there = facts_->proves(gt(lane_axis_->extent, u * lanes_));
      frames.push_back(there ? vector_at(first, u) : perhaps_at(frame, first, u, count, whole_vectors));
      if (there && !facts_->proves(ge(lane_axis_->extent, (u + 1) * lanes_))) only_below(frames.back(), count);
    }
    return body(frames);
  }
  if (before) {
    first = b_.CreateBinaryIntrinsic(llvm::Intrinsic::umin, before, count);
    one_by_one(b_.getInt64(0), first);
  }
  llvm::Value* rest = b_.CreateURem(b_.CreateSub(count, first), b_.getInt64(static_cast<uint64_t>(turn)));
  llvm::Value* whole = b_.CreateSub(count, rest);
  const uint32_t together = copies_of_a_stream();
  const uint64_t streams = lane_axis_->unroll / together;
  llvm::Value* stream = streams == 1 ? whole : b_.CreateExactUDiv(whole, b_.getInt64(streams));
  loop(first, stream, int64_t{together} * lanes_, [&](llvm::Value* at) {
    std::vector<Frame> frames;
    for (uint32_t u = 0; u < lane_axis_->unroll; ++u) {
      llvm::Value* begins =
          u < together ? at : b_.CreateAdd(at, b_.CreateMul(stream, b_.getInt64(uint64_t{u} / together)));
      frames.push_back(vector_at(begins, u % together));
    }
    fetch_next(frames);
    body(frames);
  });
  if (rests_at_once())
    return rest_at_once(rest, [&](uint32_t copies, uint32_t whole_ones) {
      std::vector<Frame> frames;
      for (uint32_t u = 0; u < copies; ++u)
        frames.push_back(u <= whole_ones ? vector_at(whole, u) : perhaps_at(frame, whole, u, count, whole_vectors));
      only_below(frames[whole_ones], count);
      body(frames);
    });
  if (!before && !lane_axis_->extent.is_constant() && is_short(*nest_)) return rest_of_turn(whole, count, one_at);
  if (before || !lane_axis_->extent.is_constant()) return one_by_one(whole, count);
  std::vector<Frame> frames;
  const int64_t left = lane_axis_->extent.constant() % turn;
  for (int64_t at = 0; at < left; at += lanes_) frames.push_back(vector_at(whole, at / lanes_));
  if (frames.empty()) return;
  only_below(frames.back(), count);
  body(frames);
}

// Of the nest's first result that goes past the caches, along the lanes, from where nobody knows that a line begins.
// Null if there is none.
llvm::Value* KernelEmitter::points_before_a_line(const Frame& frame) {
  const auto draws = [](const Instr& i) { return i.kind == InstrKind::draw; };
  if (std::ranges::any_of(nest_->body, draws)) return nullptr;  // they come in blocks, from the first point on
  // What is read at fixed distances from whole vectors alone, twice in a row say, would be gathered.
  const auto of_whole_vectors = [&](const Instr& i) {
    if (i.kind != InstrKind::load) return false;
    const Dim address = address_of(i.buffer, i.index);
    return in_lanes_at(address, false).apart.empty() && !in_lanes_at(address, true).apart.empty();
  };
  if (std::ranges::any_of(nest_->body, of_whole_vectors)) return nullptr;
  for (const loops::Store& s : nest_->stores) {
    const auto far = far_.find(s.buffer);
    const Dtype dtype = dtype_of(s.buffer);
    if (far == far_.end() || !target_.stores_past_caches || s.mode != loops::StoreMode::assign || s.mask != kNone ||
        is_complex(dtype))
      continue;
    // Simplified: it is computed for each row, and quotients take long.
    const Dim address = along_lanes().space.simplify(address_of(s.buffer, s.index));
    const auto stride = along_lanes().space.stride(address, 0);
    Frame at = frame;
    at.dims.bind(lane_axis_->symbol, b_.getInt64(0));
    bool bound = stride && stride->is(1);  // what inner axes or positions say is not, yet
    if (!address.is_constant())
      for_each_symbol(address, [&](const SymNode* n) { bound = bound && at.dims.bound(Dim(n)); });
    if (!bound) continue;
    const int64_t items = kLine / item_size(dtype);
    if (facts_->proves(eq(mod(at_first_point(address), items), 0))) return nullptr;
    llvm::Value* place = b_.CreatePtrToInt(pointer(s.buffer, at.dims(address), 0), b_.getInt64Ty());
    llvm::Value* bytes = b_.CreateAnd(b_.CreateNeg(place), b_.getInt64(kLine - 1));
    llvm::Value* points = b_.CreateUDiv(bytes, b_.getInt64(static_cast<uint64_t>(item_size(dtype))));
    return b_.CreateSelect(far->second, points, b_.getInt64(0));
  }
  return nullptr;
}

// Of each instruction: whether it belongs to a point of the axes that are reduced or scanned, or comes after these.
void KernelEmitter::find_levels() {
  inner_.assign(nest_->body.size(), false);
  late_ = loops::epilogue(*nest_);
  std::vector<const SymNode*> symbols;
  for (const Axis& a : nest_->axes)
    if (a.kind != AxisKind::parallel) symbols.push_back(a.symbol.node());
  auto mentions = [&](Dim d) {
    bool found = false;
    if (!d.is_constant())
      for_each_symbol(d, [&](const SymNode* s) { found = found || std::ranges::find(symbols, s) != symbols.end(); });
    return found;
  };
  for (Ssa i = 0; i < nest_->body.size(); ++i) {
    const Instr& instr = nest_->body[i];
    bool inner = instr.kind == InstrKind::scan || (instr.mask != kNone && inner_[instr.mask]);
    for (Ssa operand : instr.operands) inner = inner || inner_[operand];
    for (Dim d : instr.index) inner = inner || mentions(d);
    inner_[i] = inner && instr.kind != InstrKind::reduce;
    if (instr.kind == InstrKind::position && inner_[i]) symbols.push_back(instr.symbol.node());
  }
  auto find_stores = [&] {
    store_inner_.clear();
    for (const Store& s : nest_->stores) {
      bool inner = inner_[s.value] || (s.mask != kNone && inner_[s.mask]);
      for (Dim d : s.index) inner = inner || mentions(d);
      store_inner_.push_back(inner);
    }
  };
  find_stores();
  keep_inside();
  find_stores();
}

// Where the inner axes may have no points, what is read for these points alone is not read before them: it need not be
// there.
void KernelEmitter::keep_inside() {
  const bool some_points = std::ranges::all_of(
      nest_->axes, [&](const Axis& a) { return a.kind == AxisKind::parallel || facts_->proves(ge(a.extent, 1)); });
  if (some_points) return;
  std::vector<bool> outside(nest_->body.size());
  for (size_t s = 0; s < nest_->stores.size(); ++s)
    for (Ssa v : {nest_->stores[s].value, nest_->stores[s].mask})
      if (v != kNone && !inner_[v] && !store_inner_[s]) outside[v] = true;
  for (Ssa i = static_cast<Ssa>(nest_->body.size()); i-- > 0;) {
    const Instr& instr = nest_->body[i];
    if (inner_[i] || combines(instr) || !(outside[i] || late_[i])) continue;
    for (Ssa operand : instr.operands) outside[operand] = true;
    if (instr.mask != kNone) outside[instr.mask] = true;
  }
  for (Ssa i = 0; i < nest_->body.size(); ++i) {
    const Instr& instr = nest_->body[i];
    if (late_[i] || outside[i] || instr.kind == InstrKind::reduce) continue;
    const bool reads = instr.kind == InstrKind::load || instr.kind == InstrKind::position;
    inner_[i] = inner_[i] || reads || (instr.mask != kNone && inner_[instr.mask]) ||
                std::ranges::any_of(instr.operands, [&](Ssa operand) { return inner_[operand]; });
  }
}

// Arithmetic leaves more digits than f16 and bf16 have; rows that choose among their operands, or convert, do not.
void KernelEmitter::find_fitting() {
  fits_.assign(nest_->body.size(), false);
  for (Ssa i = 0; i < nest_->body.size(); ++i) {
    const Instr& instr = nest_->body[i];
    const ScalarRow* row = instr.kind == InstrKind::scalar   ? instr.row
                           : instr.kind == InstrKind::reduce ? loops::primitive(instr.combine)
                                                             : nullptr;
    const bool from_operands = std::ranges::all_of(instr.operands, [&](Ssa operand) { return fits_[operand]; });
    const bool whole = instr.kind == InstrKind::constant && is_reduced_float(instr.dtype) &&
                       round_to(instr.dtype, instr.value.real()) != instr.value.real();
    fits_[i] = !is_reduced_float(instr.dtype) || (instr.kind == InstrKind::constant && !whole) ||
               (instr.kind == InstrKind::load && dtype_of(instr.buffer) == instr.dtype) ||
               (row && !late_rounded_[i] &&
                (row->result == ResultRule::target || (row->accuracy.kind == AccuracyClass::exact && from_operands)));
  }
}

std::vector<int> KernelEmitter::uses() const {
  std::vector<int> made(nest_->body.size());
  for (const Instr& i : nest_->body) {
    for (Ssa operand : i.operands) ++made[operand];
    if (i.mask != kNone) ++made[i.mask];
  }
  for (const Store& s : nest_->stores) {
    ++made[s.value];
    if (s.mask != kNone) ++made[s.mask];
  }
  return made;
}

// What is read where a mask holds, and chosen there: loads give the other number themselves elsewhere.
void KernelEmitter::find_otherwise() {
  const size_t count = nest_->body.size();
  const std::vector<int> used = uses();
  otherwise_.assign(count, kNone);
  chosen_.assign(count, kNone);
  for (Ssa i = 0; i < count; ++i) {
    const Instr& w = nest_->body[i];
    if (w.kind != InstrKind::scalar || w.row->name != "where" || late_[i] || is_complex(w.dtype))
      continue;  // op name: of a primitive
    const Ssa yes = w.operands[1], of = chosen_[yes] == kNone ? yes : chosen_[yes];
    const Instr &load = nest_->body[of], &other = nest_->body[w.operands[2]];
    if (used[yes] != 1 || load.kind != InstrKind::load || load.mask != w.operands[0] || late_[of] ||
        dtype_of(load.buffer) != w.dtype || other.kind != InstrKind::constant || other.dtype != w.dtype)
      continue;
    // As memory has it, so that the constant is what would be read.
    if (narrow_->constant(w.dtype, other.value).value->getType() != narrow_->memory_type(w.dtype)) continue;
    otherwise_[of] = w.operands[2];
    chosen_[i] = of;
  }
}

// A conversion that only stores of its dtype see, through rows that choose: rounding behind the choice gives the same.
void KernelEmitter::find_late_rounded() {
  const size_t count = nest_->body.size();
  const std::vector<int> uses = this->uses();
  std::vector<bool> stored(count), late(count);  // by one store that rounds; if rounded there
  for (const Store& s : nest_->stores) {
    stored[s.value] = s.mode == loops::StoreMode::assign && dtype_of(s.buffer) == nest_->body[s.value].dtype;
  }
  for (Ssa i = 0; i < count; ++i) late[i] = stored[i] && uses[i] == 1;
  for (Ssa i = static_cast<Ssa>(count); i-- > 0;) {
    const Instr& instr = nest_->body[i];
    if (!late[i] || instr.kind != InstrKind::scalar || !instr.row->has(traits::rounds_late)) continue;
    for (Ssa operand : instr.operands) late[operand] = nest_->body[operand].dtype == instr.dtype && uses[operand] == 1;
  }
  late_rounded_.assign(count, false);
  for (Ssa i = 0; i < count; ++i) late_rounded_[i] = late[i] && rounds(nest_->body[i]);
}

// A conversion of f32 to fewer digits.
bool KernelEmitter::rounds(const Instr& i) {
  return is_reduced_float(i.dtype) && i.kind == InstrKind::scalar && i.row->name == "to_dtype" &&
         i.compute == Dtype::f32;
}

// The points of the inner axes for some frames of the outer ones. Where the lanes are inside, there is one frame.
void KernelEmitter::points(std::vector<Frame>& frames, const Axes& inner) {
  const bool lanes_inside = lane_axis_ && lane_axis_->kind != AxisKind::parallel;
  const bool any_inner = lanes_inside || !inner.empty();
  for (Ssa i = 0; i < nest_->body.size(); ++i)
    if (!inner_[i] && !late_[i] && nest_->body[i].kind != InstrKind::reduce && !known_by_column(i) &&
        !frames[0].values[i].lanes.value)
      everywhere(i, frames);
  if (!any_inner) {
    for (Frame& f : frames)
      for (Ssa i = 0; i < nest_->body.size(); ++i) {
        if (combines(nest_->body[i])) {  // one point
          finish_reduce(i, f, element(i, f), lane_axis_ != nullptr);
        } else if (inner_[i]) {
          instruction(i, f);
        }
      }
    late(frames, true);
    return;
  }
  const size_t copies = lanes_inside ? copies_inside() : frames.size();
  const std::vector<Accumulator> all = accumulators(copies);
  auto body = [&](std::vector<Frame>& at) {
    for (Frame& f : at) recall(f, true);
    for (Ssa i = 0; i < nest_->body.size(); ++i) {
      if (!inner_[i] || known_by_column(i)) continue;
      const auto scan = std::ranges::find(all, i, &Accumulator::at);
      if (scan == all.end()) {
        everywhere(i, at);
        continue;
      }
      for (size_t c = 0; c < at.size(); ++c) {
        State state = lanes_inside ? scan_lanes(*scan, at[c]) : take_in(*scan, at[c], c, false);
        at[c].values[i] = {state[0], lane_axis_ != nullptr};
        at[c].states[i] = std::move(state);
      }
    }
    for (const Accumulator& a : all)
      for (size_t c = 0; c < at.size() && nest_->body[a.at].kind == InstrKind::reduce; ++c)
        take_in(a, at[c], c, lanes_inside);
    for (size_t s = 0; s < nest_->stores.size(); ++s)
      if (store_inner_[s]) store_everywhere(nest_->stores[s], at);
  };
  // Every frame walks the same inner points: the first one's sizes serve all.
  walk(inner, 0, frames, [&](std::vector<Frame>& at) {
    if (lanes_inside) {
      in_lanes(at[0], [&](std::vector<Frame>& copies_at) { body(copies_at); });
    } else {
      if (!inner.empty()) fetch_rows_ahead(*inner.back(), at);
      body(at);
    }
  });
  for (const Accumulator& a : all) {
    if (nest_->body[a.at].kind != InstrKind::reduce) continue;
    if (!lanes_inside) {
      for (size_t c = 0; c < frames.size(); ++c) finish_reduce(a.at, frames[c], read(a, c), lane_axis_ != nullptr);
      continue;
    }
    const Instr& instr = nest_->body[a.at];
    State total = copies_as_one(a, copies, frames[0]);
    finish_reduce(a.at, frames[0], across_lanes(instr, std::move(total)), false);
  }
  late(frames, false);
}

// Of each state that lanes inside combine: as many as are unrolled, or as a row has vectors.
size_t KernelEmitter::copies_inside() const {
  if (turns_whole()) return lane_axis_->unroll;
  return std::max<size_t>(1, static_cast<size_t>((lane_axis_->extent.constant() + lanes_ - 1) / lanes_));
}

void KernelEmitter::walk(const Axes& axes, size_t depth, std::vector<Frame>& frames, const Body& body) {
  if (depth == axes.size()) return body(frames);
  auto point = [&](llvm::Value* at) {
    for (Frame& f : frames) f.dims.bind(axes[depth]->symbol, at);
    walk(axes, depth + 1, frames, body);
  };
  if (loops::few_inner_points(*nest_) == 0) return loop(b_.getInt64(0), frames[0].dims(axes[depth]->extent), 1, point);
  for (int64_t at = 0; at < axes[depth]->extent.constant(); ++at) point(b_.getInt64(static_cast<uint64_t>(at)));
}

void KernelEmitter::late(std::vector<Frame>& frames, bool all_stores) {
  for (Frame& f : frames)
    for (Ssa i = 0; i < nest_->body.size(); ++i)
      if (late_[i] && nest_->body[i].kind != InstrKind::reduce) instruction(i, f);
  for (size_t s = 0; s < nest_->stores.size(); ++s)
    if (all_stores || !store_inner_[s]) store_everywhere(nest_->stores[s], frames);
}

// --- reductions

std::vector<KernelEmitter::Accumulator> KernelEmitter::accumulators(size_t copies) {
  std::vector<Accumulator> all;
  ScalarCode& code = lane_axis_ ? *wide_ : *narrow_;
  for (Ssa i = 0; i < nest_->body.size(); ++i) {
    const Instr& instr = nest_->body[i];
    if (!combines(instr)) continue;
    Accumulator made{i, {}};
    State start = identity_code(code, instr.combine, instr.dtype);
    for (size_t c = 0; c < copies; ++c) {
      made.parts.emplace_back();
      for (const Lanes& part : start)
        for (llvm::Value* v : {part.value, part.imaginary}) {
          if (!v) continue;
          llvm::Value* slot = alloca_at_entry(v->getType());
          b_.CreateStore(v, slot);
          made.parts.back().push_back(slot);
        }
    }
    all.push_back(std::move(made));
  }
  return all;
}

State KernelEmitter::read(const Accumulator& a, size_t copy) {
  const Instr& instr = nest_->body[a.at];
  State state;
  size_t slot = 0;
  for (uint32_t p = 0; p < loops::row_of(instr.combine).parts; ++p) {
    auto get = [&] {
      auto* from = llvm::cast<llvm::AllocaInst>(a.parts[copy][slot++]);
      return static_cast<llvm::Value*>(b_.CreateLoad(from->getAllocatedType(), from));
    };
    Lanes lanes{get()};
    if (is_complex(loops::part_dtype(instr.combine, instr.dtype, p))) lanes.imaginary = get();
    state.push_back(lanes);
  }
  return state;
}

namespace {
// A product that only this sum reads is added as it is, in one instruction where the target has one. Said so, not
// allowed: what code generation makes of a permission hangs on what else stands in the block, and one kernel has
// several copies of a loop, of which caches and cores choose.
llvm::Value* with_its_product(llvm::IRBuilder<>& b, llvm::Value* sum) {
  auto* add = llvm::dyn_cast_or_null<llvm::BinaryOperator>(sum);
  if (!add || add->getOpcode() != llvm::Instruction::FAdd || !add->use_empty()) return sum;
  const llvm::Type* number = add->getType()->getScalarType();
  if (!number->isFloatTy() && !number->isDoubleTy()) return sum;
  for (unsigned at : {0U, 1U}) {
    auto* product = llvm::dyn_cast<llvm::BinaryOperator>(add->getOperand(at));
    if (!product || product->getOpcode() != llvm::Instruction::FMul || !product->hasOneUse()) continue;
    llvm::Value* made = b.CreateIntrinsic(llvm::Intrinsic::fma, {add->getType()},
                                          {product->getOperand(0), product->getOperand(1), add->getOperand(1 - at)});
    add->eraseFromParent();
    return made;
  }
  return sum;
}
}  // namespace

// `masked`: lanes of the frame that there are not leave the state as it was.
State KernelEmitter::take_in(const Accumulator& a, Frame& f, size_t copy, bool masked) {
  const Instr& instr = nest_->body[a.at];
  ScalarCode& code = lane_axis_ ? *wide_ : *narrow_;
  State before = read(a, copy), after = combine_code(code, instr.combine, instr.dtype, before, element(a.at, f));
  if (target_.fma && !after[0].imaginary) after[0].value = with_its_product(b_, after[0].value);
  if (f.mask && masked)
    for (size_t p = 0; p < after.size(); ++p) after[p] = select_code(code, f.mask.lanes, after[p], before[p]);
  write(a, copy, after);
  return after;
}

void KernelEmitter::write(const Accumulator& a, size_t copy, const State& state) {
  size_t slot = 0;
  for (const Lanes& part : state)
    for (llvm::Value* v : {part.value, part.imaginary})
      if (v) b_.CreateStore(v, a.parts[copy][slot++]);
}

State KernelEmitter::element(Ssa at, Frame& f) {
  const Instr& instr = nest_->body[at];
  std::vector<Lanes> operands;
  for (Ssa operand : instr.operands) operands.push_back(as(f.values[operand], lane_axis_ != nullptr));
  return one_code(lane_axis_ ? *wide_ : *narrow_, instr.combine, instr.dtype, operands);
}

void KernelEmitter::finish_reduce(Ssa at, Frame& f, State state, bool wide) {
  f.values[at] = {state[0], wide};
  f.states[at] = std::move(state);
}

// All lanes' states as one, of scalars.
State KernelEmitter::across_lanes(const Instr& instr, State state) {
  for (int half = lanes_ / 2; half > 0; half /= 2) {
    std::vector<int> from;
    for (int i = 0; i < lanes_; ++i) from.push_back(i < half ? i + half : i);
    auto upper = [&](llvm::Value* v) { return v ? b_.CreateShuffleVector(v, from) : nullptr; };
    State other;
    for (const Lanes& part : state) other.push_back({upper(part.value), upper(part.imaginary)});
    state = combine_code(*wide_, instr.combine, instr.dtype, state, other);
  }
  State made;
  auto first = [&](llvm::Value* v) { return v ? b_.CreateExtractElement(v, uint64_t{0}) : nullptr; };
  for (const Lanes& part : state) made.push_back({first(part.value), first(part.imaginary)});
  return made;
}

llvm::Value* KernelEmitter::alloca_at_entry(llvm::Type* type) {
  llvm::IRBuilder<> at(&function_->getEntryBlock(), function_->getEntryBlock().begin());
  return at.CreateAlloca(type);
}

}  // namespace lenz::native
