// What lanes read from places that nothing ties to each other.
#include <llvm/IR/Intrinsics.h>

#include <algorithm>

#include "compiler/backend/llvm/kernel_emitter.h"

namespace lenz::native {

using loops::BufferId;

// The addresses, and where lanes want nothing that of the first element. Null: nobody knows that there is one.
llvm::Value* KernelEmitter::place_to_read(BufferId id, llvm::Value* addresses, llvm::Value* mask) {
  const TensorType& of = program_.buffers[id].type;
  if (!std::ranges::all_of(of.sizes, [&](Dim size) { return facts_->proves(ge(size, 1)); })) return nullptr;
  const Dim first = address_of(id, DimVec(std::vector<Dim>(of.sizes.size(), Dim(0))));
  if (!first.is_constant()) return nullptr;
  return b_.CreateSelect(mask, addresses,
                         llvm::ConstantInt::get(addresses->getType(), static_cast<uint64_t>(first.constant())));
}

// No instruction gathers less than 32 bits: those that have an element, where memory begins anew every 32 bits, are
// there to be read, too.
llvm::Value* KernelEmitter::gather(BufferId id, llvm::Type* type, llvm::Value* addresses, int part, llvm::Value* mask,
                                   llvm::Value* otherwise) {
  // Where processors have no masks, each lane under one would have a branch of its own, which nobody foresees. That
  // none wants anything is foreseen: such lanes are neighbours, as beyond the ends of an image.
  if (mask && !target_.avx512)
    if (llvm::Value* there = place_to_read(id, addresses, mask))
      return guarded(b_.CreateOrReduce(mask), otherwise, [&] {
        return b_.CreateSelect(mask, b_.CreateMaskedGather(type, pointer(id, there, part), alignment(id)), otherwise);
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
