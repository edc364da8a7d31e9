// Kernels: whether their points may run side by side.
#include <algorithm>

#include "compiler/loops/verifier.h"

namespace lenz::loops {

namespace {
constexpr size_t kMostAccesses = 4096;  // proofs take time in proportion to the text
}  // namespace

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
  accesses_ = &accesses;
  kernel_ = &n;
  block(*n.body, inner);
  accesses_ = nullptr;
  kernel_ = nullptr;
  points_apart(n, accesses, scope);
  for (BufferId id = 0; id < written_.size(); ++id)
    if (buffer(id).local) written_[id] = {};
}

void ProgramVerifier::note_load(NestState& state, Ssa instr) {
  const Instr& load = state.nest.body[instr];
  const Buffer& of = buffer(root(load.buffer));
  if (of.local || of.kind == BufferKind::constant || accesses_->size() >= kMostAccesses) return;
  accesses_->push_back({load.buffer, load.index, space(state, load.mask), false, false, node_, at_, SIZE_MAX});
}

void ProgramVerifier::note_store(const Store& store, size_t number, const Piece& piece) {
  if (buffer(root(store.buffer)).local) return;
  if (accesses_->size() >= kMostAccesses) return report(407, "it accesses memory in too many ways", kNone, number);
  accesses_->push_back({store.buffer, store.index, piece.space, true, store.distinct, node_, at_, number});
  if (store.mode != StoreMode::assign) report(407, "it combines with what is there", kNone, number);
}

// Accesses of two points are apart where dims that depend on the kernel's axes alone are the same in both and tell the
// point.
void ProgramVerifier::points_apart(const Kernel& n, std::span<const Access> accesses, const Scope& scope) {
  IndexSpace points(program_.context->syms, scope.facts);
  for (const Axis& a : n.axes) points.add_axis(a.symbol, a.extent);
  auto of_point = [&](Dim d) {
    bool known = true;
    if (!d.is_constant())
      for_each_symbol(d, [&](const SymNode* s) {
        known = known && (scope.bound.contains(s) ||
                          std::ranges::any_of(n.axes, [&](const Axis& a) { return a.symbol.node() == s; }));
      });
    return known;
  };
  auto own = [&](const Access& a, const Access& b) {
    if (a.buffer != b.buffer || a.index.size() != b.index.size()) return false;
    std::vector<Dim> shared;
    for (size_t d = 0; d < a.index.size(); ++d)
      if (a.index[d] == b.index[d] && of_point(a.index[d])) shared.push_back(a.index[d]);
    return points.injective(shared);
  };
  for (const Access& store : accesses) {
    if (!store.is_store) continue;
    bool apart = store.distinct || store.space.injective(store.index) || own(store, store);
    for (const Access& other : accesses) {
      if (&other == &store || !share(other.buffer, store.buffer) || own(store, other)) continue;
      apart = false;
      break;
    }
    if (apart) continue;
    node_ = store.node;
    at_ = store.at;
    report(407, "nothing proves that no other point of the kernel writes or reads there", kNone, store.number);
  }
}

}  // namespace lenz::loops
