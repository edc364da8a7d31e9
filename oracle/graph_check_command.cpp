// `lenz check`: graphs against the oracle, with progress, a verdict for each and the gravest exit code.
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "compiler/driver/arguments.h"
#include "compiler/graph/text.h"
#include "compiler/graph/verify.h"
#include "compiler/ops/op_table.h"
#include "oracle/binding_option.h"
#include "oracle/commands.h"
#include "oracle/dying_calls.h"
#include "oracle/file_option.h"
#include "oracle/graph_check.h"
#include "oracle/judge_results.h"
#include "oracle/trial.h"
#include "oracle/values_file.h"

namespace lenz::oracle {

namespace {
// What became of one file.
struct Answer {
  std::string file, error;  // error: why it could not be checked
  GraphReport report;
  ExitCode code = ExitCode::fine;
};

ExitCode verdict(const GraphReport& report) {
  if (!report.findings.empty()) return ExitCode::wrong;
  if (report.hardly_judged() || !report.not_lowered.empty()) return ExitCode::not_covered;
  return report.out_of_memory.empty() ? ExitCode::fine : ExitCode::not_covered;
}

// As far as it could be taken.
bool agrees(const GraphReport& report) {
  return report.findings.empty() && !report.hardly_judged() && report.out_of_memory.empty();
}

// A file that can't be checked does not keep the others from being so.
Answer answer(const std::string& file, GraphCheckOptions options) {
  Answer a;
  a.file = file;
  try {
    auto graph = read_valid_graph(file, op_table());
    options.folder = folder_of(file);
    a.report = check_graph(*graph, options);
    a.code = verdict(a.report);
  } catch (const Error& error) {
    a.error = error.what();
    a.code = error.exit_code();
  }
  return a;
}

// Gravest last.
int gravity(ExitCode code) {
  constexpr ExitCode order[] = {ExitCode::fine, ExitCode::not_covered, ExitCode::bad_input, ExitCode::our_fault,
                                ExitCode::wrong};
  return static_cast<int>(std::ranges::find(order, code) - std::begin(order));
}

nlohmann::json to_json(const Answer& a) {
  nlohmann::json j = a.report.to_json();
  j["file"] = a.file;
  j["code"] = static_cast<int>(a.code);
  if (!a.error.empty()) j["error"] = a.error;
  return j;
}

void show(const Answer& a) {
  const std::string& file = a.file;
  const GraphReport& report = a.report;
  if (!a.error.empty()) std::printf("%s: not checked: %s\n", file.c_str(), a.error.c_str());
  for (const PassFinding& f : report.findings) {
    std::printf("%s: %s: %s\n", file.c_str(), f.path.c_str(), f.mismatch.summary().c_str());
    if (f.selection.empty()) {
      std::printf("  seed %llu, %s values%s%s\n", static_cast<unsigned long long>(f.seed),
                  std::string(name(f.values)).c_str(), f.sizes.empty() ? "" : ", ", f.sizes.c_str());
      continue;
    }
    std::string passes = f.path == "all passes" ? "" : " --passes " + f.path;
    std::printf(
        "  seed %llu, %s values%s%s; the first rewrite that shows it is the last of: lenz opt%s --select %s %s\n",
        static_cast<unsigned long long>(f.seed), std::string(name(f.values)).c_str(), f.sizes.empty() ? "" : ", ",
        f.sizes.c_str(), passes.c_str(), f.selection.c_str(), f.text.empty() ? file.c_str() : "the graph below");
    if (!f.text.empty()) std::printf("  with other layouts, %s:\n%s", f.layouts.c_str(), f.text.c_str());
  }
  if (report.culprit) {
    const PassFinding& at = report.culprit_at;
    std::printf("%s: the step to blame, at seed %llu, %s values%s%s: %s", file.c_str(),
                static_cast<unsigned long long>(at.seed), std::string(name(at.values)).c_str(),
                at.sizes.empty() ? "" : ", ", at.sizes.c_str(), report.culprit->text().c_str());
  }
  if (!report.out_of_memory.empty())
    std::printf("%s: not covered, out of memory: %s\n", file.c_str(), report.out_of_memory.c_str());
  if (report.hardly_judged()) {
    std::printf(
        "%s: weak: passes agree, but no input leaves the float64 reference enough to say (at most 5 %% of the elements "
        "open, and of each result at most half; special values and NaN say nothing of others): %s",
        file.c_str(), report.weak_why.c_str());
    if (report.alike)
      std::printf("; on %zu what is computed lies no further from it than rounding noise does", report.alike);
    if (report.parts) std::printf("; and so of %zu of %zu parts:", report.weak_parts.size(), report.parts);
    for (const std::string& part : report.weak_parts) std::printf("\n  %s", part.c_str());
    if (!report.no_parts.empty()) std::printf("; not judged in parts: %s", report.no_parts.c_str());
    std::printf("\n");
  }
  if (a.code == ExitCode::fine || (agrees(report) && !report.not_lowered.empty())) {
    std::printf("%s: agrees with eager%s; %zu runs, %zu rewrites", file.c_str(),
                report.known ? " but where eager is wrong" : "", report.runs, report.rewrites);
    if (report.unasked) {
      std::printf("; on %zu seed(s) eager alone refuses, at what the meaning of %s does not ask", report.unasked,
                  report.unasked_of.c_str());
    } else if (report.refused == report.seeds) {
      std::printf("; eager refuses all inputs, and so does every path");
    } else if (report.refused) {
      std::printf(", on %zu seed(s) refused by both", report.refused);
    }
    if (report.needless) std::printf("; on %zu eager raises at what nobody needs", report.needless);
    if (report.exact && report.refused < report.seeds)
      std::printf("; on %zu every operation is exact, and all are the same bit for bit", report.exact);
    if (report.inexact)
      std::printf("; on %zu no values keep it exact (%s): whole numbers there, where readers take some", report.inexact,
                  report.inexact_why.c_str());
    if (report.bounded) std::printf("; eager lies within the bounds of float64 on %zu seed(s)", report.bounded);
    if (report.loosely_held)
      std::printf(", %llu of %llu elements held to no better than 2^-6 of their value",
                  static_cast<unsigned long long>(report.loosely_held),
                  static_cast<unsigned long long>(report.elements));
    if (report.unjudged) std::printf(", %llu may be anything", static_cast<unsigned long long>(report.unjudged));
    if (report.weak) std::printf(", hardly judged on %zu more", report.weak);
    if (report.parts)
      std::printf("; in parts within the bounds of %zu of %zu", report.parts - report.weak_parts.size(), report.parts);
    for (const std::string& part : report.weak_parts) std::printf(", not of %s", part.c_str());
    if (report.known)
      std::printf("; on %zu eager is wrong, and known for it: %s, and what is held to the bounds is the rest",
                  report.known, report.known_why.c_str());
    if (!report.open_why.empty())
      std::printf("; loops give others where what was asked for leaves that open: %s", report.open_why.c_str());
    if (!report.no_stream.empty())
      std::printf("; random loops compared from outside alone: %s", report.no_stream.c_str());
    if (report.on_loops) std::printf("; its loops agree on %zu", report.on_loops);
    if (!report.not_interpreted.empty())
      std::printf("; not interpreted: %s, more than --points", report.not_interpreted.c_str());
    if (report.on_kernels) std::printf(", its kernels on %zu", report.on_kernels);
    if (!report.without_code.empty()) std::printf(", %zu of them without code", report.without_code.size());
    if (report.rebound) std::printf(", %zu sizes among them, by %zu program(s)", report.rebound, report.programs);
    if (report.lacks_proofs) std::printf(", where no proof of nonlinear sizes is found, as users get them");
    for (size_t i = 0; i < report.externs.size(); ++i)
      std::printf("%s%s", i ? ", " : ", with externs ", report.externs[i].c_str());
    if (!report.not_lowered.empty()) std::printf("; not lowered: %s", report.not_lowered.c_str());
    std::printf("\n");
  }
  std::fflush(stdout);
}

ExitCode show_judged(const std::string& file, JudgeOptions options, bool json) {
  options.folder = folder_of(file);
  std::unique_ptr<Graph> graph;
  ResultsVerdict v;
  try {
    graph = read_valid_graph(file, op_table());
    v = judge_results(*graph, options);
  } catch (const Error& error) {  // who reads JSON gets the reason there too
    if (!json) throw;
    v.code = error.exit_code();
    v.error = error.what();
  }
  if (json) {
    nlohmann::json j = v.to_json();
    j["file"] = file;
    std::printf("%s\n", j.dump(1, ' ', false, nlohmann::json::error_handler_t::replace).c_str());
    return v.code;
  }
  if (v.mismatch) {
    std::printf("%s: wrong: %s\n", options.results.c_str(), v.mismatch->summary().c_str());
    if (!v.drawn.empty())
      std::printf("  held to inputs drawn here: %s; --seed, --values and --bind name others, --inputs brings them\n",
                  v.drawn.c_str());
    if (options.draws == Draws::eager && draws(*graph))
      std::printf("  held to eager's own draws; what drew from Lenz's stream is held to it by --random lenz\n");
  } else if (v.code != ExitCode::fine) {
    std::printf("%s: not covered, %s\n", options.results.c_str(), v.why.c_str());
  } else if (!v.known.empty()) {
    std::printf("%s: what libtorch gives, which is wrong there, and known for it: %s\n", options.results.c_str(),
                v.known.c_str());
  } else if (v.refused) {
    std::printf("%s: right; eager raises on these inputs too\n", options.results.c_str());
  } else {
    std::printf("%s: right; %llu elements, %llu of them held %s", options.results.c_str(),
                static_cast<unsigned long long>(v.shares.elements), static_cast<unsigned long long>(v.shares.strong),
                v.exact ? "bit for bit: on these inputs every operation is exact" : "to better than 2^-6");
    if (v.shares.ambiguous) std::printf(", %llu may be anything", static_cast<unsigned long long>(v.shares.ambiguous));
    std::printf("\n");
  }
  if (!v.untold_together.empty())
    std::printf("  not judged, for the file does not say it: %s\n", v.untold_together.c_str());
  return v.code;
}
}  // namespace

ExitCode graph_check_command(std::span<const std::string> args) {
  CLI::App app(
      "Checks graphs against eager libtorch: each pass by itself, and all together, must change nothing that a caller "
      "can see; and eager's values must lie within the bounds of the float64 reference.\nExit codes, the gravest of "
      "all files': 0 agrees, be it in refusing all inputs; 7 wrong; 6 weak, out of memory or an op that can't run; 2 "
      "bad "
      "input; 1 a bug of Lenz's own.",
      "lenz check");
  std::vector<std::string> files;
  GraphCheckOptions options;
  std::string mode;
  JudgeOptions judge;
  bool json = false;
  app.add_option("FILE", files, "texts of graphs")->required();
  app.add_option("--seeds", options.seeds, "how many inputs to try")
      ->check(CLI::Range(1, 1000000))
      ->capture_default_str();
  app.add_option("--seed", options.first_seed, "the first")->capture_default_str();
  app.add_option("--values", mode, "which values inputs get (see `lenz run --help`); without it every kind in turn")
      ->check(CLI::IsMember(value_mode_names()));
  app.add_flag(
      "--layouts", options.layouts,
      "inputs in other layouts too, those of every seed but 0: permuted, sliced, stride 0, overlapping; code is "
      "compiled for each");
  app.add_option("--against", judge.results,
                 "judges results made by anybody else instead: an .npz file with out0, out1, ... and inputs that the "
                 "graph writes to, as `lenz run --save` writes them")
      ->check(a_name());
  auto* inputs = app.add_option("--inputs", judge.inputs,
                                "an .npz file with all inputs, by name, in place of drawn ones: of every path, or of "
                                "the results that --against judges")
                     ->check(a_name());
  app.add_option("--save-parts", options.save_parts,
                 "a folder, made if need be, for the graphs and inputs of the parts in which a graph is judged of "
                 "which bounds say too "
                 "little as a whole: `lenz check part0.lenz --inputs part0.npz`")
      ->check(a_name());
  std::string random = "eager";
  auto* drawn =
      app.add_option("--random", random,
                     "with --against: where their random ops drew from: eager's generator, or lenz, the stream "
                     "that compiled code draws from")
          ->check(CLI::IsMember({"eager", "lenz"}))
          ->capture_default_str();
  add_bind_option(app, options.bind, "vary with the seed");
  app.add_option("--mem-limit", options.memory_limit, "bytes of tensors alive at once; 0: no limit");
  app.add_option("--points", options.most_points,
                 "up to so many of all loops the interpreter walks (about 10 million a second), on each of its paths; "
                 "more are left to machine code alone")
      ->check(CLI::Range(0.0, 1e18) & not_nan())
      ->capture_default_str();
  app.add_flag("--every-target", options.every_target,
               "machine code for every target that this machine runs, not the best one alone");
  app.add_flag(
      "--bisect", options.bisect,
      "names the one step to blame where a graph goes wrong: a rewrite of a pass, with what it changes, or the "
      "lowering of a node");
  app.add_flag("--json", json, "reports as JSON (oracle/graph_check.schema.json)");
  if (!parse_arguments(app, args)) return ExitCode::fine;

  if (!mode.empty()) options.values = parse_values(mode);
  options.bounds = options.core = options.loops = options.kernels = options.rebind = options.parts = true;
  quieten_libtorch();
  const DyingCalls survived;
  if (judge.results.empty() && drawn->count())
    throw UserError("--random goes with --against", "lenz check",
                    "say which results to judge: --against Y.npz; code is held to Lenz's stream without being asked");
  if (inputs->count() && files.size() != 1) throw UserError("--inputs are those of one graph", "lenz check");
  if (inputs->count() && (options.values || options.layouts || app.count("--seeds") > 0))
    throw UserError("--inputs stand in place of --values, --layouts and --seeds", "lenz check");
  if (judge.results.empty() && inputs->count()) {
    options.seeds = 1;
    options.given = [&](const Graph& graph, Boxed& boxed, Binding& binding) {
      return read_inputs(judge.inputs, graph, boxed, binding, options.first_seed, true);
    };
  }
  if (!options.save_parts.empty()) {
    std::error_code error;
    std::filesystem::create_directories(options.save_parts, error);
    if (error) throw UserError("can't make the folder: " + error.message(), options.save_parts, "check the path");
  }
  if (!judge.results.empty()) {
    if (files.size() != 1) throw UserError("--against judges the results of one graph", "lenz check");
    for (const char* own : {"--seeds", "--layouts", "--every-target", "--points", "--bisect", "--save-parts"})
      if (app.count(own) > 0)
        throw UserError(std::string(own) + " is of Lenz's own results, --against judges others", "lenz check",
                        "leave out one of both");
    judge.values = options.values.value_or(Values::ordinary);
    judge.seed = options.first_seed;
    judge.bind = options.bind;
    judge.draws = random == "lenz" ? Draws::lenz : Draws::eager;
    judge.memory_limit = options.memory_limit;
    return show_judged(files[0], judge, json);
  }
  constexpr const char* kCleared = "\r\x1b[K";
  const bool seen = isatty(STDERR_FILENO);
  if (seen) options.progress = [&](const std::string& done) { std::fprintf(stderr, "%s%s", kCleared, done.c_str()); };
  auto reports = nlohmann::json::array();
  ExitCode worst = ExitCode::fine;
  for (const std::string& file : files) {
    Answer a = answer(file, options);
    if (seen) std::fputs(kCleared, stderr);
    if (json) {
      reports.push_back(to_json(a));
    } else {
      show(a);
    }
    if (gravity(a.code) > gravity(worst)) worst = a.code;
  }
  if (json) std::printf("%s\n", reports.dump(1, ' ', false, nlohmann::json::error_handler_t::replace).c_str());
  return worst;
}

}  // namespace lenz::oracle
