// What facts about some symbols say of the others alone: for whoever forgets the former.
// Thread-safety: as the facts'.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "compiler/base/sym.h"

namespace lenz {

// Conditions on symbols that stay alone, each of which follows from the facts: what ranges and conditions say of the
// symbols that go is put in their place. Of what stays anyhow nothing is said again. `more` holds beside the facts and
// has been added to them.
std::vector<Cond> said_of_others(const Facts& facts, const SharedList<Cond>& more,
                                 const std::function<bool(const SymNode* symbol)>& stays);

}  // namespace lenz
