// What a program gives on the interpreter, or as machine code, as a digest, and what it had to do for that: at the
// values that its graph says, the same on every machine. Thread-safety: one run of the programs of a Context at a time.
#pragma once

#include "compiler/loops/program.h"
#include "fuzz/decisions/facts.h"

namespace lenz::fuzz {

// Nothing of a program that is too long for it, or that takes what stands for no memory of its own.
void interpreted(const Graph& graph, const loops::Program& program, const SymValues& sizes, Facts& facts);
// The same of machine code that is made for any processor, called at each of these sizes by two threads, twice, the
// second time timed; with what building it counts, and what each step has to do.
void executed(const Graph& graph, const loops::Program& program, std::span<const SymValues> sizes, Facts& facts);

}  // namespace lenz::fuzz
