// A nest: its axes, what belongs to its epilogue, bounds of its accesses, its stores.
#include <algorithm>

#include "compiler/base/sym_parts.h"
#include "compiler/loops/conditions.h"
#include "compiler/loops/verifier.h"

namespace lenz::loops {

namespace {
// What a nest may have before less is known of it: proofs take time in proportion to the text.
constexpr size_t kMostSpaces = 256, kMostPositions = 64, kMostConjuncts = 64, kMostPairs = 1024;
}  // namespace

// --- axes and levels

void ProgramVerifier::axes(const Nest& nest, const Scope& scope) {
  std::vector<const SymNode*> local;
  auto declare = [&](Dim symbol, Ssa instr) {
    const SymNode* s = symbol.node();
    if (own_.contains(s) || scope.bound.contains(symbol_id(s)) || std::ranges::find(local, s) != local.end())
      report(104, "`" + std::string(symbol_name(s)) + "` is something else already", instr);
    local.push_back(s);
  };
  bool scan = false, reduces = false;
  for (const Axis& a : nest.axes) {
    if (scan) report(105, "an axis inside the scan axis");
    scan = scan || a.kind == AxisKind::scan;
    reduces = reduces || a.kind == AxisKind::reduction;
    use(a.extent, scope);
    declare(a.symbol, kNone);
    if (scope.facts.proves(lt(a.extent, 0))) report(213, "the extent " + to_string(a.extent) + " is negative");
  }
  for (Ssa i = 0; i < nest.body.size(); ++i) {
    if (nest.body[i].kind == InstrKind::position) {
      declare(nest.body[i].symbol, i);
      use(nest.body[i].extent, scope);
    }
    reduces = reduces || nest.body[i].kind == InstrKind::reduce;
  }
  if (scan && reduces) report(105, "it scans and reduces");
}

bool ProgramVerifier::mentions(const std::unordered_set<const SymNode*>& symbols, Dim dim) {
  bool found = false;
  if (!dim.is_constant() && !symbols.empty())
    for_each_symbol(dim, [&](const SymNode* s) { found = found || symbols.contains(s); });
  return found;
}

// The dim's symbols are axes, positions before it, or bound outside.
void ProgramVerifier::scoped(const NestState& state, Dim dim, Ssa instr, size_t store) {
  if (dim.is_constant()) return;
  for_each_symbol(dim, [&](const SymNode* s) {
    if (state.scope.bound.contains(symbol_id(s)) || state.symbols.contains(s)) return;
    if (reported_.insert(s).second)
      report(502, "nothing before it binds `" + std::string(symbol_name(s)) + "`", instr, store);
  });
}

// Which values are of one point of the axes that are reduced or scanned (inner), which exist after them (late).
void ProgramVerifier::levels(NestState& state) {
  const Nest& nest = state.nest;
  for (const Axis& a : nest.axes) {
    state.symbols.insert(a.symbol.node());
    if (a.kind != AxisKind::parallel) state.inner_symbols.insert(a.symbol.node());
  }
  for (Ssa i = 0; i < nest.body.size(); ++i) {
    const Instr& instr = nest.body[i];
    bool inner = instr.mask != kNone && state.inner[instr.mask], late = instr.mask != kNone && state.late[instr.mask];
    for (Ssa operand : instr.operands) {
      inner = inner || state.inner[operand];
      late = late || state.late[operand];
    }
    for (Dim d : instr.index) {
      scoped(state, d, i, SIZE_MAX);
      inner = inner || mentions(state.inner_symbols, d);
      late = late || mentions(state.late_symbols, d);
    }
    bool reduces = instr.kind == InstrKind::reduce, scans = instr.kind == InstrKind::scan;
    if ((reduces || scans) && late) report(504, "it combines what a reduce gives", i);
    if (!reduces && inner && late)
      report(504, "it uses a value of one point of the reduction together with what they reduce to", i);
    state.inner.push_back(scans || (inner && !reduces));
    state.late.push_back(late || reduces);
    if (instr.kind != InstrKind::position) continue;
    state.symbols.insert(instr.symbol.node());
    if (state.inner.back()) state.inner_symbols.insert(instr.symbol.node());
    if (state.late.back()) state.late_symbols.insert(instr.symbol.node());
  }
}

// --- masks

// The values that a mask is the conjunction of: all, or none if they are many.
std::vector<Ssa> ProgramVerifier::conjuncts(const Nest& nest, Ssa mask) const {
  std::vector<Ssa> open, found;
  std::unordered_set<Ssa> seen;
  if (mask != kNone) open.push_back(mask);
  while (!open.empty()) {
    Ssa at = open.back();
    open.pop_back();
    if (!seen.insert(at).second) continue;
    if (seen.size() > 2 * kMostConjuncts) return {mask};
    const Instr& instr = nest.body[at];
    if (is_conjunction(instr)) {
      open.insert(open.end(), instr.operands.begin(), instr.operands.end());
    } else {
      found.push_back(at);
    }
  }
  return found;
}

// The points at which a mask holds: of all axes, or of those that the epilogue sees.
IndexSpace ProgramVerifier::made_space(NestState& state, Ssa mask, bool epilogue, bool of_kernel) const {
  const Nest& nest = state.nest;
  IndexSpace made(program_.context->syms, state.scope.facts);
  if (of_kernel && kernel_)
    for (const Axis& a : kernel_->axes) made.add_axis(a.symbol, a.extent);
  for (const Axis& a : nest.axes)
    if (!epilogue || a.kind == AxisKind::parallel) made.add_axis(a.symbol, a.extent);
  std::vector<Ssa> holds = conjuncts(nest, mask);
  size_t positions = 0;
  for (const Instr& instr : nest.body) {
    if (instr.kind != InstrKind::position || ++positions > kMostPositions) continue;
    // Where its own mask does not hold, a position is 0.
    bool checked = std::ranges::all_of(conjuncts(nest, instr.mask),
                                       [&](Ssa n) { return std::ranges::find(holds, n) != holds.end(); });
    try {
      made.add_position(instr.symbol, checked ? instr.extent : max(instr.extent, 1));
    } catch (const UserError&) {  // an expression beyond the limits: nothing is known of it
    }
  }
  for (Ssa conjunct : holds) {
    if (auto cond = condition(nest, conjunct)) {
      made.assume(*cond);
    } else {
      made.assume_opaque();
    }
  }
  return made;
}

const IndexSpace& ProgramVerifier::space(NestState& state, Ssa mask) {
  if (state.spaces.size() >= kMostSpaces && !state.spaces.contains(mask)) mask = kNone;  // less is known there
  std::optional<IndexSpace>& made = state.spaces[mask];
  if (!made) made = made_space(state, mask, false);
  return *made;
}

// --- accesses

bool ProgramVerifier::bounds(NestState& state, int rule, BufferId id, const DimVec& index, Ssa mask, Ssa instr,
                             size_t store) {
  const TensorType& type = buffer(id).type;
  if (index.size() != type.rank()) {
    report(106, name(id) + " has " + std::to_string(type.rank()) + " dims", instr, store);
    return false;
  }
  const IndexSpace& points = space(state, mask);
  bool fine = true;
  for (size_t d = 0; d < index.size(); ++d) {
    if (points.in_bounds(index[d], type.sizes[d])) continue;
    fine = false;
    const Dim asked[] = {index[d], type.sizes[d]};
    missing(rule, points.asks_nonlinear(asked),
            "nothing proves 0 <= " + to_string(index[d]) + " < " + to_string(type.sizes[d]) + ", the size of dim " +
                std::to_string(d) + " of " + name(id),
            instr, store);
  }
  return fine;
}

namespace {
// Whether nothing is divided by what may be zero at these points.
bool divides_safely(const IndexSpace& points, Dim dim) {
  if (dim.is_constant()) return true;
  const DimParts parts = parts_of(dim);
  if (parts.kind == SymKind::symbol) return true;
  const bool divides = parts.kind == SymKind::floor_div || parts.kind == SymKind::mod;
  if (divides && !points.proves(ge(parts.operands[1], 1)) && !points.proves(le(parts.operands[1], -1))) return false;
  return std::ranges::all_of(parts.operands, [&](Dim d) { return divides_safely(points, d); });
}
}  // namespace

bool ProgramVerifier::inside(const Nest& nest, std::span<const Axis> around) {
  Kernel kernel;
  kernel.axes.assign(around.begin(), around.end());
  kernel_ = &kernel;
  Scope scope{program_.assumptions.known(), {}};
  NestState state{nest, scope, {}, {}, {}, {}, {}, {}};
  auto fits = [&](BufferId id, const DimVec& index, Ssa mask) {
    const TensorType& type = buffer(id).type;
    // Places are computed where the mask does not hold, too.
    for (size_t d = 0; d < index.size(); ++d)
      if (!space(state, mask).in_bounds(index[d], type.sizes[d]) ||
          (mask != kNone && !divides_safely(space(state, kNone), index[d])))
        return false;
    return true;
  };
  const bool all =
      std::ranges::all_of(
          nest.body, [&](const Instr& i) { return i.kind != InstrKind::load || fits(i.buffer, i.index, i.mask); }) &&
      std::ranges::all_of(nest.stores, [&](const Store& s) { return fits(s.buffer, s.index, s.mask); });
  kernel_ = nullptr;
  return all;
}

AccessProofs::AccessProofs(const Program& program) : verifier_(std::make_unique<ProgramVerifier>(program)) {}
AccessProofs::~AccessProofs() = default;
bool AccessProofs::inside(const Nest& nest, std::span<const Axis> around) { return verifier_->inside(nest, around); }

// The points at which a store happens: after a reduction those of the parallel axes only.
Piece ProgramVerifier::piece(NestState& state, const Store& store) {
  bool late = state.late[store.value] || (store.mask != kNone && state.late[store.mask]);
  for (Dim d : store.index) late = late || mentions(state.late_symbols, d);
  // A local buffer is another one at every point of the kernel.
  const bool local = buffer(root(store.buffer)).local;
  if (late || local) return {made_space(state, store.mask, late, !local), store.index};
  Piece made{space(state, store.mask), store.index};
  if (store.mask != kNone && !state.spaces.contains(store.mask)) made.space.assume_opaque();
  return made;
}

void ProgramVerifier::stores(NestState& state) {
  const Nest& nest = state.nest;
  std::vector<Piece> pieces;
  std::vector<bool> inside;
  // A point may load what it stores itself.
  auto own = [&](const Instr& load, const Store& store) {
    return load.buffer == store.buffer && load.index == store.index && store.mode == StoreMode::assign;
  };
  auto reads = [&](const Store& store) {
    return std::ranges::any_of(nest.body, [&](const Instr& i) {
      return i.kind == InstrKind::load && share(i.buffer, store.buffer) && !own(i, store);
    });
  };
  for (size_t s = 0; s < nest.stores.size(); ++s) {
    const Store& store = nest.stores[s];
    use_type(store.buffer, state.scope);
    bool late = state.late[store.value] || (store.mask != kNone && state.late[store.mask]);
    bool inner = state.inner[store.value] || (store.mask != kNone && state.inner[store.mask]);
    for (Dim d : store.index) {
      scoped(state, d, kNone, s);
      inner = inner || mentions(state.inner_symbols, d);
      late = late || mentions(state.late_symbols, d);
    }
    if (late && inner)
      report(504, "it uses a value of one point of the reduction together with what they reduce to", kNone, s);
    inside.push_back(bounds(state, 302, store.buffer, store.index, store.mask, kNone, s));
    may_write(store.buffer, s);
    pieces.push_back(piece(state, store));
    if (store.mode == StoreMode::assign && !store.distinct && inside.back() &&
        !pieces.back().space.injective(store.index, radices(store.buffer)))
      missing(401, pieces.back().space.asks_nonlinear(store.index),
              "nothing proves that two points write two elements of " + name(store.buffer), kNone, s);
    for (const Axis& a : nest.axes)
      if (store.mode != StoreMode::assign && a.lanes * a.unroll > 1 && !lanes_apart(program_, nest, store, a))
        report(408, "points along `" + std::string(symbol_name(a.symbol.node())) + "` may meet", kNone, s);
    if (reads(store)) report(403, "it loads what shares the storage of " + name(store.buffer), kNone, s);
  }
  store_pairs(state, pieces);
  if (accesses_)
    for (size_t s = 0; s < nest.stores.size(); ++s)
      if (inside[s]) note_store(nest.stores[s], s, pieces[s]);
  for (size_t s = 0; s < nest.stores.size(); ++s) {
    const Store& store = nest.stores[s];
    if (store.mode != StoreMode::assign && store.mode != StoreMode::scatter) {
      read(store.buffer, kNone, s);
    } else if (inside[s] &&
               (store.mode == StoreMode::assign || pieces[s].space.injective(store.index, radices(store.buffer)))) {
      write_piece(store.buffer, std::move(pieces[s]), state.scope.facts);
    } else {
      write_somewhere(store.buffer);
    }
  }
}

namespace {
// Whether two places differ along a dim in which both stand still: columns that are joined one by one need no proof.
bool at_other_numbers(const DimVec& a, const DimVec& b) {
  for (size_t d = 0; d < a.size(); ++d)
    if (a[d].is_constant() && b[d].is_constant() && a[d] != b[d]) return true;
  return false;
}
}  // namespace

void ProgramVerifier::store_pairs(NestState& state, const std::vector<Piece>& pieces) {
  const auto& list = state.nest.stores;
  size_t pairs = 0;
  for (size_t i = 0; i < list.size(); ++i)
    for (size_t k = i + 1; k < list.size(); ++k) {
      if (!share(list[i].buffer, list[k].buffer)) continue;
      bool order_free = list[i].mode == list[k].mode && list[i].mode != StoreMode::assign &&
                        list[i].mode != StoreMode::scatter && list[i].buffer == list[k].buffer;
      if (order_free) continue;
      const bool alike = list[i].buffer == list[k].buffer && list[i].index.size() == list[k].index.size();
      const bool apart =
          alike &&
          (at_other_numbers(list[i].index, list[k].index) ||
           (++pairs <= kMostPairs && disjoint(pieces[i].space, pieces[i].index, pieces[k].space, pieces[k].index)));
      if (!apart)
        missing(402, pieces[i].space.asks_nonlinear(pieces[i].index) || pieces[k].space.asks_nonlinear(pieces[k].index),
                "nothing proves that it writes other elements of " + name(list[k].buffer) + " than the store before",
                kNone, k);
    }
}

}  // namespace lenz::loops
