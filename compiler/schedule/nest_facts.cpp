#include "compiler/schedule/nest_facts.h"

#include <algorithm>

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

double cost_of(const loops::Instr& instr) {
  switch (instr.kind) {
    case InstrKind::constant: return 0;
    case InstrKind::index: return 0.5;
    case InstrKind::load: return 0.5;
    case InstrKind::part: return 0;
    case InstrKind::position: return 1;
    case InstrKind::draw: return 20;
    case InstrKind::reduce:
    case InstrKind::scan: return 1;
    case InstrKind::scalar:
      // What is not rounded correctly takes a polynomial.
      if (instr.row->accuracy.kind == AccuracyClass::ulps) return 15;
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

namespace {

class UseFinder {
 public:
  explicit UseFinder(const Program& program) : program_(program) { out_.buffers.resize(program.buffers.size()); }

  Uses run() {
    block(program_.body);
    for (const loops::Output& o : program_.outputs) output(o);
    for (BufferId id = 0; id < program_.buffers.size(); ++id)
      if (program_.buffers[id].view_of != kNone) out_.buffers[id].otherwise = out_.buffers[root(id)].otherwise = true;
    return std::move(out_);
  }

 private:
  BufferId root(BufferId id) const { return program_.buffers[id].view_of == kNone ? id : program_.buffers[id].view_of; }
  void other(BufferId id) {
    if (id != kNone) out_.buffers[id].otherwise = true;
  }

  void output(const loops::Output& o) {
    other(o.buffer);
    for (const loops::Output& e : o.elements) output(e);
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
    for (const loops::Store& s : n.stores) note(out_.buffers[s.buffer].writers);
  }
  void node(const loops::Sort& n, Uses::Place) {
    other(n.keys);
    other(n.values);
    other(n.indices);
  }
  void node(const loops::Extern& n, Uses::Place) {
    for (const Arg& a : n.args) for_each_value(a, [&](ValueId v) { other(v); });
    for (BufferId r : n.results) other(r);
  }
  void node(const loops::Bind& n, Uses::Place) { other(n.from); }
  void node(const loops::Check& n, Uses::Place) { other(n.holds); }
  void node(const loops::Print& n, Uses::Place) {
    for (BufferId v : n.values) other(v);
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

  const Program& program_;
  Uses out_;
};

}  // namespace

Uses uses_of(const Program& program) { return UseFinder(program).run(); }

}  // namespace lenz::schedule
