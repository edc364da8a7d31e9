// Results made by anybody else, in an .npz file as values_file.h describes it, judged as a candidate's are: how the run
// ended, what the results look like from outside, who shares memory with whom, then every element within its bound.
// Thread-safety: free functions; a Boxed belongs to one thread.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "compiler/base/error.h"
#include "oracle/bounds/reference.h"
#include "oracle/draw_inputs.h"

namespace lenz::oracle {

struct JudgeOptions {
  std::string inputs;   // an .npz file; empty: drawn, as `lenz run` draws them
  std::string results;  // an .npz file
  std::string folder;   // of the graph's external constants
  std::string bind;
  uint64_t seed = 0;
  uint64_t memory_limit = 0;
  Values values = Values::ordinary;
  Draws draws = Draws::eager;  // where the results' random ops drew from
};

struct ResultsVerdict {
  ExitCode code = ExitCode::fine;      // fine, wrong, or not_covered
  std::string why;                     // not_covered: in words
  std::string drawn;                   // which inputs were drawn, as options say it; empty: they were given
  std::string error;                   // of files that are not what they should be; nothing was judged
  bool refused = false;                // fine: eager raises on these inputs, and so did whoever made them
  bool alike = false;                  // what bounds leave open lies no further off than noise does (likeness.h)
  bool exact = false;                  // nothing but the expected bits is right
  std::optional<Mismatch> mismatch;    // wrong
  std::string known;                   // they are libtorch's, wrong, and known for it (values_known.txt): why
  Shares shares;                       // of the elements of results
  std::vector<std::string> unbounded;  // ops without a rule for their errors
  std::vector<std::string> untold;     // what the file does not say, and nobody judged: "the layout of out0"
  std::string untold_together;         // the same in a line
  nlohmann::json to_json() const;      // as judge_results.schema.json says
};

// UserError for files that are not what they should be.
ResultsVerdict judge_results(const Graph& graph, const JudgeOptions& options);

}  // namespace lenz::oracle
