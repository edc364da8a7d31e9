// Applies a plan: the program becomes kernels. The result keeps all rules of programs and computes the same, up to the
// order of reductions: the verifier and the interpreter say so.
// Thread-safety: as the program's.
#pragma once

#include "compiler/schedule/plan.h"

namespace lenz::schedule {

struct RealiseOptions {
  bool tiles = true;  // cut axes into tiles and lanes; without, kernels and phases only
};

loops::Program realise(loops::Program program, const Plan& plan, const RealiseOptions& options = {});

// Takes out the buffers that nothing mentions.
void drop_unused_buffers(loops::Program& program);

// The program that is planned: with cheap values recomputed, long reductions split, and axes in the order that plans
// look for.
void prepare(loops::Program& program, const Target& target);

// prepare, plan and realise: the way of every compilation.
loops::Program schedule(loops::Program program, const Target& target, const RealiseOptions& options = {});

}  // namespace lenz::schedule
