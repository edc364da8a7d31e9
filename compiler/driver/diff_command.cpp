#include "compiler/driver/diff_command.h"

#include <cstdio>

#include "compiler/driver/arguments.h"
#include "compiler/graph/diff.h"
#include "compiler/graph/text.h"
#include "compiler/ops/op_table.h"

namespace lenz {

ExitCode diff_command(std::span<const std::string> args) {
  CLI::App app("Shows how two graphs differ, node by node, blind to names. Prints nothing if they are equal.",
               "lenz diff");
  std::string a, b;
  DiffOptions options;
  bool exit_code = false;
  app.add_option("A", a, "a graph's text; - is the standard input")->required();
  app.add_option("B", b, "another")->required();
  app.add_option("--context", options.context, "unchanged lines to show around each change")->capture_default_str();
  app.add_flag("--exit-code", exit_code, "exit with 7 if they differ");
  if (!parse_arguments(app, args)) return ExitCode::fine;
  auto before = read_graph(a, op_table()), after = read_graph(b, op_table());
  std::string text = diff(*before, *after, options);
  std::fwrite(text.data(), 1, text.size(), stdout);
  return exit_code && !text.empty() ? ExitCode::wrong : ExitCode::fine;
}

}  // namespace lenz
