// Generators of calls that many rows share. See call_maker.h.
#pragma once

#include "compiler/ops/call_maker.h"

namespace lenz::make {

// The leading tensor, which is written to where the op writes to it.
ValueId set_self(CallMaker& m, TensorWish wish = {});
ValueId set_self_sized(CallMaker& m, const Sizes& sizes);

void unary(CallMaker& m);         // one tensor, any layout
void binary(CallMaker& m);        // two operands that broadcast; either may be a number or have another dtype
void binary_float(CallMaker& m);  // as binary; in place only into floats
void comparison(CallMaker& m);    // as binary; in place into any dtype

// What binary generators vary.
struct BinaryWish {
  enum Result : uint8_t { promoted, floating, boolean } result = promoted;
  bool one_dtype = false;             // eager wants both operands to have one
  bool no_bool = false;               // refuses bool operands, however they promote
  std::optional<Domain> second = {};  // values of the second operand; else the row's
  DtypeSet dtypes = {};               // of the computation; else what the row computes in
};
void binary_of(CallMaker& m, const BinaryWish& wish);

// The dtypes that a second operand may have, so that the result can be written into `first` in place.
DtypeSet castable_into(Dtype first, DtypeSet from);
// What PyTorch computes with when a tensor of this dtype meets this number; none: a dtype that the table doesn't know.
std::optional<Dtype> dtype_with_number(Dtype tensor, const Arg& number);
// A number of any kind that keeps the computation inside `allowed` (in place: castable to the tensor's dtype too).
Arg number_for(CallMaker& m, Dtype tensor, DtypeSet allowed, bool in_place);
// A dtype that promotes with `first` to one of `allowed`; often `first` itself.
Dtype partner_of(CallMaker& m, Dtype first, DtypeSet allowed, bool no_bool = false);
bool writes_in_place(const CallMaker& m);
DtypeSet computes(const CallMaker& m);  // the dtypes in which the row computes
DtypeSet alone(const CallMaker& m);     // of its own, those that it computes in without another operand's help

}  // namespace lenz::make
