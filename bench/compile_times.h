// How long compiling takes: each workload in a fresh process, cold and from the object cache, beside TorchInductor on
// the same captured graph; and whether it grows as the graph does. Thread-safety: one at a time in a process.
#pragma once

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "bench/rows.h"

namespace lenz::bench {

struct CompileOptions {
  std::vector<std::string> only;  // rows; empty: all
  int rounds = 3;                 // of ours: the best one counts
  int threads = 0;
  int64_t growth = 2000;  // steps of the larger of two programs of each kind; the other one has a tenth. 0: none
  bool peers = true, models = false;
  std::string target, python, folder, module;  // `module`: a file with workloads in place of the tracked ones
  std::function<void(const std::string& line)> progress;
};

// Of one compilation, in seconds.
struct CompileTime {
  double graph = 0, schedule = 0, code = 0;
  double first = 0;  // and of the first call
  size_t kernels = 0, cached = 0;
  double all() const { return graph + schedule + code; }
};

struct CompileRow {
  std::string name;
  CompileTime cold, warm;
  double inductor = 0, inductor_first = 0;  // seconds: on the captured graph; the first call of torch.compile's
  std::string failed, inductor_failed;
};

struct CompileReport {
  std::vector<CompileRow> rows, growth;  // growth: two of each kind, the lesser first
  nlohmann::json to_json() const;        // as compile_times.schema.json says
  void print(std::FILE* out) const;
};

CompileReport run_compile_times(const CompileOptions& options);

// What the fresh process does: compiles a graph's text, and says in a line of JSON how long it took.
void compile_once(const std::string& text, const std::string& inputs, const std::string& target,
                  const std::string& cache, int threads);

// A graph of about this many kernels, or twice as many: each a reduction that the next one waits for, of sizes that are
// given, or of one that is left open; or each of an input of its own, of which a size is left open.
enum class GrowthSizes : uint8_t { given, open, open_each };
inline constexpr int64_t kMostOpenSizes = 2000;  // a graph may have 4096 conditions on its sizes
std::string graph_of_kernels(int64_t kernels, GrowthSizes sizes = GrowthSizes::given);

}  // namespace lenz::bench
