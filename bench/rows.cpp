#include "bench/rows.h"

#include <algorithm>

#include "compiler/base/error.h"
#include "compiler/base/suggest.h"

namespace lenz::bench {

std::vector<std::string> script_command(const std::string& script, const std::string& python, const std::string& module,
                                        std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), {python, repository() + "/bench/" + script});
  if (!module.empty()) arguments.insert(arguments.end(), {"--module", module});
  return arguments;
}

std::vector<Listed> chosen_rows(Worker& worker, const std::vector<std::string>& only, bool models) {
  const nlohmann::json told = worker.ask({{"do", "rows"}});
  std::vector<Listed> all, some;
  for (const nlohmann::json& r : told["rows"]) all.push_back({r["name"], r["own"], r["model"]});
  for (const std::string& wanted : only) {
    auto found = std::ranges::find(all, wanted, &Listed::name);
    if (found == all.end()) {
      std::vector<std::string_view> names;
      for (const Listed& l : all) names.push_back(l.name);
      const std::string_view nearest = nearest_name(wanted, names);
      throw UserError(
          "no workload '" + wanted + "'", "lenz bench",
          nearest.empty() ? "lenz bench --list names them" : "did you mean '" + std::string(nearest) + "'?");
    }
    some.push_back(*found);
  }
  if (!only.empty()) return some;
  if (!models) std::erase_if(all, [](const Listed& l) { return l.model; });
  return all;
}

}  // namespace lenz::bench
