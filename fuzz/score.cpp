#include "fuzz/score.h"

#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "compiler/driver/python_worker.h"
#include "fuzz/run_record.h"

namespace lenz::fuzz {

namespace {
std::string joined(const std::vector<std::string>& names) {
  std::string all;
  for (const std::string& n : names) all += (all.empty() ? "" : ",") + n;
  return all;
}
}  // namespace

ExitCode score_faults(const ScoreOptions& o) {
  const std::string folder = repository();
  const nlohmann::json how = {
      {"faults", o.faults}, {"names", joined(o.names)}, {"seconds", o.seconds}, {"cases", o.cases}, {"seed", o.seed}};
  std::string store, run;
  {
    store::Database database(store_in(o.out));
    store = std::filesystem::absolute(database.path()).string();
    run = std::to_string(o.resume ? last_run(database, "score", how.dump()).first
                                  : new_run(database, "score", o.seed, how.dump()));
  }
  const std::filesystem::path build = std::filesystem::read_symlink("/proc/self/exe").parent_path();
  std::vector<std::string> words = {
      folder + "/.venv/bin/python",
      folder + "/fuzz/mutants/score.py",
      "--store=" + store,
      "--run=" + run,
      "--build=" + build.string(),
      "--folder=" + std::filesystem::absolute(std::filesystem::path(o.out) / "mutants").string(),
      "--seed=" + std::to_string(o.seed),
      "--jobs=" + std::to_string(o.jobs),
      "--faults=" + o.faults};
  if (!o.names.empty()) words.push_back("--only=" + joined(o.names));
  words.push_back(o.seconds.empty() ? "--cases=" + std::to_string(o.cases) : "--seconds=" + o.seconds);
  if (o.json) words.emplace_back("--json");
  if (o.all_found) words.emplace_back("--all-found");
  std::vector<char*> pointers;
  for (std::string& w : words) pointers.push_back(w.data());
  pointers.push_back(nullptr);
  execv(pointers[0], pointers.data());
  throw UserError("can't run " + words[0] + ": " + std::strerror(errno), "lenz fuzz --score", "run ./ci/setup");
}

}  // namespace lenz::fuzz
