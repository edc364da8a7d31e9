// What sizes divide by: it may not be 0.
// Thread-safety: as the graph's.
#pragma once

#include <functional>

#include "compiler/graph/graph.h"

namespace lenz {

// Calls visit(Dim) for every divisor that the argument, or the type, says and that nothing proves to be other than 0.
using OpenDivisor = std::function<void(Dim)>;
void for_each_open_divisor(const Assumptions& known, const Arg& arg, const OpenDivisor& visit);
void for_each_open_divisor(const Assumptions& known, const Type& type, const OpenDivisor& visit);

// Whether inputs give all its symbols: of the others nobody may ask for a guard, and the lowering checks them.
bool given_by_inputs(const Graph& graph, Dim dim);

// Makes guards of those that inputs give. UserError, as `who`, for what is 0.
void guard_divisors(Graph& graph, std::span<const Arg> args, std::string_view who);
void guard_divisors(Graph& graph, const Type& type, std::string_view who);

}  // namespace lenz
