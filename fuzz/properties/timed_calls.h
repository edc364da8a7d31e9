// What a call of compiled code that is timed gives beside one that is not. Thread-safety: as the subject's.
#pragma once

#include "fuzz/property.h"

namespace lenz::fuzz {

// Nothing: the same bits. Throws Unsupported where memory ended one of them, which says nothing of results.
std::optional<Failure> timed_otherwise(const Graph& graph, const oracle::Execution& plain,
                                       const oracle::Execution& timed);

}  // namespace lenz::fuzz
