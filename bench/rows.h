// The workloads that `bench/worker.py` has. Thread-safety: as the worker.
#pragma once

#include <string>
#include <vector>

#include "compiler/driver/python_worker.h"

namespace lenz::bench {

// How a script of this room is started: on the tracked workloads, or on those of a user's own file.
std::vector<std::string> script_command(const std::string& script, const std::string& python, const std::string& module,
                                        std::vector<std::string> arguments);

struct Listed {
  std::string name;
  bool own = false;  // our own code alone
  bool model = false;
};
// The workloads that it has, models among them if `models`, or those asked for. UserError for one that it has not.
std::vector<Listed> chosen_rows(Worker& worker, const std::vector<std::string>& only, bool models);

}  // namespace lenz::bench
