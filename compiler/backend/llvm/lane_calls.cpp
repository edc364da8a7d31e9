// Functions of the module's own that lanes call: for what is rare, and too long to stand wherever it may be needed.
#include "compiler/backend/llvm/ir.h"
#include "compiler/backend/llvm/lane_code.h"
#include "compiler/backend/llvm/row_call.h"

namespace lenz::native {

// Of the module, written where it has none of the name.
llvm::Function* LaneCode::own_function(const std::string& name, std::initializer_list<llvm::Type*> arguments,
                                       const std::function<void(llvm::IRBuilderBase&, llvm::Function&)>& write) {
  llvm::IRBuilderBase& e = *builder_;
  llvm::Module& module = *e.GetInsertBlock()->getModule();
  if (llvm::Function* known = module.getFunction(name)) return known;
  auto* type = llvm::FunctionType::get(e.getVoidTy(), arguments, false);
  llvm::Function* function = llvm::Function::Create(type, llvm::GlobalValue::InternalLinkage, name, module);
  function->addFnAttr(llvm::Attribute::NoInline);
  function->addFnAttr(llvm::Attribute::NoUnwind);
  llvm::IRBuilder<> inside(llvm::BasicBlock::Create(e.getContext(), "entry", function));
  write(inside, *function);
  inside.CreateRetVoid();
  return function;
}

llvm::Value* LaneCode::memory_of_call(uint64_t words) {
  llvm::BasicBlock& entry = builder_->GetInsertBlock()->getParent()->getEntryBlock();
  llvm::IRBuilder<> at_entry(&entry, entry.getFirstInsertionPt());
  return at_entry.CreateAlloca(llvm::ArrayType::get(builder_->getInt64Ty(), words));
}

// Vectors are handed over in memory.
V LaneCode::by_table(const ScalarRow& row, LaneType type, std::span<const V> operands) {
  llvm::IRBuilderBase& b = *builder_;
  llvm::Module& module = *b.GetInsertBlock()->getModule();
  llvm::BasicBlock& entry = b.GetInsertBlock()->getParent()->getEntryBlock();
  llvm::IRBuilder<> at_entry(&entry, entry.begin());
  auto* pointer = llvm::PointerType::get(b.getContext(), 0);
  const Dtype dtype = type == LaneType::f64 ? Dtype::f64 : Dtype::f32;
  std::vector<llvm::Value*> arguments{module.getOrInsertGlobal(symbol_of(row), b.getInt8Ty()),
                                      b.getInt32(static_cast<uint32_t>(dtype)),
                                      b.getInt64(static_cast<uint64_t>(lanes_))};
  for (size_t i = 0; i < 3; ++i) {
    arguments.push_back(llvm::ConstantPointerNull::get(pointer));
    if (i >= operands.size()) continue;
    arguments.back() = at_entry.CreateAlloca(operands[i].value->getType());
    b.CreateStore(operands[i].value, arguments.back());
  }
  llvm::Type* held = llvm_type(type);
  llvm::Value* result = at_entry.CreateAlloca(held);
  arguments.push_back(result);
  llvm::Type* types[] = {pointer, b.getInt32Ty(), b.getInt64Ty(), pointer, pointer, pointer, pointer};
  b.CreateCall(module.getOrInsertFunction(kRowFunction, llvm::FunctionType::get(b.getVoidTy(), types, false)),
               arguments);
  return make(b.CreateLoad(held, result), type);
}

// What a function of the module's own answers goes into memory of its caller's, which has room for words in each lane.
std::vector<V> LaneCode::apart(std::string_view name, V x, std::span<const LaneType> types,
                               const std::function<std::vector<V>(V)>& body) {
  llvm::IRBuilderBase& e = *builder_;
  const auto words = static_cast<uint64_t>(lanes_);
  const llvm::Align word(8);
  auto place = [&](llvm::IRBuilderBase& at, llvm::Value* memory, size_t number) {
    return at.CreateConstGEP1_64(at.getInt64Ty(), memory, number * words);
  };
  const std::string symbol = std::string(name) + "_" + std::to_string(bits_of(x.type)) + "_" + std::to_string(lanes_);
  llvm::Type* argument = x.value->getType();
  llvm::Function* function =
      own_function(symbol, {llvm::PointerType::get(e.getContext(), 0)}, [&](auto& inside, llvm::Function& written) {
        LaneCode own(inside, *target_, lanes_);
        llvm::Value* memory = written.getArg(0);
        const V given = own.make(inside.CreateAlignedLoad(argument, memory, word), x.type);
        const std::vector<V> answers = body(given);
        for (size_t i = 0; i < answers.size(); ++i)
          inside.CreateAlignedStore(answers[i].value, place(inside, memory, i), word);
      });
  llvm::Value* memory = memory_of_call(words * types.size());
  e.CreateAlignedStore(x.value, memory, word);
  e.CreateCall(function, {memory});
  std::vector<V> answers;
  for (size_t i = 0; i < types.size(); ++i)
    answers.push_back(make(e.CreateAlignedLoad(llvm_type(types[i]), place(e, memory, i), word), types[i]));
  return answers;
}

std::vector<V> LaneCode::by_lane(std::string_view name, V x, const std::function<std::vector<V>(V)>& one) {
  llvm::IRBuilderBase& e = *builder_;
  llvm::Function* function = own_function(
      std::string(name), {x.value->getType()->getScalarType(), llvm::PointerType::get(e.getContext(), 0)},
      [&](llvm::IRBuilderBase& inside, llvm::Function& written) {
        LaneCode scalar(inside, *target_, 1);
        const std::vector<V> answers = one(scalar.wrap(written.getArg(0)));
        for (size_t i = 0; i < answers.size(); ++i)
          inside.CreateStore(answers[i].value, inside.CreateConstGEP1_64(inside.getInt64Ty(), written.getArg(1), i));
      });
  constexpr uint64_t kWords = 4;
  llvm::Value* memory = memory_of_call(kWords);
  constexpr LaneType kTypes[] = {LaneType::i64, LaneType::f64, LaneType::f64};
  std::vector<llvm::Value*> results;
  for (LaneType type : kTypes) results.push_back(llvm::PoisonValue::get(llvm_type(type)));
  for (int lane = 0; lane < lanes_; ++lane) {
    e.CreateCall(function, {slice(x, lane, 1).value, memory});
    for (size_t i = 0; i < results.size(); ++i) {
      llvm::Value* at = e.CreateConstGEP1_64(e.getInt64Ty(), memory, i);
      llvm::Value* loaded = e.CreateLoad(llvm_type(kTypes[i])->getScalarType(), at);
      results[i] = lanes_ == 1 ? loaded : e.CreateInsertElement(results[i], loaded, static_cast<uint64_t>(lane));
    }
  }
  std::vector<V> answers;
  for (size_t i = 0; i < results.size(); ++i) answers.push_back(make(results[i], kTypes[i]));
  return answers;
}

}  // namespace lenz::native
