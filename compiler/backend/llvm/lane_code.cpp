#include "compiler/backend/llvm/lane_code.h"

#include <llvm/Analysis/VectorUtils.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/GlobalVariable.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/IntrinsicsX86.h>
#include <llvm/IR/MDBuilder.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/PatternMatch.h>

#include <array>
#include <limits>
#include <numeric>

#include "compiler/backend/llvm/lane_division.h"
#include "compiler/base/error.h"

namespace lenz::native {

namespace {

llvm::Type* element_type(llvm::LLVMContext& context, LaneType type) {
  switch (type) {
    case LaneType::i1: return llvm::Type::getInt1Ty(context);
    case LaneType::i8: return llvm::Type::getInt8Ty(context);
    case LaneType::i16: return llvm::Type::getInt16Ty(context);
    case LaneType::i32: return llvm::Type::getInt32Ty(context);
    case LaneType::i64: return llvm::Type::getInt64Ty(context);
    case LaneType::f32: return llvm::Type::getFloatTy(context);
    case LaneType::f64: return llvm::Type::getDoubleTy(context);
  }
  internal_error("a lane type that there is not", __FILE__, __LINE__);
}

llvm::Value* splat_of(llvm::IRBuilderBase& b, llvm::Value* scalar, int lanes) {
  return lanes == 1 ? scalar : b.CreateVectorSplat(static_cast<unsigned>(lanes), scalar);
}

int count_of(llvm::Value* value) {
  auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(value->getType());
  return vector ? static_cast<int>(vector->getNumElements()) : 1;
}

}  // namespace

int bits_of(LaneType type) {
  constexpr int kBits[] = {1, 8, 16, 32, 64, 32, 64};
  return kBits[static_cast<int>(type)];
}
LaneType integer_of_bits(int bits) {
  switch (bits) {
    case 1: return LaneType::i1;
    case 8: return LaneType::i8;
    case 16: return LaneType::i16;
    case 32: return LaneType::i32;
    default: LENZ_CHECK(bits == 64, "no lanes of so many bits"); return LaneType::i64;
  }
}
LaneType integer_of(LaneType type) { return integer_of_bits(bits_of(type)); }

LaneCode::LaneCode(llvm::IRBuilderBase& builder, const CpuTarget& target, int lanes)
    : builder_(&builder), target_(&target), lanes_(lanes) {}

llvm::Type* LaneCode::llvm_type(LaneType type) const {
  llvm::Type* element = element_type(builder_->getContext(), type);
  return lanes_ == 1 ? element : llvm::FixedVectorType::get(element, static_cast<unsigned>(lanes_));
}

V LaneCode::wrap(llvm::Value* value) {
  llvm::Type* element = value->getType()->getScalarType();
  if (element->isFloatTy()) return make(value, LaneType::f32);
  if (element->isDoubleTy()) return make(value, LaneType::f64);
  LENZ_CHECK(element->isIntegerTy(), "a value that is neither an integer, float nor double");
  return make(value, integer_of_bits(static_cast<int>(element->getIntegerBitWidth())));
}

V LaneCode::real(LaneType type, double value) {
  return make(llvm::ConstantFP::get(llvm_type(type), type == LaneType::f32 ? static_cast<float>(value) : value), type);
}
bool LaneCode::same_in_all(V x) const { return lanes_ > 1 && llvm::getSplatValue(x.value) != nullptr; }
std::optional<double> LaneCode::known(V x) const {
  const auto* constant = llvm::dyn_cast<llvm::Constant>(x.value);
  if (constant && constant->getType()->isVectorTy()) constant = constant->getSplatValue();
  const auto* number = llvm::dyn_cast_or_null<llvm::ConstantFP>(constant);
  if (number == nullptr) return std::nullopt;
  return x.type == LaneType::f32 ? number->getValueAPF().convertToFloat() : number->getValueAPF().convertToDouble();
}
V LaneCode::integer(LaneType type, int64_t value) {
  return make(llvm::ConstantInt::get(llvm_type(type), static_cast<uint64_t>(value), true), type);
}
V LaneCode::splat(llvm::Value* scalar) { return wrap(splat_of(*builder_, scalar, lanes_)); }
V LaneCode::lane_numbers() {
  if (lanes_ == 1) return integer(LaneType::i64, 0);
  std::vector<uint64_t> numbers(static_cast<size_t>(lanes_));
  for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = i;
  return make(llvm::ConstantDataVector::get(builder_->getContext(), numbers), LaneType::i64);
}

V LaneCode::binary(Binary op, V a, V b) {
  LENZ_CHECK(a.type == b.type, "operands of two types");
  llvm::IRBuilderBase& e = *builder_;
  auto by = [&](llvm::Value* result) { return make(result, a.type); };
  if (is_float(a.type)) {
    switch (op) {
      case Binary::add: return by(e.CreateFAdd(a.value, b.value));
      case Binary::sub: return by(e.CreateFSub(a.value, b.value));
      case Binary::mul: return by(e.CreateFMul(a.value, b.value));
      case Binary::div: return by(e.CreateFDiv(a.value, b.value));
      default: internal_error("an operation on bits of a float", __FILE__, __LINE__);
    }
  }
  switch (op) {
    case Binary::add: return by(e.CreateAdd(a.value, b.value));
    case Binary::sub: return by(e.CreateSub(a.value, b.value));
    case Binary::mul: return by(e.CreateMul(a.value, b.value));
    case Binary::div: return by(divide_lanes(e, llvm::Instruction::SDiv, a.value, b.value));
    case Binary::rem: return by(divide_lanes(e, llvm::Instruction::SRem, a.value, b.value));
    case Binary::bit_and: return by(e.CreateAnd(a.value, b.value));
    case Binary::bit_or: return by(e.CreateOr(a.value, b.value));
    case Binary::bit_xor: return by(e.CreateXor(a.value, b.value));
    case Binary::shl: return by(e.CreateShl(a.value, b.value));
    case Binary::lshr: return by(e.CreateLShr(a.value, b.value));
    case Binary::ashr: return by(e.CreateAShr(a.value, b.value));
    case Binary::unsigned_div: return by(divide_lanes(e, llvm::Instruction::UDiv, a.value, b.value));
    case Binary::unsigned_rem: return by(divide_lanes(e, llvm::Instruction::URem, a.value, b.value));
  }
  internal_error("an operation that there is not", __FILE__, __LINE__);
}

V LaneCode::unary(Unary op, V a) {
  llvm::IRBuilderBase& e = *builder_;
  auto call = [&](llvm::Intrinsic::ID id) { return make(e.CreateUnaryIntrinsic(id, a.value), a.type); };
  switch (op) {
    case Unary::neg: return make(is_float(a.type) ? e.CreateFNeg(a.value) : e.CreateNeg(a.value), a.type);
    case Unary::sqrt: return call(llvm::Intrinsic::sqrt);
    case Unary::floor: return call(llvm::Intrinsic::floor);
    case Unary::ceil: return call(llvm::Intrinsic::ceil);
    case Unary::trunc: return call(llvm::Intrinsic::trunc);
    case Unary::round_even: return call(llvm::Intrinsic::roundeven);
    case Unary::fabs: return call(llvm::Intrinsic::fabs);
    case Unary::count_leading_zeros:
      return make(e.CreateBinaryIntrinsic(llvm::Intrinsic::ctlz, a.value, e.getFalse()), a.type);
    case Unary::count_trailing_zeros:
      return make(e.CreateBinaryIntrinsic(llvm::Intrinsic::cttz, a.value, e.getFalse()), a.type);
  }
  internal_error("an operation that there is not", __FILE__, __LINE__);
}

namespace {
// A magnitude beside zero says whether the number is zero, or is a number. LLVM 19 forgets the magnitude where the
// number itself is then selected, takes it for positive, and drops what asks for its sign: so the number is asked.
llvm::Value* without_magnitude(Compare op, V a, V b, llvm::CmpInst::Predicate& predicate) {
  using P = llvm::CmpInst::Predicate;
  const auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(a.value);
  if (!call || call->getIntrinsicID() != llvm::Intrinsic::fabs) return a.value;
  if (!llvm::PatternMatch::match(b.value, llvm::PatternMatch::m_AnyZeroFP())) return a.value;
  switch (op) {
    case Compare::gt: predicate = P::FCMP_ONE; break;
    case Compare::ge: predicate = P::FCMP_ORD; break;
    case Compare::le: predicate = P::FCMP_OEQ; break;
    case Compare::eq:
    case Compare::ne:
    case Compare::unordered: break;
    default: return a.value;
  }
  return call->getArgOperand(0);
}
}  // namespace

V LaneCode::compare(Compare op, V a, V b) {
  using P = llvm::CmpInst::Predicate;
  LENZ_CHECK(a.type == b.type, "operands of two types");
  constexpr P kFloat[] = {P::FCMP_OEQ, P::FCMP_UNE, P::FCMP_OLT, P::FCMP_OLE,
                          P::FCMP_OGT, P::FCMP_OGE, P::FCMP_OLT, P::FCMP_UNO};
  constexpr P kInteger[] = {P::ICMP_EQ,  P::ICMP_NE,  P::ICMP_SLT, P::ICMP_SLE,
                            P::ICMP_SGT, P::ICMP_SGE, P::ICMP_ULT, P::BAD_ICMP_PREDICATE};
  constexpr P kTruth[] = {P::ICMP_EQ,  P::ICMP_NE,  P::ICMP_ULT, P::ICMP_ULE,
                          P::ICMP_UGT, P::ICMP_UGE, P::ICMP_ULT, P::BAD_ICMP_PREDICATE};
  const auto at = static_cast<size_t>(op);
  if (is_float(a.type)) {
    P predicate = kFloat[at];
    llvm::Value* left = without_magnitude(op, a, b, predicate);
    return make(builder_->CreateFCmp(predicate, left, b.value), LaneType::i1);
  }
  return make(builder_->CreateICmp(a.type == LaneType::i1 ? kTruth[at] : kInteger[at], a.value, b.value), LaneType::i1);
}

V LaneCode::select(V condition, V yes, V no) {
  LENZ_CHECK(yes.type == no.type && condition.type == LaneType::i1, "a selection between two types");
  return make(builder_->CreateSelect(condition.value, yes.value, no.value), yes.type);
}

V LaneCode::multiply_add(V a, V b, V c) {
  LENZ_CHECK(a.type == b.type && b.type == c.type, "operands of two types");
  return make(builder_->CreateIntrinsic(target_->fma ? llvm::Intrinsic::fma : llvm::Intrinsic::fmuladd,
                                        {a.value->getType()}, {a.value, b.value, c.value}),
              a.type);
}
V LaneCode::fused(V a, V b, V c) {
  return make(builder_->CreateIntrinsic(llvm::Intrinsic::fma, {a.value->getType()}, {a.value, b.value, c.value}),
              a.type);
}
V LaneCode::copysign(V magnitude, V sign) {
  return make(builder_->CreateBinaryIntrinsic(llvm::Intrinsic::copysign, magnitude.value, sign.value), magnitude.type);
}

V LaneCode::bits(V x) {
  const LaneType to = integer_of(x.type);
  return make(builder_->CreateBitCast(x.value, llvm_type(to)), to);
}
V LaneCode::as_float(V x) {
  const LaneType to = x.type == LaneType::i32 ? LaneType::f32 : LaneType::f64;
  return make(builder_->CreateBitCast(x.value, llvm_type(to)), to);
}

V LaneCode::convert(V x, LaneType to) {
  llvm::IRBuilderBase& e = *builder_;
  llvm::Type* type = llvm_type(to);
  if (x.type == to) return x;
  if (is_float(x.type) && is_float(to)) return make(e.CreateFPCast(x.value, type), to);
  if (is_float(to)) return make(e.CreateSIToFP(x.value, type), to);
  if (is_float(x.type)) {
    // What does not fit is poison; frozen, it is just some integer. A constant has no processor that picks one, and
    // would be another one at each call: it is what x86 gives.
    llvm::Value* made = e.CreateFPToSI(x.value, type);
    if (auto* constant = llvm::dyn_cast<llvm::Constant>(made)) {
      const auto least = llvm::APInt::getSignedMinValue(type->getScalarSizeInBits());
      // A vector of which no lane fits is one undefined value, which is replaced as a whole.
      llvm::Type* replaced = llvm::isa<llvm::UndefValue>(constant) ? type : type->getScalarType();
      return make(llvm::Constant::replaceUndefsWith(constant, llvm::ConstantInt::get(replaced, least)), to);
    }
    return make(e.CreateFreeze(made), to);
  }
  return make(e.CreateSExtOrTrunc(x.value, type), to);
}
V LaneCode::zero_extend(V x, LaneType to) { return make(builder_->CreateZExtOrTrunc(x.value, llvm_type(to)), to); }

V LaneCode::unsigned_to_float(V x, LaneType to) { return make(builder_->CreateUIToFP(x.value, llvm_type(to)), to); }

V LaneCode::f16_bits(V x) {
  llvm::IRBuilderBase& e = *builder_;
  llvm::Type* half = llvm::Type::getHalfTy(e.getContext());
  if (lanes_ > 1) half = llvm::FixedVectorType::get(half, static_cast<unsigned>(lanes_));
  return make(e.CreateBitCast(e.CreateFPTrunc(x.value, half), llvm_type(LaneType::i16)), LaneType::i16);
}
V LaneCode::f16_value(V bits) {
  llvm::IRBuilderBase& e = *builder_;
  llvm::Type* half = llvm::Type::getHalfTy(e.getContext());
  if (lanes_ > 1) half = llvm::FixedVectorType::get(half, static_cast<unsigned>(lanes_));
  return make(e.CreateFPExt(e.CreateBitCast(bits.value, half), llvm_type(LaneType::f32)), LaneType::f32);
}

V LaneCode::bf16_bits(V x) {
  const auto id = lanes_ == 16 ? llvm::Intrinsic::x86_avx512bf16_cvtneps2bf16_512
                               : llvm::Intrinsic::x86_avx512bf16_cvtneps2bf16_256;
  return make(builder_->CreateBitCast(builder_->CreateIntrinsic(id, {}, {x.value}), llvm_type(LaneType::i16)),
              LaneType::i16);
}
// Of the instruction's classes.
constexpr uint32_t kSubnormal = 0x20, kNan = 0x81;
V LaneCode::is_subnormal(V x) { return is_of_class(x, kSubnormal); }
V LaneCode::is_subnormal_or_nan(V x) { return is_of_class(x, kSubnormal | kNan); }
V LaneCode::is_of_class(V x, uint32_t classes) {
  const auto id =
      lanes_ == 16 ? llvm::Intrinsic::x86_avx512_fpclass_ps_512 : llvm::Intrinsic::x86_avx512_fpclass_ps_256;
  return make(builder_->CreateIntrinsic(id, {}, {x.value, builder_->getInt32(classes)}), LaneType::i1);
}
V LaneCode::at_least_zero(V x) {
  llvm::Value* zero = llvm::Constant::getNullValue(x.value->getType());
  return make(builder_->CreateBinaryIntrinsic(llvm::Intrinsic::smax, x.value, zero), x.type);
}

V LaneCode::bf16_bits(V first, V second) {
  llvm::Value* made =
      builder_->CreateIntrinsic(llvm::Intrinsic::x86_avx512bf16_cvtne2ps2bf16_512, {}, {second.value, first.value});
  return make(builder_->CreateBitCast(made, llvm::FixedVectorType::get(builder_->getInt16Ty(), 32)), LaneType::i16);
}
// What optimisers take for any value, in a register of that kind: what they know of a permutation has them choose
// slower ones.
static llvm::Value* opaque(llvm::IRBuilderBase& e, llvm::Value* value, const char* kind) {
  auto* type = llvm::FunctionType::get(value->getType(), {value->getType()}, false);
  llvm::CallInst* made = e.CreateCall(llvm::InlineAsm::get(type, "", std::string("=") + kind + ",0", false), value);
  made->setDoesNotAccessMemory();
  made->setDoesNotThrow();
  return made;
}
V LaneCode::in_upper_halves(V words, int first) {
  llvm::IRBuilderBase& e = *builder_;
  llvm::BasicBlock& entry = e.GetInsertBlock()->getParent()->getEntryBlock();
  llvm::IRBuilder<> at_entry(&entry, entry.begin());
  auto* bytes = llvm::FixedVectorType::get(e.getInt8Ty(), 64);
  std::vector<llvm::Constant*> from;
  for (int i = 0; i < 64; ++i) from.push_back(e.getInt8(static_cast<uint8_t>(2 * (first + i / 4) + i % 2)));
  constexpr uint64_t kUpperBytes = 0xcccccccccccccccc;
  llvm::Value* upper = at_entry.CreateBitCast(opaque(at_entry, e.getInt64(kUpperBytes), "r"),
                                              llvm::FixedVectorType::get(e.getInt1Ty(), 64));
  llvm::Value* spread =
      e.CreateIntrinsic(llvm::Intrinsic::x86_avx512_permvar_qi_512, {},
                        {e.CreateBitCast(words.value, bytes), opaque(at_entry, llvm::ConstantVector::get(from), "v")});
  llvm::Value* made = e.CreateSelect(upper, spread, llvm::Constant::getNullValue(bytes));
  return make(e.CreateBitCast(made, llvm_type(LaneType::i32)), LaneType::i32);
}

V LaneCode::as_words(llvm::Value* halves) {
  return make(builder_->CreateBitCast(halves, llvm_type(LaneType::i32)), LaneType::i32);
}
V LaneCode::lower_halves_up(V words) {
  llvm::IRBuilderBase& e = *builder_;
  llvm::BasicBlock& entry = e.GetInsertBlock()->getParent()->getEntryBlock();
  llvm::IRBuilder<> at_entry(&entry, entry.begin());
  llvm::Type* type = llvm_type(LaneType::i32);
  llvm::Value* none = opaque(at_entry, llvm::Constant::getNullValue(type), "v");
  return make(e.CreateIntrinsic(llvm::Intrinsic::fshl, {type}, {words.value, none, integer(LaneType::i32, 16).value}),
              LaneType::i32);
}
V LaneCode::as_halves(V words) {
  auto* type = llvm::FixedVectorType::get(builder_->getInt16Ty(), 2 * static_cast<unsigned>(lanes_));
  return make(builder_->CreateBitCast(words.value, type), LaneType::i16);
}
V LaneCode::alternating(V halves) {
  llvm::IRBuilderBase& e = *builder_;
  llvm::BasicBlock& entry = e.GetInsertBlock()->getParent()->getEntryBlock();
  llvm::IRBuilder<> at_entry(&entry, entry.begin());
  std::vector<llvm::Constant*> from;
  for (int i = 0; i < 32; ++i) from.push_back(e.getInt16(static_cast<uint16_t>(i / 2 + i % 2 * 16)));
  return make(e.CreateIntrinsic(llvm::Intrinsic::x86_avx512_permvar_hi_512, {},
                                {halves.value, opaque(at_entry, llvm::ConstantVector::get(from), "v")}),
              LaneType::i16);
}

V LaneCode::in_pieces(int lanes, const std::function<V(int first)>& piece) {
  const V first = piece(0);
  llvm::Value* whole = first.value;
  for (int at = lanes; at < lanes_; at += lanes) {
    std::vector<int> both(static_cast<size_t>(at + lanes));
    llvm::Value* next = piece(at).value;
    if (at > lanes) {  // shuffles take operands of one type
      std::vector<int> widened(static_cast<size_t>(at), -1);
      for (int k = 0; k < lanes; ++k) widened[static_cast<size_t>(k)] = k;
      next = builder_->CreateShuffleVector(next, widened);
    }
    for (size_t k = 0; k < both.size(); ++k) both[k] = static_cast<int>(k);
    whole = builder_->CreateShuffleVector(whole, next, both);
  }
  return make(whole, first.type);
}

// By an instruction on whole vectors, of which fewer lanes are a part: all widths have the same digits.
V LaneCode::estimate(V x, bool of_root) {
  if (!target_->avx512) return real(x.type, 1) / (of_root ? unary(Unary::sqrt, x) : x);
  const bool f32 = x.type == LaneType::f32;
  const int whole_lanes = f32 ? 16 : 8;
  llvm::IRBuilderBase& e = *builder_;
  const auto id = of_root
                      ? (f32 ? llvm::Intrinsic::x86_avx512_rsqrt14_ps_512 : llvm::Intrinsic::x86_avx512_rsqrt14_pd_512)
                      : (f32 ? llvm::Intrinsic::x86_avx512_rcp14_ps_512 : llvm::Intrinsic::x86_avx512_rcp14_pd_512);
  llvm::Type* element = x.value->getType()->getScalarType();
  llvm::Value* none =
      llvm::Constant::getNullValue(llvm::FixedVectorType::get(element, static_cast<unsigned>(whole_lanes)));
  llvm::Value* all = f32 ? e.getInt16(0xffff) : e.getInt8(0xff);
  auto whole = [&](llvm::Value* v) { return make(e.CreateIntrinsic(id, {}, {v, none, all}), x.type); };
  if (lanes_ == 1)
    return make(e.CreateExtractElement(whole(e.CreateInsertElement(none, x.value, uint64_t{0})).value, uint64_t{0}),
                x.type);
  const int left = lanes_ % whole_lanes;
  if (left == 0) return in_pieces(whole_lanes, [&](int first) { return whole(slice(x, first, whole_lanes).value); });
  const int rounded = lanes_ - left + whole_lanes;
  std::vector<int> from(static_cast<size_t>(rounded), -1), back(static_cast<size_t>(lanes_));
  for (int i = 0; i < lanes_; ++i) from[static_cast<size_t>(i)] = back[static_cast<size_t>(i)] = i;
  LaneCode wider(e, *target_, rounded);
  const V made = wider.estimate(wider.make(e.CreateShuffleVector(x.value, from), x.type), of_root);
  return make(e.CreateShuffleVector(made.value, back), x.type);
}

bool LaneCode::asks_for_nan(V condition, V x) const {
  const auto* compared = llvm::dyn_cast<llvm::FCmpInst>(condition.value);
  return compared != nullptr && compared->getPredicate() == llvm::CmpInst::FCMP_UNO &&
         compared->getOperand(0) == x.value && compared->getOperand(1) == x.value;
}
V LaneCode::zero_for_nan(V x) {
  if (!fills_registers(x.type)) return select(compare(Compare::unordered, x, x), real(x.type, 0), x);
  const bool f32 = x.type == LaneType::f32;
  const int step = 512 / bits_of(x.type);
  const auto id =
      f32 ? llvm::Intrinsic::x86_avx512_mask_fixupimm_ps_512 : llvm::Intrinsic::x86_avx512_mask_fixupimm_pd_512;
  constexpr int64_t kZeroForNan =
      0x88;  // four bits a class of numbers: of both kinds of NaN 0, of others what they are
  const auto classes = static_cast<unsigned>(step);
  llvm::IRBuilderBase& e = *builder_;
  llvm::Value* table =
      e.CreateVectorSplat(classes, f32 ? static_cast<llvm::Value*>(e.getInt32(kZeroForNan)) : e.getInt64(kZeroForNan));
  llvm::Value* mask = f32 ? static_cast<llvm::Value*>(e.getInt16(0xffff)) : e.getInt8(0xff);
  constexpr int kCurrentRounding = 4;
  return in_pieces(step, [&](int first) {
    llvm::Value* part = slice(x, first, step).value;
    return make(e.CreateIntrinsic(id, {}, {part, part, table, e.getInt32(0), mask, e.getInt32(kCurrentRounding)}),
                x.type);
  });
}

V LaneCode::scale(V x, V n) {
  if (fills_registers(x.type)) {
    const int step = 512 / bits_of(x.type);
    const auto id = x.type == LaneType::f32 ? llvm::Intrinsic::x86_avx512_mask_scalef_ps_512
                                            : llvm::Intrinsic::x86_avx512_mask_scalef_pd_512;
    llvm::IRBuilderBase& e = *builder_;
    llvm::Value* mask = step == 16 ? static_cast<llvm::Value*>(e.getInt16(0xffff)) : e.getInt8(0xff);
    constexpr int kCurrentRounding = 4;
    return in_pieces(step, [&](int first) {
      llvm::Value* part = slice(x, first, step).value;
      return make(
          e.CreateIntrinsic(id, {}, {part, slice(n, first, step).value, part, mask, e.getInt32(kCurrentRounding)}),
          x.type);
    });
  }
  // In two steps, each by a power of two that is a normal number; the first is exact.
  const LaneType integers = integer_of(x.type);
  const int shift = mantissa_bits(x.type);
  const int64_t bias = x.type == LaneType::f32 ? 127 : 1023;
  const V whole = convert(convert(n, LaneType::i32), integers);
  const V first = whole >> 1, second = whole - first;
  return x * as_float((first + bias) << shift) * as_float((second + bias) << shift);
}

V LaneCode::pick(V x, std::span<const int> from) {
  if (count_of(x.value) == 1) return x;
  return make(builder_->CreateShuffleVector(x.value, llvm::ArrayRef(from.data(), from.size())), x.type);
}
V LaneCode::slice(V x, int first, int count) {
  if (count == count_of(x.value)) return x;
  std::vector<int> from(static_cast<size_t>(count));
  for (int i = 0; i < count; ++i) from[static_cast<size_t>(i)] = first + i;
  if (count == 1) return make(builder_->CreateExtractElement(x.value, static_cast<uint64_t>(first)), x.type);
  return make(builder_->CreateShuffleVector(x.value, from), x.type);
}
V LaneCode::join(V first, V second) {
  std::vector<int> from(static_cast<size_t>(2 * count_of(first.value)));
  std::iota(from.begin(), from.end(), 0);
  return make(builder_->CreateShuffleVector(first.value, second.value, from), first.type);
}
std::pair<V, V> LaneCode::whole_product(V x, int64_t factor) {
  if (lanes_ % 2 != 0) {
    const V product = zero_extend(x, LaneType::i64) * factor;
    return {convert(lshr(product, 32), LaneType::i32), convert(product, LaneType::i32)};
  }
  // Even and odd lanes apart, where they stand: what machines multiply 32 bits to 64 with takes them so.
  llvm::IRBuilderBase& e = *builder_;
  auto* pairs = llvm::FixedVectorType::get(e.getInt64Ty(), static_cast<unsigned>(lanes_ / 2));
  llvm::Value* both = e.CreateBitCast(x.value, pairs);
  auto number = [&](uint64_t n) { return llvm::ConstantInt::get(pairs, n); };
  auto product = [&](llvm::Value* lower) {
    return e.CreateBitCast(e.CreateMul(lower, number(static_cast<uint64_t>(factor))), x.value->getType());
  };
  llvm::Value* even = product(e.CreateAnd(both, number(0xFFFFFFFF)));
  llvm::Value* odd = product(e.CreateLShr(both, number(32)));
  std::vector<int> high, low;
  for (int i = 0; i < lanes_; i += 2)
    for (int from : {i, i + lanes_}) {
      low.push_back(from);
      high.push_back(from + 1);
    }
  return {make(e.CreateShuffleVector(even, odd, high), x.type), make(e.CreateShuffleVector(even, odd, low), x.type)};
}

V LaneCode::interleave(std::span<const V> parts, int lanes) {
  llvm::IRBuilderBase& e = *builder_;
  llvm::Type* type =
      llvm::FixedVectorType::get(parts[0].value->getType()->getScalarType(), static_cast<unsigned>(lanes));
  llvm::Value* whole = llvm::PoisonValue::get(type);
  const int each = count_of(parts[0].value), n = static_cast<int>(parts.size());
  for (int p = 0; p < n; ++p) {
    if (each == 1) {
      if (p < lanes)
        whole = e.CreateInsertElement(whole, parts[static_cast<size_t>(p)].value, static_cast<uint64_t>(p));
      continue;
    }
    // Brought to the whole's length, then merged into the places that are its own.
    std::vector<int> spread(static_cast<size_t>(lanes), -1), merge(static_cast<size_t>(lanes));
    for (int i = 0; i < lanes; ++i) {
      if (i % n == p) spread[static_cast<size_t>(i)] = i / n;
      merge[static_cast<size_t>(i)] = i % n == p ? lanes + i : i;
    }
    llvm::Value* wide = e.CreateShuffleVector(parts[static_cast<size_t>(p)].value, spread);
    whole = e.CreateShuffleVector(whole, wide, merge);
  }
  return make(whole, parts[0].type);
}

llvm::Value* LaneCode::any(std::span<const V> conditions) {
  llvm::IRBuilderBase& e = *builder_;
  const bool as_words = target_->masks_as_words && lanes_ >= 8 && lanes_ <= 64 && lanes_ % 8 == 0;
  llvm::Value* all = nullptr;
  for (const V& condition : conditions) {
    llvm::Value* one = condition.value;
    if (as_words) {
      one = e.CreateBitCast(one, e.getIntNTy(static_cast<unsigned>(lanes_)));
      one = opaque(e, lanes_ < 32 ? e.CreateZExt(one, e.getInt32Ty()) : one, "r");
    }
    all = all ? e.CreateOr(all, one) : one;
  }
  if (as_words) return e.CreateIsNotNull(all);
  return lanes_ == 1 ? all : e.CreateOrReduce(all);
}

std::vector<V> LaneCode::rarely(V condition, const std::vector<V>& usual, const std::function<std::vector<V>()>& rare) {
  return instead(condition, usual, [&] {
    std::vector<V> merged = rare();
    for (size_t i = 0; i < merged.size(); ++i) merged[i] = select(condition, merged[i], usual[i]);
    return merged;
  });
}

std::vector<V> LaneCode::instead(std::span<const V> conditions, const std::vector<V>& usual,
                                 const std::function<std::vector<V>()>& rare) {
  llvm::IRBuilderBase& e = *builder_;
  llvm::BasicBlock* before = e.GetInsertBlock();
  llvm::Function* function = before->getParent();
  llvm::BasicBlock* then = llvm::BasicBlock::Create(e.getContext(), "rare", function);
  llvm::BasicBlock* after = llvm::BasicBlock::Create(e.getContext(), "usual", function);
  // What followed the insertion point goes on in the new block.
  after->splice(after->end(), before, e.GetInsertPoint(), before->end());
  after->replaceSuccessorsPhiUsesWith(before, after);
  e.SetInsertPoint(before);
  e.CreateCondBr(any(conditions), then, after, llvm::MDBuilder(e.getContext()).createUnlikelyBranchWeights());
  e.SetInsertPoint(then);
  const std::vector<V> merged = rare();
  llvm::BasicBlock* rare_end = e.GetInsertBlock();
  e.CreateBr(after);
  e.SetInsertPoint(after, after->begin());
  std::vector<V> result;
  for (size_t i = 0; i < merged.size(); ++i) {
    llvm::PHINode* phi = e.CreatePHI(merged[i].value->getType(), 2);
    phi->addIncoming(usual[i].value, before);
    phi->addIncoming(merged[i].value, rare_end);
    result.push_back(make(phi, merged[i].type));
  }
  e.SetInsertPoint(after, after->getFirstInsertionPt());
  return result;
}

std::vector<V> LaneCode::repeat(const std::vector<V>& state, const std::function<V(const std::vector<V>&)>& test,
                                const std::function<std::vector<V>(const std::vector<V>&)>& body) {
  llvm::IRBuilderBase& e = *builder_;
  llvm::BasicBlock* before = e.GetInsertBlock();
  llvm::Function* function = before->getParent();
  llvm::BasicBlock* head = llvm::BasicBlock::Create(e.getContext(), "repeat", function);
  llvm::BasicBlock* inside = llvm::BasicBlock::Create(e.getContext(), "body", function);
  llvm::BasicBlock* after = llvm::BasicBlock::Create(e.getContext(), "done", function);
  after->splice(after->end(), before, e.GetInsertPoint(), before->end());
  after->replaceSuccessorsPhiUsesWith(before, after);
  e.SetInsertPoint(before);
  e.CreateBr(head);
  e.SetInsertPoint(head);
  std::vector<llvm::PHINode*> phis;
  std::vector<V> current;
  for (const V& v : state) {
    phis.push_back(e.CreatePHI(v.value->getType(), 2));
    phis.back()->addIncoming(v.value, before);
    current.push_back(make(phis.back(), v.type));
  }
  const V going = test(current);
  llvm::BasicBlock* head_end = e.GetInsertBlock();
  LENZ_CHECK(head_end == head, "the test of a loop has branches");
  e.CreateCondBr(any(going), inside, after);
  e.SetInsertPoint(inside);
  std::vector<V> next = body(current);
  for (size_t i = 0; i < next.size(); ++i) {
    next[i] = select(going, next[i], current[i]);
    phis[i]->addIncoming(next[i].value, e.GetInsertBlock());
  }
  // The phis above name the block in which the body ended.
  e.CreateBr(head);
  e.SetInsertPoint(after, after->begin());
  return current;
}

V operator~(V a) { return a ^ a.code->integer(a.type, -1); }
V is_infinite(V a) { return abs(a) == from(a, std::numeric_limits<double>::infinity()); }
V is_finite(V a) { return abs(a) < from(a, std::numeric_limits<double>::infinity()); }
V sign_bit(V a) { return bits(a) < 0; }
V smaller(V a, V b) { return select(a < b, a, b); }
V larger(V a, V b) { return select(a > b, a, b); }

V polynomial(V x, std::span<const double> coefficients) {
  V sum = from(x, coefficients.back());
  for (size_t i = coefficients.size() - 1; i-- > 0;) sum = fma(sum, x, coefficients[i]);
  return sum;
}
V polynomial_by_halves(V x, std::span<const double> coefficients) {
  std::array<std::vector<double>, 2> halves;
  for (size_t i = 0; i < coefficients.size(); ++i) halves[i % 2].push_back(coefficients[i]);
  const V square = x * x;
  return fma(polynomial(square, halves[1]), x, polynomial(square, halves[0]));
}

}  // namespace lenz::native
