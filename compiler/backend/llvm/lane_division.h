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

// Of each lane, rounded down, where all have one divisor, a scalar of 1 or more: no processor divides lanes of 64 bits,
// but doubles have an inverse of the divisor, and digits enough for what is left once a scalar division has told the
// first lane's quotient.
struct Quotients {
  llvm::Value *quotient, *remainder;
};

// Lanes at a fixed step, which is less than 2^20 and not 0; `least` is the scalar that is the least of them.
Quotients divide_steps(llvm::IRBuilderBase& builder, llvm::Value* least, int64_t step, int lanes, llvm::Value* divisor);
// Lanes of any numbers: where some have too many digits, or are below zero, each is divided by itself.
Quotients divide_all(llvm::IRBuilderBase& builder, llvm::Value* lanes, llvm::Value* divisor);

// Rounded down: the machine's division rounds to zero.
Quotients divide_down(llvm::IRBuilderBase& builder, llvm::Value* a, llvm::Value* b);

llvm::Value* divide_lanes(llvm::IRBuilderBase& builder, llvm::Instruction::BinaryOps op, llvm::Value* a,
                          llvm::Value* b);

}  // namespace lenz::native
