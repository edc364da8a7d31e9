// A call with symbols for its sizes must say the same as the call itself, once the symbols are bound. Some calls have
// sizes and numbers that only a run knows: what is asserted of them must hold of what the call has.
// Thread-safety: one call per thread.
#pragma once

#include <optional>
#include <string>

#include "compiler/ops/call_maker.h"

namespace lenz {

struct SymbolicVerdict {
  enum Kind : uint8_t {
    same,
    differs,
    guarded,  // a guard that the rule recorded does not hold for these sizes: it says nothing about them; or what only
              // a run knows would decide
    nothing,  // no size became a symbol, or the row has no rule
  } kind = nothing;
  std::string text;  // of a difference
};

// `call` must be accepted by its rule. The chooser decides which sizes become symbols, and which share one.
SymbolicVerdict check_symbolic(const DrawnCall& call, Chooser& chooser);

}  // namespace lenz
