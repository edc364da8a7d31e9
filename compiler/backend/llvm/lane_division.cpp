#include "compiler/backend/llvm/lane_division.h"

#include <llvm/Analysis/VectorUtils.h>
#include <llvm/IR/IRBuilder.h>

namespace lenz::native {

llvm::Value* divide_lanes(llvm::IRBuilderBase& builder, llvm::Instruction::BinaryOps op, llvm::Value* a,
                          llvm::Value* b) {
  const auto* type = llvm::dyn_cast<llvm::FixedVectorType>(a->getType());
  if (type == nullptr || llvm::getSplatValue(b) != nullptr) return builder.CreateBinOp(op, a, b);
  llvm::Value* result = llvm::PoisonValue::get(a->getType());
  for (uint64_t lane = 0; lane < type->getNumElements(); ++lane) {
    llvm::Value* x = builder.CreateExtractElement(a, lane);
    llvm::Value* quotient = builder.CreateBinOp(op, x, builder.CreateExtractElement(b, lane));
    result = builder.CreateInsertElement(result, quotient, lane);
  }
  return result;
}

}  // namespace lenz::native
