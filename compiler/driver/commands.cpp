#include "compiler/driver/commands.h"

#include "compiler/driver/compile_command.h"
#include "compiler/driver/diff_command.h"
#include "compiler/driver/fmt_command.h"
#include "compiler/driver/ops_command.h"
#include "compiler/driver/opt_command.h"
#include "compiler/driver/passes_command.h"
#include "compiler/driver/plugin.h"
#include "compiler/driver/scalar_command.h"
#include "compiler/driver/trace_command.h"
#include "compiler/driver/ulp_command.h"
#include "compiler/driver/verify_command.h"

namespace lenz {

namespace {
ExitCode run_command(std::span<const std::string> args) { return run_plugin_command("run", args); }
ExitCode check_command(std::span<const std::string> args) { return run_plugin_command("check", args); }
ExitCode bench_command(std::span<const std::string> args) { return run_plugin_command("bench", args); }
ExitCode fuzz_command(std::span<const std::string> args) { return run_plugin_command("fuzz", args); }
ExitCode reduce_command(std::span<const std::string> args) { return run_plugin_command("reduce", args); }
ExitCode python_command(std::span<const std::string> args) { return run_plugin_command("python", args); }
ExitCode controls_command(std::span<const std::string> args) { return run_plugin_command("controls", args); }

constexpr Command kCommands[] = {
    {"fmt", "print graphs in canonical spelling", fmt_command},
    {"verify", "check graphs against the numbered rules", verify_command},
    {"diff", "show how two graphs differ", diff_command},
    {"opt", "run passes over a graph", opt_command},
    {"compile", "take a graph as far as a stage of the compiler", compile_command},
    {"trace", "show what each pass does to a graph", trace_command},
    {"passes", "list the passes, in the order in which they run", passes_command},
    {"run", "run a graph on given or made inputs", run_command},
    {"check", "hold every pass against eager libtorch, on one graph", check_command},
    {"python", "print a graph as a program for PyTorch", python_command},
    {"fuzz", "hold every stage of the compiler against the oracle, on random graphs", fuzz_command},
    {"reduce", "find the smallest graph that fails as a given one does", reduce_command},
    {"controls", "hold the oracle against legal and wrong variants of random graphs", controls_command},
    {"bench", "measure workloads beside eager and torch.compile", bench_command},
    {"ops", "list the ops and what their rows know; --check holds them against libtorch", ops_command},
    {"scalar", "list the scalar primitives; --eval computes them on bits", scalar_command},
    {"ulp", "hold the code of scalar primitives against the table, over every input or a sample", ulp_command},
};
}  // namespace

std::span<const Command> driver_commands() { return kCommands; }

}  // namespace lenz
