#include "compiler/schedule/realise.h"

#include "compiler/schedule/kernel_maker.h"
#include "compiler/schedule/recompute.h"

namespace lenz::schedule {

using loops::Block;
using loops::Nest;
using loops::Program;

namespace {

class Realiser {
 public:
  Realiser(Program program, const Plan& plan, const RealiseOptions& options)
      : program_(std::move(program)), plan_(plan), options_(options), uses_(uses_of(program_)) {}

  Program run() {
    find_taken();
    std::vector<Block*> blocks = blocks_of(program_);
    LENZ_CHECK(blocks.size() == plan_.blocks.size(), "a plan is for another program");
    // Inner blocks are reached through the nodes of outer ones, so these move last.
    for (size_t b = blocks.size(); b-- > 0;) block(*blocks[b], plan_.blocks[b]);
    drop_unused_buffers(program_);
    return std::move(program_);
  }

 private:
  void block(Block& into, const std::vector<Group>& groups) {
    std::vector<loops::Node> made;
    for (const Group& g : groups) {
      if (g.nests.empty()) {
        made.push_back(std::move(into.nodes[g.node]));
        continue;
      }
      KernelMaker maker(program_, plan_.target, uses_, into, g, taken_);
      if (options_.tiles) maker.tile();
      for (loops::Node& node : maker.run()) made.push_back(std::move(node));
    }
    into.nodes = std::move(made);
  }

  void find_taken() {
    auto all = [&](Dim d) {
      if (!d.is_constant()) for_each_symbol(d, [&](const SymNode* s) { taken_.insert(s); });
    };
    for (const loops::Input& i : program_.inputs) all(i.sym);
    for (const loops::Buffer& b : program_.buffers) {
      for (Dim d : b.type.sizes) all(d);
      for (Dim d : b.type.strides) all(d);
      all(b.type.offset);
    }
    for_each_node(program_.body, [&](const loops::Node& n) {
      if (const auto* repeat = std::get_if<loops::Repeat>(&n.is)) all(repeat->symbol);
      if (const auto* bind = std::get_if<loops::Bind>(&n.is)) all(bind->symbol);
      const auto* nest = std::get_if<Nest>(&n.is);
      for (size_t i = 0; nest && i < nest->body.size(); ++i)
        if (nest->body[i].kind == loops::InstrKind::position) all(nest->body[i].symbol);
    });
  }

  Program program_;
  SymbolSet taken_;
  const Plan& plan_;
  const RealiseOptions& options_;
  Uses uses_;
};

}  // namespace

Program realise(Program program, const Plan& plan, const RealiseOptions& options) {
  return Realiser(std::move(program), plan, options).run();
}

Program schedule(Program program, const Target& target, const RealiseOptions& options) {
  recompute(program, choose_recomputed(program));
  Plan made = plan(program, target);
  return realise(std::move(program), made, options);
}

}  // namespace lenz::schedule
