// What was decided about a program, as a value: which nests make a kernel, over which axes, in which phases, how large
// tiles are. A plan prints; realise() applies it. It says nothing of how a kernel is run.
// Thread-safety: values.
#pragma once

#include <string>
#include <vector>

#include "compiler/schedule/fuse.h"
#include "compiler/schedule/target.h"

namespace lenz::schedule {

struct Plan {
  Target target;
  // Of the main block, and of every block inside it in the order of for_each_node.
  std::vector<std::vector<Group>> blocks;
  std::string name;  // of the program
  friend bool operator==(const Plan&, const Plan&) = default;
};

// The plan for a program that is prepared (realise.h).
Plan plan(const loops::Program& program, const Target& target, const FusionLimits& limits = {});
std::string print(const Plan& plan, const loops::Program& program);
// Any text is safe to parse: UserError with file, line and remedy for a bad one. It may be no plan for your program.
Plan parse_plan(std::string_view text, const std::string& file = "<text>");
// Why it is no plan for a program that is prepared, or would compute something else; empty if it is one.
std::string why_illegal(const Plan& plan, const loops::Program& program);

// Every block in the order of Plan::blocks.
std::vector<loops::Block*> blocks_of(loops::Program& program);
std::vector<const loops::Block*> blocks_of(const loops::Program& program);

}  // namespace lenz::schedule
