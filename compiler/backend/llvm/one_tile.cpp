// Kernels whose rows have open sizes are cut into tiles, of which short rows have but one. That one is written a second
// time, with what is known where there is no other: how many vectors a row has, and which lanes its last one, is the
// same for all rows then, and stands before them. So are kernels whose rows have few vectors.
#include <algorithm>
#include <utility>

#include "compiler/backend/llvm/kernel_emitter.h"
#include "compiler/base/sym_facts.h"
#include "compiler/base/sym_parts.h"

namespace lenz::native {

using loops::Axis;
using loops::Nest;

namespace {
constexpr size_t kShortBody = 32, kFewForLanes = 16;

bool mentions(Dim dim, Dim symbol) { return !dim.is_constant() && lenz::mentions(dim, symbol.node()); }
}  // namespace

// Bodies that take longer than what is the same for all rows, and longer to compile, are written once. What all lanes
// share stands before them, and counts for nothing where little is left.
bool KernelEmitter::is_short(const Nest& n) {
  std::vector<bool> varies(n.body.size());
  std::vector<Dim> symbols;
  for (const Axis& a : n.axes)
    if (a.lanes > 1 || a.kind != loops::AxisKind::parallel) symbols.push_back(a.symbol);
  auto along = [&](Dim d) { return std::ranges::any_of(symbols, [&](Dim s) { return mentions(d, s); }); };
  size_t count = 0;
  for (loops::Ssa k = 0; k < n.body.size(); ++k) {
    const loops::Instr& i = n.body[k];
    if (i.kind == loops::InstrKind::draw || (i.row != nullptr && i.row->accuracy.of(i.compute) == AccuracyClass::ulps))
      return false;
    varies[k] = (i.mask != kNone && varies[i.mask]) || std::ranges::any_of(i.index, along) ||
                i.kind == loops::InstrKind::reduce || i.kind == loops::InstrKind::scan ||
                std::ranges::any_of(i.operands, [&](loops::Ssa operand) -> bool { return varies[operand]; });
    if (varies[k] && i.kind == loops::InstrKind::position) symbols.push_back(i.symbol);
    count += varies[k] ? 1 : 0;
  }
  return n.body.size() <= kShortBody || count <= kFewForLanes;
}

// Rows that are walked whole, in several phases, say: where there are tables for so many columns. Nothing where lanes'
// extents are known, or hang on where the kernel is.
std::optional<KernelEmitter::OneTile> KernelEmitter::few_columns() {
  OneTile made{{kernel_->name, kernel_->axes, std::make_unique<loops::Block>(), kernel_->origin}, *facts_, {}, false};
  bool open = false;
  for (const loops::Node& node : kernel_->body->nodes) {
    Nest n = std::get<Nest>(node.is);
    for (const Axis& a : n.axes) {
      if (a.lanes == 1 || a.extent.is_constant()) continue;
      open = true;
      for (const std::vector<Axis>* axes : {&kernel_->axes, &std::get<Nest>(node.is).axes})
        for (const Axis& other : *axes)
          if (mentions(a.extent, other.symbol)) return std::nullopt;
    }
    made.kernel.body->nodes.push_back({std::move(n)});
  }
  if (!open || kernel_->axes.empty() || !limits_columns(made)) return std::nullopt;
  return made;
}

// Nothing where no tile of lanes is open, or several are.
std::optional<KernelEmitter::OneTile> KernelEmitter::one_tile() {
  const std::vector<Axis>& axes = kernel_->axes;
  if (axes.empty()) return std::nullopt;
  const Axis* tile = nullptr;
  std::vector<Cond> where;
  bool all_short = true;
  for (const loops::Node& node : kernel_->body->nodes) {
    const Nest& n = std::get<Nest>(node.is);
    all_short = all_short && is_short(n);
    for (const Axis& a : n.axes)
      for (const Axis& t : axes) {
        if (!mentions(a.extent, t.symbol)) continue;
        const DimParts parts = parts_of(a.extent);
        if (a.lanes == 1 || (tile && tile != &t) || t.extent.is_constant() || parts.kind != SymKind::min ||
            parts.operands.size() != 2)
          return std::nullopt;
        tile = &t;
        const bool first = parts.operands[0].is_constant();
        const Dim size = parts.operands[first ? 0 : 1];
        if (!size.is_constant()) return std::nullopt;
        where.push_back(le(substitute(parts.operands[first ? 1 : 0], program_.context->syms,
                                      [&](const SymNode* s) -> std::optional<Dim> {
                                        return s == t.symbol.node() ? std::optional(Dim(0)) : std::nullopt;
                                      }),
                           size));
      }
  }
  if (!tile) return few_columns();
  if (axes.size() < 2) return std::nullopt;
  OneTile made{
      {kernel_->name, {}, std::make_unique<loops::Block>(), kernel_->origin}, *facts_, std::move(where), false};
  for (const Cond& c : made.where)
    if (c.lhs.is_constant() || !made.facts.add(c)) return std::nullopt;
  if (!made.facts.proves(le(tile->extent, 1))) return std::nullopt;
  auto at_first = [&](Dim& d) {
    const Dim there = substitute(d, program_.context->syms, [&](const SymNode* s) -> std::optional<Dim> {
      return s == tile->symbol.node() ? std::optional(Dim(0)) : std::nullopt;
    });
    if (there != d) d = made.facts.simplify(there);
  };
  for (const Axis& a : axes)
    if (&a != tile) made.kernel.axes.push_back(a);
  for (const loops::Node& node : kernel_->body->nodes) {
    Nest n = std::get<Nest>(node.is);
    for (Axis& a : n.axes) at_first(a.extent);
    for (loops::Instr& i : n.body) {
      for (Dim& d : i.index) at_first(d);
      if (i.kind == loops::InstrKind::position) at_first(i.extent);
    }
    for (loops::Store& s : n.stores)
      for (Dim& d : s.index) at_first(d);
    made.kernel.body->nodes.push_back({std::move(n)});
  }
  if (!limits_columns(made) && !all_short) return std::nullopt;
  return made;
}

// What a kernel is where its nests' rows, of open sizes that are the same at all its points, have no more than so many
// vectors, and more than half as many: it has no loops along them, and which lanes there are is the same for all.
// Nothing where there are no such rows, or where they are of many sizes.
std::optional<KernelEmitter::OneTile> KernelEmitter::few_vectors(const loops::Kernel& kernel, const Facts& facts,
                                                                 uint32_t vectors) const {
  constexpr size_t kFewSizes = 3, kLongBody = 96;  // instructions, which take time to compile
  size_t instructions = 0;
  uint32_t lanes = 1;
  for (const loops::Node& node : kernel.body->nodes) {
    const Nest& n = std::get<Nest>(node.is);
    instructions += n.body.size();
    for (const Axis& a : n.axes) lanes = std::max(lanes, a.lanes);
  }
  if (kernel.axes.empty() || instructions * vectors > kLongBody) return std::nullopt;
  OneTile made{{kernel.name, kernel.axes, std::make_unique<loops::Block>(), kernel.origin}, facts, {}, true};
  auto require = [&](const Cond& c) {
    if (facts.proves(c) || std::ranges::find(made.where, c) != made.where.end()) return true;
    made.where.push_back(c);
    return !(c.lhs.is_constant() && c.rhs.is_constant()) && made.facts.add(c);
  };
  const int64_t most = int64_t{lanes} * vectors;
  // What two axes make together is short where nothing else is.
  auto is_product = [](Dim d) { return parts_of(d).kind == SymKind::product; };
  const bool all_products = std::ranges::all_of(kernel.body->nodes, [&](const loops::Node& node) {
    return std::ranges::all_of(std::get<Nest>(node.is).axes, [&](const Axis& a) {
      return a.lanes == 1 || a.extent.is_constant() || is_product(a.extent);
    });
  });
  std::vector<Dim> sizes;
  for (const loops::Node& node : kernel.body->nodes) {
    Nest n = std::get<Nest>(node.is);
    const std::vector<Axis> own = n.axes;
    for (Axis& a : n.axes) {
      if (a.lanes == 1 || a.extent.is_constant()) continue;
      for (const std::vector<Axis>* axes : {&kernel.axes, &own})
        for (const Axis& other : *axes)
          if (mentions(a.extent, other.symbol)) return std::nullopt;
      if (std::ranges::any_of(own, [&](const Axis& o) { return o.symbol != a.symbol && o.unroll == a.lanes; }))
        return std::nullopt;  // squares
      if (!all_products && is_product(a.extent)) continue;
      if (std::ranges::find(sizes, a.extent) == sizes.end()) sizes.push_back(a.extent);
      if (!require(ge(a.extent, 1)) || !require(le(a.extent, most))) return std::nullopt;
      a.unroll = static_cast<uint32_t>(most / a.lanes);
    }
    made.kernel.body->nodes.push_back({std::move(n)});
  }
  if (sizes.empty() || sizes.size() > kFewSizes) return std::nullopt;
  // Of one size the others have code of their own.
  if (vectors > 1 && sizes.size() == 1 && !require(gt(sizes[0], most / 2))) return std::nullopt;
  return made;
}

// Whether there are tables of what the lanes decide: they have room for so many columns, of which there are some.
bool KernelEmitter::limits_columns(OneTile& one) {
  const auto* kernel = std::exchange(kernel_, &one.kernel);
  const auto* facts = std::exchange(facts_, &one.facts);
  bool found = false;
  std::vector<Cond> limits;
  for (const loops::Node& node : one.kernel.body->nodes) {
    const Nest& n = std::get<Nest>(node.is);
    const Facts before = one.facts;
    for (const Axis& a : n.axes)
      if (a.lanes > 1 && one.facts.add(ge(a.extent, 1))) one.facts.add(le(a.extent, kMostColumns));
    begin(n);
    const Columns columns = of_columns(true);
    if (columns.tables.empty() && columns.windows.empty()) {
      one.facts = before;
      continue;
    }
    found = true;
    for (const Cond& c : {ge(lane_axis_->extent, 1), le(lane_axis_->extent, columns.most)}) limits.push_back(c);
  }
  for (const Cond& c : limits) {
    if (c.lhs.is_constant() && c.rhs.is_constant()) continue;
    one.where.push_back(c);
    one.facts.add(c);
  }
  kernel_ = kernel;
  facts_ = facts;
  return found;
}

// Rows of one tile, and then out of the function; whatever else goes on behind. Results that go past the caches begin
// each row at another place of a line, so they are none of these.
void KernelEmitter::as_one_tile(const OneTile& one, const DimCode& dims) {
  DimCode outside = dims;
  llvm::Value* is_one = nullptr;
  auto also = [&](llvm::Value* v) { is_one = is_one ? b_.CreateAnd(is_one, v) : v; };
  for (const Cond& c : one.where) also(outside.holds(c));
  for (const auto& [id, far] : far_) also(b_.CreateNot(far));
  if (!is_one) is_one = b_.getTrue();  // they are known to be
  const auto* kernel = kernel_;
  const auto* facts = facts_;
  const auto far = far_;
  const bool in_one_turn = std::exchange(in_one_turn_, one.in_one_turn);
  auto *short_rows = block("one_tile"), *others = block("tiles");
  b_.CreateCondBr(is_one, short_rows, others);
  b_.SetInsertPoint(short_rows);
  kernel_ = &one.kernel;
  facts_ = &one.facts;
  far_.clear();
  all_points(outside);
  leave(KernelStatus::finished);
  b_.SetInsertPoint(others);
  kernel_ = kernel;
  facts_ = facts;
  far_ = far;
  in_one_turn_ = in_one_turn;
  columns_.clear();
  read_.clear();
  fetched_.clear();
}

}  // namespace lenz::native
