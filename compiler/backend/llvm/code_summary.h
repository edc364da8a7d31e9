// What a module says, as numbers: made in a fraction of the time that its text takes.
// Thread-safety: as the module's.
#pragma once

#include <cstdint>

#include "compiler/backend/llvm/jit.h"

namespace lenz::native {

struct CodeSummary {
  int64_t instructions = 0, calls = 0;
  // Of all that instructions are, and of tables: another one where any of it is, but for names of values, for what is
  // the processor's, and for last places of constants in f64, which are fitted when a compiler starts and may be others
  // on another machine, where libm's are.
  uint64_t digest = 0;
};
CodeSummary summary_of(CodeModule& module);

}  // namespace lenz::native
