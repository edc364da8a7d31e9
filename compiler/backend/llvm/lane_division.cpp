#include "compiler/backend/llvm/lane_division.h"

#include <llvm/Analysis/VectorUtils.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/MDBuilder.h>

#include <cstdlib>

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

namespace {
constexpr double kTwo52 = 4503599627370496.0;
constexpr uint64_t kBitsOfTwo52 = 0x4330000000000000, kBitsOfNearest = 0x4338000000000000;  // of 1.5 * 2^52
constexpr int kDigits = 49;  // that numbers and divisors may have

llvm::Value* number(llvm::Type* type, int64_t n) { return llvm::ConstantInt::get(type, static_cast<uint64_t>(n)); }

llvm::Value* splat(llvm::IRBuilderBase& b, llvm::Value* scalar, llvm::Type* like) {
  return b.CreateVectorSplat(llvm::cast<llvm::FixedVectorType>(like)->getNumElements(), scalar);
}

// Of numbers from 0 on of kDigits. Halves keep away from where the next quotient begins by more than doubles are off:
// (n + 1/2) / d is no nearer to a whole number than 1 / (2 d).
llvm::Value* quotients_below(llvm::IRBuilderBase& b, llvm::Value* n, llvm::Value* divisor) {
  llvm::Type *whole = n->getType(), *real = whole->getWithNewType(b.getDoubleTy());
  auto constant = [&](double x) { return llvm::ConstantFP::get(real, x); };
  llvm::Value* inverse =
      b.CreateFDiv(llvm::ConstantFP::get(b.getDoubleTy(), 1.0), b.CreateSIToFP(divisor, b.getDoubleTy()));
  llvm::Value* and_half = b.CreateFSub(
      b.CreateBitCast(b.CreateOr(n, llvm::ConstantInt::get(whole, kBitsOfTwo52)), real), constant(kTwo52 - 0.5));
  llvm::Value* nearest = b.CreateFAdd(b.CreateFSub(b.CreateFMul(and_half, splat(b, inverse, whole)), constant(0.5)),
                                      constant(1.5 * kTwo52));
  return b.CreateSub(b.CreateBitCast(nearest, whole), llvm::ConstantInt::get(whole, kBitsOfNearest));
}
}  // namespace

Quotients divide_down(llvm::IRBuilderBase& b, llvm::Value* x, llvm::Value* y) {
  llvm::Value* q = divide_lanes(b, llvm::Instruction::SDiv, x, y);
  llvm::Value* r = b.CreateSub(x, b.CreateMul(q, y));
  llvm::Value* zero = llvm::Constant::getNullValue(x->getType());
  llvm::Value* off = b.CreateAnd(b.CreateICmpNE(r, zero), b.CreateICmpSLT(b.CreateXor(r, y), zero));
  return {b.CreateAdd(q, b.CreateSExt(off, x->getType())), b.CreateAdd(r, b.CreateSelect(off, y, zero))};
}

Quotients divide_steps(llvm::IRBuilderBase& b, llvm::Value* least, int64_t step, int lanes, llvm::Value* divisor) {
  const Quotients first = divide_down(b, least, divisor);
  std::vector<llvm::Constant*> further;
  for (int64_t lane = 0; lane < lanes; ++lane)
    further.push_back(b.getInt64(static_cast<uint64_t>(std::abs(step) * (step > 0 ? lane : lanes - 1 - lane))));
  llvm::Value* beyond = llvm::ConstantVector::get(further);
  // What the first one leaves, and then what lies between the lanes: of a divisor of more digits than doubles have, as
  // much is taken off both, for no lane is more than one quotient further on.
  llvm::Type* one = least->getType();
  llvm::Value* most = number(one, int64_t{1} << (kDigits - 2));
  llvm::Value* less = b.CreateBinaryIntrinsic(llvm::Intrinsic::smax, b.CreateSub(divisor, most), number(one, 0));
  llvm::Value* left =
      b.CreateBinaryIntrinsic(llvm::Intrinsic::smax, b.CreateSub(first.remainder, less), number(one, 0));
  llvm::Value* more =
      quotients_below(b, b.CreateAdd(splat(b, left, beyond->getType()), beyond), b.CreateSub(divisor, less));
  auto spread = [&](llvm::Value* v) { return splat(b, v, beyond->getType()); };
  llvm::Value* within = b.CreateAdd(spread(first.remainder), beyond);
  return {b.CreateAdd(spread(first.quotient), more), b.CreateSub(within, b.CreateMul(more, spread(divisor)))};
}

Quotients divide_all(llvm::IRBuilderBase& b, llvm::Value* lanes, llvm::Value* divisor) {
  llvm::Type* type = lanes->getType();
  llvm::Value* all = splat(b, divisor, type);
  llvm::Value* digits = b.CreateOrReduce(b.CreateOr(lanes, all));
  llvm::Value* few = b.CreateICmpULT(digits, number(divisor->getType(), int64_t{1} << kDigits));
  llvm::Function* function = b.GetInsertBlock()->getParent();
  auto block = [&](const char* name) { return llvm::BasicBlock::Create(b.getContext(), name, function); };
  auto *quick = block("few_digits"), *slow = block("many_digits"), *after = block("divided");
  b.CreateCondBr(few, quick, slow, llvm::MDBuilder(b.getContext()).createLikelyBranchWeights());
  b.SetInsertPoint(quick);
  llvm::Value* of_few = quotients_below(b, lanes, divisor);
  b.CreateBr(after);
  b.SetInsertPoint(slow);
  llvm::Value* of_many = divide_down(b, lanes, all).quotient;
  auto* from = b.GetInsertBlock();
  b.CreateBr(after);
  b.SetInsertPoint(after);
  auto* made = b.CreatePHI(type, 2);
  made->addIncoming(of_few, quick);
  made->addIncoming(of_many, from);
  return {made, b.CreateSub(lanes, b.CreateMul(made, all))};
}

}  // namespace lenz::native
