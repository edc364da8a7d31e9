// schedule() for whoever runs what comes out: a program is handed on only where every rule of programs is proved to
// hold. What scheduling joins, moves and cuts is right, but proofs about places are searched for anew in what it makes,
// and none may be found. Then less is done to the program: slower, not wrong, and no error. Thread-safety: as the
// program's.
#pragma once

#include <functional>
#include <string>

#include "compiler/schedule/realise.h"

namespace lenz::schedule {

// Which rule the program breaks, as a line for people; empty: none.
std::string why_not_proved(const loops::Program& program);

struct Proved {
  loops::Program program;
  std::string given_up;  // what was not proved of the first try, if it was not
};
// The program itself breaks no rule. InternalError where not even its nests, each as a kernel of its own, are proved.
Proved schedule_proved(const loops::Program& program, const Target& target, const RealiseOptions& options = {},
                       const std::function<std::string(const loops::Program&)>& why_not = why_not_proved);

}  // namespace lenz::schedule
