// A row of the op table against libtorch: many generated calls, its schema, what it says of dtypes, what it refuses.
// Thread-safety: check_row may run in several threads at once; its report depends on row, options and deaths alone.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "compiler/ops/call_file.h"
#include "oracle/type_check.h"
#include "oracle/workers.h"

namespace lenz::oracle {

enum class Devices : uint8_t { both, meta, cpu };

struct CheckOptions {
  int calls = 200;
  int illegal = 40;      // broken calls
  int symbolic = 40;     // calls that are also inferred with symbols for sizes
  int definitions = 20;  // calls whose definition, where the row has one, runs beside them
  uint64_t seed = 0;
  Devices devices = Devices::both;
  int cpu_every = 8;  // with both devices: every k-th call runs on the CPU too
  bool shrink = true;
  // Calls to check instead of generated ones, by row.
  const std::map<std::string, std::vector<CallText>>* given = nullptr;
};

// A way in which a row differs from libtorch, with the smallest call found that shows it.
struct Finding {
  Difference difference;
  std::string call;
  bool on_broken_call = false;  // rule and eager disagree on whether a broken call is legal
  int count = 0;
};

struct RowReport {
  enum State : uint8_t { checked, structural, no_generator, no_rule } state = checked;
  const OpDef* op = nullptr;
  int calls = 0, on_meta = 0, on_cpu = 0;
  int without_meta = 0;   // libtorch's meta device refused, the CPU decided
  int meta_excused = 0;   // the meta device differs from the CPU, and the row's `exception` says so
  int eager_excused = 0;  // they differ on what is legal, in words that the row's `exception` quotes
  int illegal = 0, refused = 0;
  int without_kernel = 0;         // of dtypes that no kernel takes, on which eager's never met one: it answers
  int eager_crashes = 0;          // broken calls and probes on which eager died, and legal ones as the exception says
  int symbolic = 0, guarded = 0;  // comparable; and those where a guard did not hold
  int defined = 0;                // calls whose definition was compared with the op
  int by_layout = 0;              // of these: eager's values depend on how operands lie, and dense ones agree
  DtypeSet reached, probed;       // dtypes of the leading tensor: of calls, and of probes beyond the row's
  std::string meta_text;          // what the meta device said first
  std::vector<Finding> findings;
  int disagreements() const;  // on legal calls
  int refusals() const;       // on broken ones
};

// Where a row's check is, for whoever must say where its process died.
enum class Phase : uint32_t { legal, symbolic, broken, probe, shrink, definition };
enum class Stage : uint32_t { drawing, rule, meta, cpu };

// `place` is kept up to date; calls at which a process died before are not run again, but reported.
RowReport check_row(const OpDef& op, const OpTable& table, const CheckOptions& options, Place& place,
                    std::span<const Death> deaths = {});

// Each row in one of `jobs` worker processes; the reports do not depend on their number. `progress` is called from here
// a few times a second.
struct Progress {
  size_t done = 0, total = 0;
  int disagreements = 0;
};
std::vector<RowReport> check_rows(std::span<const OpDef* const> rows, const OpTable& table, const CheckOptions& options,
                                  int jobs, const std::function<void(const Progress&)>& progress);

}  // namespace lenz::oracle
