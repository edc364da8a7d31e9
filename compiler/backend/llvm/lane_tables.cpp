// Elements of constant tables, which indices in lanes name: from memory, or where a table fits, from registers.
#include <llvm/IR/Constants.h>
#include <llvm/IR/GlobalVariable.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/IntrinsicsX86.h>
#include <llvm/IR/Module.h>

#include "compiler/backend/llvm/lane_code.h"
#include "compiler/base/error.h"

namespace lenz::native {

namespace {

template <class Make>
V table_element(LaneCode& code, llvm::IRBuilderBase& e, llvm::Constant* table, V index, LaneType type, Make make) {
  llvm::Module& module = *e.GetInsertBlock()->getModule();
  llvm::GlobalVariable* global = nullptr;
  for (llvm::GlobalVariable& there : module.globals())  // equal constants are one object
    if (there.hasPrivateLinkage() && there.isConstant() && there.getInitializer() == table) global = &there;
  if (global == nullptr) {
    global =
        new llvm::GlobalVariable(module, table->getType(), true, llvm::GlobalValue::PrivateLinkage, table, "table");
    global->setUnnamedAddr(llvm::GlobalValue::UnnamedAddr::Global);
    global->setAlignment(llvm::Align(64));
  }
  llvm::Type* element = table->getType()->getArrayElementType();
  llvm::Value* at = e.CreateGEP(element, global, index.value);
  llvm::Value* loaded = nullptr;
  if (code.lanes() == 1) {
    loaded = e.CreateLoad(element, at);
  } else {
    loaded = e.CreateMaskedGather(code.llvm_type(type), at, llvm::Align(static_cast<uint64_t>(bits_of(type) / 8)));
  }
  return make(loaded);
}

}  // namespace

V LaneCode::look_up(std::span<const double> table, LaneType type, V index) {
  llvm::Constant* constant = nullptr;
  if (type == LaneType::f32) {
    std::vector<float> narrow(table.begin(), table.end());
    constant = llvm::ConstantDataArray::get(builder_->getContext(), narrow);
  } else {
    constant = llvm::ConstantDataArray::get(builder_->getContext(), llvm::ArrayRef(table.data(), table.size()));
  }
  return table_element(*this, *builder_, constant, index, type, [&](llvm::Value* v) { return make(v, type); });
}
V LaneCode::look_up(std::span<const uint32_t> table, V index) {
  llvm::Constant* constant =
      llvm::ConstantDataArray::get(builder_->getContext(), llvm::ArrayRef(table.data(), table.size()));
  return table_element(*this, *builder_, constant, index, LaneType::i32,
                       [&](llvm::Value* v) { return make(v, LaneType::i32); });
}

// A permutation takes of the index the bits that it needs.
V LaneCode::look_up_held(std::span<const double> table, LaneType type, V index) {
  const int step = 512 / bits_of(type);
  LENZ_CHECK(std::ssize(table) == held_entries(type), "a table that is not held in registers");
  if (!fills_registers(type)) return look_up(table, type, convert(index & (held_entries(type) - 1), LaneType::i32));
  llvm::IRBuilderBase& e = *builder_;
  const auto id = type == LaneType::f32 ? llvm::Intrinsic::x86_avx512_vpermi2var_ps_512
                                        : llvm::Intrinsic::x86_avx512_vpermi2var_pd_512;
  auto half = [&](int first) {
    const auto part = table.subspan(static_cast<size_t>(first), static_cast<size_t>(step));
    if (type == LaneType::f64)
      return llvm::ConstantDataVector::get(e.getContext(), llvm::ArrayRef(part.data(), part.size()));
    return llvm::ConstantDataVector::get(e.getContext(), std::vector<float>(part.begin(), part.end()));
  };
  return in_pieces(step, [&](int first) {
    return make(e.CreateIntrinsic(id, {}, {half(0), slice(index, first, step).value, half(step)}), type);
  });
}

}  // namespace lenz::native
