// Sums and products of matrices in float64, computed with more than float64: a reference that is as inaccurate as what
// it judges would be paid for twice.
// Internal to oracle/bounds; includes libtorch. Thread-safety: as flows.h.
#pragma once

#include "oracle/bounds/flows.h"

namespace lenz::oracle {

struct FineSum {
  at::Tensor passed;  // what the operands' errors come to
  at::Tensor error;   // of the value, rounded once
};

// Puts the finer values in `value`, which the op gave; nothing where it is not linear in each of its one or two
// operands, or much is to be computed. `absolute` and `ones`: its arguments with numbers that are their size, or one.
// Operands are finite.
std::optional<FineSum> summed_finely(FlowContext& in, const Call& call, std::span<const Arg> absolute,
                                     std::span<const Arg> ones, const at::Tensor& value);

}  // namespace lenz::oracle
