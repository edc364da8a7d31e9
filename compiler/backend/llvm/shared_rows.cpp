#include "compiler/backend/llvm/shared_rows.h"

#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "compiler/backend/llvm/ir.h"
#include "compiler/backend/llvm/row_call.h"
#include "compiler/backend/llvm/scalar_code.h"
#include "compiler/base/error.h"

namespace lenz::native {

namespace {
// Below that a call takes as long to compile as the row does.
constexpr size_t kInstructionsOfCall = 24;

struct All {
  std::mutex mutex;
  std::map<std::string, SharedRow, std::less<>> rows;          // by symbol
  std::map<std::string, std::unique_ptr<Compiler>> compilers;  // by target
  std::vector<std::unique_ptr<Jit>> linked;                    // new code goes to the last
  bool last_failed = false;
};
All& all() {
  static All& one = *new All;  // for ever: at the end of the process, LLVM's own statics may go first
  return one;
}

// Where new code goes: one that has failed to link a symbol, for want of memory say, never links it again. Another one
// is there once it has all that code calls, so that want of memory here is only said once more.
Jit& linking(All& known) {
  if (known.linked.empty() || known.last_failed) {
    auto made = std::make_unique<Jit>();
    define_row_calls(*made);
    known.linked.push_back(std::move(made));
    known.last_failed = false;
  }
  return *known.linked.back();
}

CodeModule function_of(const ScalarRow& row, Dtype compute, Dtype result, const Compiler& compiler, int lanes,
                       SharedRow& made) {
  CodeModule module(made.symbol);
  compiler.prepare(module);
  llvm::IRBuilder<> b(*module.ir().context);
  ScalarCode code(b, compiler.target(), lanes);
  std::vector<llvm::Type*> types;
  for (int i = 0; i < row.arity; ++i) {
    const Dtype dtype = operand_dtype(row, compute, i);
    types.insert(types.end(), is_complex(dtype) ? 2 : 1, code.held_type(dtype));
  }
  types.insert(types.end(), 3, b.getPtrTy());
  auto* function = llvm::Function::Create(llvm::FunctionType::get(b.getVoidTy(), types, false),
                                          llvm::GlobalValue::ExternalLinkage, made.symbol, *module.ir().module);
  b.SetInsertPoint(llvm::BasicBlock::Create(*module.ir().context, "entry", function));
  std::vector<Lanes> operands;
  unsigned next = 0;
  for (int i = 0; i < row.arity; ++i) {
    Lanes given{function->getArg(next++)};
    if (is_complex(operand_dtype(row, compute, i))) given.imaginary = function->getArg(next++);
    operands.push_back(given);
  }
  llvm::Value* raised = nullptr;
  const Lanes answer = code.apply(row, compute, result, operands, &raised);
  made.apart = function->getInstructionCount() > kInstructionsOfCall;
  made.raises = raised != nullptr;
  b.CreateStore(answer.value, function->getArg(next));
  if (answer.imaginary != nullptr) b.CreateStore(answer.imaginary, function->getArg(next + 1));
  if (raised != nullptr) b.CreateStore(raised, function->getArg(next + 2));
  b.CreateRetVoid();
  return module;
}
}  // namespace

const SharedRow& shared_row(const ScalarRow& row, Dtype compute, Dtype result, const CpuTarget& target, int lanes) {
  All& known = all();
  const std::string symbol = "lenz_shared_" + std::string(row.name) + "_" + std::string(name(compute)) + "_" +
                             std::string(name(result)) + "_" + std::to_string(lanes) + "_" + target.name;
  const std::scoped_lock lock(known.mutex);
  if (auto found = known.rows.find(symbol); found != known.rows.end()) return found->second;
  std::unique_ptr<Compiler>& compiler = known.compilers[target.key()];
  if (!compiler) compiler = std::make_unique<Compiler>(target, CompilerOptions{.quick = true});
  SharedRow made{.symbol = symbol};
  CodeModule module = function_of(row, compute, result, *compiler, lanes, made);
  if (made.apart) {
    const std::string object = compiler->object(module);
    Jit& jit = linking(known);
    try {
      jit.add_object(object);
      made.code = jit.lookup(symbol);
    } catch (...) {
      known.last_failed = true;
      throw;
    }
    LENZ_CHECK(made.code != nullptr, "a row was compiled and is not there");
  }
  return known.rows.emplace(symbol, std::move(made)).first->second;
}

void for_each_shared_row(CodeModule& module, const std::function<void(const SharedRow&)>& visit) {
  All& known = all();
  const std::scoped_lock lock(known.mutex);
  for (const llvm::Function& function : *module.ir().module) {
    const llvm::StringRef symbol = function.getName();
    const auto found = known.rows.find(std::string_view(symbol.data(), symbol.size()));
    if (found != known.rows.end() && found->second.apart) visit(found->second);
  }
}

}  // namespace lenz::native
