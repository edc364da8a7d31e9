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

llvm::GlobalVariable* table_of(llvm::IRBuilderBase& e, llvm::Constant* table) {
  llvm::Module& module = *e.GetInsertBlock()->getModule();
  for (llvm::GlobalVariable& there : module.globals())  // equal constants are one object
    if (there.hasPrivateLinkage() && there.isConstant() && there.getInitializer() == table) return &there;
  auto* global =
      new llvm::GlobalVariable(module, table->getType(), true, llvm::GlobalValue::PrivateLinkage, table, "table");
  global->setUnnamedAddr(llvm::GlobalValue::UnnamedAddr::Global);
  global->setAlignment(llvm::Align(64));
  return global;
}

template <class Make>
V table_element(LaneCode& code, llvm::IRBuilderBase& e, llvm::Constant* table, V index, LaneType type, Make make) {
  llvm::GlobalVariable* global = table_of(e, table);
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

namespace {

llvm::Constant* entries(llvm::LLVMContext& context, std::span<const double> part, LaneType type) {
  if (type == LaneType::f64) return llvm::ConstantDataVector::get(context, llvm::ArrayRef(part.data(), part.size()));
  return llvm::ConstantDataVector::get(context, std::vector<float>(part.begin(), part.end()));
}

// AVX2 permutes eight words by three bits of each index; the next bits choose between such vectors. (Of f64, four
// entries a vector, nothing was gained over loads.)
llvm::Value* look_up_by_eights(llvm::IRBuilderBase& e, std::span<const double> table, llvm::Value* index) {
  constexpr unsigned kStep = 8, kBitsOfStep = 3;
  std::vector<llvm::Value*> found;
  for (size_t first = 0; first < table.size(); first += kStep)
    found.push_back(e.CreateIntrinsic(llvm::Intrinsic::x86_avx2_permps, {},
                                      {entries(e.getContext(), table.subspan(first, kStep), LaneType::f32), index}));
  for (unsigned bit = kBitsOfStep; found.size() > 1; ++bit) {
    llvm::Value* sign = e.CreateShl(index, llvm::ConstantInt::get(index->getType(), 31 - bit));
    llvm::Value* second = e.CreateICmpSLT(sign, llvm::Constant::getNullValue(index->getType()));
    for (size_t i = 0; i < found.size() / 2; ++i) found[i] = e.CreateSelect(second, found[2 * i + 1], found[2 * i]);
    found.resize(found.size() / 2);
  }
  return found[0];
}

}  // namespace

// A permutation takes of the index the bits that it needs.
V LaneCode::look_up_held(std::span<const double> table, LaneType type, V index) {
  LENZ_CHECK(std::ssize(table) == held_entries(type), "a table that is not held in registers");
  llvm::IRBuilderBase& e = *builder_;
  if (!fills_registers(type)) {
    constexpr int kEight = 8;
    if (type == LaneType::f32 && target_->permutes_words() && lanes_ % kEight == 0 && index.type == LaneType::i32)
      return in_pieces(kEight, [&](int first) {
        return make(look_up_by_eights(e, table, slice(index, first, kEight).value), type);
      });
    return look_up(table, type, convert(index & (held_entries(type) - 1), LaneType::i32));
  }
  const int step = 512 / bits_of(type);
  const auto id = type == LaneType::f32 ? llvm::Intrinsic::x86_avx512_vpermi2var_ps_512
                                        : llvm::Intrinsic::x86_avx512_vpermi2var_pd_512;
  auto half = [&](int first) {
    return entries(e.getContext(), table.subspan(static_cast<size_t>(first), static_cast<size_t>(step)), type);
  };
  return in_pieces(step, [&](int first) {
    return make(e.CreateIntrinsic(id, {}, {half(0), slice(index, first, step).value, half(step)}), type);
  });
}

std::vector<V> LaneCode::look_up_held(std::span<const std::vector<double>> tables, V index) {
  constexpr int kFour = 4;
  std::vector<V> found;
  if (!target_->permutes_words() || fills_registers(LaneType::f64) || lanes_ % kFour != 0) {
    for (const std::vector<double>& table : tables) found.push_back(look_up_held(table, LaneType::f64, index));
    return found;
  }
  llvm::IRBuilderBase& e = *builder_;
  const size_t entries = static_cast<size_t>(held_entries(LaneType::f64)), width = (tables.size() + 1) / 2 * 2;
  std::vector<double> rows(entries * width);
  for (size_t t = 0; t < tables.size(); ++t)
    for (size_t i = 0; i < entries; ++i) rows[i * width + t] = tables[t][i];
  llvm::GlobalVariable* global = table_of(e, llvm::ConstantDataArray::get(e.getContext(), llvm::ArrayRef(rows)));
  const V first = (index & static_cast<int64_t>(entries - 1)) * static_cast<int64_t>(width);
  std::vector<llvm::Value*> row;
  for (int lane = 0; lane < lanes_; ++lane)
    row.push_back(e.CreateGEP(e.getDoubleTy(), global, slice(first, lane, 1).value));
  auto* pair = llvm::FixedVectorType::get(e.getDoubleTy(), 2);
  for (size_t t = 0; t < tables.size(); ++t) {
    auto of = [&](size_t lane) {
      llvm::Value* at = e.CreateConstGEP1_64(e.getDoubleTy(), row[lane], t / 2 * 2);
      return e.CreateAlignedLoad(pair, at, llvm::Align(sizeof(double)));
    };
    found.push_back(in_pieces(kFour, [&](int from) {
      const auto lane = static_cast<size_t>(from);
      llvm::Value* even = e.CreateShuffleVector(of(lane), of(lane + 2), {0, 1, 2, 3});
      llvm::Value* odd = e.CreateShuffleVector(of(lane + 1), of(lane + 3), {0, 1, 2, 3});
      const int place = static_cast<int>(t % 2);
      return make(e.CreateShuffleVector(even, odd, {place, 4 + place, 2 + place, 6 + place}), LaneType::f64);
    }));
  }
  return found;
}

}  // namespace lenz::native
