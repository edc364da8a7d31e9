// What a program is called with, held against what it takes: dtypes, ranks, sizes, strides, facts, guards, aliasing.
// Thread-safety: as the symbols'.
#pragma once

#include <functional>
#include <span>
#include <string_view>

#include "compiler/loops/interpret.h"
#include "compiler/loops/symbols.h"

namespace lenz::loops {

// What to do about inputs that share memory otherwise than the program says.
inline constexpr std::string_view kAliasRemedy = "a graph says which inputs share memory by their `alias` class";

// Binds the program's symbols and puts every tensor into its buffer. UserError that names the input, with what it
// should be.
void take_inputs(const Program& program, std::span<const InputValue> inputs, Symbols& symbols,
                 const std::function<void(BufferId, const Tensor&)>& put);

}  // namespace lenz::loops
