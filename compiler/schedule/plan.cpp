#include "compiler/schedule/plan.h"

#include "compiler/loops/text.h"

namespace lenz::schedule {

namespace {
template <class BlockT, class Out>
void collect(BlockT& block, Out& out) {
  out.push_back(&block);
  for (auto& node : block.nodes) {
    if (auto* n = std::get_if<loops::If>(&node.is)) {
      collect<BlockT>(*n->then, out);
      collect<BlockT>(*n->otherwise, out);
    } else if (auto* n = std::get_if<loops::While>(&node.is)) {
      collect<BlockT>(*n->test, out);
      collect<BlockT>(*n->body, out);
    } else if (auto* n = std::get_if<loops::Repeat>(&node.is)) {
      collect<BlockT>(*n->body, out);
    }
  }
}

std::string of_nest(const loops::Nest& nest, const std::string& stored) {
  return (nest.name.empty() ? "nest" : nest.name) + " to " + stored;
}
}  // namespace

std::vector<loops::Block*> blocks_of(loops::Program& program) {
  std::vector<loops::Block*> out;
  collect(program.body, out);
  return out;
}
std::vector<const loops::Block*> blocks_of(const loops::Program& program) {
  std::vector<const loops::Block*> out;
  collect<const loops::Block>(program.body, out);
  return out;
}

Plan plan(const loops::Program& program, const Target& target, const FusionLimits& limits) {
  Plan made{target, {}};
  for (const loops::Block* block : blocks_of(program)) made.blocks.push_back(fuse(program, *block, limits));
  return made;
}

std::string print(const Plan& plan, const loops::Program& program) {
  loops::ProgramText text(program);
  std::vector<const loops::Block*> blocks = blocks_of(program);
  std::string out = "plan @" + program.name + " for " + plan.target.name + " cores " +
                    std::to_string(plan.target.cores) + " vector " + std::to_string(plan.target.vector_bytes) + " {\n";
  for (size_t b = 0; b < plan.blocks.size(); ++b) {
    if (b > 0) out += "  block " + std::to_string(b) + "\n";
    for (const Group& g : plan.blocks[b]) {
      if (g.nests.empty()) {
        out += "  node " + std::to_string(g.node) + "  " + text.node(blocks[b]->nodes[g.node]) + "\n";
        continue;
      }
      out += "  kernel shared " + std::to_string(g.shared) + " {\n";
      for (const Phase& p : g.phases) {
        out += "    phase";
        for (uint32_t n : p.nests) out += " " + std::to_string(n);
        out += "  # ";
        std::string separator;
        for (uint32_t n : p.nests) {
          const auto& nest = std::get<loops::Nest>(blocks[b]->nodes[n].is);
          out += separator + of_nest(nest, nest.stores.empty() ? "nothing" : text.buffer(nest.stores[0].buffer));
          separator = ", ";
        }
        out += "\n";
      }
      out += "  }\n";
    }
  }
  return out + "}\n";
}

}  // namespace lenz::schedule
