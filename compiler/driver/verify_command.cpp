#include "compiler/driver/verify_command.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>

#include "compiler/base/chooser.h"
#include "compiler/base/source.h"
#include "compiler/driver/arguments.h"
#include "compiler/graph/mutate.h"
#include "compiler/graph/npz.h"
#include "compiler/graph/text.h"
#include "compiler/graph/verify.h"
#include "compiler/loops/mutate.h"
#include "compiler/loops/verify.h"
#include "compiler/ops/op_table.h"

namespace lenz {

namespace {
size_t nodes_of(const Graph& graph) {
  size_t count = graph.node_count();
  for (const auto& sub : graph.subgraphs) count += nodes_of(*sub);
  return count;
}

void print_guards(const Graph& graph) {
  for (const Cond& guard : graph.assumptions.guards())
    std::printf("  @%s relies on %s\n", graph.name.c_str(), to_string(guard).c_str());
  for (const auto& sub : graph.subgraphs) print_guards(*sub);
}

void print_rules() {
  for (const VerifyRule& rule : verify_rules())
    std::printf("G%d %-20.*s %.*s\n", rule.number, static_cast<int>(rule.name.size()), rule.name.data(),
                static_cast<int>(rule.text.size()), rule.text.data());
  for (const loops::ProgramRule& rule : loops::program_rules())
    std::printf("L%d %-20.*s %.*s\n", rule.number, static_cast<int>(rule.name.size()), rule.name.data(),
                static_cast<int>(rule.text.size()), rule.text.data());
}
// Whether the program breaks no rule; says what it breaks, and what nothing proves of it.
bool verify_program(const std::string& text, const std::string& path, bool guards) {
  loops::VerifiedText verified = loops::verify_text(text, op_table(), text_name(path));
  for (const UserError& v : verified.violations) std::printf("%s\n", v.what());
  for (const UserError& v : verified.unproved) std::printf("unproved: %s\n", v.what());
  size_t nodes = 0;
  for_each_node(verified.program.body, [&](const loops::Node&) { ++nodes; });
  if (verified.violations.empty())
    std::printf("%s: a valid program, %zu nodes, %zu unproved\n", path.c_str(), nodes, verified.unproved.size());
  if (guards)
    for (const Cond& guard : verified.program.assumptions.guards())
      std::printf("  @%s relies on %s\n", verified.program.name.c_str(), to_string(guard).c_str());
  return verified.violations.empty();
}

struct Unstored {
  const Graph* graph;
  NodeId node;
  UserError why;
};

// Constants of files that can't be read, or that hold no such entry, or another one: a graph without its weights is not
// whole.
std::vector<Unstored> unstored(const Graph& graph, const std::string& folder) {
  std::vector<Unstored> found;
  graph.for_each_node([&](NodeId id) {
    for (const Arg& a : graph.node(id).arguments()) {
      if (a.kind != ArgKind::data) continue;
      try {
        require_stored(*a.data, folder);
      } catch (const UserError& why) {
        found.push_back({&graph, id, why});
      }
    }
  });
  for (const auto& sub : graph.subgraphs) std::ranges::move(unstored(*sub, folder), std::back_inserter(found));
  return found;
}

// The same of a text, each with its place.
std::vector<UserError> unstored_constants(const Graph& graph, const std::string& text, ParseOptions options,
                                          const std::string& folder) {
  if (unstored(graph, folder).empty()) return {};
  Places places;  // kept for no graph that is whole: a second reading finds them
  options.places = &places;
  auto again = parse_graph(text, graph.ops(), options);
  Source source(text, options.file);
  std::vector<UserError> errors;
  for (const Unstored& u : unstored(*again, folder)) {
    const Places::Place place = places.nodes.at({u.graph, u.node});
    errors.push_back(source.error(place.at, place.end, u.why.where() + ": " + u.why.message(), u.why.remedy()));
  }
  return errors;
}

// What fails is said with its seed; after a crash, the last line of progress says where to look again.
ExitCode hostile_run(const std::vector<std::string>& files, uint64_t count, uint64_t seed) {
  std::vector<std::string> texts;
  for (const std::string& path : files) texts.push_back(read_text(path, 1 << 20));
  if (texts.empty()) throw UserError("no file to damage", "lenz verify --mutate");
  constexpr uint64_t kProgress = 100'000;
  uint64_t parsed = 0;
  auto start = std::chrono::steady_clock::now();
  for (uint64_t i = 0; i < count; ++i) {
    RandomChooser chooser(seed + i);
    std::string text = mutate(texts[(seed + i) % texts.size()], texts, chooser);
    try {
      bool program = loops::is_program_text(texts[(seed + i) % texts.size()]);
      parsed += (program ? loops::program_survives(text, op_table()) : survives(text, op_table())) ? 1 : 0;
    } catch (const std::exception& e) {
      throw InternalError("seed " + std::to_string(seed + i) + ": " + e.what() + "\n" + text);
    }
    if ((i + 1) % kProgress == 0 || i + 1 == count) {
      double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
      std::printf("%llu executions, %llu parsed, %.0f s\n", static_cast<unsigned long long>(i + 1),
                  static_cast<unsigned long long>(parsed), seconds);
      std::fflush(stdout);
    }
  }
  return ExitCode::fine;
}
}  // namespace

ExitCode verify_command(std::span<const std::string> args) {
  CLI::App app("Checks graphs and loop programs against the numbered rules; exit code 2 if one is broken.",
               "lenz verify");
  std::vector<std::string> files;
  std::string level_name;
  bool rules = false, guards = false;
  app.add_option("FILE", files, "texts of graphs or programs; - is the standard input");
  app.add_option("--level", level_name, "ask for the rules of this level: torch, aten or core")
      ->check(CLI::IsMember({"torch", "aten", "core"}));
  app.add_flag("--rules", rules, "list the rules");
  app.add_flag("--guards", guards, "show the conditions on sizes that the graph's types rely on");
  uint64_t mutated = 0, seed = 0;
  app.add_option("--mutate", mutated,
                 "instead, parse this many texts made of the files by small damage: each must be refused with an error "
                 "or survive printing and parsing");
  app.add_option("--seed", seed, "of the damage: execution i of seed s is that of seed s + i")->capture_default_str();
  if (!parse_arguments(app, args)) return ExitCode::fine;
  if (rules) print_rules();
  if (mutated > 0) return hostile_run(files, mutated, seed);
  if (files.empty() && !rules)
    throw UserError("no file to verify", "lenz verify", "lenz verify --help lists the options");

  std::optional<Level> level;
  for (Level l : {Level::torch, Level::aten, Level::core})
    if (name(l) == level_name) level = l;
  ExitCode code = ExitCode::fine;
  for (const std::string& path : files) {
    std::unique_ptr<Graph> graph;
    std::string text;
    ParseOptions options;
    options.file = text_name(path);
    try {
      text = read_text(path, options.limits.text);
      if (loops::is_program_text(text)) {
        if (!verify_program(text, path, guards)) code = ExitCode::bad_input;
        continue;
      }
      graph = parse_graph(text, op_table(), options);
    } catch (const UserError& e) {
      if (files.size() == 1) throw;
      std::printf("%s\n", e.what());
      code = ExitCode::bad_input;
      continue;
    }
    std::vector<UserError> violations = verify_text(*graph, text, options, level);
    for (const UserError& v : violations) std::printf("%s\n", v.what());
    // A text from standard input stands nowhere that its files could be beside.
    if (path != "-")
      for (UserError& e :
           unstored_constants(*graph, text, options, std::filesystem::path(path).parent_path().string())) {
        std::printf("%s\n", e.what());
        violations.push_back(std::move(e));
      }
    bool whole = violations.empty();
    if (!whole) code = ExitCode::bad_input;
    if (whole)
      std::printf("%s: valid at level %s, %zu nodes\n", path.c_str(),
                  std::string(name(level.value_or(graph->level))).c_str(), nodes_of(*graph));
    if (guards) print_guards(*graph);
  }
  return code;
}

}  // namespace lenz
