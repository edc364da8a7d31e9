// Masks of lanes that follow one another, as conditions on coordinates make them that go up or down by a fixed step
// from lane to lane: bounds, which scalar units work out for all lanes at once, where comparing takes a vector of
// 64-bit numbers or several. What is known so tells of neighbours in memory, too, which of them lanes are at.
#include <algorithm>
#include <bit>
#include <cstdlib>
#include <numeric>

#include "compiler/backend/llvm/kernel_emitter.h"
#include "compiler/loops/conditions.h"

namespace lenz::native {

using loops::Instr;
using loops::Ssa;

namespace {
constexpr int64_t kMostStep = 1 << 20;

// Null: it does.
llvm::Value* both_hold(llvm::IRBuilder<>& b, llvm::Value* x, llvm::Value* y) {
  return !x ? y : !y ? x : b.CreateAnd(x, y);
}
}  // namespace

// Whether a condition, told as `difference` and zero, is known to hold at every point of this copy of the body.
bool KernelEmitter::holds_everywhere(Dim difference, const Cond& cond, const Frame& f) const {
  const Dim here = substitute(difference, program_.context->syms, [&](const SymNode* s) -> std::optional<Dim> {
    if (!f.dims.bound(Dim(s))) return std::nullopt;
    const auto* known = llvm::dyn_cast<llvm::ConstantInt>(f.dims.value_of(Dim(s)));
    return known ? std::optional(Dim(known->getSExtValue())) : std::nullopt;
  });
  const std::optional<int64_t> most = points_->range(here).high;
  return most && (cond.rel == Rel::le ? *most <= 0 : cond.rel == Rel::lt && *most < 0);
}

// Nothing where lanes have no hand in it, or data, or coordinates that lie at no fixed step.
std::optional<KernelEmitter::Run> KernelEmitter::run_where(const Cond& cond, const Frame& f) {
  if (!lane_axis_ || f.base == nullptr || cond.rel == Rel::ne) return std::nullopt;
  const Dim difference = cond.lhs - cond.rhs;
  if (!f.dims.varies(difference)) return std::nullopt;
  DimCode first = f.dims;
  first.bind(lane_axis_->symbol, f.base);
  if (first.varies(difference)) return std::nullopt;
  const InLanes& known = in_lanes_at(difference, false);
  if (known.apart.empty()) return std::nullopt;
  const int64_t step = known.apart[1] - known.apart[0], up = std::abs(step);
  if (step == 0 || up > kMostStep) return std::nullopt;
  if (holds_everywhere(difference, cond, f)) return Run{};
  // step * lane + d < 0, with a step below zero: |step| * lane >= d + 1, and so on.
  llvm::Value* d = first(known.of_first);
  auto bound = [&](int64_t further) {
    llvm::Value* by = b_.getInt64(static_cast<uint64_t>(further));
    return Bound{up, step > 0 ? b_.CreateSub(by, d) : b_.CreateAdd(d, by)};
  };
  if (cond.rel == Rel::eq) return Run{{bound(0)}, {bound(1)}};
  const bool strictly = cond.rel == Rel::lt;
  if (step > 0) return Run{{}, {bound(strictly ? 0 : 1)}};
  return Run{{bound(strictly ? 1 : 0)}, {}};
}

// Of a value that is a condition, or several of which one at least is a run and the others hold for all lanes or none.
std::optional<KernelEmitter::Run> KernelEmitter::run_of(Ssa at, const Frame& f) {
  const Instr& i = nest_->body[at];
  if (!loops::is_conjunction(i)) {
    const auto cond = loops::condition(*nest_, at);
    return cond ? run_where(*cond, f) : std::nullopt;
  }
  std::optional<Run> made;
  for (Ssa operand : i.operands)
    if (const auto known = f.runs.find(operand); known != f.runs.end())
      made = made ? both(*made, known->second) : known->second;
    else if (f.values[operand].wide)
      return std::nullopt;
  if (!made) return std::nullopt;
  for (Ssa operand : i.operands)
    if (!f.runs.contains(operand)) made->only = both_hold(b_, made->only, f.values[operand].lanes.value);
  return made;
}

KernelEmitter::Run KernelEmitter::both(const Run& a, const Run& b) {
  auto join = [&](std::vector<Bound> x, const std::vector<Bound>& y, bool greater) {
    for (const Bound& more : y) {
      auto same = std::ranges::find(x, more.step, &Bound::step);
      if (same == x.end())
        x.push_back(more);
      else if (same->number != more.number)
        same->number = further(greater, same->number, more.number);
    }
    return x;
  };
  return {join(a.least, b.least, true), join(a.below, b.below, false), both_hold(b_, a.only, b.only)};
}

KernelEmitter::Mask KernelEmitter::both(const Mask& a, const Mask& b) {
  if (!a) return b;
  if (!b) return a;
  if (a.run && b.run) return of(both(*a.run, *b.run));
  return {b_.CreateAnd(a.lanes, b.lanes)};
}

// Of numbers that are known, the greater or the lesser one: builders fold no intrinsics.
llvm::Value* KernelEmitter::further(bool greater, llvm::Value* a, llvm::Value* b) {
  const auto *x = llvm::dyn_cast<llvm::ConstantInt>(a), *y = llvm::dyn_cast<llvm::ConstantInt>(b);
  if (x && y) return (x->getSExtValue() > y->getSExtValue()) == greater ? a : b;
  return b_.CreateBinaryIntrinsic(greater ? llvm::Intrinsic::smax : llvm::Intrinsic::smin, a, b);
}

llvm::Value* KernelEmitter::within(llvm::Value* number, int64_t most) {
  return further(false, further(true, number, b_.getInt64(0)), b_.getInt64(static_cast<uint64_t>(most)));
}

// Of places that lie `step` apart, the first lane's at 0: the first one that is no less than a bound.
llvm::Value* KernelEmitter::place_at(const Bound& bound, int64_t step) {
  auto number = [&](int64_t n) { return b_.getInt64(static_cast<uint64_t>(n)); };
  if (bound.step == step && std::has_single_bit(static_cast<uint64_t>(step)))
    return b_.CreateAnd(b_.CreateAdd(bound.number, number(step - 1)), number(-step));
  llvm::Value* lane = within(bound.number, bound.step * lanes_);
  if (bound.step != 1) lane = b_.CreateUDiv(b_.CreateAdd(lane, number(bound.step - 1)), number(bound.step));
  return step == 1 ? lane : b_.CreateMul(lane, number(step));
}

// Where a run of lanes begins and ends in memory, whose elements lie `step` apart there; counted from `begin` on, where
// the first lane's is number 0 (of a step below zero the last lane's), within 0 and `count`. Null: with the lanes.
std::pair<llvm::Value*, llvm::Value*> KernelEmitter::ends_of(const Run& run, int64_t step, int64_t begin,
                                                             int64_t count) {
  const int64_t up = std::abs(step), last = (lanes_ - 1) * up;
  auto number = [&](int64_t n) { return b_.getInt64(static_cast<uint64_t>(n)); };
  auto furthest = [&](const std::vector<Bound>& bounds, bool greater) {
    llvm::Value* made = nullptr;
    for (const Bound& b : bounds) made = made ? further(greater, made, place_at(b, up)) : place_at(b, up);
    return made;
  };
  llvm::Value *least = furthest(run.least, true), *below = furthest(run.below, false);
  if (below && up != 1) below = b_.CreateAdd(below, number(1 - up));
  if (step < 0) {
    std::swap(least, below);
    for (llvm::Value** end : {&least, &below})
      if (*end) *end = b_.CreateSub(number(last + 1), *end);
  }
  for (llvm::Value** end : {&least, &below})
    if (*end) *end = within(begin == 0 ? *end : b_.CreateSub(*end, number(begin)), count);
  return {least, below};
}

// So many bits, fewer than 64: those elements of a run.
llvm::Value* KernelEmitter::bits_of(const Run& run, int64_t step, int64_t begin, int64_t count) {
  const auto [least, below] = ends_of(run, step, begin, count);
  auto from_on = [&](llvm::Value* v) { return b_.CreateShl(b_.getInt64(~uint64_t{0}), v); };
  llvm::Value* bits = below ? b_.CreateNot(from_on(below)) : nullptr;
  if (least) bits = bits ? b_.CreateAnd(from_on(least), bits) : from_on(least);
  if (!bits) bits = b_.getInt64(~uint64_t{0});
  return run.only ? b_.CreateAnd(bits, b_.CreateSExt(run.only, b_.getInt64Ty())) : bits;
}

llvm::Value* KernelEmitter::as_lanes(llvm::Value* bits) {
  const auto lanes = static_cast<unsigned>(lanes_);
  if (const auto* known = llvm::dyn_cast<llvm::ConstantInt>(bits)) {
    std::vector<llvm::Constant*> each;
    for (unsigned i = 0; i < lanes; ++i) each.push_back(b_.getInt1((known->getZExtValue() >> i & 1) != 0));
    return llvm::ConstantVector::get(each);
  }
  return b_.CreateBitCast(b_.CreateTrunc(bits, b_.getIntNTy(lanes)), llvm::FixedVectorType::get(b_.getInt1Ty(), lanes));
}

// As many elements as lanes: as bits, which stay in a register where a comparison would be made again at each use;
// where registers have no masks, by comparing numbers that fill one register.
llvm::Value* KernelEmitter::elements_of(const Run& run, int64_t step, int64_t begin) {
  const auto lanes = static_cast<unsigned>(lanes_);
  if (target_.avx512 && lanes <= kMostBits) return as_lanes(bits_of(run, step, begin, lanes_));
  auto [least, below] = ends_of(run, step, begin, lanes_);
  llvm::Value *all = b_.getInt64(lanes), *none = b_.getInt64(0);
  if (run.only) below = b_.CreateSelect(run.only, below ? below : all, none);
  llvm::IntegerType* type = b_.getIntNTy(std::clamp(8 * static_cast<unsigned>(target_.vector_bytes) / lanes, 8U, 64U));
  std::vector<llvm::Constant*> numbers;
  for (unsigned i = 0; i < lanes; ++i) numbers.push_back(llvm::ConstantInt::get(type, i));
  auto compared = [&](llvm::CmpInst::Predicate how, llvm::Value* end) {
    return b_.CreateICmp(how, llvm::ConstantVector::get(numbers),
                         b_.CreateVectorSplat(lanes, b_.CreateTrunc(end, type)));
  };
  llvm::Value* made = compared(llvm::CmpInst::ICMP_SLT, below ? below : all);
  return least ? b_.CreateAnd(made, compared(llvm::CmpInst::ICMP_SGE, least)) : made;
}

// What a value lets through.
KernelEmitter::Mask KernelEmitter::mask_of(Ssa at, bool wide, const Frame& f) {
  Mask made{as(f.values[at], wide).value};
  if (const auto* known = llvm::dyn_cast<llvm::Constant>(made.lanes); known && known->isAllOnesValue()) return {};
  if (const auto known = f.runs.find(at); wide && known != f.runs.end()) made.run = known->second;
  return made;
}

// Whether elements of so many lanes are too short for masks, by which each would have a branch of its own.
bool KernelEmitter::goes_one_by_one(const Mask& mask, const llvm::Type* type) const {
  constexpr int kManyLanes = 16;
  return mask.run && !llvm::isa<llvm::Constant>(mask.lanes) && !target_.avx512 && lanes_ >= kManyLanes &&
         type->getScalarSizeInBits() < 32;
}

void KernelEmitter::each_of(const Run& run, const std::function<void(llvm::Value*)>& lane) {
  auto [first, end] = ends_of(run, 1, 0, lanes_);
  llvm::Value *all = b_.getInt64(static_cast<uint64_t>(lanes_)), *none = b_.getInt64(0);
  if (!end) end = all;
  if (run.only) end = b_.CreateSelect(run.only, end, none);
  loop(first ? first : none, end, 1, lane);
}

llvm::Value* KernelEmitter::load_under(const Mask& mask, llvm::Type* type, llvm::Value* from, llvm::Align align,
                                       llvm::Value* otherwise) {
  if (!goes_one_by_one(mask, type)) return b_.CreateMaskedLoad(type, from, align, mask.lanes, otherwise);
  llvm::Type* element = type->getScalarType();
  llvm::Value* vector = alloca_at_entry(type);
  b_.CreateStore(otherwise, vector);
  each_of(*mask.run, [&](llvm::Value* lane) {
    llvm::Value* one = b_.CreateAlignedLoad(element, b_.CreateGEP(element, from, lane), align);
    b_.CreateAlignedStore(one, b_.CreateGEP(element, vector, lane), align);
  });
  return b_.CreateLoad(type, vector);
}

// Of lanes that are known, without masks, under which some processors store in a score of steps: each run of them as
// halves of a register, and of these. (Of several registers LLVM 19 has been seen to put the masked load that they came
// of together from wrong halves.)
void KernelEmitter::store_under(const Mask& mask, llvm::Value* v, llvm::Value* to, llvm::Align align) {
  const auto* known = llvm::dyn_cast<llvm::Constant>(mask.lanes);
  const auto* type = llvm::cast<llvm::FixedVectorType>(v->getType());
  if (goes_one_by_one(mask, type)) {
    llvm::Value* vector = alloca_at_entry(v->getType());
    b_.CreateStore(v, vector);
    return each_of(*mask.run, [&](llvm::Value* lane) {
      llvm::Type* element = type->getElementType();
      llvm::Value* one = b_.CreateAlignedLoad(element, b_.CreateGEP(element, vector, lane), align);
      b_.CreateAlignedStore(one, b_.CreateGEP(element, to, lane), align);
    });
  }
  const int lanes = static_cast<int>(type->getNumElements());
  const CpuTarget& target = wide_->target();
  std::vector<bool> holds;
  for (int lane = 0; known && lane < lanes; ++lane) {
    const llvm::Constant* one = known->getAggregateElement(static_cast<unsigned>(lane));
    if (one == nullptr || !llvm::isa<llvm::ConstantInt>(one)) break;
    holds.push_back(one->isOneValue());
  }
  if (std::ssize(holds) < lanes || target.avx512 ||
      type->getPrimitiveSizeInBits().getFixedValue() > uint64_t{8} * static_cast<uint64_t>(target.vector_bytes)) {
    b_.CreateMaskedStore(v, to, align, mask.lanes);
    return;
  }
  for (int at = 0; at < lanes;) {
    const auto here = holds.begin() + at;
    const bool stored = *here;
    const int end = static_cast<int>(std::find(here, holds.end(), !stored) - holds.begin());
    while (stored && at < end) {
      const int count = static_cast<int>(std::bit_floor(static_cast<unsigned>(end - at)));
      std::vector<int> from(static_cast<size_t>(count));
      std::iota(from.begin(), from.end(), at);
      llvm::Value* part =
          count == 1 ? b_.CreateExtractElement(v, static_cast<uint64_t>(at)) : b_.CreateShuffleVector(v, from);
      b_.CreateAlignedStore(part, b_.CreateConstGEP1_64(type->getElementType(), to, static_cast<uint64_t>(at)), align);
      at += count;
    }
    at = end;
  }
}

// The frame's lanes are those whose number on the axis is less than `end`.
void KernelEmitter::only_below(Frame& f, llvm::Value* end) {
  const Mask made = of({{}, {{1, b_.CreateSub(end, f.base)}}});
  const auto* constant = llvm::dyn_cast<llvm::Constant>(made.lanes);
  f.mask = constant && constant->isAllOnesValue() ? Mask{} : made;
}

}  // namespace lenz::native
