// Combines of the loop IR as code: states of one to three parts, on lanes.
// Thread-safety: as the builder's module.
#pragma once

#include <span>
#include <vector>

#include "compiler/backend/llvm/scalar_code.h"
#include "compiler/loops/combine.h"

namespace lenz::native {

using State = std::vector<Lanes>;

State identity_code(ScalarCode& code, loops::Combine combine, Dtype dtype);
// The state of one element.
State one_code(ScalarCode& code, loops::Combine combine, Dtype dtype, std::span<const Lanes> operands);
// Two states, `a` of earlier points.
State combine_code(ScalarCode& code, loops::Combine combine, Dtype dtype, const State& a, const State& b);
Lanes select_code(ScalarCode& code, llvm::Value* condition, const Lanes& yes, const Lanes& no);

}  // namespace lenz::native
