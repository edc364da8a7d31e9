// The workloads that `bench/worker.py` has. Thread-safety: as the worker.
#pragma once

#include <string>
#include <vector>

#include "compiler/driver/python_worker.h"

namespace lenz::bench {

struct Listed {
  std::string name;
  bool own = false;  // our own code alone
  bool model = false;
};
// The workloads that it has, models among them if `models`, or those asked for. UserError for one that it has not.
std::vector<Listed> chosen_rows(Worker& worker, const std::vector<std::string>& only, bool models);

}  // namespace lenz::bench
