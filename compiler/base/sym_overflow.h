// What dims throw where a number has no place in 64 bits: it says nothing of the sizes that a run has.
// Thread-safety: as any exception.
#pragma once

#include "compiler/base/error.h"

namespace lenz {

class DimOverflow : public UserError {
 public:
  DimOverflow() : UserError("dimension overflows 64 bits", "", "sizes and their products must stay below 2**63") {}
};

}  // namespace lenz
