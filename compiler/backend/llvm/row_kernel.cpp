#include "compiler/backend/llvm/row_kernel.h"

#include <llvm/IR/Verifier.h>

#include "compiler/backend/llvm/ir.h"
#include "compiler/backend/llvm/row_call.h"
#include "compiler/backend/llvm/scalar_code.h"

namespace lenz::native {

CodeModule row_module(const ScalarRow& row, Dtype compute, Dtype result, const Compiler& compiler, int lanes) {
  CodeModule module("row");
  compiler.prepare(module);
  llvm::LLVMContext& context = *module.ir().context;
  llvm::IRBuilder<> b(context);
  auto* pointer = llvm::PointerType::get(context, 0);
  auto* type = llvm::FunctionType::get(b.getVoidTy(), {pointer, pointer, pointer, b.getInt64Ty()}, false);
  auto* function = llvm::Function::Create(type, llvm::GlobalValue::ExternalLinkage, "row", *module.ir().module);
  auto* entry = llvm::BasicBlock::Create(context, "entry", function);
  auto* head = llvm::BasicBlock::Create(context, "head", function);
  auto* body = llvm::BasicBlock::Create(context, "body", function);
  auto* done = llvm::BasicBlock::Create(context, "done", function);

  b.SetInsertPoint(entry);
  int arrays = 0;
  auto arrays_of = [&](llvm::Value* list, Dtype dtype) {
    std::vector<llvm::Value*> found;
    for (int i = 0; i < (is_complex(dtype) ? 2 : 1); ++i, ++arrays)
      found.push_back(b.CreateLoad(pointer, b.CreateConstGEP1_64(pointer, list, static_cast<uint64_t>(arrays))));
    return found;
  };
  std::vector<std::vector<llvm::Value*>> in;
  for (int i = 0; i < row.arity; ++i) in.push_back(arrays_of(function->getArg(0), operand_dtype(row, compute, i)));
  arrays = 0;
  const auto out = arrays_of(function->getArg(1), result);
  b.CreateBr(head);

  b.SetInsertPoint(head);
  auto* at = b.CreatePHI(b.getInt64Ty(), 2);
  at->addIncoming(b.getInt64(0), entry);
  b.CreateCondBr(b.CreateICmpSLT(at, function->getArg(3)), body, done);

  b.SetInsertPoint(body);
  ScalarCode code(b, compiler.target(), lanes);
  std::vector<Lanes> operands;
  for (int i = 0; i < row.arity; ++i) {
    const Dtype dtype = operand_dtype(row, compute, i);
    llvm::Type* memory = code.memory_type(dtype);
    auto load = [&](llvm::Value* array) {
      return b.CreateAlignedLoad(memory, b.CreateGEP(memory->getScalarType(), array, at), llvm::Align(1));
    };
    Lanes loaded{load(in[static_cast<size_t>(i)][0])};
    if (is_complex(dtype)) loaded.imaginary = load(in[static_cast<size_t>(i)][1]);
    operands.push_back(code.load_convert(dtype, loaded));
  }
  llvm::Value* raised = nullptr;
  const Lanes answer = code.store_convert(result, code.apply(row, compute, result, operands, &raised));
  llvm::Type* memory = code.memory_type(result);
  auto store = [&](llvm::Value* value, llvm::Value* array) {
    b.CreateAlignedStore(value, b.CreateGEP(memory->getScalarType(), array, at), llvm::Align(1));
  };
  store(answer.value, out[0]);
  if (is_complex(result)) store(answer.imaginary, out[1]);
  if (raised != nullptr) {
    llvm::Type* bytes = code.memory_type(Dtype::b8);
    b.CreateAlignedStore(b.CreateZExt(raised, bytes), b.CreateGEP(b.getInt8Ty(), function->getArg(2), at),
                         llvm::Align(1));
  }
  at->addIncoming(b.CreateAdd(at, b.getInt64(lanes)), b.GetInsertBlock());
  b.CreateBr(head);
  b.SetInsertPoint(done);
  b.CreateRetVoid();
  return module;
}

RowKernel::RowKernel(const ScalarRow& row, Dtype compute, Dtype result, const CpuTarget& target, int lanes)
    : lanes_(lanes != 0 ? lanes : std::min(64, 2 * target.lanes(std::max(1, item_size(to_real(compute)))))),
      jit_(std::make_unique<Jit>()) {
  const Compiler compiler(target);
  CodeModule module = row_module(row, compute, result, compiler, lanes_);
  define_row_calls(*jit_);
  jit_->add_object(compiler.object(module));
  function_ = jit_->function<Function>("row");
}

}  // namespace lenz::native
