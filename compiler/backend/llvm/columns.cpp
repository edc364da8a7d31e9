// What hangs on the coordinate of the lanes alone, in a nest whose rows all walk the same ones: computed once for all
// rows of a call, and kept beside the stack. So, too, where in memory lanes lie that share elements or go back and
// forth, as those of images that are resized, reflected or rolled: rows read one vector and pick from it.
#include <llvm/IR/IntrinsicsX86.h>

#include <algorithm>

#include "compiler/backend/llvm/kernel_emitter.h"
#include "compiler/base/sym_facts.h"
#include "compiler/base/sym_parts.h"

namespace lenz::native {

using loops::Axis;
using loops::AxisKind;
using loops::BufferId;
using loops::Instr;
using loops::InstrKind;
using loops::Nest;
using loops::Ssa;

namespace {
constexpr int64_t kMostTableBytes = 64 << 10;  // of a nest's: what the second cache keeps beside its rows
constexpr int64_t kBytesOfVector = 12;         // where it starts, how it lies and how far it reaches
constexpr int64_t kLeastRows = 64;             // of all that the kernel computes, for calls are a part of them
constexpr int kLongRow = 15;                   // operations of a polynomial, about
constexpr int kWorthReading = 3;               // operations that take longer than to read a vector

// How a vector's lanes lie.
constexpr uint8_t kWithin = 1, kInARow = 2;  // of so many places; one after another; 0: neither

int work_of(const Instr& i) {
  if (i.kind == InstrKind::position) return 1;
  if (i.kind != InstrKind::scalar) return 0;
  return i.row->accuracy.of(i.compute) == AccuracyClass::ulps ? kLongRow : 1;
}
}  // namespace

// The vector permutation that picks any of a vector's elements for each lane.
static std::optional<llvm::Intrinsic::ID> picking(const CpuTarget& target, int bits, int lanes) {
  using namespace llvm;
  const int all = bits * lanes;
  if ((bits == 32 || bits == 64) && all == 256 && target.permutes_words()) return Intrinsic::x86_avx2_permd;
  if (bits == 16 && all == 128 && target.permutes_words() && !target.avx512) return Intrinsic::x86_ssse3_pshuf_b_128;
  if (!target.avx512 || all > 512 || all < 128) return std::nullopt;
  switch (bits) {
    case 8:
      if (!target.permute_bytes) return std::nullopt;
      return all == 512   ? Intrinsic::x86_avx512_permvar_qi_512
             : all == 256 ? Intrinsic::x86_avx512_permvar_qi_256
                          : Intrinsic::x86_avx512_permvar_qi_128;
    case 16:
      return all == 512   ? Intrinsic::x86_avx512_permvar_hi_512
             : all == 256 ? Intrinsic::x86_avx512_permvar_hi_256
                          : Intrinsic::x86_avx512_permvar_hi_128;
    case 32:
      if (all == 512) return Intrinsic::x86_avx512_permvar_si_512;
      return std::nullopt;
    case 64:
      if (all == 128) return std::nullopt;
      return all == 512 ? Intrinsic::x86_avx512_permvar_di_512 : Intrinsic::x86_avx512_permvar_di_256;
    default: return std::nullopt;
  }
}

const KernelEmitter::Window* KernelEmitter::window_of(const Columns& columns, Dim along, int64_t bits) {
  const auto found =
      std::ranges::find_if(columns.windows, [&](const Window& w) { return w.along == along && w.bits == bits; });
  return found == columns.windows.end() ? nullptr : &*found;
}

bool KernelEmitter::picks_from(BufferId id) const {
  const Dtype dtype = dtype_of(id);
  return !is_complex(dtype) && picking(target_, static_cast<int>(item_size(dtype) * 8), lanes_);
}

llvm::Value* KernelEmitter::picked(llvm::Value* from, llvm::Value* which) {
  llvm::Type* type = from->getType();
  const auto id = picking(target_, static_cast<int>(type->getScalarSizeInBits()), lanes_);
  // What the instruction takes: elements, or the words or bytes that they are of.
  llvm::Type* units = which->getType();
  if (*id == llvm::Intrinsic::x86_avx2_permd) units = llvm::FixedVectorType::get(b_.getInt32Ty(), 8);
  if (*id == llvm::Intrinsic::x86_ssse3_pshuf_b_128) units = llvm::FixedVectorType::get(b_.getInt8Ty(), 16);
  llvm::Value* bits = b_.CreateBitCast(from, units);
  return b_.CreateBitCast(b_.CreateIntrinsic(*id, {}, {bits, b_.CreateBitCast(which, units)}), type);
}

// Which elements, as the numbers of the halves that they have there, if it permutes these.
llvm::Value* KernelEmitter::numbers_to_pick(llvm::Value* elements) {
  const auto bits = elements->getType()->getScalarSizeInBits();
  const auto id = picking(target_, static_cast<int>(bits), lanes_);
  if (bits == 32 || (*id != llvm::Intrinsic::x86_avx2_permd && *id != llvm::Intrinsic::x86_ssse3_pshuf_b_128))
    return elements;
  const unsigned half = bits / 2;
  auto all = [&](uint64_t number) { return llvm::ConstantInt::get(elements->getType(), number); };
  llvm::Value* lower = b_.CreateShl(elements, all(1));
  return b_.CreateOr(b_.CreateOr(lower, b_.CreateShl(lower, all(half))), all(uint64_t{1} << half));
}

// The terms of an address in which lanes have a hand; nothing if data or other axes have one there too, or data decide
// the rest of it for each lane.
Dim KernelEmitter::along_lanes(Dim address, const Columns& columns) const {
  const auto& body = nest_->body;
  std::vector<const SymNode*> lanes{lane_axis_->symbol.node()}, others, data;
  std::vector<bool> varies(body.size());
  for (const auto* axes : {&kernel_->axes, &nest_->axes})
    for (const Axis& a : *axes)
      if (&a != lane_axis_ && std::ranges::find(columns.inner, &a) == columns.inner.end())
        others.push_back(a.symbol.node());
  auto mentions = [](Dim d, const std::vector<const SymNode*>& symbols) {
    return std::ranges::any_of(symbols, [&](const SymNode* s) { return !d.is_constant() && lenz::mentions(d, s); });
  };
  for (Ssa k = 0; k < body.size(); ++k) {
    const Instr& i = body[k];
    varies[k] = (i.mask != kNone && varies[i.mask]) ||
                std::ranges::any_of(i.operands, [&](Ssa operand) { return varies[operand]; }) ||
                std::ranges::any_of(i.index, [&](Dim d) -> bool { return mentions(d, lanes) || mentions(d, data); });
    if (i.kind == InstrKind::position)
      (columns.known[k] ? lanes : varies[k] ? data : others).push_back(i.symbol.node());
  }
  if (mentions(address, data)) return 0;
  const DimParts parts = terms_of(address);
  Dim made = 0;
  for (size_t k = 0; k < parts.operands.size(); ++k) {
    if (!mentions(parts.operands[k], lanes)) continue;
    if (mentions(parts.operands[k], others)) return 0;
    made += parts.operands[k] * parts.coefficients[k];
  }
  return made;
}

// Of the nest at hand; without tables where they are not worth while.
KernelEmitter::Columns KernelEmitter::of_columns(bool limits) const {
  const auto& body = nest_->body;
  const std::vector<bool> none(body.size());
  Columns made{none, none, none, none, {}, {}, {}};
  if (!lane_axis_ || lanes_ == 1 || lane_axis_->kind != AxisKind::parallel || row_axis_) return made;
  const std::optional<int64_t> columns = facts_->range(lane_axis_->extent).high;
  if (!columns || *columns > kMostColumns) return made;
  Dim rows = 1;
  for (const auto* axes : {&kernel_->axes, &nest_->axes})
    for (const Axis& a : *axes)
      if (&a != lane_axis_ && a.kind == AxisKind::parallel) rows *= a.extent;
  if (rows.is_constant() && rows.constant() < kLeastRows) return made;
  int64_t inner_points = 1;
  for (const Axis& a : nest_->axes) {  // what may raise does so at each point: there is one
    if (!facts_->proves(ge(a.extent, 1))) return made;
    if (a.kind == AxisKind::parallel) continue;
    if (!a.extent.is_constant() || a.extent.constant() > kMostColumns) return made;
    inner_points *= a.extent.constant();
  }

  const std::vector<Dim>& sizes = arguments_.symbols;
  std::vector<const SymNode*> symbols{lane_axis_->symbol.node()}, by_inner;
  for (const Axis& a : nest_->axes)
    if (a.kind != AxisKind::parallel) by_inner.push_back(a.symbol.node());
  struct From {
    bool lanes = false, inner = false, others = false;
  };
  auto look = [&](Dim d, From& from) {
    auto among = [](const std::vector<const SymNode*>& all, const SymNode* s) {
      return std::ranges::find(all, s) != all.end();
    };
    if (!d.is_constant())
      for_each_symbol(d, [&](const SymNode* s) {
        const bool lanes = among(symbols, s), inner = among(by_inner, s);
        from.lanes |= lanes, from.inner |= inner;
        from.others |= !lanes && !inner && std::ranges::find(sizes, Dim(s)) == sizes.end();
      });
  };
  int work = 0;
  for (Ssa k = 0; k < body.size(); ++k) {
    const Instr& i = body[k];
    const bool computes = i.kind == InstrKind::constant || i.kind == InstrKind::index || i.kind == InstrKind::scalar ||
                          (i.kind == InstrKind::position && !i.wraps);
    if (!computes || late_[k] || i.mask != kNone || is_complex(i.dtype) || late_rounded_[k]) continue;
    From from;
    for (Ssa operand : i.operands) {
      from.lanes = from.lanes || made.known[operand];
      from.inner = from.inner || made.by_inner[operand];
      from.others = from.others || !(made.known[operand] || made.fixed[operand]);
    }
    for (Dim d : i.index) look(d, from);
    From extent;
    if (i.kind == InstrKind::position) look(i.extent, extent);
    if (from.others || extent.lanes || extent.inner || extent.others) continue;
    made.by_inner[k] = from.inner;
    made.known[k] = from.lanes;
    made.fixed[k] = !from.lanes && i.kind != InstrKind::position;
    if (!from.lanes) continue;
    work += work_of(i);
    if (i.kind != InstrKind::position) continue;
    symbols.push_back(i.symbol.node());
    if (from.inner) by_inner.push_back(i.symbol.node());
  }
  for (const Axis& a : nest_->axes)
    if (a.kind != AxisKind::parallel) made.inner.push_back(&a);
  std::vector<bool> read(body.size());
  auto reads = [&](Ssa of) { read[of] = read[of] || made.known[of]; };
  auto reads_dim = [&](Dim d) {
    for (Ssa k = 0; k < body.size(); ++k)
      if (made.known[k] && body[k].kind == InstrKind::position && !d.is_constant() &&
          lenz::mentions(d, body[k].symbol.node()))
        read[k] = true;
  };
  for (Ssa k = 0; k < body.size(); ++k) {
    if (made.known[k]) continue;
    const Instr& i = body[k];
    for (Ssa operand : i.operands) reads(operand);
    if (i.mask != kNone) reads(i.mask);
    if (i.kind == InstrKind::load && i.mask == kNone && picks_from(i.buffer)) {
      const Dim address = address_of(i.buffer, i.index), along = along_lanes(address, made);
      const bool by_position = std::ranges::any_of(symbols, [&](const SymNode* p) {
        return p != lane_axis_->symbol.node() && !along.is_constant() && lenz::mentions(along, p);
      });
      if (!along.is(0) && (by_position || apart(address, true).empty())) {
        const int64_t bits = item_size(dtype_of(i.buffer)) * 8;
        From from;
        look(along, from);
        if (!window_of(made, along, bits)) made.windows.push_back({along, bits, from.inner});
        continue;
      }
    }
    for (Dim d : i.index) reads_dim(d);
  }
  for (const loops::Store& s : nest_->stores) {
    reads(s.value);
    if (s.mask != kNone) reads(s.mask);
    for (Dim d : s.index) reads_dim(d);
  }
  for (Ssa k = 0; k < body.size(); ++k) {
    if (!read[k]) continue;
    if (body[k].kind == InstrKind::index)
      made.again[k] = true;  // no sooner read than computed
    else
      made.tables.emplace_back(k, nullptr);
  }
  int64_t bytes = 0;
  bool inner = false;
  for (const auto& [of, table] : made.tables) {
    inner = inner || made.by_inner[of];
    const int64_t entry = body[of].kind == InstrKind::position ? 8 : item_size(body[of].dtype);
    bytes += entry * (made.by_inner[of] ? inner_points : 1);
  }
  for (const Window& w : made.windows) {
    inner = inner || w.by_inner;
    bytes += (8 + w.bits / 8 + (kBytesOfVector + lanes_ - 1) / lanes_) * (w.by_inner ? inner_points : 1);
  }
  if (!inner) made.inner.clear();
  const bool worth_while = !made.windows.empty() || work > kWorthReading * static_cast<int>(made.tables.size());
  if (!worth_while || bytes == 0) return {};
  // Room for all columns that there may be; or for whole vectors of them, where there are no more.
  made.most = kMostTableBytes / bytes;
  if (made.most >= *columns) {
    made.most = *columns;
    return made;
  }
  made.most = made.most / lanes_ * lanes_;
  const Dim extent = lane_axis_->extent;
  if (extent.is_constant() || made.most == 0 || !(limits || facts_->proves(le(extent, made.most)))) return {};
  return made;
}

// Before the points of the kernel: tables of what its nests' lanes alone decide.
void KernelEmitter::make_columns(const DimCode& outside) {
  for (const loops::Node& node : kernel_->body->nodes) {
    const Nest& n = std::get<Nest>(node.is);
    begin(n);
    Columns columns = of_columns(false);
    if (columns.tables.empty() && columns.windows.empty()) continue;
    Frame frame{std::vector<Val>(n.body.size()), {}, outside};
    frame.dims.at_points(&*points_);
    llvm::Value* extent = frame.dims(lane_axis_->extent);
    const int64_t vectors = (columns.most + lanes_ - 1) / lanes_;
    int64_t points = 1;
    for (const Axis* a : columns.inner) points *= a->extent.constant();
    auto table = [&](llvm::Type* type, bool by_inner) {
      return alloca_at_entry(llvm::ArrayType::get(type, static_cast<uint64_t>(vectors * (by_inner ? points : 1))));
    };
    const auto lanes = static_cast<unsigned>(lanes_);
    for (Window& w : columns.windows) {
      w.places = table(llvm::FixedVectorType::get(b_.getInt64Ty(), lanes), w.by_inner);
      w.starts = table(b_.getInt64Ty(), w.by_inner);
      w.fits = table(b_.getInt8Ty(), w.by_inner);
      // A mask is a register of bits where there are such, else of lanes: of bits it would be made of one by one.
      llvm::Type* truth = target_.avx512 ? b_.getInt1Ty() : b_.getIntNTy(static_cast<unsigned>(w.bits));
      w.reach = table(llvm::FixedVectorType::get(truth, lanes), w.by_inner);
      w.picks = table(llvm::FixedVectorType::get(b_.getIntNTy(static_cast<unsigned>(w.bits)), lanes), w.by_inner);
    }
    columns_[&n] = std::move(columns);
    Columns& made = columns_.at(&n);
    auto fill_all = [&](std::vector<Frame>& frames) {
      Frame& f = frames[0];
      for (Ssa k = 0; k < n.body.size(); ++k)
        if ((made.fixed[k] || made.known[k]) && (!made.by_inner[k] || !made.inner.empty())) instruction(k, f);
      for (auto& [of, to] : made.tables) {
        const bool position = n.body[of].kind == InstrKind::position;
        llvm::Value* value = position ? f.dims.value_of(n.body[of].symbol) : as(f.values[of], true).value;
        to = table(value->getType(), made.by_inner[of]);
        b_.CreateStore(value, entry_of(to, f, made.by_inner[of]));
      }
      for (const Window& w : made.windows) fill(w, f);
    };
    only_if(b_.CreateICmpSLT(function_->getArg(3), function_->getArg(4)), [&] {
      loop(b_.getInt64(0), extent, lanes_, [&](llvm::Value* at) {
        std::vector<Frame> frames{lanes_at(frame, at)};
        only_below(frames[0], extent);
        nested(made.inner, 0, frames[0], [&](Frame&) { fill_all(frames); });
      });
    });
  }
}

void KernelEmitter::fill(const Window& w, Frame& f) {
  llvm::Value* places = f.dims(w.along);
  llvm::Value* first = b_.CreateExtractElement(places, uint64_t{0});
  if (f.mask)
    places = b_.CreateSelect(f.mask.lanes, places, b_.CreateVectorSplat(static_cast<unsigned>(lanes_), first));
  llvm::Value* start = b_.CreateIntMinReduce(places, true);
  llvm::Value* span = b_.CreateSub(b_.CreateIntMaxReduce(places, true), start);
  llvm::Value* picks = b_.CreateSub(places, b_.CreateVectorSplat(static_cast<unsigned>(lanes_), start));
  llvm::Value* within = b_.CreateICmpSLT(span, b_.getInt64(static_cast<uint64_t>(lanes_)));
  const Place numbers{.address = b_.getInt64(0), .consecutive = true};
  llvm::Value* in_a_row = b_.CreateAndReduce(b_.CreateICmpEQ(picks, spread(numbers)));
  b_.CreateStore(places, entry_of(w.places, f, w.by_inner));
  b_.CreateStore(start, entry_of(w.starts, f, w.by_inner));
  llvm::Value* reached = lanes_of({{}, {{1, b_.CreateAdd(span, b_.getInt64(1))}}});
  b_.CreateStore(b_.CreateSExt(reached, element_of(w.reach)), entry_of(w.reach, f, w.by_inner));
  llvm::Value* numbers_picked = numbers_to_pick(b_.CreateTrunc(picks, element_of(w.picks)));
  b_.CreateStore(numbers_picked, entry_of(w.picks, f, w.by_inner));
  llvm::Value* lie = b_.CreateSelect(in_a_row, b_.getInt8(kInARow), b_.CreateZExt(within, b_.getInt8Ty()));
  b_.CreateStore(lie, entry_of(w.fits, f, w.by_inner));
}

llvm::Type* KernelEmitter::element_of(llvm::Value* table) {
  return llvm::cast<llvm::AllocaInst>(table)->getAllocatedType()->getArrayElementType();
}

// Of the frame's vector, which is a whole one, and of its inner point.
llvm::Value* KernelEmitter::entry_of(llvm::Value* table, Frame& f, bool by_inner) {
  const auto lanes = static_cast<uint64_t>(lanes_);
  llvm::Value* number = b_.CreateUDiv(f.base, b_.getInt64(lanes));
  if (by_inner) {
    llvm::Value* point = b_.getInt64(0);
    for (const Axis* a : columns_.at(nest_).inner)
      point = b_.CreateAdd(b_.CreateMul(point, f.dims(a->extent)), f.dims(a->symbol));
    const uint64_t vectors = (static_cast<uint64_t>(columns_.at(nest_).most) + lanes - 1) / lanes;
    number = b_.CreateAdd(b_.CreateMul(point, b_.getInt64(vectors)), number);
  }
  return b_.CreateGEP(element_of(table), table, number);
}

llvm::Value* KernelEmitter::recalled(llvm::Value* table, Frame& f, bool by_inner) {
  return b_.CreateLoad(element_of(table), entry_of(table, f, by_inner));
}

// What tables have for the frame's lanes: for all of its inner points, or for the one at hand.
void KernelEmitter::recall(Frame& f, bool by_inner) {
  const auto columns = columns_.find(nest_);
  if (columns == columns_.end()) return;
  for (const auto& [of, table] : columns->second.tables) {
    if (columns->second.by_inner[of] != by_inner || !table) continue;
    f.values[of] = {{recalled(table, f, by_inner)}, true};
    if (const Instr& i = nest_->body[of]; i.kind == InstrKind::position)
      f.dims.bind(i.symbol, f.values[of].lanes.value);
  }
}

bool KernelEmitter::known_by_column(Ssa at) const {
  const auto columns = columns_.find(nest_);
  return columns != columns_.end() && columns->second.known[at] && !columns->second.again[at];
}

// Of a load, if it has one.
const KernelEmitter::Window* KernelEmitter::window_of(const Instr& i) const {
  const auto columns = columns_.find(nest_);
  if (columns == columns_.end() || i.mask != kNone || !picks_from(i.buffer)) return nullptr;
  const Dim along = along_lanes(address_of(i.buffer, i.index), columns->second);
  return window_of(columns->second, along, item_size(dtype_of(i.buffer)) * 8);
}

// A load that has a window: one vector of neighbours, where that has them all.
std::optional<KernelEmitter::Val> KernelEmitter::through_window(const Instr& i, Frame& f) {
  const Window* w = window_of(i);
  if (!w) return std::nullopt;
  const Dtype dtype = dtype_of(i.buffer);
  llvm::Type* type = wide_->memory_type(dtype);
  llvm::Value* row = f.dims(address_of(i.buffer, i.index) - w->along);
  llvm::Value* none = llvm::Constant::getNullValue(type);
  auto start = [&] { return pointer(i.buffer, b_.CreateAdd(row, recalled(w->starts, f, w->by_inner)), 0); };
  auto whole = [&] { return b_.CreateAlignedLoad(type, start(), alignment(i.buffer)); };
  auto one_vector = [&] {
    llvm::Value* from = start();
    llvm::Value* reached = recalled(w->reach, f, w->by_inner);
    reached = b_.CreateICmpSLT(reached, llvm::Constant::getNullValue(reached->getType()));
    llvm::Value* read = b_.CreateMaskedLoad(type, from, alignment(i.buffer), reached, none);
    return picked(read, recalled(w->picks, f, w->by_inner));
  };
  auto scattered = [&] {
    llvm::Value* places =
        b_.CreateAdd(b_.CreateVectorSplat(static_cast<unsigned>(lanes_), row), recalled(w->places, f, w->by_inner));
    return gather(i.buffer, type, places, 0, f.mask.lanes, none);
  };
  llvm::Value* lie = recalled(w->fits, f, w->by_inner);
  auto lies = [&](uint8_t how) { return b_.CreateICmpEQ(lie, b_.getInt8(how)); };
  auto not_in_a_row = [&] { return either(lies(kWithin), one_vector, scattered); };
  return Val{wide_->load_convert(dtype, {either(lies(kInARow), whole, not_in_a_row)}), true};
}

}  // namespace lenz::native
