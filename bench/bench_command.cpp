// `lenz bench`: workloads measured beside what a user would take instead.
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "bench/commands.h"
#include "bench/compile_times.h"
#include "bench/op_times.h"
#include "bench/peers.h"
#include "compiler/driver/arguments.h"

namespace lenz::bench {

namespace {
// On a terminal one line that changes; else a line each.
void show_progress(const std::string& line) {
  if (isatty(STDERR_FILENO) != 0)
    std::fprintf(stderr, "\r\033[K%s", line.c_str());
  else
    std::fprintf(stderr, "%s\n", line.c_str());
}

struct Gate {
  double ratio = 0, roofline = 0;  // what every row must reach; the latter of rows of our own code alone
};

ExitCode verdict(const PeersReport& report, const Gate& gate) {
  bool wrong = false, fault = false, slower = false, missing = report.rows.empty();
  auto look_at = [&](const PeerRow& row) {
    wrong = wrong || !row.wrong.empty();
    fault = fault || row.our_fault;
    missing = missing || row.ms("lenz") == 0 || !row.unchecked.empty() || !row.roof_failed.empty();
    slower = slower || (row.own && row.ms("lenz") > 0 && row.roofline() < gate.roofline);
  };
  for (const PeerRow& row : report.rows) {
    look_at(row);
    slower = slower || (row.ratio() > 0 && row.ratio() < gate.ratio);
    for (const PeerRow& n : row.neighbours) look_at(n);
  }
  return wrong     ? ExitCode::wrong
         : fault   ? ExitCode::our_fault
         : slower  ? ExitCode::slower
         : missing ? ExitCode::not_covered
                   : ExitCode::fine;
}

ExitCode verdict(const CompileReport& report) {
  auto failed = [](const CompileRow& row) { return !row.failed.empty(); };
  const bool any = std::ranges::any_of(report.rows, failed) || std::ranges::any_of(report.growth, failed);
  return any || report.rows.empty() ? ExitCode::not_covered : ExitCode::fine;
}

ExitCode verdict(const OpTimesReport& report) {
  bool fault = false, missing = report.rows.empty();
  for (const OpRow& row : report.rows)
    for (const OpCallTimes& call : row.calls) {
      fault = fault || call.our_fault;
      missing = missing || !call.failed.empty();
    }
  return fault ? ExitCode::our_fault : missing ? ExitCode::not_covered : ExitCode::fine;
}

void write_json(const std::string& file, const nlohmann::json& j) {
  std::ofstream out(file);
  out << j.dump(1) << "\n";
  if (!out.flush()) throw UserError("can't write '" + file + "'");
}

ExitCode bench_command(std::span<const std::string> args) {
  CLI::App app(
      "Measures workloads (bench/workloads.py): Lenz through its own executor, eager PyTorch and torch.compile in a\n"
      "process of their own, in rounds that take turns; the best call of each counts.\n"
      "Exit codes: 0 all rows measured and right; 7 a wrong result; 1 a fault of the compiler's; 3 slower than\n"
      "--min-ratio or --min-roofline; 6 a row that could not be built or checked.",
      "lenz bench");
  PeersOptions options;
  std::string json;
  CompileOptions compile;
  OpTimesOptions op_times;
  Gate gate;
  std::string compile_one, inputs, cache, op_dtype = "f32";
  bool peers = false, no_peers = false, compile_times = false, ops = false, list = false, no_max_autotune = false,
       no_check = false, short_open = false;
  app.add_flag("--peers", peers, "Lenz beside eager and torch.compile, default and max-autotune");
  app.add_flag("--compile", compile_times,
               "how long compiling takes, in fresh processes: cold, from the object cache, beside TorchInductor on the "
               "same captured graph, and how it grows");
  app.add_option(
         "--growth", compile.growth,
         "compile: steps of the larger of two programs of each kind, of which the other one has a tenth; 0: none")
      ->check(CLI::Range(0, 1'000'000))
      ->capture_default_str();
  app.add_flag("--ops", ops,
               "each row of the op table by itself beside eager, on calls of ordinary size, one thread each: what of "
               "our own code is slower than libtorch's; --only then takes rows as lenz ops does");
  app.add_option("--elements", op_times.elements, "ops: of the largest operand or result")
      ->check(CLI::Range(int64_t{64}, int64_t{1} << 30))
      ->capture_default_str();
  app.add_option("--calls", op_times.calls, "ops: different calls of each row")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  app.add_option("--dtype", op_dtype, "ops: of the operands, where the row takes it")->capture_default_str();
  app.add_option("--compile-one", compile_one, "only compile this text, call it once, and print how long that took");
  app.add_option("--inputs", inputs, "of that text; made as it declares them if absent");
  app.add_option("--cache", cache, "its folder of compiled objects; none if absent");
  app.add_flag("--list", list, "only name the workloads");
  app.add_option("--module", options.module,
                 "workloads of a Python file of your own in place of the tracked ones; bench/wider.py is one")
      ->check(CLI::ExistingFile);
  app.add_option("--only", options.only, "rows to measure, with commas between them")->delimiter(',');
  app.add_option("--rounds", options.rounds, "how often each side has its turn")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  app.add_option("--seconds", options.seconds, "of a turn")->check(CLI::Range(0.001, 60.0))->capture_default_str();
  app.add_option("--threads", options.threads, "of each side; as many as this process may use if absent")
      ->check(CLI::Range(1, 4096));
  app.add_option("--subjects", options.peers, "the peers: eager, and modes of torch.compile")
      ->delimiter(',')
      ->check(CLI::IsMember({"eager", "default", "reduce-overhead", "max-autotune", "max-autotune-no-cudagraphs"}))
      ->capture_default_str();
  app.add_flag("--no-max-autotune", no_max_autotune, "without that mode, which takes minutes to compile");
  app.add_option("--neighbours", options.neighbours,
                 "rows of our own code also at so many sizes nearby, that tiles don't like")
      ->check(CLI::Range(0, 100));
  app.add_flag("--no-peers", no_peers, "Lenz alone");
  app.add_flag("--models", options.models,
               "the models too (bench/models.py), with the share of them that is our own code");
  app.add_flag("--dynamic", options.dynamic, "peers: Lenz also with every size left open, beside itself");
  app.add_flag("--short-open", short_open, "dynamic: short sizes too stay open in the code, as once they have changed");
  app.add_option("--min-ratio", gate.ratio, "exit code 3 if a row's ratio to its best peer is less");
  app.add_option("--min-roofline", gate.roofline,
                 "exit code 3 if a row of our own code alone reaches less of its roof");
  app.add_flag("--no-check", no_check, "do not check Lenz's results first");
  app.add_option("--target", options.target, "avx512, avx2 or generic; the best that this machine runs if absent");
  app.add_option(
      "--json", json,
      "write the rows to this file (bench/peers.schema.json, compile_times.schema.json, op_times.schema.json)");
  app.add_option("--folder", options.folder,
                 "keeps exported workloads (NAME.lenz, NAME.inputs.npz) and torch.compile's cache; bench beside the "
                 "executable if absent");
  app.add_option("--python", options.python, "a Python that has PyTorch; the repository's .venv if absent");
  if (!parse_arguments(app, args)) return ExitCode::fine;
  if (!compile_one.empty()) {
    compile_once(compile_one, inputs, options.target, cache, options.threads);
    return ExitCode::fine;
  }
  if (!peers && !compile_times && !ops && !list)
    throw UserError("nothing to measure", "lenz bench", "say --peers, --compile, --ops or --list");

  if (options.python.empty()) options.python = repository() + "/.venv/bin/python";
  if (options.folder.empty())
    options.folder = (std::filesystem::read_symlink("/proc/self/exe").parent_path() / "bench").string();
  options.folder = std::filesystem::absolute(options.folder).string();
  std::error_code failure;
  std::filesystem::create_directories(options.folder, failure);
  if (failure) throw UserError("can't make the folder '" + options.folder + "': " + failure.message());
  if (no_peers) options.peers.clear();
  if (no_max_autotune) std::erase(options.peers, "max-autotune");
  if (!options.module.empty()) options.module = std::filesystem::absolute(options.module).string();
  options.check = !no_check;
  if (short_open) options.short_sizes = ShortSizes::open;
  options.progress = show_progress;
  if (list) {
    Worker worker(script_command("worker.py", options.python, options.module, {}), options.folder + "/worker.log");
    const nlohmann::json told = worker.ask({{"do", "rows"}});
    for (const nlohmann::json& r : told["rows"])
      std::printf("%-30s %s%s\n", r["name"].get<std::string>().c_str(),
                  r["model"].get<bool>() ? "" : r["sizes"].dump().c_str(),
                  r["model"].get<bool>() ? "model"
                  : r["own"].get<bool>() ? ""
                                         : ", with products");
    return ExitCode::fine;
  }
  if (ops) {
    const auto dtype = parse_dtype(op_dtype);
    if (!dtype) throw UserError("'" + op_dtype + "' is no dtype", "--dtype");
    op_times.only = options.only;
    op_times.dtype = *dtype;
    op_times.target = options.target;
    op_times.folder = options.folder + "/ops";
    std::filesystem::create_directories(op_times.folder);
    if (app.count("--rounds") > 0) op_times.rounds = options.rounds;
    if (app.count("--seconds") > 0) op_times.seconds = options.seconds;
    op_times.progress = show_progress;
    const OpTimesReport report = run_op_times(op_times);
    if (isatty(STDERR_FILENO) != 0) std::fputs("\r\033[K", stderr);
    report.print(stdout);
    if (!json.empty()) write_json(json, report.to_json());
    return verdict(report);
  }
  if (compile_times) {
    compile.only = options.only;
    compile.models = options.models;
    compile.threads = options.threads;
    compile.peers = !options.peers.empty();
    compile.target = options.target;
    compile.python = options.python;
    compile.folder = options.folder;
    compile.module = options.module;
    compile.progress = show_progress;
    const CompileReport report = run_compile_times(compile);
    if (isatty(STDERR_FILENO) != 0) std::fputs("\r\033[K", stderr);
    report.print(stdout);
    if (!json.empty()) write_json(json, report.to_json());
    return verdict(report);
  }
  const PeersReport report = run_peers(options);
  if (isatty(STDERR_FILENO) != 0) std::fputs("\r\033[K", stderr);
  report.print(stdout);
  if (!json.empty()) write_json(json, report.to_json());
  return verdict(report, gate);
}
}  // namespace

std::span<const Command> bench_commands() {
  static constexpr Command kCommands[] = {
      {"bench", "measure workloads beside eager and torch.compile", bench_command},
  };
  return kCommands;
}

}  // namespace lenz::bench
