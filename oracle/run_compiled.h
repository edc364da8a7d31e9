// `lenz run --on llvm`: builds the graph and calls it; with a profile, says where the time went.
// Thread-safety: as the graph's.
#pragma once

#include "compiler/driver/short_sizes.h"
#include "oracle/execute.h"

namespace lenz::oracle {

struct CompiledRun {
  std::string target, cache;
  int threads = 0;
  bool profile = false;
  int calls = 1;      // all but the last on copies of the inputs
  std::string trace;  // a file for chrome://tracing or Perfetto
  ShortSizes short_sizes = ShortSizes::closed;
};

Execution run_compiled(const Graph& graph, std::span<const RunValue> inputs, const SymValues& sizes, Boxed& boxed,
                       const ExecuteOptions& options, const CompiledRun& how);

}  // namespace lenz::oracle
