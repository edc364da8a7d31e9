#include "compiler/loops/clone.h"

namespace lenz::loops {

namespace {

Block copy_of(const Block& block);

std::unique_ptr<Block> copy_of(const std::unique_ptr<Block>& block) { return std::make_unique<Block>(copy_of(*block)); }

struct Copy {
  Node operator()(const If& n) const { return {If{n.condition, copy_of(n.then), copy_of(n.otherwise)}}; }
  Node operator()(const While& n) const { return {While{copy_of(n.test), n.condition, copy_of(n.body)}}; }
  Node operator()(const Repeat& n) const { return {Repeat{n.symbol, n.count, copy_of(n.body)}}; }
  Node operator()(const Kernel& n) const { return {Kernel{n.name, n.axes, copy_of(n.body), n.origin}}; }
  template <class Leaf>
  Node operator()(const Leaf& n) const {
    return {n};
  }
};

Block copy_of(const Block& block) {
  Block made;
  made.nodes.reserve(block.nodes.size());
  for (const Node& node : block.nodes) made.nodes.push_back(std::visit(Copy{}, node.is));
  return made;
}

}  // namespace

Program clone(const Program& program) {
  return {program.name,    program.context, program.assumptions, program.buffers,
          program.streams, program.inputs,  program.outputs,     copy_of(program.body)};
}

}  // namespace lenz::loops
