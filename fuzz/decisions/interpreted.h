// What a program gives on the interpreter, as a digest, and what it had to do for that: at the values that its graph
// says, the same on every machine. Thread-safety: one interpretation of the programs of a Context at a time.
#pragma once

#include "compiler/loops/program.h"
#include "fuzz/decisions/facts.h"

namespace lenz::fuzz {

// Nothing of a program that is too long for it, or that takes what stands for no memory of its own.
void interpreted(const Graph& graph, const loops::Program& program, const SymValues& sizes, Facts& facts);

}  // namespace lenz::fuzz
