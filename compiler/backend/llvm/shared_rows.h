// Rows as functions of their own, compiled once in a process: code that is made quickly calls them where other code has
// the row in place, so that kernel after kernel LLVM meets what is the kernel's own alone.
// Thread-safety: any thread.
#pragma once

#include <functional>
#include <string>

#include "compiler/backend/llvm/jit.h"
#include "compiler/scalar/scalar.h"

namespace lenz::native {

// void symbol(operands..., value*, imaginary*, raised*): operands as ScalarCode holds them, the two parts of a complex
// one after each other; what the row does not give is not written.
struct SharedRow {
  std::string symbol;
  bool apart = false;   // false: it is so short that it stands in its place, and there is no function
  bool raises = false;  // it says in which lanes eager raises
  const void* code = nullptr;
};

// The same reference for ever. What apply() throws for the row is thrown here.
const SharedRow& shared_row(const ScalarRow& row, Dtype compute, Dtype result, const CpuTarget& target, int lanes);

// Those that a module calls, by name, to be defined where its object is linked.
void for_each_shared_row(CodeModule& module, const std::function<void(const SharedRow&)>& visit);

}  // namespace lenz::native
