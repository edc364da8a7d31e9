// What is written when: no read before a write, and all of a buffer before it is read.
#include "compiler/loops/verifier.h"

namespace lenz::loops {

void ProgramVerifier::read(BufferId id, Ssa instr, size_t store) {
  BufferId of = root(id);
  if (buffer(of).kind != BufferKind::temporary) return;
  Written& w = written_[of];
  if (w.level == Written::whole) return;
  if (w.level == Written::none) {
    report(501, "nothing has written " + name(id), instr, store);
  } else {
    unproved(406, "nothing proves that all of " + name(id) + " has been written", instr, store);
  }
  w = {Written::whole, {}};  // said once
}

void ProgramVerifier::may_write(BufferId id, size_t store) {
  const Buffer& b = buffer(root(id));
  if (b.kind == BufferKind::constant) report(404, name(id) + " is a constant", kNone, store);
  if (b.kind == BufferKind::input && !b.mutated) report(405, name(id) + " is an input that is not `mut`", kNone, store);
}

void ProgramVerifier::write_whole(BufferId id) {
  if (buffer(id).view_of != kNone) return write_somewhere(id);
  written_[id] = {Written::whole, {}};
}

void ProgramVerifier::write_somewhere(BufferId id) {
  Written& w = written_[root(id)];
  if (w.level == Written::whole) return;
  w.level = Written::partly;
}

void ProgramVerifier::write_piece(BufferId id, Piece piece, const Facts& facts) {
  if (buffer(id).view_of != kNone) return write_somewhere(id);
  Written& w = written_[id];
  if (w.level == Written::whole) return;
  const auto& sizes = buffer(id).type.sizes;
  w.level = Written::partly;
  const std::vector<DimVec> by = radices(id);
  bool all = partition(std::span(&piece, 1), sizes, facts, by);
  if (!all) {
    w.pieces.push_back(std::move(piece));
    all = w.pieces.size() > 1 && partition(w.pieces, sizes, facts, by);
  }
  if (all) w = {Written::whole, {}};
}

// One of two ways was taken: what both wrote is written.
void ProgramVerifier::join(std::vector<Written>& into, const std::vector<Written>& other,
                           const std::vector<Written>& before) {
  for (size_t i = 0; i < into.size(); ++i) {
    if (into[i].level == other[i].level && into[i].level != Written::partly) continue;
    bool same = into[i].level == other[i].level && into[i].pieces.size() == other[i].pieces.size() &&
                into[i].pieces.size() == before[i].pieces.size();
    if (same) continue;
    into[i] = before[i];
    if (into[i].level == Written::none) into[i] = {Written::partly, {}};
  }
}

// After all turns: what a turn wrote at its own place, at the places of all; what it wrote wherever it stands, if there
// was a turn.
void ProgramVerifier::stack(const std::vector<Written>& before, const Repeat& n, const Scope& scope) {
  bool some = scope.facts.proves(ge(n.count, 1));
  for (BufferId id = 0; id < written_.size(); ++id) {
    Written& w = written_[id];
    if (before[id].level == Written::whole) {
      w = {Written::whole, {}};
      continue;
    }
    if (w.level == Written::whole && !some) {
      w = before[id];
      w.level = Written::partly;
    }
    if (w.level != Written::partly) continue;
    for (size_t k = before[id].pieces.size(); k < w.pieces.size(); ++k) w.pieces[k].space.add_axis(n.symbol, n.count);
    if (!w.pieces.empty() && partition(w.pieces, buffer(id).type.sizes, scope.facts, radices(id)))
      w = {Written::whole, {}};
  }
}

}  // namespace lenz::loops
