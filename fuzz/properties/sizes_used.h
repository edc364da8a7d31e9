// What others do with sizes and facts: forget symbols, put others in their place, take expressions apart, compile them,
// learn more and go back. Each is held to plain arithmetic at points that keep the facts, as sizes.h does it.
// Thread-safety: pure functions.
#pragma once

#include "compiler/graph/graph.h"
#include "fuzz/properties/sizes.h"

namespace lenz::fuzz {

// What is wrong with it, in a graph whose sizes are these facts.
WrongSizes wrong_uses(Chooser& choose, const PlainFacts& known, Graph& graph);

// The same as words, for who holds them to what they were: also what nobody can judge, as what is not said.
std::string said_of_uses(Chooser& choose, Graph& graph);

}  // namespace lenz::fuzz
