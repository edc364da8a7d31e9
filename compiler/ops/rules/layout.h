// Memory layouts as eager chooses them: which format a tensor suggests, what a copy of it gets, when a view exists.
// Thread-safety: pure, given one Infer.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "compiler/graph/infer.h"

namespace lenz::rule {

// The name of a parameter by position, for rules that ops share although ATen names their parameters differently.
inline std::string_view param_name(const Infer& in, size_t i) { return in.op().schema.params[i].name; }

// What Tensor::suggest_memory_format answers: the strides only have to be ordered like channels-last.
MemoryFormat suggested_format(Infer& in, const Type& t);
bool is_contiguous_in(Infer& in, const Type& t, MemoryFormat format);
// Dense strides in contiguous or channels-last order; raises when the format does not fit the rank.
DimVec format_strides(Infer& in, MemoryFormat format, std::span<const Dim> sizes);
// The optional argument of this name; absent and none are nothing.
std::optional<MemoryFormat> format_argument(const Infer& in, std::string_view param);

// An operand's type as the graph has it, where eager's steps look at it before one is handed a copy of what is lazily
// conjugated or negated.
const Type& as_it_lies(const Infer& in, std::string_view param);

// Refuses what eager can't copy into another tensor, of this dtype and so many elements: it copies what is lazily
// negated, and negates the copy then.
void require_negatable(Infer& in, ValueId copied, Dtype into, std::span<const Dim> sizes);

Device device_argument(const Infer& in, Device otherwise);

// Strides of a new tensor like this one: empty_like, clone, to. No format means preserve.
DimVec like_strides(Infer& in, const Type& t, std::optional<MemoryFormat> format);
// What eager refuses to write to: a dim of several elements at one place. Cleverer overlaps go unseen.
bool overlaps_itself(Infer& in, const Type& t);
// What eager's clone_preserve_strides gives: the same strides and offset, but for tensors that overlap themselves.
TensorType same_placement(Infer& in, const Type& t);

// A place that may be counted from the end, counted from the start: not below 0 if it lies in the dim, or right behind
// it. Of one that only the run knows it is an expression, and lies in 0 .. size whatever the place.
Dim from_start(Assumptions& known, Dim at, Dim size);
bool is_left_open(Infer& in, Dim size);  // it is -1: the tensor says it
// The shape with its -1 filled in; raises when the number of elements differs.
DimVec infer_size(Infer& in, std::span<const Dim> shape, Dim elements);
// Strides under which the same memory has this shape; nothing if only a copy can have it.
std::optional<DimVec> view_strides(Infer& in, const Type& t, std::span<const Dim> sizes);

TensorType contiguous_like(const TensorType& t);            // the same dtype, device and sizes in fresh memory
void require_sizes(Infer& in, std::span<const Dim> sizes);  // none is negative

}  // namespace lenz::rule
