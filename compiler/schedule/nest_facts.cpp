#include "compiler/schedule/nest_facts.h"

#include <algorithm>
#include <map>

#include "compiler/base/sym_facts.h"
#include "compiler/loops/uses.h"

namespace lenz::schedule {

using loops::InstrKind;
using loops::Nest;
using loops::Program;
using loops::StoreMode;

namespace {
void add_once(std::vector<BufferId>& list, BufferId id) {
  if (std::ranges::find(list, id) == list.end()) list.push_back(id);
}
}  // namespace

bool Along::move(Dim d) const {
  return std::ranges::any_of(symbols, [&](const SymNode* s) { return mentions(d, s); });
}

bool Along::decides(Dim d) const {
  return std::ranges::any_of(symbols.begin() + 1, symbols.end(), [&](const SymNode* s) { return mentions(d, s); });
}

Along along(const Nest& nest, Dim axis) {
  Along made{{axis.node()}, {}};
  for (const loops::Instr& i : nest.body) {
    bool here = i.kind == InstrKind::scan || (i.mask != kNone && made.values[i.mask]);
    for (Ssa operand : i.operands) here = here || made.values[operand];
    for (Dim d : i.index) here = here || made.move(d);
    made.values.push_back(here);
    if (here && i.kind == InstrKind::position) made.symbols.push_back(i.symbol.node());
  }
  return made;
}

bool may_raise(const loops::Instr& i) {
  if (i.kind == loops::InstrKind::position) return true;
  if (i.kind != loops::InstrKind::scalar || i.row->arity != 2 || !is_integral(i.compute, false)) return false;
  try {
    const ScalarValue operands[] = {ScalarValue(int64_t{1}), ScalarValue(int64_t{0})};
    evaluate(*i.row, i.compute, operands);
    return false;
  } catch (const UserError&) {
    return true;
  }
}

double cost_of(const loops::Instr& instr) {
  switch (instr.kind) {
    case InstrKind::constant: return 0;
    case InstrKind::index: return 0.5;
    case InstrKind::load: return 0.5;
    case InstrKind::part: return 0;
    case InstrKind::position: return 1;
    case InstrKind::draw: return 20;
    case InstrKind::reduce: return 1;
    case InstrKind::scan: return instr.combine == loops::Combine::log_sum_exp ? 20 : 1;  // an exponential
    case InstrKind::scalar:
      // What is not rounded correctly takes a polynomial.
      if (instr.row->accuracy.of(instr.compute) == AccuracyClass::ulps) return 15;
      if (instr.row->name == "div" || instr.row->name == "sqrt") return 5;  // op name: of a primitive, by what it costs
      return is_complex(instr.compute) ? 3 : 1;
  }
  return 1;
}

NestFacts facts_of(const Nest& nest) {
  NestFacts made;
  for (const loops::Axis& a : nest.axes)
    (a.kind == loops::AxisKind::parallel ? made.parallel : made.inner).push_back(a.symbol);
  for (const loops::Instr& i : nest.body) {
    made.cost += cost_of(i);
    made.reduces = made.reduces || i.kind == InstrKind::reduce;
    made.scans = made.scans || i.kind == InstrKind::scan;
    made.draws = made.draws || i.kind == InstrKind::draw;
    made.positions = made.positions || i.kind == InstrKind::position;
    if (i.kind == InstrKind::load) add_once(made.reads, i.buffer);
  }
  // Reduction axes without a reduce run a store at each of their points: as good as parallel ones for what follows.
  for (const loops::Store& s : nest.stores) {
    made.combines = made.combines || s.mode != StoreMode::assign || s.distinct;
    made.masked_store = made.masked_store || s.mask != kNone;
    add_once(made.writes, s.buffer);
  }
  return made;
}

std::vector<BufferId> storages_of(const Program& program) {
  std::vector<BufferId> made(program.buffers.size());
  std::map<NameId, BufferId> classes;
  for (BufferId id = 0; id < made.size(); ++id) {
    const loops::Buffer& b = program.buffers[id];
    // A view stands behind what it is of.
    made[id] = b.view_of != kNone ? made[b.view_of] : b.alias ? classes.try_emplace(*b.alias, id).first->second : id;
  }
  return made;
}

namespace {

class UseFinder {
 public:
  explicit UseFinder(const Program& program) : program_(program), storages_(storages_of(program)) {
    out_.buffers.resize(program.buffers.size());
    for (BufferId id = 0; id < program.buffers.size(); ++id)
      if (program.buffers[id].kind != loops::BufferKind::temporary) out_.buffers[storages_[id]].writes = 1;
  }

  Uses run() {
    block(program_.body);
    loops::for_each_output_buffer(program_, [&](BufferId id) { other(id); });
    for (BufferId id = 0; id < storages_.size(); ++id)
      if (storages_[id] != id) out_.buffers[id].otherwise = out_.buffers[storages_[id]].otherwise = true;
    for (BufferId id = 0; id < storages_.size(); ++id) out_.buffers[id].writes = out_.buffers[storages_[id]].writes;
    return std::move(out_);
  }

 private:
  void other(BufferId id) {
    if (id != kNone) out_.buffers[id].otherwise = true;
  }

  void writes(BufferId id) {
    if (id != kNone) ++out_.buffers[storages_[id]].writes;
  }

  void block(const loops::Block& b) {
    for (uint32_t i = 0; i < b.nodes.size(); ++i) std::visit([&](const auto& n) { node(n, {&b, i}); }, b.nodes[i].is);
  }

  void node(const Nest& n, Uses::Place at) {
    auto note = [&](std::vector<Uses::Place>& list) {
      if (list.empty() || !(list.back() == at)) list.push_back(at);
    };
    for (const loops::Instr& i : n.body)
      if (i.kind == InstrKind::load) note(out_.buffers[i.buffer].readers);
    std::vector<BufferId> stored;
    for (const loops::Store& s : n.stores) {
      note(out_.buffers[s.buffer].writers);
      add_once(stored, s.buffer);
    }
    for (BufferId id : stored) writes(id);
  }
  void node(const loops::If& n, Uses::Place) {
    other(n.condition);
    block(*n.then);
    block(*n.otherwise);
  }
  void node(const loops::While& n, Uses::Place) {
    other(n.condition);
    block(*n.test);
    block(*n.body);
  }
  void node(const loops::Repeat& n, Uses::Place) { block(*n.body); }
  void node(const loops::Kernel& n, Uses::Place) { block(*n.body); }
  void node(const loops::Sort& n, Uses::Place at) {
    writes(n.values), writes(n.indices);
    others(at);
  }
  void node(const loops::Extern& n, Uses::Place at) {
    for (BufferId id : n.results) writes(id);
    others(at);
  }
  void node(const auto&, Uses::Place at) { others(at); }
  void others(Uses::Place at) {
    loops::for_each_buffer(at.block->nodes[at.node], [&](BufferId id) { other(id); });
  }

  const Program& program_;
  std::vector<BufferId> storages_;
  Uses out_;
};

}  // namespace

Uses uses_of(const Program& program) { return UseFinder(program).run(); }

}  // namespace lenz::schedule
