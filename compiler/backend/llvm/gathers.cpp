// What lanes read from places that nothing ties to each other.
#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/IntrinsicsX86.h>

#include "compiler/backend/llvm/kernel_emitter.h"

namespace lenz::native {

using loops::BufferId;

// The addresses, and where lanes want nothing that of the first lane which does; there is one.
llvm::Value* KernelEmitter::places_to_read(llvm::Value* addresses, llvm::Value* mask) {
  const auto lanes = static_cast<unsigned>(lanes_);
  llvm::Type* bits = b_.getIntNTy(lanes);
  llvm::Value* first = b_.CreateIntrinsic(llvm::Intrinsic::cttz, {bits}, {b_.CreateBitCast(mask, bits), b_.getTrue()});
  llvm::Value* one = b_.CreateExtractElement(addresses, b_.CreateZExt(first, b_.getInt64Ty()));
  return b_.CreateSelect(mask, addresses, b_.CreateVectorSplat(lanes, one));
}

// In one instruction that leaves out lanes, where the target has one for such. Null: it has none.
llvm::Value* KernelEmitter::gather_words(BufferId id, llvm::Type* type, llvm::Value* addresses, llvm::Value* mask,
                                         llvm::Value* otherwise) {
  constexpr int kWords = 8;
  if (auto* widened = llvm::dyn_cast<llvm::SExtInst>(addresses)) addresses = widened->getOperand(0);
  if (!target_.gathers_words() || lanes_ != kWords || is_complex(dtype_of(id)) || type->getScalarSizeInBits() != 32 ||
      !addresses->getType()->getScalarType()->isIntegerTy(32))
    return nullptr;
  const bool real = type->getScalarType()->isFloatTy();
  llvm::Value* wanted = b_.CreateSExt(mask, llvm::FixedVectorType::get(b_.getInt32Ty(), kWords));
  if (real) wanted = b_.CreateBitCast(wanted, type);
  return b_.CreateIntrinsic(
      real ? llvm::Intrinsic::x86_avx2_gather_d_ps_256 : llvm::Intrinsic::x86_avx2_gather_d_d_256, {},
      {otherwise, pointer(id, b_.getInt64(0), 0), addresses, wanted, b_.getInt8(sizeof(int32_t))});
}

// No instruction gathers less than 32 bits: those that have an element, where memory begins anew every 32 bits, are
// there to be read, too.
llvm::Value* KernelEmitter::gather(BufferId id, llvm::Type* type, llvm::Value* addresses, int part, llvm::Value* mask,
                                   llvm::Value* otherwise) {
  // Where processors have no masks, each lane under one would have a branch of its own, which nobody foresees. That
  // none wants anything is foreseen: such lanes are neighbours, as beyond the ends of an image.
  if (mask && !target_.avx512)
    return guarded(b_.CreateOrReduce(mask), otherwise, [&] {
      if (llvm::Value* words = gather_words(id, type, addresses, mask, otherwise)) return words;
      llvm::Value* from = pointer(id, places_to_read(addresses, mask), part);
      llvm::Value* read = b_.CreateMaskedGather(type, from, alignment(id));
      return b_.CreateSelect(mask, read, otherwise);
    });
  llvm::Value* from = pointer(id, addresses, part);
  const unsigned bits = type->getScalarSizeInBits();
  if (!target_.avx512 || lanes_ < kLeastGathered || (bits != 8 && bits != 16))
    return b_.CreateMaskedGather(type, from, alignment(id), mask, otherwise);
  const auto lanes = static_cast<unsigned>(lanes_);
  auto all = [&](llvm::Type* one, uint64_t v) { return b_.CreateVectorSplat(lanes, llvm::ConstantInt::get(one, v)); };
  auto* words = llvm::FixedVectorType::get(b_.getInt32Ty(), lanes);
  llvm::Value* begins = b_.CreateIntrinsic(llvm::Intrinsic::ptrmask,
                                           {from->getType(), llvm::FixedVectorType::get(b_.getInt64Ty(), lanes)},
                                           {from, all(b_.getInt64Ty(), ~uint64_t{3})});
  llvm::Value* read =
      b_.CreateMaskedGather(words, begins, llvm::Align(4), mask, mask ? llvm::Constant::getNullValue(words) : nullptr);
  llvm::Value* place =
      b_.CreateTrunc(b_.CreatePtrToInt(from, llvm::FixedVectorType::get(b_.getInt64Ty(), lanes)), words);
  llvm::Value* shift = b_.CreateShl(b_.CreateAnd(place, all(b_.getInt32Ty(), 3)), all(b_.getInt32Ty(), 3));
  llvm::Value* element =
      b_.CreateTrunc(b_.CreateLShr(read, shift), llvm::FixedVectorType::get(b_.getIntNTy(bits), lanes));
  element = b_.CreateBitCast(element, type);
  return mask && otherwise && !llvm::isa<llvm::UndefValue>(otherwise) ? b_.CreateSelect(mask, element, otherwise)
                                                                      : element;
}

}  // namespace lenz::native
