#include "compiler/driver/compile_command.h"

#include <cstdio>
#include <map>

#include "compiler/driver/arguments.h"
#include "compiler/driver/compile.h"
#include "compiler/graph/text.h"
#include "compiler/graph/verify.h"
#include "compiler/loops/text.h"
#include "compiler/loops/verify.h"
#include "compiler/ops/op_table.h"

namespace lenz {

ExitCode compile_command(std::span<const std::string> args) {
  CLI::App app("Takes a graph as far as a stage of the compiler and prints what it is then.", "lenz compile");
  std::string file, stage = "core";
  const std::map<std::string, Level> levels{
      {"graph", Level::torch}, {"functional", Level::aten}, {"core", Level::core}, {"loops", Level::core}};
  const std::map<std::string, Stage> passes{
      {"pregrad", Stage::pregrad}, {"joint", Stage::joint}, {"postgrad", Stage::postgrad}};
  app.add_option("FILE", file, "a graph's text; - is the standard input")->required();
  app.add_option(
         "--emit", stage,
         "graph: as it is; pregrad: cleaned up, its writes where they were; functional: once values are all "
         "there is; joint: once idioms are recognised; postgrad: as that is decomposed; core: once ops are core "
         "ones; loops: a nest for each value")
      ->check(CLI::IsMember({"graph", "pregrad", "functional", "joint", "postgrad", "core", "loops"}))
      ->capture_default_str();
  if (!parse_arguments(app, args)) return ExitCode::fine;

  auto graph = read_valid_graph(file, op_table());
  auto at = passes.find(stage);
  graph = at == passes.end() ? to_level(*graph, levels.at(stage)) : to_stage(*graph, at->second);
  std::string text;
  if (stage == "loops") {
    loops::Program program = lower_graph(*graph);
    loops::require_valid(program, "lowering");
    text = loops::print(program);
  } else {
    text = print(*graph);
  }
  std::fwrite(text.data(), 1, text.size(), stdout);
  return ExitCode::fine;
}

}  // namespace lenz
