// Products of narrow floats where libtorch has no kernels for them: its plain loops take up to a hundred times as long
// as its products of f32, conversions included. Those sum in f32 and round once, as loops of our own do. And where
// its kernels for them read beyond their operands. Only .cpp files of this room include it. Thread-safety: pure
// functions.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "compiler/graph/graph.h"
#include "oracle/boxed.h"

namespace lenz::oracle {

// The dtype of a call's factors where it is a product, a convolution or attention of narrow floats that takes less time
// in f32 on this processor, as measured on an EPYC of the third generation (bench/SHOWN.md), or is right in f32 alone.
std::optional<Dtype> narrow_factors(const OpDef& op, std::span<const Arg> args, std::span<const RunValue> values);

// The call's operands, those of narrow floats as f32; and its results as that dtype again.
std::vector<RunValue> widened_operands(std::span<const Arg> args, std::span<const RunValue> values);
void narrow_results(Outcome& outcome, Dtype to);

}  // namespace lenz::oracle
