// What the rules of flows.h share. Internal to oracle/bounds; includes libtorch. Thread-safety: as flows.h.
#pragma once

#include <cmath>
#include <functional>
#include <optional>

#include "oracle/aten.h"
#include "oracle/bounds/flows.h"

namespace lenz::oracle::flow {

inline constexpr double kInf = HUGE_VAL;

// One tensor operand of a call.
struct Leaf {
  at::Tensor value;
  Dtype dtype;
  size_t param;
};
using Replacer = std::function<at::Tensor(const Leaf& leaf)>;

RunValue replaced(const RunValue& v, const Type& type, size_t param, const Replacer& with);
// The op on other planes; empty if it refuses them.
std::vector<at::Tensor> run_on(FlowContext& in, const Call& call, std::span<const Arg> args, const Replacer& with);
bool shares_operand(const Call& call, const at::Tensor& result);
std::optional<int64_t> dim_of(const Call& call);

std::pair<double, double> integer_range(Dtype d);  // its ends that a double can say

at::Tensor zeros_like_plane(const at::Tensor& t);
at::Tensor magnitude(const at::Tensor& t);
// Whether floats among the operands become integers, and one is none that the dtype has: what it becomes is open.
bool has_no_integer(FlowContext& in, const Call& call, Dtype to);

// Whether how many elements it gives may hang on values: of `index` on truths among its indices.
bool may_make_sizes(const OpDef& op);

at::Tensor nothing_where(const at::Tensor& condition, const at::Tensor& t, double with);  // `with` where it holds
// Writes a result's planes; an infinite error is a mark too.
void settle(FlowContext& in, const at::Tensor& value, at::Tensor error, const at::Tensor& ambiguous,
            const at::Tensor& lean = {});

// Where errors exceed all that a result holds: notes of what size what it adds up is (`terms()`).
void note_terms(FlowContext& in, const at::Tensor& value, const at::Tensor& error,
                const std::function<double()>& terms);

// Whether errors of this operand are the result's, and its size counts.
bool flows(FlowContext& in, const Call& call, const Leaf& leaf);

// What of a call's operands is known to be off.
struct Summary {
  bool error = false, ambiguous = false;
  bool index_error = false;  // of an integer beside floats: which elements are meant is open
  bool floats = false;
};
Summary summary_of(FlowContext& in, const Call& call);

// Number arguments of the op's own (Scalar parameters), each as `map` gives it; a dtype among them is that of errors.
std::vector<Arg> with_numbers(const Call& call, const std::function<double(double)>& map);

// What a number among the arguments is off by where it becomes one of the result's dtype.
double number_error(Dtype of_result, double x);

// Whether all that a call may pick from its floating operands and numbers is whole.
bool operands_whole(FlowContext& in, const Call& call);

// Whether none of a call's floating operands and numbers is less than zero.
bool operands_above_zero(FlowContext& in, const Call& call);

// The call with its tensors, but for those that it writes to, in another dtype, where that or theirs is inexact and the
// run keeps account of errors: what it can't hold they are off by. `truths`: bools too.
Call with_operands_as(FlowContext& in, const Call& call, Dtype to, bool truths);

at::Tensor half_place(const at::Tensor& magnitude, Dtype dtype);
// What a running mean adds to the roundings of a sum of n terms, `near` without signs, none of whose parts exceeds
// `most`, times n: of each term its distance from the mean so far is rounded, its share of that, and the share's size.
// A mean of k terms is no more than a k-th of a part.
at::Tensor steps_of_running_mean(const at::Tensor& n, const at::Tensor& near, const at::Tensor& most, Dtype sums);

// In how many parts eager's threads may have summed this result in its own dtype, however narrow; 0: in none.
double parts_of_threads(const FlowContext& in, const Call& call, const at::Tensor& result);

double unit_of(Dtype d);
at::Tensor gamma(const at::Tensor& n, double unit);  // n roundings, one after the other
Dtype carrier(Dtype d, bool in_storage);             // what sums are carried in: a narrow float's in f32 at least

}  // namespace lenz::oracle::flow
