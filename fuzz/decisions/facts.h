// What the compiler decided about one thing, as numbers: how often each rule fired, how many kernels there are, what
// they move and compute. Counted here, from the graph and the loops that were made, not taken from who decided.
// Names that end in `#` are digests of a text: they say that it is another one, not what it costs.
// Thread-safety: values; pure functions.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "compiler/backend/llvm/target.h"
#include "compiler/loops/program.h"
#include "compiler/runtime/memory_plan.h"
#include "fuzz/case.h"

namespace lenz::fuzz {

using Facts = std::map<std::string, int64_t>;

int64_t digest(std::string_view text);

// Of a program at these sizes: what its kernels read and write in memory that is not one point's own, each access of
// each point by itself; what they compute, in simple operations; and how many of what there are.
struct Costs {
  double moved = 0, work = 0;
  int64_t kernels = 0, nests = 0, accesses = 0, instructions = 0, lanes = 0, unrolled = 0, local = 0, others = 0;
};
Costs costs_of(const loops::Program& program, const SymValues& sizes);

// Of the arena, each number in bytes at these sizes.
struct Memory {
  int64_t arena = 0, all = 0, peak = 0;  // peak: of what is needed at one time, counted node by node
};
Memory memory_of(const runtime::MemoryPlan& plan, const SymValues& sizes);

// All of a graph's: the whole way of compilation but for what LLVM does, for two processors that need not be here.
Facts facts_of(const Case& fixed);
// Of the graph twice beside itself: which kernels are one function, and run together. Nothing where it can't stand so.
Facts facts_of_twice(const Case& fixed);
// Of a row: what its rule says of calls that are drawn, what is made of some, and in which words it refuses broken
// ones.
Facts facts_of(const OpDef& row);
// Of a scalar row: its code.
Facts facts_of(const ScalarRow& row);
// Of a target: what LLVM is told of it, and which instructions code is written for. No instructions are chosen of what
// is only looked at, so that a word that is missing shows in nothing else.
Facts facts_of(const native::CpuTarget& target);
// Of an x86-64 processor by LLVM's name, whatever this machine has: which targets run on it, and what they use of it.
Facts facts_of_processor(std::string_view name);
// Of what processors say of themselves, drawn: how eager would lay out its results there.
Facts facts_of_processors_words();
// Of facts about sizes, drawn by this number.
Facts facts_of_sizes(uint64_t number);
// Of a text that is refused, of a graph or of loops: in which words.
Facts facts_of_refusal(const std::string& text);

}  // namespace lenz::fuzz
