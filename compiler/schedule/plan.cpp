#include "compiler/schedule/plan.h"

#include <algorithm>
#include <map>

#include "compiler/base/lexer.h"
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

std::string name_text(const std::string& name) {
  if (is_plain_name(name)) return name;
  std::string quoted;
  append_quoted(quoted, name);
  return quoted;
}

std::string text_of(const Tiles& t) {
  std::string out;
  if (!t.order.empty()) out += " order";
  for (uint32_t k : t.order) out += " " + std::to_string(k);
  if (t.size != 0) out += " tile " + std::to_string(t.size);
  if (t.joined != 1) out += " joined " + std::to_string(t.joined);
  if (t.rows) out += " rows " + std::to_string(*t.rows) + " of " + std::to_string(t.row_size);
  if (t.rows_joined != 1) out += " joined " + std::to_string(t.rows_joined);
  if (t.abreast) out += " abreast";
  return out;
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
  Plan made{target, {}, program.name};
  const Uses uses = uses_of(program);
  for (const loops::Block* block : blocks_of(program)) {
    made.blocks.push_back(fuse(program, *block, limits));
    for (Group& g : made.blocks.back())
      if (!g.nests.empty()) g.tiles = choose_tiles(program, *block, uses, g, target);
  }
  return made;
}

std::string print(const Plan& plan, const loops::Program& program) {
  loops::ProgramText text(program);
  std::vector<const loops::Block*> blocks = blocks_of(program);
  std::string out = "plan @" + name_text(plan.name) + " for " + plan.target.name + " cores " +
                    std::to_string(plan.target.cores) + " vector " + std::to_string(plan.target.vector_bytes) +
                    (plan.target.grain == 1 ? "" : " grain " + std::to_string(plan.target.grain)) + " {\n";
  for (size_t b = 0; b < plan.blocks.size(); ++b) {
    if (b > 0) out += "  block " + std::to_string(b) + "\n";
    for (const Group& g : plan.blocks[b]) {
      if (g.nests.empty()) {
        out += "  node " + std::to_string(g.node) + "  # " + text.node(blocks[b]->nodes[g.node]) + "\n";
        continue;
      }
      out += "  kernel shared " + std::to_string(g.shared) + text_of(g.tiles) + " {\n";
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

// ---------------------------------------------------------------------------------------------------------------------
// Legality

namespace {
// The groups' order against the block's: what depends on a node comes behind it, and no nest crosses what is none.
class OrderCheck {
 public:
  OrderCheck(const loops::Program& program, const loops::Block& block, const std::vector<Group>& groups)
      : block_(block), groups_(groups), storages_(storages_of(program)), group_of_(block.nodes.size(), kNone) {}

  std::string run() {
    for (uint32_t g = 0; g < groups_.size(); ++g)
      if (std::string why = place(groups_[g], g); !why.empty()) return why;
    for (uint32_t n = 0; n < group_of_.size(); ++n)
      if (group_of_[n] == kNone) return "node " + std::to_string(n) + " is missing";
    for (uint32_t n = 0; n < group_of_.size(); ++n)
      if (std::string why = check(n); !why.empty()) return why;
    return {};
  }

 private:
  std::string place(const Group& group, uint32_t number) {
    const bool none = group.nests.empty();
    for (uint32_t n : none ? std::vector<uint32_t>{group.node} : group.nests) {
      const std::string node = "node " + std::to_string(n);
      if (n >= block_.nodes.size()) return "there is no " + node;
      if (group_of_[n] != kNone) return node + " stands twice";
      if (std::holds_alternative<loops::Nest>(block_.nodes[n].is) == none)
        return node + (none ? " is a nest: it belongs in a kernel" : " is no nest: it belongs in no kernel");
      group_of_[n] = number;
    }
    return {};
  }

  std::string check(uint32_t n) {
    auto after = [&](uint32_t earlier) {
      return earlier == kNone || group_of_[earlier] <= group_of_[n]
                 ? ""
                 : "node " + std::to_string(n) + " runs before node " + std::to_string(earlier) + ", which it needs";
    };
    auto note = [](std::string& why, std::string more) {
      if (why.empty()) why = std::move(more);
    };
    std::string why;
    const auto* nest = std::get_if<loops::Nest>(&block_.nodes[n].is);
    note(why, after(barrier_));
    if (!nest) {
      for (uint32_t earlier = 0; earlier < n; ++earlier) note(why, after(earlier));
      barrier_ = n;
      return why;
    }
    const NestFacts facts = facts_of(*nest);
    for (BufferId id : facts.reads) {
      Last& last = last_[storages_[id]];
      note(why, after(last.writer));
      last.readers.push_back(n);
    }
    for (BufferId id : facts.writes) {
      Last& last = last_[storages_[id]];
      note(why, after(last.writer));
      for (uint32_t reader : last.readers) note(why, after(reader));
      last = {n, {}};
    }
    return why;
  }

  struct Last {
    uint32_t writer = kNone;
    std::vector<uint32_t> readers;  // since then
  };
  const loops::Block& block_;
  const std::vector<Group>& groups_;
  std::vector<BufferId> storages_;
  std::vector<uint32_t> group_of_;  // of each node
  std::map<BufferId, Last> last_;
  uint32_t barrier_ = kNone;  // the last node that is no nest
};

// Its phases hold each of its nests once.
bool has_its_phases(const Group& group) {
  std::vector<uint32_t> all;
  for (const Phase& p : group.phases) all.insert(all.end(), p.nests.begin(), p.nests.end());
  std::ranges::sort(all);
  return all == group.nests;
}
}  // namespace

std::string why_illegal(const Plan& plan, const loops::Program& program) {
  if (plan.name != program.name) return "it is for @" + plan.name + ", not for @" + program.name;
  const std::vector<const loops::Block*> blocks = blocks_of(program);
  if (blocks.size() != plan.blocks.size())
    return "it has " + std::to_string(plan.blocks.size()) + " blocks, the program " + std::to_string(blocks.size());
  for (size_t b = 0; b < blocks.size(); ++b) {
    const std::string where = b == 0 ? "" : "block " + std::to_string(b) + ": ";
    if (std::string why = OrderCheck(program, *blocks[b], plan.blocks[b]).run(); !why.empty()) return where + why;
    for (const Group& g : plan.blocks[b]) {
      if (g.nests.empty()) continue;
      std::string why = has_its_phases(g) ? why_illegal(program, *blocks[b], g) : "its phases are not its nests";
      if (why.empty()) why = why_not_cut(program, *blocks[b], g);
      if (!why.empty()) return where + "the kernel of node " + std::to_string(g.nests[0]) + ": " + why;
    }
  }
  return {};
}

}  // namespace lenz::schedule
