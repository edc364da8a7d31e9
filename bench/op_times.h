// Every row of the op table by itself beside eager: a call of ordinary size (op_calls.h), compiled as a graph of one
// node, in turns with libtorch's own kernel on the same tensors, one thread each. What falls short of eager here is a
// kernel of ours that is slow, whatever it could be fused with.
// Thread-safety: one at a time in a process, which has run nothing of libtorch yet.
#pragma once

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "bench/times.h"
#include "compiler/base/dtype.h"

namespace lenz::bench {

struct OpTimesOptions {
  std::vector<std::string> only;  // rows, as select_rows takes them; empty: all
  Dtype dtype = Dtype::f32;
  int64_t elements = 1 << 18;  // of the largest operand or result
  int calls = 2;               // different ones of each row
  int rounds = 3;              // in which each side has its turn
  double seconds = 0.01;       // of a turn
  std::string target, folder;  // `folder`: gets the text of each call; empty: nobody does
  std::function<void(const std::string& line)> progress;
};

// How a call is computed, and so who answers for its time.
enum class Computed : uint8_t {
  ours,     // loops alone
  library,  // libtorch computes it, or a part
  nobody,   // nothing is computed: a view, an alias, sizes
};
std::string_view name(Computed by);

struct OpCallTimes {
  std::string name, text;  // of its file; the call's line
  Computed by = Computed::ours;
  int64_t elements = 0;
  Times ours, eager;
  std::string failed;  // why there are no times
  bool our_fault = false;

  double ratio() const;  // eager's time by ours; 0: one of them is missing
};

struct OpRow {
  std::string op, none;  // why there are no calls of it
  std::vector<OpCallTimes> calls;
};

struct OpTimesReport {
  Dtype dtype = Dtype::f32;
  int64_t elements = 0;
  std::vector<OpRow> rows;  // functional ones, in the table's order

  std::vector<const OpCallTimes*> timed(Computed by) const;  // the slowest beside eager first
  nlohmann::json to_json() const;                            // as op_times.schema.json says
  void print(std::FILE* out) const;
};

OpTimesReport run_op_times(const OpTimesOptions& options);

}  // namespace lenz::bench
