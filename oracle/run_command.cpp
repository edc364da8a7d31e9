// `lenz run`: a graph on given or made inputs.
#include <unistd.h>

#include <cstdio>
#include <filesystem>

#include "compiler/driver/arguments.h"
#include "compiler/driver/program_set.h"
#include "compiler/graph/text.h"
#include "compiler/ops/op_table.h"
#include "oracle/binding_option.h"
#include "oracle/bounds/reference.h"
#include "oracle/commands.h"
#include "oracle/cuda_eager.h"
#include "oracle/draw_inputs.h"
#include "oracle/dying_calls.h"
#include "oracle/file_option.h"
#include "oracle/gradients.h"
#include "oracle/interpreted.h"
#include "oracle/random_machine.h"
#include "oracle/run_compiled.h"
#include "oracle/tensors.h"
#include "oracle/values_file.h"

namespace lenz::oracle {

namespace {
void add_values_option(CLI::App& app, std::string& mode) {
  app.add_option("--values", mode,
                 "which values inputs get that the graph gives none: ordinary (in the domains of the ops that read "
                 "them), special (NaN, infinities, zeros, subnormals, the ends of dtypes among them), exact (small "
                 "integers that keep every float operation exact), ties (three "
                 "different values), sorted, constant, nan, beyond (as ordinary, but some indices point beyond what "
                 "they index: eager raises)")
      ->check(CLI::IsMember(value_mode_names()))
      ->capture_default_str();
}

void show(const std::string& what, const RunValue& value, bool elements) {
  std::printf("%s: %s\n", what.c_str(), to_string(look(value)).c_str());
  if (elements) std::printf("%s\n", to_text(value).c_str());
}

bool is_small(const RunValue& v, size_t largest) {
  Seen seen = look(v);
  int64_t count = 1;
  for (int64_t s : seen.sizes) count *= s;
  return seen.kind != TypeKind::none && static_cast<size_t>(count) <= largest;
}

void show_results(const Graph& graph, const Execution& run, size_t largest) {
  auto small = [&](const RunValue& v) { return is_small(v, largest); };
  for (size_t i = 0; i < run.outputs.size(); ++i)
    show("output " + std::to_string(i), run.outputs[i], small(run.outputs[i]));
  const std::vector<bool> changed = changed_inputs(graph);
  for (size_t i = 0; i < run.inputs.size(); ++i)
    if (changed[i])
      show("input " + graph.value_name(graph.inputs()[i].value) + " afterwards", run.inputs[i], small(run.inputs[i]));
}

ExitCode run_gradients(const Graph& graph, std::span<const RunValue> inputs, const Binding& binding,
                       const ExecuteOptions& options, uint64_t seed, const std::string& save, size_t largest) {
  Gradients g = gradients(graph, inputs, binding, {.execute = options, .seed = seed, .given = {}});
  if (g.ending == Ending::raised)
    throw UserError(
        "eager raises: " + g.text, g.where,
        g.text.find("leaf") != std::string::npos ? "a leaf can't be written to: write to a copy of it" : "");
  if (g.ending == Ending::out_of_memory) throw Unsupported("out of memory at " + g.where + ": " + g.text);
  for (const NamedGradient& input : g.inputs) {
    if (!input.value) {
      std::printf("gradient of %%%s: none, no output depends on it\n", input.name.c_str());
      continue;
    }
    int64_t count = 1;
    for (int64_t s : look(input.value).sizes) count *= s;
    show("gradient of %" + input.name, input.value, static_cast<size_t>(count) <= largest);
  }
  for (const std::string& why : g.not_differentiable) std::printf("not differentiated: %s\n", why.c_str());
  if (!save.empty()) write_gradients(save, g);
  return ExitCode::fine;
}
}  // namespace

namespace {
// The float64 reference in eager's place: values, how far from them a right answer may lie, what is ambiguous.
ExitCode run_reference(const Graph& graph, Boxed& boxed, const std::vector<RunValue>& values, const Binding& binding,
                       const ExecuteOptions& options, Widening widening, const std::string& save, size_t largest) {
  Reference r = Referee(boxed, options, widening).run(graph, values, binding);
  if (r.ending == Ending::raised) throw UserError("eager raises: " + r.text, r.where);
  if (r.ending == Ending::out_of_memory) throw Unsupported("out of memory at " + r.where + ": " + r.text);
  Execution run;
  for (const Bounded& b : r.outputs) run.outputs.push_back(b.value);
  for (const Bounded& b : r.inputs) run.inputs.push_back(b.value);
  show_results(graph, run, largest);
  for (size_t i = 0; i < r.outputs.size() && widening == Widening::bounds; ++i) {
    const Bounded& b = r.outputs[i];
    std::string name = "output " + std::to_string(i);
    if (!b.error && b.number_error == 0) std::printf("%s: exact\n", name.c_str());
    if (b.number_error != 0) std::printf("%s, error bound: %.9g\n", name.c_str(), b.number_error);
    if (b.error) show(name + ", error bound", b.error, is_small(b.error, largest));
    if (b.ambiguous) show(name + ", ambiguous", b.ambiguous, is_small(b.ambiguous, largest));
  }
  for (const std::string& op : r.unbounded) std::printf("no bound is known for %s\n", op.c_str());
  if (!save.empty()) write_reference(save, graph, r);
  return ExitCode::fine;
}
// What runs a graph, and which options each takes beside those that all do.
struct Way {
  std::string_view name;
  std::vector<std::string_view> options;
};
const std::array<Way, 6>& ways() {
  static const std::array<Way, 6> all{{
      {"llvm", {"--target", "--threads", "--cache", "--profile", "--trace", "--calls", "--short-open"}},
      {"interp", {}},
      {"eager", {"--random", "--grad", "--guard"}},
      {"cuda", {}},
      {"f64", {}},
      {"bound", {}},
  }};
  return all;
}

// The one asked for; else that of the options given, else the first. UserError for options of another way.
std::string_view way_to_run(const CLI::App& app, const std::string& asked) {
  std::string_view chosen = asked, because;
  for (const Way& way : ways()) {
    for (std::string_view option : way.options) {
      if (app.count(std::string(option)) == 0 || chosen == way.name) continue;
      const std::string needs = std::string(option) + " is an option of --on " + std::string(way.name);
      if (!asked.empty()) throw UserError(needs + ", not of --on " + asked, app.get_name());
      if (!chosen.empty())
        throw UserError(needs + ", " + std::string(because) + " one of --on " + std::string(chosen), app.get_name());
      chosen = way.name;
      because = option;
    }
  }
  return chosen.empty() ? ways()[0].name : chosen;
}

void show_and_save(const Graph& graph, const Execution& run, const std::string& raiser, const std::string& save,
                   size_t largest, Layouts layouts = Layouts::told) {
  const std::string place = run.where.empty() ? "" : " at " + run.where;
  if (run.ending == Ending::raised && !save.empty()) write_results(save, graph, run);
  if (run.ending == Ending::raised) throw UserError(raiser + " raises: " + run.text, run.where);
  if (run.ending == Ending::out_of_memory) throw Unsupported("out of memory" + place + ": " + run.text);
  show_results(graph, run, largest);
  if (!save.empty()) write_results(save, graph, run, layouts);
}

// What can't be compiled may be interpreted, and always be run as it is.
[[noreturn]] void refuse(const Graph& graph, std::string_view on, const Unsupported& why) {
  std::string remedy = "--on eager runs the graph by libtorch, as it stands";
  try {
    if (on == "llvm") to_loops(graph), remedy = "--on interp runs its loops on the interpreter; " + remedy;
  } catch (const Unsupported&) {
  }
  throw Unsupported("--on " + std::string(on) + " can't run this graph: " + why.what() + "\n  help: " + remedy);
}

// What can be known before a long run: that its results would find no place.
void require_writable(const std::string& save) {
  const auto refuse = [&](const std::string& why) { throw UserError(why, save, "check the path of --save"); };
  if (save.empty()) return;
  if (save == "-")
    throw UserError("--save - names no file: results are an .npz file, which is not written to the standard output",
                    "lenz run", "name a file: --save y.npz");
  if (std::filesystem::is_directory(save)) refuse("a folder, not a file");
  if (::access(save.c_str(), F_OK) == 0 && ::access(save.c_str(), W_OK) != 0) refuse("can't write to the file");
  if (const auto folder = std::filesystem::absolute(save).parent_path(); ::access(folder.c_str(), W_OK) != 0)
    refuse("can't write to the folder " + folder.string());
}
}  // namespace

ExitCode run_command(std::span<const std::string> args) {
  CLI::App app(
      "Runs a graph. Inputs are what it declares (`init`), or drawn from a seed.\n"
      "Exit codes: 0 it ran; 7 --guard found a write beside elements; 2 it was refused, as eager refuses it (\"eager "
      "raises\", \"the program raises\": --save says so in the file, but of f64 and bound, which are no results), or "
      "the input is bad (any other words); 6 out of "
      "memory, or an op "
      "that "
      "can't run.",
      "lenz run");
  std::string file, inputs, save, bind, on;
  uint64_t seed = 0, memory_limit = 0;
  std::string mode = "ordinary";
  size_t largest = 64;
  bool guard = false, grad = false, short_open = false;
  std::string random = "eager";
  app.add_option("FILE", file, "a graph's text; - is the standard input")->required();
  app.add_option("--on", on,
                 "what runs it: llvm, compiled to machine code, products and convolutions by libtorch (the default); "
                 "interp, the compiler's loops on their interpreter; eager libtorch (the default with --random, --grad "
                 "and --guard); cuda, eager libtorch on a GPU, where inputs are copied to (no TF32); f64, eager with "
                 "every float in float64; bound, that with an error bound for every "
                 "element, out0.error in the file. Of random ops llvm and interp draw "
                 "from Lenz's stream where it has a sampling for them")
      ->check(CLI::IsMember({"llvm", "interp", "eager", "cuda", "f64", "bound"}));
  app.add_option("--seed", seed, "of inputs without an initialiser, and of draws")->capture_default_str();
  add_values_option(app, mode);
  app.add_option("--inputs", inputs, "an .npz file with an array for each input (those it has not are made, and named)")
      ->check(a_name());
  app.add_option("--save", save,
                 "write results to this .npz file: out0, out1, ..., and inputs that were written to, also through "
                 "another, by name")
      ->check(a_name());
  add_bind_option(app, bind, "get typical values");
  app.add_option("--mem-limit", memory_limit,
                 "bytes of tensors alive at once; more is an error, exit code 6; 0: no limit");
  app.add_option(
         "--random", random,
         "eager: where random ops draw from: eager's generator, or lenz, the stream that compiled code draws from")
      ->check(CLI::IsMember({"eager", "lenz"}))
      ->capture_default_str();
  app.add_flag(
      "--grad", grad,
      "eager: instead of results, gradients of the inputs that require one, by eager autograd in float64 (no error "
      "bound is known); --save writes grad_x for input %x, and grad_out0 for what output 0 was given");
  app.add_flag(
      "--guard", guard,
      "eager: watch memory; a write beside the elements of a buffer is wrong (exit code 7), fresh memory is poisoned");
  CompiledRun compiled;
  app.add_option("--target", compiled.target,
                 "llvm: avx512, avx2 or generic; the best that this machine runs if absent");
  app.add_option("--threads", compiled.threads, "llvm: how many; as many as this process may use if absent")
      ->check(CLI::Range(1, 4096));
  app.add_option("--cache", compiled.cache, "llvm: a folder that keeps compiled objects for the next time");
  app.add_flag("--profile", compiled.profile,
               "llvm: print what each kernel takes, reads and writes, against what the machine can copy");
  app.add_option("--trace", compiled.trace, "llvm: write a profile for chrome://tracing or Perfetto to this file");
  app.add_flag("--short-open", short_open,
               "llvm: sizes of the inputs that are open stay so in the code, however short");
  app.add_option("--calls", compiled.calls, "llvm: calls of a profile, of which the best one counts")
      ->check(CLI::Range(1, 1'000'000));
  app.add_option("--show", largest, "print elements of tensors with up to this many")->capture_default_str();
  if (!parse_arguments(app, args)) return ExitCode::fine;
  const std::string_view way = way_to_run(app, on);
  if (grad && guard) throw UserError("--guard watches runs, not their gradients", app.get_name(), "say one of both");
  if (grad && random == "lenz")
    throw UserError("gradients are eager's, which draws from its own generator", app.get_name(), "leave out --random");
  require_writable(save);

  quieten_libtorch();
  const DyingCalls survived;
  Boxed boxed(DeviceKind::cpu);
  const auto [graph, binding, values, drawn] = given_graph(file, {inputs, bind, *parse_values(mode), seed}, boxed);
  for (const std::string& input : drawn)
    std::printf("input %s: not in %s, so it is made\n", input.c_str(), inputs.c_str());
  ExecuteOptions options;
  options.memory_limit = memory_limit;
  options.ambient_seed = seed;
  options.folder = folder_of(file);
  options.guard = guard;
  options.print = [](const std::string& line) { std::printf(line.ends_with('\n') ? "%s" : "%s\n", line.c_str()); };
  if (grad) return run_gradients(*graph, values, binding, options, seed, save, largest);
  if (way == "f64" || way == "bound")
    return run_reference(*graph, boxed, values, binding, options,
                         way == "bound" ? Widening::bounds : Widening::values_only, save, largest);
  if (way == "eager") {
    LenzRandom stream(boxed);
    Executor executor = random == "lenz" ? Executor(stream, options) : Executor(boxed, options);
    Execution run = executor.run(*graph, values, binding);
    for (const Damage& d : run.damage) std::fprintf(stderr, "wrong: %s\n", d.text().c_str());
    show_and_save(*graph, run, "eager", save, largest);
    return run.damage.empty() ? ExitCode::fine : ExitCode::wrong;
  }
  if (way == "cuda") {
    // How results lie there is said of no CPU.
    show_and_save(*graph, run_on_cuda(*graph, values, binding, options), "eager on the GPU", save, largest,
                  Layouts::untold);
    return ExitCode::fine;
  }
  Execution run;
  loops::Counters counters;
  try {
    if (short_open) compiled.short_sizes = ShortSizes::open;
    if (way == "llvm" && compiled.profile && app.count("--calls") == 0) compiled.calls = 20;
    run = way == "llvm" ? run_compiled(*graph, values, binding.lookup(), boxed, options, compiled)
                        : run_interpreted(program_for(*graph, binding.lookup()), values, boxed, options, &counters);
  } catch (const Unsupported& why) {
    refuse(*graph, way, why);
  }
  show_and_save(*graph, run, "the program", save, largest);
  if (way == "interp")
    std::printf("%llu elements read, %llu written, %llu scalar operations\n",
                static_cast<unsigned long long>(counters.loads), static_cast<unsigned long long>(counters.stores),
                static_cast<unsigned long long>(counters.operations));
  return ExitCode::fine;
}

}  // namespace lenz::oracle
