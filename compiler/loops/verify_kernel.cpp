// Kernels: whether their points may run side by side.
#include <algorithm>

#include "compiler/base/sym_parts.h"
#include "compiler/graph/overlap.h"
#include "compiler/loops/verifier.h"

namespace lenz::loops {

namespace {
// Proofs take time in proportion to the text.
constexpr size_t kMostAccesses = 4096, kMostPairs = size_t{1} << 16, kMostProofs = 1024;
// Other coordinates are no other places then.
bool elements_meet(const Program& program, BufferId id) {
  const Buffer& b = program.buffers[id];
  return b.placed && may_meet(program.assumptions.known(), b.type.sizes, b.type.strides);
}
}  // namespace

bool lanes_apart(const Program& program, const Nest& nest, const Store& store, const Axis& axis) {
  if (store.distinct) return true;
  if (elements_meet(program, store.buffer)) return false;
  IndexSpace space(program.context->syms, program.assumptions.known());
  space.add_axis(axis.symbol, axis.extent);
  auto of_others = [&](const SymNode* s) {
    return std::ranges::any_of(nest.axes, [&](const Axis& a) { return a.symbol.node() == s && &a != &axis; }) ||
           std::ranges::any_of(nest.body,
                               [&](const Instr& i) { return i.kind == InstrKind::position && i.symbol.node() == s; });
  };
  return std::ranges::any_of(store.index, [&](Dim d) {
    if (d.is_constant()) return false;
    bool alone = true;
    for_each_symbol(d, [&](const SymNode* s) { alone = alone && (s == axis.symbol.node() || !of_others(s)); });
    auto stride = alone ? space.stride(d, 0) : std::nullopt;
    return stride && stride->is_constant() && !stride->is(0);
  });
}

void ProgramVerifier::visit(const Kernel& n, Scope& scope) {
  Scope inner = scope;
  for (const Axis& a : n.axes) {
    use(a.extent, inner);
    declare_counter(a.symbol, a.extent, inner, false);
    if (a.kind != AxisKind::parallel)
      report(113, "`" + std::string(symbol_name(a.symbol.node())) + "` is not parallel");
  }
  for (const Node& node : n.body->nodes)
    if (!std::holds_alternative<Nest>(node.is)) {
      report(113, "it holds another node than nests");
      return;
    }
  std::vector<Access> accesses;
  if (!n.axes.empty()) accesses_ = &accesses;  // one point is apart from all others
  kernel_ = &n;
  block(*n.body, inner);
  accesses_ = nullptr;
  kernel_ = nullptr;
  points_apart(n, accesses, scope);
  for (const Node& node : n.body->nodes)
    for (const Store& store : std::get<Nest>(node.is).stores)
      if (buffer(store.buffer).local) written_[store.buffer] = {};
}

void ProgramVerifier::note_load(NestState& state, Ssa instr) {
  const Instr& load = state.nest.body[instr];
  const Buffer& of = buffer(root(load.buffer));
  if (of.local || of.kind == BufferKind::constant) return;
  if (accesses_->size() >= kMostAccesses) return report(407, "it accesses memory in too many ways", instr);
  accesses_->push_back({load.buffer, load.index, space(state, load.mask), false, false, node_, at_, SIZE_MAX});
}

void ProgramVerifier::note_store(const Store& store, size_t number, const Piece& piece) {
  if (buffer(root(store.buffer)).local) return;
  if (store.mode != StoreMode::assign && !store.distinct && elements_meet(program_, store.buffer))
    return report(407, "elements of " + name(store.buffer) + " share places", kNone, number);
  if (accesses_->size() >= kMostAccesses) return report(407, "it accesses memory in too many ways", kNone, number);
  accesses_->push_back({store.buffer, store.index, piece.space, true, store.distinct, node_, at_, number});
}

// How elements of a buffer may be numbered: as its shape has them, and as they lie in memory.
std::vector<DimVec> ProgramVerifier::radices(BufferId id) const {
  const Buffer& b = buffer(id);
  std::vector<DimVec> made;
  try {
    made.push_back(contiguous_strides(b.type.sizes));
  } catch (const UserError&) {  // more elements than can be numbered
  }
  if (b.placed) made.push_back(b.type.strides);
  return made;
}

// Accesses of two points are apart where dims that are written alike in both, over the kernel's axes and axes that
// their nests have in common, tell the point.
bool ProgramVerifier::same_point(const Kernel& n, const Access& a, const Access& b, const Scope& scope) const {
  if (a.buffer != b.buffer || a.index.size() != b.index.size()) return false;
  return told_by_dims(n, a, b, scope, false) || told_by_dims(n, a, b, scope, true) || told_by_tiles(n, a, b);
}

namespace {

// By how much a step of the axis moves the index along.
int64_t step_of(Dim index, Dim axis) {
  if (index.is_constant()) return 0;
  if (index == axis) return 1;
  const DimParts parts = parts_of(index);
  const auto at = std::ranges::find(parts.operands, axis);
  if (parts.kind != SymKind::sum || at == parts.operands.end()) return 0;
  return parts.coefficients[static_cast<size_t>(at - parts.operands.begin())];
}

}  // namespace

// However each access counts within it, a point that stays in a tile of its own shares it with no other one: some dim
// lies in t*B .. t*B + B - 1 for each axis t.
bool ProgramVerifier::told_by_tiles(const Kernel& n, const Access& a, const Access& b) {
  return std::ranges::all_of(n.axes, [&](const Axis& axis) {
    for (size_t d = 0; d < a.index.size(); ++d) {
      const int64_t tile = step_of(a.index[d], axis.symbol);
      if (tile < 1 || step_of(b.index[d], axis.symbol) != tile) continue;
      auto stays = [&](const Access& access) {
        return access.space.in_bounds(access.index[d] - axis.symbol * tile, tile);
      };
      if (stays(a) && stays(b)) return true;
    }
    return false;
  });
}

// `of_points`: by dims alone that hang on the point; along others a point may come to one place many times.
bool ProgramVerifier::told_by_dims(const Kernel& n, const Access& a, const Access& b, const Scope& scope,
                                   bool of_points) const {
  IndexSpace points(program_.context->syms, scope.facts);
  for (const Axis& axis : n.axes) points.add_axis(axis.symbol, axis.extent);
  auto axis_of = [](const Access& access, const SymNode* s) {
    auto at = std::ranges::find_if(access.space.axes(), [&](const auto& x) { return x.symbol.node() == s; });
    return at == access.space.axes().end() ? nullptr : &*at;
  };
  std::vector<Dim> told, shared;  // of these the kernel's axes alone, and with axes of the nests
  std::unordered_set<const SymNode*> added;
  for (const Axis& axis : n.axes) added.insert(axis.symbol.node());
  const IndexSpace of_kernel = points;
  for (size_t d = 0; d < a.index.size(); ++d) {
    if (a.index[d] != b.index[d] || (of_points && !of_kernel.mentions_axis(a.index[d]))) continue;
    std::vector<const IndexSpace::Axis*> more;
    bool known = true, outside = true;
    if (!a.index[d].is_constant())
      for_each_symbol(a.index[d], [&](const SymNode* s) {
        const bool of_nest = !scope.bound.contains(symbol_id(s)) && !of_kernel.mentions_axis(Dim(s));
        outside = outside && !of_nest;
        if (!of_nest || added.contains(s)) return;
        const auto *of_a = axis_of(a, s), *of_b = axis_of(b, s);
        known = known && of_a != nullptr && of_b != nullptr && of_a->extent == of_b->extent;
        if (known && added.insert(s).second) more.push_back(of_a);
      });
    for (const auto* axis : more) {
      if (known) points.add_axis(axis->symbol, axis->extent);
      if (!known) added.erase(axis->symbol.node());
    }
    if (known) shared.push_back(a.index[d]);
    if (outside) told.push_back(a.index[d]);
  }
  if (of_kernel.injective(told)) return true;
  if (shared.size() == a.index.size()) return points.injective(shared, radices(a.buffer));
  return points.injective(shared);
}

// Whether dims that all accesses to a buffer write alike tell the point, over the kernel's axes alone: they do of
// columns that are joined one by one, which are more pairs than are looked at.
bool ProgramVerifier::told_by_all(const Kernel& n, BufferId id, std::span<const Access> accesses,
                                  const Scope& scope) const {
  IndexSpace points(program_.context->syms, scope.facts);
  for (const Axis& axis : n.axes) points.add_axis(axis.symbol, axis.extent);
  auto of_points = [&](Dim index) {
    bool known = true;
    if (!index.is_constant())
      for_each_symbol(index, [&](const SymNode* s) {
        known = known && (scope.bound.contains(symbol_id(s)) || points.mentions_axis(Dim(s)));
      });
    return known;
  };
  std::optional<std::vector<std::optional<Dim>>> told;
  for (const Access& a : accesses) {
    if (!share(a.buffer, id)) continue;
    if (!told) told.emplace(a.index.begin(), a.index.end());
    if (a.buffer != id || a.index.size() != told->size()) return false;
    for (size_t d = 0; d < a.index.size(); ++d)
      if ((*told)[d] && (a.index[d] != *(*told)[d] || !of_points(a.index[d]))) (*told)[d].reset();
  }
  std::vector<Dim> alike;
  for (const std::optional<Dim>& index : told.value_or(std::vector<std::optional<Dim>>()))
    if (index) alike.push_back(*index);
  return points.injective(alike);
}

void ProgramVerifier::points_apart(const Kernel& n, std::span<const Access> accesses, const Scope& scope) {
  size_t pairs = 0, proofs = 0;
  // What many accesses have in common is proved once.
  struct Proved {
    const Access *a, *b;
    bool apart;
  };
  std::unordered_map<BufferId, std::vector<Proved>> proved;
  auto apart = [&](const Access& a, const Access& b) {
    if (++pairs > kMostPairs) return false;
    auto same_axes = [](const Access& x, const Access& y) {
      return x.index == y.index && std::ranges::equal(x.space.axes(), y.space.axes(), [](const auto& p, const auto& q) {
               return p.symbol == q.symbol && p.extent == q.extent;
             });
    };
    for (const Proved& p : proved[a.buffer])
      if (same_axes(*p.a, a) && same_axes(*p.b, b)) return p.apart;
    if (++proofs > kMostProofs) return false;
    const bool never = &a != &b && a.buffer == b.buffer && disjoint(a.space, a.index, b.space, b.index);
    proved[a.buffer].push_back({&a, &b, never || same_point(n, a, b, scope)});
    return proved[a.buffer].back().apart;
  };
  std::unordered_map<BufferId, bool> told;
  for (const Access& store : accesses) {
    if (!store.is_store) continue;
    auto [known, is_new] = told.try_emplace(store.buffer, false);
    if (is_new) known->second = told_by_all(n, store.buffer, accesses, scope);
    if (known->second) continue;
    const Access* met = &store;
    bool fine = store.distinct || apart(store, store) || store.space.injective(store.index, radices(store.buffer));
    for (const Access& other : accesses) {
      if (!fine) break;
      if (&other == &store || !share(other.buffer, store.buffer)) continue;
      fine = apart(store, other);
      met = &other;
    }
    if (fine) continue;
    node_ = store.node;
    at_ = store.at;
    missing(407, store.space.asks_nonlinear(store.index) || met->space.asks_nonlinear(met->index),
            "nothing proves that no other point of the kernel writes or reads there", kNone, store.number);
  }
}

}  // namespace lenz::loops
