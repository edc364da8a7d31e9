// How many terms a positive result adds up (ErrorFlow::positive), or how many factors it multiplies.
// Internal to oracle/bounds; includes libtorch. Thread-safety: as flows.h.
#pragma once

#include <string_view>

#include "oracle/bounds/flow_parts.h"

namespace lenz::oracle {

// How many terms each result has, with the sign of its coefficients: what the op gives for operands of ones. Or how
// many that may be other than zero, for zeros among the ones: none where every term has a factor that is zero for
// certain.
std::vector<at::Tensor> counted_terms(FlowContext& in, const Call& call, const std::vector<Arg>& ones, bool live);

// How many factors each product has: twice the operands are so many times twice the product. Undefined of what has too
// many, or of another shape.
at::Tensor counted_factors(FlowContext& in, const Call& call, size_t result, const at::Tensor& like);

// How many elements each result is made of, where a call combines in one of several ways (`reduction_of`): what adding
// gives for ones. Empty of others.
std::vector<at::Tensor> counted_by_adding(FlowContext& in, const Call& call, const std::vector<Arg>& ones);

// How many terms an element of the result has at most, and how many factors a term. `counted`: its counted_terms, or
// undefined.
at::Tensor terms_of(const Call& call, const at::Tensor& counted, const at::Tensor& result);

// What an average of so many terms was before it was divided, as a multiple of it.
at::Tensor divided_by(const Call& call, const at::Tensor& terms);

// How an op that combines in several ways does here; empty if it knows one.
std::string_view reduction_of(const Call& call);

// Whether results are products of elements, not sums of such products.
bool multiplies(const Call& call);

}  // namespace lenz::oracle
