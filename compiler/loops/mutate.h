// What hostile texts of programs are held to. Damage is done by compiler/graph/mutate.h.
// Thread-safety: pure functions.
#pragma once

#include <string_view>

#include "compiler/graph/op_def.h"

namespace lenz::loops {

// Whether the text parses. If it does, the verifier must end, and the program must survive printing and parsing;
// InternalError otherwise.
bool program_survives(std::string_view text, const OpTable& ops);

}  // namespace lenz::loops
