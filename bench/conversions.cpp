#include "bench/conversions.h"

#include <algorithm>
#include <set>
#include <utility>

#include "compiler/loops/uses.h"

namespace lenz::bench {

namespace {
using loops::BufferId;
using loops::Instr;
using loops::InstrKind;
using loops::Nest;
using loops::Ssa;

bool converts(const Instr& i) { return i.kind == InstrKind::scalar && i.row->result == ResultRule::target; }
bool rounds(const Instr& i) {
  return converts(i) && is_reduced_float(i.dtype) && is_floating(i.compute) && !is_reduced_float(i.compute);
}
// Gives one of its operands, or what is as short.
bool chooses(const Instr& i) {
  return i.kind == InstrKind::scalar && !converts(i) && i.row->accuracy.kind == AccuracyClass::exact;
}

class Counter {
 public:
  Counter(const loops::Program& program, const SymValues& symbols) : program_(program), symbols_(symbols) {
    loops::for_each_output_buffer(program, [&](BufferId id) { outputs_.insert(id); });
    loops::for_each_node(program.body, [&](const loops::Node& node) {
      if (const auto* nest = std::get_if<Nest>(&node.is)) note(*nest);
    });
  }

  std::map<std::string, double> run() {
    for (const Nest* nest : nests_)
      for (Ssa i = 0; i < nest->body.size(); ++i) {
        if (!rounds(nest->body[i])) continue;
        add(Dtype::f32, nest->body[i].dtype, points(*nest));
        if (computed_with({nest, i})) add(nest->body[i].dtype, Dtype::f32, points(*nest));
      }
    for (BufferId id : read_)
      if (program_.buffers[id].kind == loops::BufferKind::input && is_reduced_float(program_.buffers[id].type.dtype))
        add(program_.buffers[id].type.dtype, Dtype::f32, elements(id));
    for (BufferId id : outputs_)
      if (const auto from = stored_.find(id);
          from != stored_.end() && is_reduced_float(program_.buffers[id].type.dtype) && computed(from->second))
        add(Dtype::f32, program_.buffers[id].type.dtype, elements(id));
    return std::move(counts_);
  }

 private:
  using Value = std::pair<const Nest*, Ssa>;

  void note(const Nest& nest) {
    nests_.push_back(&nest);
    for (Ssa i = 0; i < nest.body.size(); ++i) {
      const Instr& instr = nest.body[i];
      for (Ssa o : instr.operands) users_[{&nest, o}].emplace_back(&nest, i);
      if (instr.kind != InstrKind::load) continue;
      read_.insert(instr.buffer);
      loads_[instr.buffer].emplace_back(&nest, i);
    }
    for (const loops::Store& s : nest.stores) {
      stores_[{&nest, s.value}].push_back(s.buffer);
      if (s.mode == loops::StoreMode::assign) stored_.try_emplace(s.buffer, Value{&nest, s.value});
    }
  }

  double number(Dim d) const { return static_cast<double>(evaluate(d, symbols_).value_or(0)); }
  double elements(BufferId id) const {
    double all = 1;
    for (Dim d : program_.buffers[id].type.sizes) all *= number(d);
    return all;
  }
  double points(const Nest& nest) const {
    double all = 1;
    for (const loops::Axis& a : nest.axes) all *= number(a.extent);
    return all;
  }
  void add(Dtype from, Dtype to, double times) {
    counts_["to_dtype." + std::string(name(from)) + " " + std::string(name(to))] += times;
  }

  // Whether anything but choices is computed with it.
  bool computed_with(Value value) const {
    if (const auto users = users_.find(value); users != users_.end())
      for (const Value& user : users->second)
        if (!chooses(user.first->body[user.second]) || computed_with(user)) return true;
    if (const auto stores = stores_.find(value); stores != stores_.end())
      for (BufferId id : stores->second)
        if (const auto loads = loads_.find(id); loads != loads_.end())
          for (const Value& load : loads->second)
            if (computed_with(load)) return true;
    return false;
  }
  // Whether it has digits that nobody has rounded away.
  bool computed(Value value) const {
    const Instr& i = value.first->body[value.second];
    if (rounds(i) || i.kind == InstrKind::constant) return false;
    if (i.kind == InstrKind::load) {
      const auto from = stored_.find(i.buffer);
      return from != stored_.end() && computed(from->second);
    }
    if (!chooses(i)) return !converts(i);
    return std::ranges::any_of(i.operands, [&](Ssa o) { return computed({value.first, o}); });
  }

  const loops::Program& program_;
  const SymValues& symbols_;
  std::vector<const Nest*> nests_;
  std::set<BufferId> outputs_, read_;
  std::map<BufferId, Value> stored_;
  std::map<BufferId, std::vector<Value>> loads_;
  std::map<Value, std::vector<Value>> users_;
  std::map<Value, std::vector<BufferId>> stores_;
  std::map<std::string, double> counts_;
};
}  // namespace

std::map<std::string, double> conversions_of(const loops::Program& program, const SymValues& symbols) {
  return Counter(program, symbols).run();
}

}  // namespace lenz::bench
