#include "compiler/runtime/tape.h"

#include <algorithm>

#include "compiler/base/error.h"
#include "compiler/loops/uses.h"

namespace lenz::runtime {

using loops::Block;
using loops::Program;

std::string step_name(const loops::Node& node) {
  if (const auto* n = std::get_if<loops::Kernel>(&node.is)) return n->name;
  if (const auto* n = std::get_if<loops::Extern>(&node.is)) return n->op->full_name;
  constexpr std::string_view names[] = {"nest",  "sort", "extern", "bind",   "check",
                                        "print", "cond", "while",  "repeat", "kernel"};
  return std::string(names[node.is.index()]);
}

namespace {
class TapeMaker {
 public:
  TapeMaker(const Program& program, const KernelCode& code, uint32_t& count)
      : program_(program), code_(code), early_(loops::early_symbols(program)), count_(count) {}

  std::unique_ptr<Tape> block(const Block& b) {
    auto tape = std::make_unique<Tape>();
    for (const loops::Node& node : b.nodes) {
      Step step;
      step.node = &node;
      step.number = count_++;
      std::visit([&](const auto& n) { take(n, step, *tape); }, node.is);
      tape->steps.push_back(std::move(step));
    }
    return tape;
  }

 private:
  void take(const loops::Kernel& kernel, Step& step, Tape&) {
    auto found = code_.kernels.find(&kernel);
    if (found == code_.kernels.end()) throw Unsupported("no code for kernel '" + kernel.name + "'");
    step.code = found->second;
    for (Dim s : step.code.arguments.symbols) step.late = step.late || !loops::all_in(s, early_);
    for (loops::BufferId id : step.code.arguments.buffers)
      for (Dim d : program_.buffers[id].type.sizes) step.late = step.late || !loops::all_in(d, early_);
    for (const loops::Node& nest : kernel.body->nodes)
      for (const loops::Store& s : std::get<loops::Nest>(nest.is).stores)
        if (!program_.buffers[s.buffer].local && std::ranges::find(step.stores, s.buffer) == step.stores.end())
          step.stores.push_back(s.buffer);
  }
  void take(const loops::Nest& nest, Step&, Tape&) { throw Unsupported("no code for nest '" + nest.name + "'"); }
  void take(const loops::Sort& sort, Step& step, Tape&) {
    if (sort.values != kNone) step.stores.push_back(sort.values);
    if (sort.indices != kNone) step.stores.push_back(sort.indices);
  }
  void take(const loops::If& n, Step&, Tape& tape) {
    tape.inner.push_back(block(*n.then));
    tape.inner.push_back(block(*n.otherwise));
  }
  void take(const loops::While& n, Step&, Tape& tape) {
    tape.inner.push_back(block(*n.test));
    tape.inner.push_back(block(*n.body));
  }
  void take(const loops::Repeat& n, Step&, Tape& tape) { tape.inner.push_back(block(*n.body)); }
  void take(const auto&, Step&, Tape&) {}

  const Program& program_;
  const KernelCode& code_;
  loops::SymbolSet early_;
  uint32_t& count_;
};
}  // namespace

std::unique_ptr<Tape> make_tape(const Program& program, const KernelCode& code, uint32_t& count) {
  count = 0;
  return TapeMaker(program, code, count).block(program.body);
}

}  // namespace lenz::runtime
