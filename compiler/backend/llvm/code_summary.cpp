#include "compiler/backend/llvm/code_summary.h"

#include <llvm/IR/Constants.h>
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/Module.h>

#include <bit>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <unordered_map>

#include "compiler/backend/llvm/ir.h"
#include "compiler/base/hash.h"

namespace lenz::native {

namespace {
class Reader {
 public:
  CodeSummary run(const llvm::Module& module) {
    for (const llvm::GlobalVariable& g : module.globals()) {
      add(g.getName()), type(g.getValueType());
      add(g.isConstant()), add(static_cast<uint64_t>(g.getLinkage()));
      if (g.hasInitializer()) constant(*g.getInitializer());
    }
    for (const llvm::Function& f : module.functions())
      if (!f.isDeclaration()) function(f);
    return made_;
  }

 private:
  void add(uint64_t x) { made_.digest = combine(made_.digest, x); }
  void add(llvm::StringRef text) { add(hash_bytes({text.data(), text.size()})); }

  void type(const llvm::Type* t) {
    add(t->getTypeID());
    if (const auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(t)) add(vector->getNumElements());
    if (const auto* array = llvm::dyn_cast<llvm::ArrayType>(t)) add(array->getNumElements());
    if (t->isIntegerTy()) add(t->getIntegerBitWidth());
    for (const llvm::Type* part : t->subtypes()) type(part);
  }

  void number(const llvm::APFloat& x) {
    const uint64_t bits = x.bitcastToAPInt().getLimitedValue();
    constexpr uint64_t kBeyondFloats = (uint64_t{1} << 28) - 1;
    if (&x.getSemantics() != &llvm::APFloat::IEEEdouble() || (bits & kBeyondFloats) == 0) return add(bits);
    const auto value = std::bit_cast<double>(bits);
    char text[32];
    std::snprintf(text, sizeof text, "%e", value);
    if (std::strtod(text, nullptr) == value) return add(bits);  // it was written down, not fitted
    // What is so small may be what last places leave.
    if (!(std::abs(value) > 0x1p-40)) return add(1);
    std::snprintf(text, sizeof text, "%.3e", value);
    add(llvm::StringRef(text));
  }

  void constant(const llvm::Constant& c) {
    add(c.getValueID()), type(c.getType());
    if (const auto* global = llvm::dyn_cast<llvm::GlobalValue>(&c)) return add(global->getName());
    if (const auto* integer = llvm::dyn_cast<llvm::ConstantInt>(&c)) {
      for (unsigned i = 0; i < integer->getValue().getNumWords(); ++i) add(integer->getValue().getRawData()[i]);
      return;
    }
    if (const auto* real = llvm::dyn_cast<llvm::ConstantFP>(&c)) return number(real->getValueAPF());
    if (const auto* data = llvm::dyn_cast<llvm::ConstantDataSequential>(&c)) {
      const bool reals = data->getElementType()->isFloatingPointTy();
      for (unsigned i = 0; i < data->getNumElements(); ++i)
        reals ? number(data->getElementAsAPFloat(i)) : add(data->getElementAsInteger(i));
      return;
    }
    if (const auto* made = llvm::dyn_cast<llvm::ConstantExpr>(&c)) add(made->getOpcode());
    for (const llvm::Use& part : c.operands()) constant(*llvm::cast<llvm::Constant>(part.get()));
  }

  void value(const llvm::Value* v) {
    if (const auto at = numbers_.find(v); at != numbers_.end()) return add(at->second);
    add(v->getValueID());
    if (const auto* c = llvm::dyn_cast<llvm::Constant>(v)) return constant(*c);
    if (const auto* words = llvm::dyn_cast<llvm::InlineAsm>(v)) add(words->getAsmString());
  }

  void function(const llvm::Function& f) {
    numbers_.clear();
    add(f.getName()), type(f.getFunctionType());
    for (const llvm::Argument& a : f.args()) {
      numbers_.emplace(&a, numbers_.size());
      add(f.getAttributes().getParamAttrs(a.getArgNo()).getAsString());
    }
    for (const llvm::BasicBlock& block : f) {
      numbers_.emplace(&block, numbers_.size());
      for (const llvm::Instruction& i : block) numbers_.emplace(&i, numbers_.size());
    }
    for (const llvm::BasicBlock& block : f) {
      add(block.size());
      for (const llvm::Instruction& i : block) instruction(i);
    }
  }

  void instruction(const llvm::Instruction& i) {
    ++made_.instructions;
    add(i.getOpcode()), type(i.getType()), add(i.getRawSubclassOptionalData());
    for (const llvm::Use& operand : i.operands()) value(operand.get());
    if (const auto* call = llvm::dyn_cast<llvm::CallBase>(&i)) {
      ++made_.calls;
      add(call->getCallingConv());
      for (unsigned a = 0; a < call->arg_size(); ++a) add(call->getAttributes().getParamAttrs(a).getAsString());
    }
    if (const auto* compare = llvm::dyn_cast<llvm::CmpInst>(&i)) add(compare->getPredicate());
    if (const auto* load = llvm::dyn_cast<llvm::LoadInst>(&i)) add(load->getAlign().value()), add(load->isVolatile());
    if (const auto* store = llvm::dyn_cast<llvm::StoreInst>(&i))
      add(store->getAlign().value()), add(store->isVolatile());
    if (const auto* address = llvm::dyn_cast<llvm::GetElementPtrInst>(&i)) type(address->getSourceElementType());
    if (const auto* local = llvm::dyn_cast<llvm::AllocaInst>(&i))
      type(local->getAllocatedType()), add(local->getAlign().value());
    if (const auto* choice = llvm::dyn_cast<llvm::ShuffleVectorInst>(&i))
      for (const int lane : choice->getShuffleMask()) add(static_cast<uint64_t>(lane));
    if (const auto* part = llvm::dyn_cast<llvm::ExtractValueInst>(&i))
      for (const unsigned at : part->indices()) add(at);
    if (const auto* part = llvm::dyn_cast<llvm::InsertValueInst>(&i))
      for (const unsigned at : part->indices()) add(at);
    if (const auto* change = llvm::dyn_cast<llvm::AtomicRMWInst>(&i)) add(change->getOperation());
    if (const auto* phi = llvm::dyn_cast<llvm::PHINode>(&i))
      for (const llvm::BasicBlock* from : phi->blocks()) value(from);
    llvm::SmallVector<std::pair<unsigned, llvm::MDNode*>, 4> said;
    i.getAllMetadataOtherThanDebugLoc(said);
    for (const auto& [kind, node] : said) add(kind), add(said_.try_emplace(node, said_.size()).first->second);
  }

  CodeSummary made_;
  std::unordered_map<const llvm::Value*, uint64_t> numbers_;
  std::unordered_map<const llvm::MDNode*, uint64_t> said_;
};
}  // namespace

CodeSummary summary_of(CodeModule& module) { return Reader().run(*module.ir().module); }

}  // namespace lenz::native
