// `lenz run`: a graph on given or made inputs.
#include <cstdio>

#include "compiler/driver/arguments.h"
#include "compiler/graph/text.h"
#include "compiler/graph/verify.h"
#include "compiler/ops/op_table.h"
#include "oracle/commands.h"
#include "oracle/tensors.h"
#include "oracle/values_file.h"

namespace lenz::oracle {

namespace {
std::string folder_of(const std::string& file) {
  size_t slash = file.rfind('/');
  return slash == std::string::npos ? "." : file.substr(0, slash);
}

void show(const std::string& what, const RunValue& value, bool elements) {
  std::printf("%s: %s\n", what.c_str(), to_string(look(value)).c_str());
  if (elements) std::printf("%s\n", to_text(value).c_str());
}

void show_results(const Graph& graph, const Execution& run, size_t largest) {
  auto small = [&](const RunValue& v) {
    Seen seen = look(v);
    int64_t count = 1;
    for (int64_t s : seen.sizes) count *= s;
    return seen.kind != TypeKind::none && static_cast<size_t>(count) <= largest;
  };
  for (size_t i = 0; i < run.outputs.size(); ++i)
    show("output " + std::to_string(i), run.outputs[i], small(run.outputs[i]));
  for (size_t i = 0; i < run.inputs.size(); ++i)
    if (graph.inputs()[i].mutated)
      show("input " + graph.value_name(graph.inputs()[i].value) + " afterwards", run.inputs[i], small(run.inputs[i]));
}
}  // namespace

ExitCode run_command(std::span<const std::string> args) {
  CLI::App app(
      "Runs a graph. Inputs are what it declares (`init`), or drawn from a seed.\n"
      "Exit codes: 0 it ran; 2 it was refused, as eager refuses it, or the input is bad; 6 out of memory, or an op "
      "that "
      "can't run.",
      "lenz run");
  std::string file, inputs, save, bind, on = "eager";
  uint64_t seed = 0, memory_limit = 0;
  size_t largest = 64;
  app.add_option("FILE", file, "a graph's text; - is the standard input")->required();
  app.add_option("--on", on, "what runs it")->check(CLI::IsMember({"eager"}))->capture_default_str();
  app.add_option("--seed", seed, "of inputs without an initialiser, and of draws")->capture_default_str();
  app.add_option("--inputs", inputs, "an .npz file with an array for each input (those it has not are made)");
  app.add_option("--save", save,
                 "write results to this .npz file: out0, out1, ..., and inputs that were written to, by name");
  app.add_option("--bind", bind, "sizes of symbols: s0=17,s1=3; those not named get typical values");
  app.add_option("--mem-limit", memory_limit, "bytes of tensors alive at once; more is an error, exit code 6");
  app.add_option("--show", largest, "print elements of tensors with up to this many")->capture_default_str();
  if (!parse_arguments(app, args)) return ExitCode::fine;

  quieten_libtorch();
  auto graph = read_valid_graph(file, op_table());
  Boxed boxed(DeviceKind::cpu);
  Binding binding = parse_binding(bind, *graph);
  std::vector<RunValue> values;
  if (inputs.empty()) {
    complete(binding, *graph);
    check_facts(binding, *graph);
    values = initial_inputs(*graph, boxed, binding, seed);
  } else {
    values = read_inputs(inputs, *graph, boxed, binding, seed);
  }
  ExecuteOptions options;
  options.memory_limit = memory_limit;
  options.ambient_seed = seed;
  options.folder = folder_of(file);
  options.print = [](const std::string& line) { std::fputs(line.c_str(), stdout); };
  Execution run = Executor(boxed, options).run(*graph, values, binding);
  if (run.ending == Ending::raised) throw UserError("eager raises: " + run.text, run.where);
  if (run.ending == Ending::out_of_memory) throw Unsupported("out of memory at " + run.where + ": " + run.text);
  show_results(*graph, run, largest);
  if (!save.empty()) write_results(save, *graph, run);
  return ExitCode::fine;
}

}  // namespace lenz::oracle
