#include "compiler/backend/llvm/draw_kernel.h"

#include "compiler/backend/llvm/ir.h"
#include "compiler/backend/llvm/lane_code.h"
#include "compiler/backend/llvm/scalar_code.h"

namespace lenz::native {

DrawKernel::DrawKernel(loops::DrawKind kind, Dtype dtype, const CpuTarget& target, int lanes, bool consecutive)
    : jit_(std::make_unique<Jit>()) {
  const Compiler compiler(target);
  CodeModule module("draw");
  compiler.prepare(module);
  llvm::LLVMContext& context = *module.ir().context;
  llvm::IRBuilder<> b(context);
  auto* pointer = llvm::PointerType::get(context, 0);
  auto* type = llvm::FunctionType::get(b.getVoidTy(), {pointer, b.getInt64Ty(), b.getInt64Ty(), b.getInt64Ty()}, false);
  auto* function = llvm::Function::Create(type, llvm::GlobalValue::ExternalLinkage, "draw", *module.ir().module);
  auto* entry = llvm::BasicBlock::Create(context, "entry", function);
  auto* head = llvm::BasicBlock::Create(context, "head", function);
  auto* body = llvm::BasicBlock::Create(context, "body", function);
  auto* done = llvm::BasicBlock::Create(context, "done", function);
  b.SetInsertPoint(entry);
  b.CreateBr(head);
  b.SetInsertPoint(head);
  auto* at = b.CreatePHI(b.getInt64Ty(), 2);
  at->addIncoming(b.getInt64(0), entry);
  b.CreateCondBr(b.CreateICmpSLT(at, function->getArg(3)), body, done);
  b.SetInsertPoint(body);
  ScalarCode code(b, target, lanes);
  LaneCode numbers(b, target, lanes);
  const V element = numbers.splat(at) + numbers.lane_numbers();
  const Lanes drawn = code.draw(kind, dtype, function->getArg(1), function->getArg(2), element.value, consecutive);
  llvm::Type* held = code.held_type(dtype)->getScalarType();
  b.CreateAlignedStore(drawn.value, b.CreateGEP(held, function->getArg(0), at), llvm::Align(1));
  at->addIncoming(b.CreateAdd(at, b.getInt64(lanes)), b.GetInsertBlock());
  b.CreateBr(head);
  b.SetInsertPoint(done);
  b.CreateRetVoid();
  jit_->add_object(compiler.object(module));
  function_ = jit_->function<Function>("draw");
}

}  // namespace lenz::native
