#include "compiler/driver/compile.h"

#include <algorithm>

#include "compiler/driver/pipeline.h"
#include "compiler/ops/decompose.h"

namespace lenz {

namespace {
// Which node has no definition that fits, and what the definition says to that; the graph is of no more use.
std::string what_stays(Graph& graph) {
  for (const auto& sub : graph.subgraphs)
    if (std::string why = what_stays(*sub); !why.empty()) return why;
  NodeId id = graph.first();
  while (id != kNone) {
    const OpDef& op = *graph.node(id).op;
    if (op.infer && !op.has(Trait::core) && !op.schema.mutates()) break;
    id = graph.node(id).next;
  }
  if (id == kNone) return "";
  const Node node = graph.node(id);
  std::string who = "; " + node.op->full_name + (node.result_count ? " of " + graph.value_name(node.result()) : "");
  if (node.op->decompose.empty()) return who;
  auto first_line = [](std::string_view text) { return ": " + std::string(text.substr(0, text.find('\n'))); };
  try {
    expand(graph, id, *node.op, node.arguments());
  } catch (const UserError& e) {
    who += first_line(e.what());
  } catch (const Unsupported& e) {
    who += first_line(e.what());
  }
  return who;
}
}  // namespace

std::unique_ptr<Graph> to_level(const Graph& graph, Level level, const RunnerOptions& options,
                                std::span<const PipelineLine> lines) {
  std::unique_ptr<Graph> made = graph.clone();
  std::string why;
  for (const PipelineLine& line : lines) {
    if (made->level >= level && level != Level::core) break;
    RunStatistics run = run_passes(*made, {&line, 1}, options);
    for (const auto& [what, times] : run.runs[0].counters)
      if (what.starts_with("not ")) why += "; " + what;
  }
  if (made->level == Level::aten && level > Level::aten) why += what_stays(*made);
  if (made->level < level)
    throw Unsupported(made->spelled_name() + " stays at level " + std::string(name(made->level)) + why);
  return made;
}

std::unique_ptr<Graph> to_stage(const Graph& graph, Stage stage, const RunnerOptions& options) {
  std::unique_ptr<Graph> made = graph.clone();
  auto lines = pipeline();
  auto behind = std::ranges::find_if(lines, [&](const PipelineLine& l) { return l.stage > stage; });
  run_passes(*made, lines.first(static_cast<size_t>(behind - lines.begin())), options);
  return made;
}

loops::Program to_loops(const Graph& graph, const RunnerOptions& options, const LowerOptions& lower,
                        std::span<const PipelineLine> lines) {
  RunnerOptions how = options;
  how.products_outside = lower.products_outside;
  const std::unique_ptr<Graph> core = to_level(graph, Level::core, how, lines);
  return lower.proved ? lower_proved(*core, lower) : lower_graph(*core, lower);
}

bool stands_at_core(const OpDef& op) {
  if (op.variant == VariantKind::functional) return op.has(Trait::core);
  return op.variant == VariantKind::in_place && !op.base->decompose.empty() && !op.lowering.body.empty();
}

}  // namespace lenz
