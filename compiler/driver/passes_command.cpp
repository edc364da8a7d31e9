#include "compiler/driver/passes_command.h"

#include <cstdio>
#include <nlohmann/json.hpp>

#include "compiler/driver/arguments.h"
#include "compiler/driver/pipeline.h"

namespace lenz {

namespace {
std::vector<std::string> level_names(LevelSet levels) {
  std::vector<std::string> names;
  for (Level l : {Level::torch, Level::aten, Level::core})
    if (levels.has(l)) names.emplace_back(name(l));
  return names;
}

nlohmann::json to_json(const PipelineLine& line, size_t position) {
  return {{"position", position},
          {"name", line.pass.name},
          {"stage", name(line.stage)},
          {"reason", line.reason},
          {"contract", line.pass.contract},
          {"levels", level_names(line.pass.levels)},
          {"idempotent", line.pass.idempotent},
          {"never_grows", line.pass.never_grows},
          {"rounds", line.pass.rounds}};
}

void print(const PipelineLine& line, size_t position) {
  std::string levels;
  for (const std::string& l : level_names(line.pass.levels)) levels += " " + l;
  std::printf("%2zu %-24s %s\n", position, std::string(line.pass.name).c_str(), std::string(line.reason).c_str());
  std::string_view rest = line.pass.contract;
  while (!rest.empty()) {
    size_t end = std::min(rest.find('\n'), rest.size());
    std::printf("     %s\n", std::string(rest.substr(0, end)).c_str());
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  std::printf("     stage %s; levels%s%s%s%s\n", std::string(name(line.stage)).c_str(), levels.c_str(),
              line.pass.idempotent ? "; idempotent" : "", line.pass.never_grows ? "; never grows" : "",
              line.pass.rounds ? "; rounds otherwise" : "");
}
}  // namespace

ExitCode passes_command(std::span<const std::string> args) {
  CLI::App app("Lists the passes in the order in which they run, with the reason for their place and their contract.",
               "lenz passes");
  bool json = false;
  app.add_flag("--json", json, "as JSON (compiler/driver/passes.schema.json)");
  if (!parse_arguments(app, args)) return ExitCode::fine;
  auto list = nlohmann::json::array();
  size_t position = 0;
  for (const PipelineLine& line : pipeline()) {
    ++position;
    if (json) {
      list.push_back(to_json(line, position));
    } else {
      print(line, position);
    }
  }
  if (json) std::printf("%s\n", list.dump(1).c_str());
  return ExitCode::fine;
}

}  // namespace lenz
