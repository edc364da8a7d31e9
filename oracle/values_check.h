// Rows by their values: generated calls of each row in each of its dtypes, run by eager and judged by the float64
// reference and its bounds. What comes out is a table, rows by dtypes, in which every cell says what happened, also by
// the layouts of operands. These are chosen in turn: an operand of each call lies in the class of layouts that had
// fewest, and a class that no call of the row has says why (layout_turns.h).
// Thread-safety: check_values runs its own processes; call it as run_in_workers wants.
#pragma once

#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "compiler/ops/call_file.h"
#include "oracle/known_faults.h"
#include "oracle/values_cell.h"
#include "oracle/workers.h"

namespace lenz::oracle {

struct ValuesOptions {
  int calls =
      9;  // of each row in each of its dtypes; as many as there are classes of layouts, so that each has its turn
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
