// A row's definition against the row's op: both run in eager on the same inputs, and their values are compared.
// Thread-safety: free functions over the caller's values; a Boxed belongs to one thread.
#pragma once

#include "compiler/ops/call_maker.h"
#include "oracle/boxed.h"
#include "oracle/type_check.h"

namespace lenz::oracle {

// Whether a row has a definition of its own and makes calls.
bool has_checkable_definition(const OpDef& op);

// The row with the most precise of its dtypes alone, for a definition rounds more often than one kernel does.
OpDef in_precise_dtypes(const OpDef& op);

struct DefinitionVerdict {
  bool compared = false;  // false: eager refuses the call, which is another check's matter, or draws
  std::optional<Difference> difference;
  bool eager_looks_at_layouts = false;  // eager's values depend on how operands lie; of dense ones they are the same
};

// `call` holds the nodes of the definition afterwards. Integers, bools and what is only moved compare bitwise; floats
// within a tolerance that catches another formula, not another rounding: bounds are a later matter.
DefinitionVerdict check_definition(DrawnCall& call, Boxed& device);

}  // namespace lenz::oracle
