// From a graph to something that runs on this machine: every stage of the compiler, one after another.
// Thread-safety: as the graph's.
#pragma once

#include <memory>
#include <string>

#include "compiler/backend/llvm/compile_kernels.h"
#include "compiler/driver/compile.h"
#include "compiler/driver/short_sizes.h"
#include "compiler/runtime/executable.h"

namespace lenz {

struct BuildOptions {
  std::string target;                         // avx512, avx2, generic; empty: the best that runs here
  int threads = 0;                            // that run it and that compile it; 0: as many as this process may use
  std::string cache;                          // folder of compiled objects; empty: none
  std::shared_ptr<native::KeptObjects> kept;  // objects of this process, asked before the folder; null: none
  bool quick = false;                         // machine code that is made sooner and runs slower
  int64_t grain = 1;  // tiles, parts and what a thread gets are so many times smaller than is good
  // Products and convolutions are left to the host (LowerOptions::products_outside).
  bool products_outside = true;
  // The loops, before and after scheduling: a third of the time. Where no proof is found, others are made.
  bool verify = true;
  RunnerOptions runner;
  runtime::ExecutableOptions executable;
};

struct BuildReport {
  double graph_seconds = 0, schedule_seconds = 0, code_seconds = 0;
  native::CompileStatistics kernels;
  size_t externs = 0;
  ClosedSizes constants;  // sizes left open that are numbers in it (ExecutableSet)
  std::string given_up;   // what was not proved of the kernels that are best, and others were made (schedule/proved.h)
};

// Unsupported for what has no loops or no code.
std::unique_ptr<runtime::Executable> build(const Graph& graph, const BuildOptions& options = {},
                                           BuildReport* report = nullptr);
// For programs that the caller made, of loops that nobody scheduled; `proved`: of which verify() knows already.
std::unique_ptr<runtime::Executable> build(loops::Program program, const BuildOptions& options = {},
                                           BuildReport* report = nullptr, bool proved = false);

}  // namespace lenz
