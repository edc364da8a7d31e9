// How errors pass through one call, a rule for each way in which a result follows from its operands.
// Each runs the op itself in float64, on values and on planes of errors, and leaves the results' planes in the store.
// Internal to oracle/bounds; includes libtorch. Thread-safety: as PlaneStore and Boxed.
#pragma once

#include <set>
#include <string>

#include "oracle/bounds/call.h"
#include "oracle/bounds/elementwise.h"
#include "oracle/bounds/planes.h"
#include "oracle/bounds/shared_bits.h"
#include "oracle/execute.h"

namespace lenz::oracle {

struct FlowContext {
  Boxed& boxed;
  PlaneStore& store;
  std::set<std::string>& unbounded;  // names of ops that no rule bounds
  SharedBits& shared;
  std::set<std::string>& excused;    // rows where eager is known to be off, and was
  NodeMachine* stream = nullptr;     // where random ops draw from; null: eager's generator
  bool of_eager = false;             // what is judged was computed by eager
  bool errors = true;                // false: values alone
  bool in_storage = false;           // the op is part of one whose sums are carried in the storage's dtype
  bool running_mean = false;         // the sum is a step of a mean that eager may take term by term
  Formula formula = Formula::given;  // another one than `given` in the steps of a definition
};

bool sums_in_storage(const Call& call);  // as the row's flow says, for these arguments

// The call with numbers that the dtype they meet the other operands in can't hold as operands with errors, which lean.
Call with_settled_numbers(FlowContext& in, const Call& call, const ScalarRow& row);
Outcome flow_elementwise(FlowContext& in, const Call& call, Dtype& result);  // result: the dtype before any cast
Outcome flow_moved(FlowContext& in, const Call& call);
Outcome flow_converted(FlowContext& in, const Call& call);  // a copy in another dtype
Outcome flow_created(FlowContext& in, const Call& call);
Outcome flow_positive(FlowContext& in, const Call& call);
bool only_adds(const Call& call);  // nothing but a sum of elements: no products, no numbers
Outcome flow_monotone(FlowContext& in, const Call& call);
Outcome flow_interpolated(FlowContext& in, const Call& call);
Outcome flow_log_sums(FlowContext& in, const Call& call);
Outcome flow_opaque(FlowContext& in, const Call& call);
Outcome flow_unwritten(FlowContext& in, const Call& call);  // memory as it comes
Outcome flow_bits(FlowContext& in, const Call& call);       // the operand's bits, read as another dtype
Outcome flow_random(FlowContext& in, const Call& call);     // drawn in the graph's own dtypes
bool definition_draws(const Call& call);                    // of a random op: with these arguments

// What overflows for certain may be any number beyond the dtype's end: as the one there, beside which the ends of what
// is made of it keep their places.
void stand_at_the_end(Planes& made, Dtype to);
// Planes of one tensor in another dtype.
Planes converted(const Planes& planes, Dtype from, Dtype to, Formula formula);
// Stores them in what `target` shows; an out= tensor of another size is `resized` first.
Planes recorded(FlowContext& in, const Planes& planes, Dtype from,
                Dtype to);  // the same where a run keeps account of it
void assign(FlowContext& in, const at::Tensor& target, const Planes& planes, Dtype from, Dtype to, bool resized);
std::vector<RunValue> narrowed(const Call& call);        // its operands in the graph's own dtypes
std::vector<RunValue> copied_as_laid(const Call& call);  // they themselves, in storages of their own
void mark_unknown(FlowContext& in, std::span<const RunValue> results);

// Errors of results grow by so many times those of `steps`, the same results of another run.
void grow_errors(FlowContext& in, const Call& call, const Outcome& outcome, const Outcome& steps, double times);

// The tensors of values, those of lists among them, in order.
std::vector<at::Tensor> leaves(std::span<const RunValue> values);
std::vector<at::Tensor> written_by(const Call& call);
bool any_error(FlowContext& in, std::span<const RunValue> values);
// Whether the call may refuse other values than these, or take them: integers that may be others, of what looks at
// values before it computes floats that may be anything, and of distributions such as reach what these refuse.
bool may_refuse_others(FlowContext& in, const Call& call);

}  // namespace lenz::oracle
