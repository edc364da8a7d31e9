// What eager's own kernels make of a call where ranges end: there its vectorised kernels, those for elements one by one
// and the ones of float64 have formulas of their own, and contradict each other.
// Internal to oracle/bounds; includes libtorch. Thread-safety: as PlaneStore and Boxed.
#pragma once

#include "compiler/scalar/scalar.h"
#include "oracle/bounds/flows.h"
#include "oracle/bounds/planes.h"

namespace lenz::oracle {

// Where numbers of this dtype are none, or further from 1 than 2^60, or subnormal.
at::Tensor at_range_end(const at::Tensor& t, Dtype dtype);

bool number_at_range_end(const Arg& a);  // of an argument that is a number, the same

// Where that holds of an operand, or an exponential in it may overflow: of complex numbers, and of what meets them,
// eager takes exponentials, and quotients of them, whichever function it is.
bool any_operand_at_range_end(const Call& call);  // of any kind

// Where an operand of a pointwise call is so, or has a part that is; undefined: nowhere. `zeros` count too, as for
// complex numbers they do: their angle is none. `functions`: where an exponential in them may overflow, too.
at::Tensor operands_at_end(const Call& call, at::IntArrayRef sizes, bool zeros, bool functions);

// Results of a definition: where they or those of the op's own kernels are at a range's end, or of a pointwise call an
// operand is, the kernels' are right too.
void excuse_definition(FlowContext& in, const Call& call, const Outcome& defined);
// A scalar row's result, of this dtype, `where` that is so; undefined: everywhere.
void excuse_row(FlowContext& in, const Call& call, const ScalarRow& row, Dtype result, const at::Tensor& where,
                Planes& made);

}  // namespace lenz::oracle
