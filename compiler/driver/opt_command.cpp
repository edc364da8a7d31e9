#include "compiler/driver/opt_command.h"

#include <cstdio>
#include <nlohmann/json.hpp>

#include "compiler/driver/arguments.h"
#include "compiler/driver/pipeline.h"
#include "compiler/graph/text.h"
#include "compiler/graph/verify.h"
#include "compiler/ops/op_table.h"
#include "compiler/passes/runner.h"

namespace lenz {

ExitCode opt_command(std::span<const std::string> args) {
  CLI::App app("Runs passes over a graph and prints the result.", "lenz opt");
  std::string file, selection;
  std::optional<std::string> passes;
  bool statistics = false, checked = false, provenance = false;
  app.add_option("FILE", file, "a graph's text; - is the standard input")->required();
  app.add_option("--passes", passes, "these, in this order (a,b,c); without it the whole pipeline");
  app.add_option("--select", selection,
                 "which rewrites: -NAME (not this pass), NAME:3 (its first three), NAME:#3 (only its third), all:120, "
                 "-@torch (no pass at this level)");
  app.add_flag("--stats", statistics, "print statistics as JSON (compiler/passes/pass_statistics.schema.json) instead");
  app.add_flag("--verify-each", checked, "after each pass: verify, print, parse and compare");
  app.add_flag("--provenance", provenance, "say which nodes of the input each node came from");
  if (!parse_arguments(app, args)) return ExitCode::fine;

  auto graph = read_valid_graph(file, op_table());
  std::vector<PipelineLine> lines(pipeline().begin(), pipeline().end());
  if (passes) lines = select_passes(*passes);
  RunnerOptions options;
  if (checked) options = checked_options();
  options.selection = PassSelection::parse(selection, pipeline());
  RunStatistics run = run_passes(*graph, lines, options);

  PrintOptions printed;
  printed.provenance = provenance;
  std::string text = statistics ? to_json(run).dump(1) + "\n" : print(*graph, printed);
  std::fwrite(text.data(), 1, text.size(), stdout);
  return ExitCode::fine;
}

}  // namespace lenz
