#include "compiler/schedule/realise.h"

#include "compiler/schedule/apart.h"
#include "compiler/schedule/dead_results.h"
#include "compiler/schedule/far.h"
#include "compiler/schedule/joined_rows.h"
#include "compiler/schedule/kernel_maker.h"
#include "compiler/schedule/memory_order.h"
#include "compiler/schedule/recompute.h"
#include "compiler/schedule/reshaped.h"
#include "compiler/schedule/shared_values.h"
#include "compiler/schedule/short_sorts.h"
#include "compiler/schedule/split.h"
#include "compiler/schedule/turned.h"
#include "compiler/schedule/whole_copies.h"

namespace lenz::schedule {

using loops::Block;
using loops::Nest;
using loops::Program;

namespace {

class Realiser {
 public:
  Realiser(Program program, const Plan& plan, const RealiseOptions& options)
      : program_(std::move(program)),
        taken_(symbols_of(program_)),
        plan_(plan),
        options_(options),
        uses_(uses_of(program_)) {}

  Program run() {
    std::vector<Block*> blocks = blocks_of(program_);
    LENZ_CHECK(blocks.size() == plan_.blocks.size(), "a plan is for another program");
    // Inner blocks are reached through the nodes of outer ones, so these move last.
    for (size_t b = blocks.size(); b-- > 0;) block(*blocks[b], plan_.blocks[b]);
    drop_unused_buffers(program_);
    if (options_.tiles) mark_far(program_, plan_.target);
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

void prepare(Program& program, const Target& target) {
  drop_dead_results(program);
  build_in_place(program);
  shorten_sorts(program);
  recompute(program, choose_recomputed(program, target));
  compute_shared_values_once(program, target);
  split_dims_as_read(program);
  order_axes_as_memory(program);
  order_axes_as_read(program);
  split_reductions(program, target);
  join_parts_of_rows(program);
  move_out_axes_apart(program);
  move_out_axes_of_statistics(program);
}

Program schedule(Program program, const Target& target, const RealiseOptions& options) {
  prepare(program, target);
  Plan made = plan(program, target);
  return realise(std::move(program), made, options);
}

}  // namespace lenz::schedule
