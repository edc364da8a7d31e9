// One graph against the oracle: every pass by itself and all together, each run in eager beside the graph as it stands.
// Passes keep every bit, so results are compared bitwise, and what the caller sees of memory with them.
// Thread-safety: a check belongs to one thread.
#pragma once

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "compiler/driver/pipeline.h"
#include "oracle/bisect.h"
#include "oracle/compare.h"
#include "oracle/draw_inputs.h"
#include "oracle/known_faults.h"

namespace lenz::oracle {

struct GraphCheckOptions {
  int seeds = 3;  // each other inputs, and other sizes where the graph leaves them open
  uint64_t first_seed = 0;
  std::optional<Values> values;  // of inputs; none: every mode in turn
  uint64_t memory_limit = 0;
  bool layouts = false;        // inputs in other layouts too: of every seed but the first
  bool together_only = false;  // not each pass by itself
  bool core = false;           // also what becomes of it at level core, by the bounds
  bool loops = false;          // also its loops on the interpreter, by the bounds
  bool kernels = false;        // what plans make of its loops: kernels, on the interpreter and as machine code
  bool every_target = false;   // code for every target that runs here, rather than the best
  bool rebind = false;         // the loops at various sizes more, where the graph leaves them open
  bool bounds = false;         // eager's values too, by the float64 reference and its bounds
  bool bisect = false;         // names the step to blame; an error of Lenz's own is a finding then
  double most_points = 1e8;    // of loops, beyond which the interpreter is left out
  bool parts = false;          // what is weak on ordinary values, once more in parts (parts.h)
  std::string save_parts;      // folder for the parts' graphs and inputs; empty: they are not kept
  std::string folder, bind;
  // Inputs of somebody's in place of drawn ones, made anew each time; it binds the symbols that they tell.
  std::function<std::vector<RunValue>(const Graph& graph, Boxed& boxed, Binding& binding)> given;
  std::span<const KnownFault> known = known_faults();  // of eager's own
  std::span<const PipelineLine> lines = pipeline();
  std::function<void(const std::string& done)>
      progress;  // after each set of inputs and each part, and before what may take long
};

struct PassFinding {
  std::string path;       // "dead_code", "all passes"
  std::string selection;  // `lenz opt --select` with the smallest prefix of rewrites that still differs
  uint64_t seed = 0;
  Values values = Values::ordinary;
  std::string sizes;    // of symbols: "s0=17"
  std::string layouts;  // of inputs that lie in another way: "%x permuted"; the graph's text is in `text` then
  std::string text;
  Mismatch mismatch;
};

struct GraphReport {
  size_t runs = 0, rewrites = 0;
  size_t seeds = 0, refused = 0;        // of inputs; those that eager refuses, and the passes' graphs then must
  size_t unasked = 0;                   // of the refused: by eager alone, at what a row's meaning does not ask
  std::string unasked_of;               // the row
  size_t needless = 0;                  // those where eager raises at a node that nobody needs: needless.h
  size_t relaid = 0;                    // of the seeds, with other layouts
  size_t exact = 0, inexact = 0;        // of the seeds for exact mode: those that had it, and had to do without
  std::string inexact_why;              // why the first had to
  size_t bounded = 0, weak = 0;         // of the seeds: eager lies within the bounds; so wide that this says too little
  uint64_t elements = 0;                // of results on the bounded ones
  uint64_t loosely_held = 0;            // of these: to no better than 2^-6 of their value
  uint64_t unjudged = 0;                // of these: may be anything, or another branch's
  size_t telling = 0;                   // of the bounded and the known: of values that are not special
  size_t known = 0;                     // of the seeds: eager is outside, and known for it
  std::string known_why;                // the row, and what it does
  std::string open_why;                 // what loops may give otherwise than eager with neither of them wrong
  std::string weak_why;                 // of the first weak one: which input, and how much is open
  std::string no_stream;                // why random loops were compared from outside alone
  size_t on_loops = 0;                  // of the seeds: its loops were run on the interpreter
  size_t alike = 0;                     // of the weak ones: what bounds leave open lies no further off than noise does
  size_t on_kernels = 0;                // of the seeds: its kernels were run too
  size_t rebound = 0;                   // sizes beside those of the seeds at which its loops were run
  size_t programs = 0;                  // loop programs that it took to serve all sizes
  std::string not_lowered;              // why they were not
  size_t parts = 0;                     // that it was judged in, where as a whole it is weak on ordinary values
  std::vector<std::string> weak_parts;  // those of them where bounds say too little, too
  std::string no_parts;                 // why it could not be
  std::vector<std::string> externs;     // ops without loops, run by libtorch
  bool lacks_proofs = false;            // of nonlinear sizes (compiler/loops/linear.h): checked is what users get
  std::vector<std::string> without_code;  // kernels that the interpreter runs on every path, and why
  std::string not_interpreted;            // why the interpreter was left out: how much there was for it
  std::string out_of_memory;
  std::vector<PassFinding> findings;  // the first of each path
  std::optional<Culprit> culprit;     // of the first that can be traced to a step
  PassFinding culprit_at;             // its inputs

  // Passes agree, but nothing tells whether the values are right: neither of the whole nor of its parts.
  bool hardly_judged() const { return weak && !telling && findings.empty() && (parts == 0 || !weak_parts.empty()); }
  nlohmann::json to_json() const;  // as graph_check.schema.json says
};

// The passes up to the first one that may round otherwise.
std::span<const PipelineLine> exact_lines(const Graph& graph, std::span<const PipelineLine> lines);

GraphReport check_graph(const Graph& graph, const GraphCheckOptions& options);

}  // namespace lenz::oracle
