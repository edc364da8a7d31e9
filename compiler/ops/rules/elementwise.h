// Result types of elementwise ops, as eager's iterator computes them: promotion by categories (tensors with dims,
// 0-dim tensors, Python numbers), broadcasting, and strides that keep the operands' order of dims.
// Thread-safety: pure, given one Infer.
#pragma once

#include <initializer_list>
#include <string_view>

#include "compiler/graph/copied_strides.h"

namespace lenz::rule {

// A tensor, or a Python number standing where a tensor could.
struct Operand {
  const Type* type = nullptr;  // null: a number
  Dtype number = Dtype::b8;    // of a number: bool, i64, f64 or c128, by its literal
};
using Operands = SmallVec<Operand, 4>;

// The named parameters that are given, in this order: tensors and Scalars.
Operands operands(Infer& in, std::initializer_list<std::string_view> params);
Operand number_operand(Infer& in, const Arg& arg);
// All tensors that are given, and the Scalars named self, other, exponent, x or n, in order.
Operands all_operands(Infer& in);
// Eager's kernels exist for the row's dtypes only: raises for any other type of the computation.
void require_dtype(Infer& in, Dtype dtype);

Dtype result_type(Infer& in, const Operands& operands);        // at::result_type
Dtype float_result_type(Infer& in, const Operands& operands);  // integers and bools become f32
DimVec broadcast(Infer& in, std::span<const Dim> a, std::span<const Dim> b);

// What eager allocates for the result of an elementwise op over these operands. Numbers count as 0-dim tensors. On a
// CPU, operands of another dtype than `common` are converted first, which makes them dense (no value: nothing is).
TensorType elementwise_result(Infer& in, const Operands& operands, Dtype dtype);  // computed in `dtype` itself
TensorType elementwise_result(Infer& in, const Operands& operands, Dtype dtype, std::optional<Dtype> common);
// tensor.to(dtype): itself, or a dense copy.
TensorType converted(Infer& in, const Type& t, Dtype dtype);
bool is_channels_last(Infer& in, const Type& t);     // rank 4, in that order, dense
bool is_channels_last_3d(Infer& in, const Type& t);  // rank 5
// suggest_memory_format: whether the strides say channels-last (2-D for rank 4, 3-D for rank 5), dense or not.
bool suggests_channels_last(Infer& in, const Type& t);
DimVec channels_last_strides(std::span<const Dim> sizes);  // rank 4 or 5, channel second

// What rows say that have operands to convert.
#define LENZ_CONVERTS                                                                                            \
  "on a CPU eager first converts operands to the dtype it computes in, which makes them dense; its meta device " \
  "doesn't, and then the strides of dims of size 1 may differ"
inline constexpr std::string_view kConvertsOnCpu = LENZ_CONVERTS;

// Rules for rows, over all_operands.
void same_dtype(Infer& in);   // promoted type of all operands
void float_dtype(Infer& in);  // and integers become f32
void bool_dtype(Infer& in);   // comparisons and tests

}  // namespace lenz::rule
