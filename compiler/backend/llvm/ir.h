// What a CodeModule holds, for who writes IR. Includes LLVM: for the few files of this room that need it.
// Thread-safety: as CodeModule.
#pragma once

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>

#include <memory>

namespace lenz::native {

struct Ir {
  std::unique_ptr<llvm::LLVMContext> context;
  std::unique_ptr<llvm::Module> module;
};

}  // namespace lenz::native
