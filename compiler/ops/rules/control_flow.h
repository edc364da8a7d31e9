// Result types of control flow: what the sub-graphs return, with their symbols bound by the operands.
// Thread-safety: pure, given one Infer.
#pragma once

#include "compiler/graph/infer.h"

namespace lenz::rule {

void cond(Infer& in);
void while_loop(Infer& in);
void scan(Infer& in);
void print(Infer& in);  // of as many values as its text has places for
void token(Infer& in);

}  // namespace lenz::rule
