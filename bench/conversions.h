// What has to be converted between narrow floats and the f32 that everybody computes in, however programs are fused.
// Thread-safety: pure.
#pragma once

#include <map>
#include <string>

#include "compiler/loops/program.h"

namespace lenz::bench {

// How many elements, by primitive: "to_dtype.bf16 f32" what is read from inputs, each element once, and what is rounded
// and computed with again; "to_dtype.f32 bf16" what the program rounds, and results that it computes.
std::map<std::string, double> conversions_of(const loops::Program& program, const SymValues& symbols);

}  // namespace lenz::bench
