// What of the processor that this runs on decides which of libtorch's libraries computes what.
// Thread-safety: pure functions.
#pragma once

#include "compiler/passes/runner.h"

namespace lenz::oracle {

// Whether the library that libtorch leaves products of f32 to is slow here: the processor is of another maker.
bool has_slow_products();

// The narrow floats for which libtorch has no products of its own here: f32 takes no longer.
DtypeSet slowly_multiplied();

// What of that a graph's passes look at.
void describe_host(RunnerOptions& options);

}  // namespace lenz::oracle
