// Division of integers in lanes. A division by zero is undefined, and LLVM 19 takes it so for whole vectors: of
// `select C, 1, <2, 1, 0, 7>` as a divisor it concludes that C holds in all lanes. Lanes beyond a tail may divide by
// anything, so where divisors differ each lane has a division of its own; no processor has one for vectors.
// Thread-safety: one builder per thread.
#pragma once

#include <llvm/IR/InstrTypes.h>

namespace llvm {
class IRBuilderBase;
}

namespace lenz::native {

llvm::Value* divide_lanes(llvm::IRBuilderBase& builder, llvm::Instruction::BinaryOps op, llvm::Value* a,
                          llvm::Value* b);

}  // namespace lenz::native
