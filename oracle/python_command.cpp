// `lenz python`: a graph as a program for PyTorch.
#include "compiler/driver/arguments.h"
#include "oracle/binding_option.h"
#include "oracle/commands.h"
#include "oracle/python_program.h"
#include "oracle/values_file.h"

namespace lenz::oracle {

ExitCode python_command(std::span<const std::string> args) {
  CLI::App app(
      "A graph as a Python program of ATen calls, its inputs written out. It runs eager and torch.compile, and says "
      "where they differ.",
      "lenz python");
  std::string file, inputs, bind, mode = "ordinary", out;
  uint64_t seed = 0;
  bool eager = false;
  app.add_option("graph", file, "a .lenz file")->required();
  auto* given = app.add_option("--inputs", inputs, "values of inputs, an .npz");
  app.add_option("--seed", seed, "of the values that inputs get")->excludes(given);
  app.add_option("--values", mode, "their kind, as of `lenz run`")
      ->check(CLI::IsMember(value_mode_names()))
      ->excludes(given)
      ->capture_default_str();
  add_bind_option(app, bind, "get typical values");
  app.add_flag("--eager", eager, "it runs eager alone, and prints what that gives");
  app.add_option("--out", out, "where it goes (default: standard output)");
  if (!parse_arguments(app, args)) return ExitCode::fine;
  quieten_libtorch();
  Boxed boxed(DeviceKind::cpu);
  const auto [graph, binding, values, drawn] = given_graph(file, {inputs, bind, *parse_values(mode), seed}, boxed);
  for (const std::string& input : drawn)
    std::fprintf(stderr, "input %s: not in %s, so it is made\n", input.c_str(), inputs.c_str());
  PythonOptions options;
  options.compile = !eager;
  options.folder = folder_of(file);
  write_output(out, python_program(*graph, values, options));
  return ExitCode::fine;
}

}  // namespace lenz::oracle
