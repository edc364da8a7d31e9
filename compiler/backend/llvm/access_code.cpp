// What a nest's body computes, and how it gets at memory.
#include <algorithm>
#include <bit>
#include <limits>

#include "compiler/backend/llvm/kernel_emitter.h"
#include "compiler/loops/index_algebra.h"
#include "compiler/loops/tensor.h"

namespace lenz::native {

namespace {
constexpr uint64_t kLeastPast = 16;  // bytes that machines store past their caches at once
}

using loops::BufferId;
using loops::Instr;
using loops::InstrKind;
using loops::Ssa;
using loops::Store;

// --- instructions

Lanes KernelEmitter::as(const Val& v, bool wide) {
  if (v.wide || !wide) return v.lanes;
  auto splat = [&](llvm::Value* x) { return x ? b_.CreateVectorSplat(static_cast<unsigned>(lanes_), x) : nullptr; };
  return {splat(v.lanes.value), splat(v.lanes.imaginary)};
}

void KernelEmitter::instruction(Ssa at, Frame& f) {
  const Instr& i = nest_->body[at];
  Val& made = f.values[at];
  switch (i.kind) {
    case InstrKind::constant: made = {narrow_->constant(i.dtype, i.value), false}; return;
    case InstrKind::index: {
      llvm::Value* value = f.dims(at_points(i.index[0]));
      made = {{value}, value->getType()->isVectorTy()};
      return;
    }
    case InstrKind::load: made = load(i, f); return;
    case InstrKind::scalar: made = late_rounded_[at] ? f.values[i.operands[0]] : scalar(at, f); return;
    case InstrKind::position: made = position(i, f); return;
    case InstrKind::part: made = {f.states.at(i.operands[0]).at(i.part), f.values[i.operands[0]].wide}; return;
    case InstrKind::draw: made = draw(i, f); return;
    case InstrKind::reduce:
    case InstrKind::scan: break;
  }
  internal_error("an instruction out of its place", __FILE__, __LINE__);
}

KernelEmitter::Val KernelEmitter::scalar(Ssa at, Frame& f) {
  const Instr& i = nest_->body[at];
  if (const auto run = i.dtype == Dtype::b8 ? run_of(at, f) : std::nullopt) {
    f.runs.insert_or_assign(at, *run);
    return {{lanes_of(*run)}, true};
  }
  f.runs.erase(at);
  if (chosen_[at] != kNone) return f.values[chosen_[at]];
  bool wide = false;
  for (Ssa operand : i.operands) wide = wide || f.values[operand].wide;
  std::vector<Lanes> operands;
  for (Ssa operand : i.operands) operands.push_back(as(f.values[operand], wide));
  llvm::Value* raised = nullptr;
  Val made{
      (wide ? *wide_ : *narrow_).apply(*i.row, i.compute, result_dtype(*i.row, i.compute, i.dtype), operands, &raised),
      wide};
  if (raised) {
    if (wide && f.mask) raised = b_.CreateAnd(raised, f.mask.lanes);
    leave_if(raised, KernelStatus::division_by_zero);
  }
  return made;
}

KernelEmitter::Val KernelEmitter::position(const Instr& i, Frame& f) {
  const Val& operand = f.values[i.operands[0]];
  const bool wide = operand.wide || (i.mask != kNone && f.values[i.mask].wide);
  const Dtype dtype = nest_->body[i.operands[0]].dtype;
  llvm::Value* given = as(operand, wide).value;
  // Numbers that were 32 bits wide are looked at as such: twice as many are in a vector.
  auto* widened = llvm::dyn_cast<llvm::SExtInst>(given);
  const bool half = widened && widened->getSrcTy()->getScalarSizeInBits() == 32 && i.extent.is_constant() &&
                    i.extent.constant() <= std::numeric_limits<int32_t>::max();
  auto of_width = [&](llvm::Type* one) -> llvm::Type* {
    return wide ? llvm::FixedVectorType::get(one, static_cast<unsigned>(lanes_)) : one;
  };
  llvm::Type* type = of_width(half ? b_.getInt32Ty() : b_.getInt64Ty());
  if (half) {
    given = widened->getOperand(0);
  } else {
    given = dtype == Dtype::u8 || dtype == Dtype::b8 ? b_.CreateZExt(given, type) : b_.CreateSExtOrTrunc(given, type);
  }
  llvm::Value* extent = half ? b_.getInt32(static_cast<uint32_t>(i.extent.constant())) : f.dims(i.extent);
  if (wide && !extent->getType()->isVectorTy()) extent = b_.CreateVectorSplat(static_cast<unsigned>(lanes_), extent);
  llvm::Value* zero = llvm::Constant::getNullValue(type);
  llvm::Value* low = i.wraps ? b_.CreateNeg(extent) : zero;
  llvm::Value* bad = b_.CreateOr(b_.CreateICmpSLT(given, low), b_.CreateICmpSGE(given, extent));
  llvm::Value* at = b_.CreateSelect(b_.CreateICmpSLT(given, zero), b_.CreateAdd(given, extent), given);
  if (i.mask != kNone) {
    llvm::Value* mask = as(f.values[i.mask], wide).value;
    bad = b_.CreateAnd(bad, mask);
    at = b_.CreateSelect(mask, at, zero);
  }
  if (wide && f.mask) {
    bad = b_.CreateAnd(bad, f.mask.lanes);
    at = b_.CreateSelect(f.mask.lanes, at, zero);
  }
  leave_if(bad, KernelStatus::index_out_of_range);
  if (half) at = b_.CreateSExt(at, of_width(b_.getInt64Ty()));
  f.dims.bind(i.symbol, at);
  return {{at}, wide};
}

KernelEmitter::Val KernelEmitter::draw(const Instr& i, Frame& f) {
  llvm::Value* element = f.dims(i.index[0]);
  const auto stream = static_cast<size_t>(std::ranges::find(arguments_.streams, i.stream) - arguments_.streams.begin());
  const bool wide = element->getType()->isVectorTy();
  return {(wide ? *wide_ : *narrow_)
              .draw(i.draw, i.dtype, streams_[2 * stream], streams_[2 * stream + 1], element,
                    wide && draws_in(i.index[0]) == Draws::in_blocks),
          wide};
}

void KernelEmitter::everywhere(Ssa at, std::vector<Frame>& frames) {
  const Instr& i = nest_->body[at];
  if (frames.size() >= 2 && i.kind == InstrKind::draw && frames[0].dims.varies(i.index[0]))
    if (const Draws in = draws_in(i.index[0]); in != Draws::anywhere) return draw_everywhere(at, in, frames);
  if (frames.size() >= 2 && i.kind == InstrKind::load && i.mask == kNone) return load_everywhere(at, frames);
  if (frames.size() >= 2 && rounds(i) && !late_rounded_[at]) return round_everywhere(at, frames);
  if (i.kind == InstrKind::scalar) return side_by_side(at, frames);
  for (Frame& f : frames) instruction(at, f);
}

// Frames by twos, what one does beside what the other does: processors look only so far ahead for what does not wait
// for the results before it.
void KernelEmitter::side_by_side(Ssa at, std::vector<Frame>& frames) {
  for (size_t f = 0; f < frames.size(); ++f) {
    llvm::BasicBlock* here = b_.GetInsertBlock();
    const size_t before = here->size();
    instruction(at, frames[f]);
    if (f % 2 == 0 && f + 1 < frames.size()) {
      const size_t between = here->size();
      const bool straight = b_.GetInsertBlock() == here;
      instruction(at, frames[++f]);
      const size_t count = between - before;
      if (!straight || b_.GetInsertBlock() != here || here->size() - between != count) continue;
      auto first = std::next(here->begin(), static_cast<ptrdiff_t>(before));
      auto second = std::next(here->begin(), static_cast<ptrdiff_t>(between));
      for (size_t k = 0; k < count; ++k) {
        llvm::Instruction& moved = *second++;
        moved.moveAfter(&*first);
        first = std::next(first, 2);
      }
    }
  }
}

// Two vectors by one conversion, and back.
void KernelEmitter::round_everywhere(Ssa at, std::vector<Frame>& frames) {
  const Instr& i = nest_->body[at];
  const bool packed = wide_->stores_pairs(i.dtype) && wide_->loads_pairs(i.dtype);
  size_t f = 0;
  for (; (packed || wide_->rounds_words(i.dtype)) && f + 1 < frames.size(); f += 2) {
    const Val &first = frames[f].values[i.operands[0]], &second = frames[f + 1].values[i.operands[0]];
    if (!first.wide || !second.wide) break;
    const std::array<Lanes, 2> made =
        packed ? wide_->load_convert_pair(i.dtype, wide_->store_convert_pair(i.dtype, first.lanes, second.lanes))
               : wide_->round_words(first.lanes, second.lanes);
    for (size_t k = 0; k < 2; ++k) frames[f + k].values[at] = {made[k], true};
  }
  for (; f < frames.size(); ++f) instruction(at, frames[f]);
}

void KernelEmitter::draw_everywhere(Ssa at, Draws drawn_in, std::vector<Frame>& frames) {
  const Instr& i = nest_->body[at];
  const auto stream = static_cast<size_t>(std::ranges::find(arguments_.streams, i.stream) - arguments_.streams.begin());
  const std::vector<Lanes> drawn =
      wide_->draw_together(i.draw, i.dtype, streams_[2 * stream], streams_[2 * stream + 1], frames[0].dims(i.index[0]),
                           static_cast<int>(frames.size()), drawn_in == Draws::in_blocks);
  for (size_t f = 0; f < frames.size(); ++f) frames[f].values[at] = {drawn[f], true};
}

KernelEmitter::Draws KernelEmitter::draws_in(Dim element) {
  auto stride = along_lanes().space.stride(element, 0);
  if (!stride || !stride->is(1) || lanes_ % 4 != 0) return Draws::anywhere;
  return facts_->proves(eq(mod(at_first_point(at_points(element)), 4), 0)) ? Draws::in_blocks : Draws::in_order;
}

Dim KernelEmitter::at_first_point(Dim dim) const {
  return substitute(dim, program_.context->syms, [&](const SymNode* s) -> std::optional<Dim> {
    return s == lane_axis_->symbol.node() ? std::optional(Dim(0)) : std::nullopt;
  });
}

// What a number is at the points of the nest: the ends of windows that are whole at all of them, say.
Dim KernelEmitter::at_points(Dim dim) {
  if (!points_ || dim.is_constant() || points_->linear(dim)) return dim;
  for (const auto& [known, simplified] : at_points_)
    if (known == dim) return simplified;
  return at_points_.emplace_back(dim, points_->simplify(dim)).second;
}

// --- memory

Dim KernelEmitter::address_of(BufferId id, const DimVec& index) const {
  return native::address_of(program_, arguments_, id, index);
}

KernelEmitter::AlongLanes& KernelEmitter::along_lanes() const {
  const loops::Axis& axis = *lane_axis_;
  if (!along_lanes_ || along_lanes_->axis.symbol != axis.symbol || along_lanes_->axis.extent != axis.extent ||
      along_lanes_->lanes != lanes_) {
    along_lanes_.reset();
    along_lanes_.emplace(AlongLanes{axis, lanes_, loops::IndexSpace(program_.context->syms, *facts_), {}});
    along_lanes_->space.add_axis(axis.symbol, axis.extent);
  }
  return *along_lanes_;
}

const KernelEmitter::InLanes& KernelEmitter::in_lanes_at(Dim address, bool from_whole_vectors) const {
  AlongLanes& along = along_lanes();
  for (const InLanes& known : along.addresses)
    if (known.address == address && known.from_whole_vectors == from_whole_vectors) return known;
  InLanes made{address, from_whole_vectors, apart(address, from_whole_vectors), 0, std::nullopt};
  if (!made.apart.empty()) {
    made.of_first = along.space.simplify(address);
    if (const auto stride = along.space.stride(address, 0); stride && stride->is_constant())
      made.stride = stride->constant();
  }
  return along.addresses.emplace_back(std::move(made));
}

// Whether all places of a buffer are numbers of 32 bits.
bool KernelEmitter::fits_half(BufferId id) const {
  const loops::Buffer& b = program_.buffers[id];
  if (is_complex(b.type.dtype)) return false;  // each of them is two
  auto constants = [](const DimVec& dims) -> std::optional<loops::Ints> {
    loops::Ints made;
    for (Dim d : dims) {
      if (!d.is_constant()) return std::nullopt;
      made.push_back(d.constant());
    }
    return made;
  };
  const auto sizes = constants(b.type.sizes);
  if (!sizes) return false;
  const auto strides = b.placed || b.local ? constants(b.type.strides) : loops::contiguous_strides(*sizes);
  if (!strides || strides->size() != sizes->size()) return false;
  const auto elements = loops::elements_needed(*sizes, *strides, 0);
  return elements && *elements <= std::numeric_limits<int32_t>::max();
}

namespace {
// What a number is added to, and that number.
std::pair<llvm::Value*, int64_t> without_constant(llvm::Value* of) {
  auto* sum = llvm::dyn_cast<llvm::BinaryOperator>(of);
  if (!sum || sum->getOpcode() != llvm::Instruction::Add) return {of, 0};
  auto* number = llvm::dyn_cast<llvm::ConstantInt>(sum->getOperand(1));
  return number ? std::pair(sum->getOperand(0), number->getSExtValue()) : std::pair(of, int64_t{0});
}
}  // namespace

KernelEmitter::Place KernelEmitter::place(BufferId id, const DimVec& index, Frame& f) {
  const Dim address = address_of(id, index);
  const bool varies = std::ranges::any_of(index, [&](Dim d) { return f.dims.varies(d); });
  if (!lane_axis_) return {.address = f.dims(points_ ? points_->simplify(address) : address)};
  if (!varies) return {.address = f.dims(at_points(address))};
  DimCode first = f.dims;
  first.bind(lane_axis_->symbol, f.base);
  if (first.varies(address))  // positions, too
    return {.address = fits_half(id) ? f.dims.as_half(address) : f.dims(address)};
  const InLanes& known = in_lanes_at(address, f.whole_vectors);
  const std::vector<int64_t>& lanes = known.apart;
  if (lanes.empty()) return {.address = f.dims(at_points(address)), .by_coordinates = true};
  // Vectors of one turn lie a number of elements apart: each has its place by the first one's.
  int64_t further = 0;
  if (const auto [turn, points] = without_constant(f.base); known.stride && points != 0) {
    first.bind(lane_axis_->symbol, turn);
    further = *known.stride * points;
  }
  llvm::Value* of_first = b_.CreateAdd(first(known.of_first), b_.getInt64(static_cast<uint64_t>(further)));
  auto steps_of = [&](int64_t step) {
    return std::ranges::adjacent_find(lanes, [&](int64_t a, int64_t b) { return b != a + step; }) == lanes.end();
  };
  if (steps_of(0)) return {.address = of_first};
  if (steps_of(1)) return {.address = of_first, .consecutive = true, .runs_on = known.stride == 1};
  return {.address = of_first, .apart = lanes};
}

llvm::Value* KernelEmitter::pointer(BufferId id, llvm::Value* address, int part) {
  const Dtype dtype = dtype_of(id);
  if (is_complex(dtype)) {
    llvm::Value* two =
        address->getType()->isVectorTy()
            ? static_cast<llvm::Value*>(b_.CreateVectorSplat(static_cast<unsigned>(lanes_), b_.getInt64(2)))
            : b_.getInt64(2);
    address = b_.CreateMul(address, two);
    if (part) address = b_.CreateAdd(address, llvm::ConstantInt::get(address->getType(), 1));
  }
  // A number of elements by itself: what has only that apart shares all else, and instructions have room for it.
  const auto [start, further] = without_constant(address);
  llvm::Value* made = b_.CreateGEP(narrow_->memory_type(dtype), pointers_.at(id), start);
  return further == 0 ? made
                      : b_.CreateGEP(narrow_->memory_type(dtype), made, b_.getInt64(static_cast<uint64_t>(further)));
}

llvm::Align KernelEmitter::alignment(BufferId id) const {
  return llvm::Align(static_cast<uint64_t>(item_size(to_real(dtype_of(id)))));
}

KernelEmitter::Val KernelEmitter::load(const Instr& i, Frame& f) {
  if (auto made = through_window(i, f)) return *made;
  const Place at = place(i.buffer, i.index, f);
  const bool masked = i.mask != kNone;
  bool wide = at.wide() || (masked && f.values[i.mask].wide);
  Mask mask = wide ? f.mask : Mask{};
  // One truth of all lanes is a branch where elements are too short for vectors with masks.
  const bool short_items = info(dtype_of(i.buffer)).bits < 32 && !wide_->target().avx512;
  const bool as_one = masked && at.wide() && at.consecutive && short_items && !f.values[i.mask].wide;
  if (masked && !as_one) mask = both(mask, mask_of(i.mask, wide, f));
  if (wide && !at.wide() && mask) return load_for_some(i, at, mask);
  wide = wide && at.wide();  // its mask holds of all lanes
  ScalarCode& code = wide ? *wide_ : *narrow_;
  const Ssa other = otherwise_[static_cast<size_t>(&i - nest_->body.data())];
  llvm::Value* otherwise = other == kNone ? nullptr : code.constant(i.dtype, nest_->body[other].value).value;
  if (as_one) {
    auto vector = [&] { return fetch(i.buffer, at, wide, mask, otherwise).value; };
    llvm::Value* none = otherwise ? otherwise : llvm::Constant::getNullValue(code.memory_type(dtype_of(i.buffer)));
    return {code.load_convert(dtype_of(i.buffer), {guarded(as(f.values[i.mask], false).value, none, vector)}), wide};
  }
  Lanes read = fetch(i.buffer, at, wide, mask, otherwise);
  // An element of several lanes is read for those that want it, and is there for the others.
  if (otherwise && mask && at.shared()) read.value = b_.CreateSelect(mask.lanes, read.value, otherwise);
  return {code.load_convert(dtype_of(i.buffer), read), wide};
}

// One element, which some of the lanes want.
KernelEmitter::Val KernelEmitter::load_for_some(const Instr& i, const Place& at, const Mask& mask) {
  const Dtype dtype = dtype_of(i.buffer);
  const Ssa other = otherwise_[static_cast<size_t>(&i - nest_->body.data())];
  llvm::Value* otherwise = llvm::Constant::getNullValue(wide_->memory_type(dtype));
  if (other != kNone) otherwise = wide_->constant(i.dtype, nest_->body[other].value).value;
  Lanes read = fetch(i.buffer, at, false, {b_.CreateOrReduce(mask.lanes)});
  const auto count = static_cast<unsigned>(wide_->lanes());
  auto spread = [&](llvm::Value* v) { return b_.CreateSelect(mask.lanes, b_.CreateVectorSplat(count, v), otherwise); };
  read.value = spread(read.value);
  if (read.imaginary != nullptr) read.imaginary = spread(read.imaginary);
  return {wide_->load_convert(dtype, read), true};
}

void KernelEmitter::load_everywhere(Ssa at, std::vector<Frame>& frames) {
  const Instr& i = nest_->body[at];
  const Dtype dtype = dtype_of(i.buffer);
  // What tables tell of places through windows has no numbers of its own there.
  const bool by_twos = lane_axis_ && (even_and_odd_ || wide_->loads_pairs(dtype)) && !window_of(i);
  size_t f = 0;
  for (; by_twos && f + 1 < frames.size(); f += 2) {
    const Place first = place(i.buffer, i.index, frames[f]);
    if (!first.runs_on || frames[f].mask || frames[f + 1].mask) break;
    llvm::Value* both =
        b_.CreateAlignedLoad(pair_type(i.buffer), pointer(i.buffer, first.address, 0), alignment(i.buffer));
    const std::array<Lanes, 2> made =
        even_and_odd_ ? wide_->load_even_and_odd(both, mostly_adds_) : wide_->load_convert_pair(dtype, both);
    for (size_t k = 0; k < 2; ++k) frames[f + k].values[at] = {made[k], true};
  }
  for (; f < frames.size(); ++f) instruction(at, frames[f]);
}

Lanes KernelEmitter::fetch(BufferId id, const Place& at, bool wide, const Mask& mask, llvm::Value* otherwise) {
  const Dtype dtype = dtype_of(id);
  llvm::Type* type = (wide ? *wide_ : *narrow_).memory_type(dtype);
  if (!otherwise) otherwise = llvm::Constant::getNullValue(type);
  auto part = [&](int p) -> llvm::Value* {
    if (!wide) {
      llvm::Value* from = pointer(id, at.address, p);
      if (!mask) return b_.CreateAlignedLoad(type, from, alignment(id));
      return guarded(mask.lanes, otherwise, [&] { return b_.CreateAlignedLoad(type, from, alignment(id)); });
    }
    if (at.consecutive && !is_complex(dtype)) {
      llvm::Value* from = pointer(id, at.address, p);
      if (!mask) return b_.CreateAlignedLoad(type, from, alignment(id));
      return load_under(mask, type, from, alignment(id), otherwise);
    }
    auto scattered = [&] { return gather(id, type, spread(at), p, mask.lanes, otherwise); };
    Place neighbours;
    llvm::Value* are = is_complex(dtype) ? nullptr : as_neighbours(at, mask.lanes, neighbours);
    return are ? either(
                     are, [&] { return fetch(id, neighbours, wide, mask, otherwise).value; }, scattered)
               : scattered();
  };
  if (wide && (is_complex(dtype) ? at.wide() : !at.apart.empty()))
    if (const std::vector<llvm::Value*> parts = pick(id, at, mask, otherwise); !parts.empty())
      return {parts[0], parts.size() > 1 ? parts[1] : nullptr};
  Lanes made{part(0)};
  if (is_complex(dtype)) made.imaginary = part(1);
  return made;
}

// Whether lanes whose addresses come of coordinates follow one another here, and their place if so: as within the rows
// of what is padded by reflection, or rolled. Null: nobody asks.
llvm::Value* KernelEmitter::as_neighbours(const Place& at, llvm::Value* mask, Place& neighbours) {
  if (!at.by_coordinates) return nullptr;
  neighbours.address = b_.CreateExtractElement(at.address, uint64_t{0});
  neighbours.consecutive = true;
  llvm::Value* follow = b_.CreateICmpEQ(at.address, spread(neighbours));
  return b_.CreateAndReduce(mask ? b_.CreateOr(follow, b_.CreateNot(mask)) : follow);
}

llvm::Value* KernelEmitter::either(llvm::Value* condition, const std::function<llvm::Value*()>& yes,
                                   const std::function<llvm::Value*()>& no) {
  auto *if_so = block("yes"), *if_not = block("no"), *after = block("after");
  b_.CreateCondBr(condition, if_so, if_not);
  std::array<std::pair<llvm::Value*, llvm::BasicBlock*>, 2> made;
  for (size_t k = 0; k < 2; ++k) {
    b_.SetInsertPoint(k == 0 ? if_so : if_not);
    made[k].first = (k == 0 ? yes : no)();
    made[k].second = b_.GetInsertBlock();
    b_.CreateBr(after);
  }
  b_.SetInsertPoint(after);
  if (!made[0].first) return nullptr;
  auto* phi = b_.CreatePHI(made[0].first->getType(), 2);
  for (const auto& [value, from] : made) phi->addIncoming(value, from);
  return phi;
}

// Each lane's address.
llvm::Value* KernelEmitter::spread(const Place& at) {
  if (at.address->getType()->isVectorTy()) return at.address;
  llvm::Value* all = b_.CreateVectorSplat(static_cast<unsigned>(lanes_), at.address);
  if (!at.wide()) return all;
  std::vector<llvm::Constant*> numbers;
  for (int k = 0; k < lanes_; ++k)
    numbers.push_back(b_.getInt64(static_cast<uint64_t>(at.consecutive ? k : at.apart[static_cast<size_t>(k)])));
  return b_.CreateAdd(all, llvm::ConstantVector::get(numbers));
}

llvm::Value* KernelEmitter::guarded(llvm::Value* condition, llvm::Value* otherwise,
                                    const std::function<llvm::Value*()>& make) {
  auto *before = b_.GetInsertBlock(), *yes = block("yes"), *after = block("after");
  b_.CreateCondBr(condition, yes, after);
  b_.SetInsertPoint(yes);
  llvm::Value* made = make();
  auto* from = b_.GetInsertBlock();
  b_.CreateBr(after);
  b_.SetInsertPoint(after);
  auto* phi = b_.CreatePHI(made->getType(), 2);
  phi->addIncoming(made, from);
  phi->addIncoming(otherwise, before);
  return phi;
}

// What a store makes of an element and a value; none: it takes its place.
static std::optional<loops::Combine> combine_of(loops::StoreMode mode) {
  switch (mode) {
    case loops::StoreMode::assign:
    case loops::StoreMode::scatter: return std::nullopt;
    case loops::StoreMode::add: return loops::Combine::sum;
    case loops::StoreMode::multiply: return loops::Combine::product;
    case loops::StoreMode::minimum: return loops::Combine::minimum;
    case loops::StoreMode::maximum: return loops::Combine::maximum;
    case loops::StoreMode::any: return loops::Combine::any;
  }
  internal_error("a store of an unknown mode", __FILE__, __LINE__);
}

// Lanes that combine with what is there are at different places, which the verifier has seen to.
void KernelEmitter::store(const Store& s, Frame& f) {
  const Dtype dtype = dtype_of(s.buffer);
  const Place at = place(s.buffer, s.index, f);
  const bool wide = at.wide();
  ScalarCode& code = wide ? *wide_ : *narrow_;
  const Val& value = f.values[s.value];
  // Lanes whose place does not vary, where points have places of their own: there is one point, in the first lane of
  // the first vector. Others may have none.
  auto first = [&](llvm::Value* v) {
    return !wide && v && v->getType()->isVectorTy() ? b_.CreateExtractElement(v, uint64_t{0}) : v;
  };
  Mask mask = f.mask;
  mask.lanes = first(mask.lanes);
  if (s.mask != kNone) {
    Mask only = mask_of(s.mask, wide, f);
    only.lanes = first(only.lanes);
    mask = both(mask, only);
  }
  Lanes made = as(value, wide);
  made.value = first(made.value);
  made.imaginary = first(made.imaginary);
  if (auto combine = combine_of(s.mode)) {
    const State there{code.load_convert(dtype, fetch(s.buffer, at, wide, mask))};
    made = combine_code(code, *combine, program_.buffers[s.buffer].type.dtype, there, {made})[0];
  }
  put(s.buffer, at, wide, mask, code.store_convert(dtype, made, s.mode == loops::StoreMode::assign && fits_[s.value]));
}

void KernelEmitter::store_everywhere(const Store& s, std::vector<Frame>& frames) {
  const Dtype dtype = dtype_of(s.buffer);
  const bool fits = fits_[s.value];
  const bool plain = lane_axis_ && s.mask == kNone && s.mode == loops::StoreMode::assign && !is_complex(dtype);
  auto whole = [&](size_t f) { return plain && f < frames.size() && !frames[f].mask; };
  auto value = [&](size_t f) { return as(frames[f].values[s.value], true); };
  std::vector<Stored> stored;
  size_t f = 0;
  while (whole(f)) {
    const Place at = place(s.buffer, s.index, frames[f]);
    if (!at.consecutive) break;
    if (even_and_odd_ && dtype == Dtype::f32) {
      const Place next = place(s.buffer, s.index, frames[f + 1]);
      const std::array<Lanes, 2> both = wide_->in_order(value(f), value(f + 1));
      stored.push_back({both[0].value, pointer(s.buffer, at.address, 0)});
      stored.push_back({both[1].value, pointer(s.buffer, next.address, 0)});
      f += 2;
      continue;
    }
    const bool pair = even_and_odd_ || (!fits && at.runs_on && wide_->stores_pairs(dtype) && whole(f + 1));
    llvm::Value* vector = even_and_odd_ ? store_even_and_odd(s, frames[f], frames[f + 1])
                          : pair        ? wide_->store_convert_pair(dtype, value(f), value(f + 1))
                                        : wide_->store_convert(dtype, value(f), fits).value;
    stored.push_back({vector, pointer(s.buffer, at.address, 0)});
    f += pair ? 2 : 1;
  }
  if (!stored.empty()) put_vectors(s.buffer, stored);
  for (; f < frames.size(); ++f) store(s, frames[f]);
}

void KernelEmitter::put_vectors(BufferId id, std::span<const Stored> all) {
  auto near = [&] {
    for (const Stored& s : all) b_.CreateAlignedStore(s.vector, s.to, alignment(id));
  };
  const auto far = far_.find(id);
  const uint64_t bytes = ir_.module->getDataLayout().getTypeStoreSize(all[0].vector->getType()).getFixedValue();
  if (far == far_.end() || !target_.stores_past_caches || !std::has_single_bit(bytes) || bytes < kLeastPast)
    return near();
  llvm::Value* places = nullptr;
  for (const Stored& s : all) {
    llvm::Value* place = b_.CreatePtrToInt(s.to, b_.getInt64Ty());
    places = places ? b_.CreateOr(places, place) : place;
  }
  llvm::Value* aligned = b_.CreateICmpEQ(b_.CreateAnd(places, b_.getInt64(bytes - 1)), b_.getInt64(0));
  auto *past = block("past"), *through = block("through"), *after = block("after");
  b_.CreateCondBr(b_.CreateAnd(far->second, aligned), past, through);
  b_.SetInsertPoint(past);
  for (const Stored& s : all)
    b_.CreateAlignedStore(s.vector, s.to, llvm::Align(bytes))
        ->setMetadata(llvm::LLVMContext::MD_nontemporal,
                      llvm::MDNode::get(*ir_.context, llvm::ConstantAsMetadata::get(b_.getInt32(1))));
  b_.CreateBr(after);
  b_.SetInsertPoint(through);
  near();
  b_.CreateBr(after);
  b_.SetInsertPoint(after);
}

void KernelEmitter::put(BufferId id, const Place& at, bool wide, const Mask& mask, const Lanes& stored) {
  const Dtype dtype = dtype_of(id);
  auto part = [&](int p, llvm::Value* v) {
    if (!wide) {
      llvm::Value* to = pointer(id, at.address, p);
      auto put = [&] { b_.CreateAlignedStore(v, to, alignment(id)); };
      if (!mask) return put();
      return only_if(mask.lanes, put);
    }
    if (at.consecutive && !is_complex(dtype)) {
      llvm::Value* to = pointer(id, at.address, p);
      if (mask) {
        store_under(mask, v, to, alignment(id));
      } else {
        const Stored one[] = {{v, to}};
        put_vectors(id, one);
      }
      return;
    }
    auto scatter = [&]() -> llvm::Value* {
      b_.CreateMaskedScatter(v, pointer(id, spread(at), p), alignment(id), mask.lanes);
      return nullptr;
    };
    Place neighbours;
    llvm::Value* are = is_complex(dtype) ? nullptr : as_neighbours(at, mask.lanes, neighbours);
    auto together = [&]() -> llvm::Value* {
      put(id, neighbours, wide, mask, stored);
      return nullptr;
    };
    if (are)
      either(are, together, scatter);
    else
      scatter();
  };
  if (wide && (is_complex(dtype) ? at.wide() : !at.apart.empty())) {
    std::vector<llvm::Value*> parts{stored.value};
    if (is_complex(dtype)) parts.push_back(stored.imaginary);
    if (put_together(id, at, mask, parts)) return;
  }
  part(0, stored.value);
  if (is_complex(dtype)) part(1, stored.imaginary);
}

}  // namespace lenz::native
