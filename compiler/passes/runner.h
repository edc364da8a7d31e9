// Runs passes and does everything around them, so that a pass is only its own idea: verification, an honest "changed",
// the text's round trip, time, dumps, selection down to one rewrite, statistics.
// Thread-safety: a run belongs to one thread; it holds no state.
#pragma once

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <vector>

#include "compiler/passes/selection.h"

namespace lenz {

struct PassRun {
  std::string_view pass;
  std::string_view skipped;                  // why it did not run; empty: it ran
  bool changed = false;                      // by structural hash
  size_t nodes_before = 0, nodes_after = 0;  // sub-graphs included
  double seconds = 0;                        // of the pass alone
  size_t allowed = 0, denied = 0;            // rewrites
  RewriteName first_denied;                  // empty: none was
  std::map<std::string, size_t, std::less<>> counters;
  std::string incomplete;  // why it could not finish; empty: it did
};

#ifdef NDEBUG
inline constexpr bool kCheckByDefault = false;
#else
inline constexpr bool kCheckByDefault = true;
#endif

struct RunnerOptions {
  PassSelection selection;
  bool verify = kCheckByDefault;      // after each pass that changed something
  bool check_text = kCheckByDefault;  // print, parse, compare after each such pass
  bool strict = false;                // a pass that could not finish is an error
  TensorEvaluator evaluator;
  bool products_outside = false;    // a host has kernels for products: what is nothing but some of these stays one op
  bool attention_in_steps = false;  // but attention that suits them: the host's products are faster than it
  int64_t few_scores = 0;           // so many bytes of an attention's scores take it less than it takes a host to begin
  DtypeSet slow_products;           // narrow floats whose products take the host as long as those of f32
  // Called after each line, with the graph before (a copy) and after: a dump, a diff. The same graph twice if it did
  // not change.
  std::function<void(const PassRun& run, const Graph& before, const Graph& after)> on_pass;
};
RunnerOptions checked_options();  // all checks on

struct RunStatistics {
  Level level = Level::torch;
  std::vector<PassRun> runs;  // a line of the pipeline each
  size_t rewrites = 0;
  double seconds = 0;
};

// Runs the lines in order, each on the sub-graphs first. Throws InternalError when a check finds a pass wrong: the
// message names the pass and how to select its last rewrite.
RunStatistics run_passes(Graph& graph, std::span<const PipelineLine> lines, const RunnerOptions& options = {});

// As pass_statistics.schema.json says.
nlohmann::json to_json(const RunStatistics& statistics);

}  // namespace lenz
