// Rows by their values: generated calls of each row in each of its dtypes, run by eager and judged by the float64
// reference and its bounds. What comes out is a table, rows by dtypes, in which every cell says what happened.
// Thread-safety: check_values runs its own processes; call it as run_in_workers wants.
#pragma once

#include <functional>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "compiler/ops/call_file.h"
#include "oracle/bounds/reference.h"
#include "oracle/controls/histogram.h"
#include "oracle/known_faults.h"
#include "oracle/workers.h"

namespace lenz::oracle {

struct ValuesOptions {
  int calls = 8;  // of each row in each of its dtypes
  uint64_t seed = 0;
  DtypeSet dtypes = dtypes::all;  // only these; a row that takes none of them is checked in its own
  std::vector<KnownFault> known = {};
  bool on_loops = false;    // judge what the compiler's loops give on the interpreter, instead of eager
  std::string target = {};  // `on_loops`: as machine code for this target, instead of on the interpreter
  bool special = false;     // NaN, infinities, zeros, largest and smallest among the operands' values
  int variants = 0;         // of eager's calls: legal ways to compute each, none of which may be called wrong
  bool rebind = false;      // `on_loops`: calls of symbolic sizes, one program at several sizes
  // Calls to judge instead of generated ones, by row.
  const std::map<std::string, std::vector<CallText>>* given = nullptr;
};

// One row in one dtype of its leading tensor.
struct ValuesCell {
  int calls = 0;
  int passed = 0, weak = 0, wrong = 0;
  int refused = 0;    // by eager
  int known = 0;      // differ where eager is known to be at fault (values_known.txt)
  int unbounded = 0;  // no rule bounds the op, or what it is made of
  int died = 0;       // of a call that no exception of the row's speaks of
  int unlowered = 0;  // `on_loops`: an op has no loops, or its loops have no code
  int rebound = 0;    // `rebind`: programs that ran at four sizes or more
  // `variants`: how many ran, of how many calls there are none, and how wide the bounds are beside what they reach.
  int variants = 0, uncontrolled = 0;
  controls::Histogram tightness;
  Shares shares;
  std::set<std::string> layouts;  // of the leading tensor
  std::string finding, graph;     // the first wrong one
  std::string note;               // the first refusal, or what is unbounded
  std::string uncontrolled_by;    // why the first call without variants has none

  nlohmann::json to_json() const;
};

struct ValuesRow {
  const OpDef* op = nullptr;
  std::map<Dtype, ValuesCell> cells;
};

// `place`: is told which dtype (index) and which call of it (stage) is at hand. `deaths`: of processes that went
// before, with their places: of those calls nothing is asked but whether eager alone dies of them.
ValuesRow check_row_values(const OpDef& op, const OpTable& table, const ValuesOptions& options, Place* place = nullptr,
                           std::span<const Death> deaths = {});
std::vector<ValuesRow> check_values(std::span<const OpDef* const> rows, const OpTable& table,
                                    const ValuesOptions& options, int jobs,
                                    const std::function<void(size_t done)>& progress);

}  // namespace lenz::oracle
