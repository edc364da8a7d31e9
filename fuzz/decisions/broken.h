// Fixed texts and calls that are changed in one place each, always in the same: what verifiers, parsers and rules say
// of what is nearly right. Nothing of it runs. Thread-safety: one chooser per thread; else pure functions.
#pragma once

#include <string>
#include <string_view>

#include "compiler/base/chooser.h"
#include "compiler/ops/call_maker.h"
#include "compiler/schedule/plan.h"

namespace lenz::fuzz {

// A number, name or word becomes another one of the text, or the next number; two neighbours of a list, or lines,
// change places; a line goes, or comes twice.
std::string with_one_change(std::string_view text, Chooser& choose);

// What is said of so many changes of these texts.
std::string said_of_broken_loops(const std::string& text, Chooser& choose, int times);
std::string said_of_broken_graphs(const std::string& text, Chooser& choose, int times);
// Plans that are legal all the same are carried out: what comes of them is in it.
std::string said_of_broken_plans(const std::string& text, const loops::Program& prepared, Chooser& choose, int times);

// What the row's rule says of the call with each operand of another rank, size and dtype, each number at an edge, each
// list shorter and longer, each in turn. The call is as it was then.
std::string said_of_broken_calls(DrawnCall& call);

// What the program says of inputs as it takes them at these sizes, and of some with one changed, or of other sizes.
std::string said_of_inputs(const loops::Program& program, const SymValues& sizes, Chooser& choose);

}  // namespace lenz::fuzz
