#include "compiler/backend/llvm/halves.h"

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>

#include <vector>

namespace lenz::native {

namespace {
bool is_half(const llvm::Type* type) { return type->getScalarType()->isHalfTy(); }

// Operations of which a half is the rounding of what f32 gives: those that LLVM narrows, and no others.
bool narrows(const llvm::Instruction& i) {
  if (const auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(&i)) {
    switch (call->getIntrinsicID()) {
      case llvm::Intrinsic::ceil:
      case llvm::Intrinsic::floor:
      case llvm::Intrinsic::nearbyint:
      case llvm::Intrinsic::rint:
      case llvm::Intrinsic::round:
      case llvm::Intrinsic::roundeven:
      case llvm::Intrinsic::trunc:
      case llvm::Intrinsic::sqrt: return is_half(i.getType());
      default: return false;
    }
  }
  switch (i.getOpcode()) {
    case llvm::Instruction::FCmp: return is_half(i.getOperand(0)->getType());
    case llvm::Instruction::FAdd:
    case llvm::Instruction::FSub:
    case llvm::Instruction::FMul:
    case llvm::Instruction::FDiv: return is_half(i.getType());
    default: return false;
  }
}
}  // namespace

void widen_halves(llvm::Function& function) {
  std::vector<llvm::Instruction*> all;
  for (llvm::Instruction& i : llvm::instructions(function))
    if (narrows(i)) all.push_back(&i);
  for (llvm::Instruction* i : all) {
    llvm::IRBuilder<> b(i);
    b.setFastMathFlags(i->getFastMathFlags());
    llvm::Type* wide = i->getOperand(0)->getType()->getWithNewType(b.getFloatTy());
    auto operand = [&](unsigned k) { return b.CreateFPExt(i->getOperand(k), wide); };
    llvm::Value* made = nullptr;
    if (const auto* cmp = llvm::dyn_cast<llvm::FCmpInst>(i))
      made = b.CreateFCmp(cmp->getPredicate(), operand(0), operand(1));
    else if (const auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(i))
      made = b.CreateFPTrunc(b.CreateUnaryIntrinsic(call->getIntrinsicID(), operand(0)), i->getType());
    else
      made = b.CreateFPTrunc(b.CreateBinOp(llvm::cast<llvm::BinaryOperator>(i)->getOpcode(), operand(0), operand(1)),
                             i->getType());
    i->replaceAllUsesWith(made);
    i->eraseFromParent();
  }
}

}  // namespace lenz::native
