#include "compiler/driver/trace_command.h"

#include <cstdio>

#include "compiler/driver/arguments.h"
#include "compiler/driver/pipeline.h"
#include "compiler/graph/diff.h"
#include "compiler/graph/text.h"
#include "compiler/graph/verify.h"
#include "compiler/ops/op_table.h"
#include "compiler/passes/runner.h"

namespace lenz {

namespace {
std::string heading(const PassRun& run) {
  std::string text = "== " + std::string(run.pass) + ": ";
  if (!run.skipped.empty()) return text + "did not run, " + std::string(run.skipped);
  text += run.changed ? std::to_string(run.allowed) + (run.allowed == 1 ? " rewrite, " : " rewrites, ") +
                            std::to_string(run.nodes_before) + " -> " + std::to_string(run.nodes_after) + " nodes"
                      : "unchanged";
  if (run.denied) text += ", " + std::to_string(run.denied) + " not selected";
  if (!run.incomplete.empty()) text += "\n   incomplete: " + run.incomplete;
  for (const auto& [what, times] : run.counters)
    if (what.starts_with("refused:") || run.changed) text += "\n   " + what + " " + std::to_string(times);
  return text;
}
}  // namespace

ExitCode trace_command(std::span<const std::string> args) {
  CLI::App app("Shows the graph, what each pass changes, and the result.", "lenz trace");
  std::string file, selection;
  std::optional<std::string> passes;
  bool whole = false;
  DiffOptions how;
  app.add_option("FILE", file, "a graph's text; - is the standard input")->required();
  app.add_option("--passes", passes, "these, in this order (a,b,c); without it the whole pipeline");
  app.add_option("--select", selection, "which rewrites, as in lenz opt");
  app.add_option("--context", how.context, "unchanged lines to show around each change")->capture_default_str();
  app.add_flag("--text", whole, "the whole graph behind each pass that changed it, not what changed");
  if (!parse_arguments(app, args)) return ExitCode::fine;

  auto graph = read_valid_graph(file, op_table());
  std::vector<PipelineLine> lines(pipeline().begin(), pipeline().end());
  if (passes) lines = select_passes(*passes);
  RunnerOptions options;
  options.selection = PassSelection::parse(selection, pipeline());
  options.on_pass = [&](const PassRun& run, const Graph& before, const Graph& after) {
    std::printf("%s\n", heading(run).c_str());
    if (run.changed) std::printf("%s", (whole ? print(after) : diff(before, after, how)).c_str());
  };
  std::printf("== input\n%s", print(*graph).c_str());
  run_passes(*graph, lines, options);
  std::printf("== result\n%s", print(*graph).c_str());
  return ExitCode::fine;
}

}  // namespace lenz
