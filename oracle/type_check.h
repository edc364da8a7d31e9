// One generated call: what its row's rule says of the results, held against what eager libtorch gives.
// Thread-safety: free functions over the caller's values.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "compiler/ops/call_maker.h"
#include "oracle/boxed.h"

namespace lenz::oracle {

// In what rule and eager differ. The order is that of a report.
enum class Aspect : uint8_t {
  schema,        // the row's text and libtorch's registry
  broken,        // the row's own code fails: an InternalError, or Unsupported
  crash,         // the process dies or hangs
  rule_raises,   // the rule refuses what eager accepts
  eager_raises,  // the rule accepts what eager refuses
  count,         // number or kind of results
  dtype,
  sizes,
  strides,
  offset,
  device,
  alias,       // whose storage a result lives in
  operand,     // the metadata of an operand after the call
  meta,        // eager on a CPU agrees, libtorch's meta device does not, and the row does not say why
  dtypes,      // what the row says that eager supports
  symbolic,    // the same call with symbols for sizes
  definition,  // the values of the row's definition, and those of its op
};
inline constexpr size_t kAspectCount = 17;
std::string_view name(Aspect aspect);

struct Difference {
  Aspect aspect;
  std::string text;
};

// What the rule says.
struct Prediction {
  bool raised = false;
  bool broken = false;  // an error that no row may give: InternalError, Unsupported
  std::string text;
  std::vector<InferredResult> results;
};
Prediction predict(DrawnCall& call);

// The first difference between prediction and outcome, or none. `inputs` are the values that eager ran on, as they are
// after the run.
std::optional<Difference> compare(const DrawnCall& call, const Prediction& predicted, const Outcome& outcome,
                                  std::span<const RunValue> inputs);

// The call as the text of a graph. One that its rule refuses is no graph: its line stands there with a remark.
// Without `run_rule` the line stands there in any case.
std::string describe(const DrawnCall& call, bool run_rule = true);

// The row's schema against libtorch's registry. Defaults compare by value, however they are written.
std::optional<Difference> check_schema(const OpDef& op);

}  // namespace lenz::oracle
