#include "compiler/backend/llvm/dim_code.h"

#include <llvm/IR/IRBuilder.h>

#include <algorithm>
#include <bit>

#include "compiler/backend/llvm/lane_division.h"
#include "compiler/base/error.h"
#include "compiler/base/sym_parts.h"

namespace lenz::native {

namespace {
size_t terms_in(Dim dim) {
  if (dim.is_constant()) return 0;
  const DimParts parts = parts_of(dim);
  return parts.kind == SymKind::sum ? parts.operands.size() : 1;
}
}  // namespace

void DimCode::bind(Dim dim, llvm::Value* value) {
  values_[dim.node()] = value;
  if (parts_of(dim).kind == SymKind::sum) sums_.push_back(dim);
}

// What is left of a sum without one that has a value already, if all of that is in it.
std::optional<std::pair<Dim, llvm::Value*>> DimCode::less_known(Dim dim, size_t terms) const {
  for (Dim sum : sums_) {
    const size_t within = parts_of(sum).operands.size();
    if (within >= terms) continue;
    const Dim rest = dim - sum;
    if (terms_in(rest) + within == terms) return std::pair(rest, values_.at(sum.node()));
  }
  return std::nullopt;
}

// How often the divisor is added to get a number of 31 bits, of which one is left for points further on; none: that is
// not proved of any.
std::optional<int64_t> DimCode::shift_to_half(Dim dim, int64_t divisor) const {
  constexpr int64_t kMost = int64_t{1} << 29;
  if (points_ == nullptr || divisor < 1 || divisor > kMost) return std::nullopt;
  const Range range = points_->range(dim);
  if (!range.low || *range.low < -kMost || !range.high || *range.high >= kMost) return std::nullopt;
  return *range.low < 0 ? (divisor - 1 - *range.low) / divisor : 0;
}

bool DimCode::varies(Dim dim) const {
  bool found = false;
  if (!dim.is_constant())
    for_each_symbol(dim, [&](const SymNode* s) {
      auto known = values_.find(s);
      found = found || (known != values_.end() && known->second->getType()->isVectorTy());
    });
  return found;
}

llvm::Value* DimCode::holds(const Cond& cond) {
  llvm::Value *a = (*this)(cond.lhs), *b = (*this)(cond.rhs);
  switch (cond.rel) {
    case Rel::eq: return builder_->CreateICmpEQ(a, b);
    case Rel::ne: return builder_->CreateICmpNE(a, b);
    case Rel::lt: return builder_->CreateICmpSLT(a, b);
    case Rel::le: return builder_->CreateICmpSLE(a, b);
  }
  internal_error("a relation of an unknown kind", __FILE__, __LINE__);
}

llvm::Value* DimCode::both(llvm::Value*& a, llvm::Value*& b) {
  auto count = static_cast<unsigned>(lanes_);
  if (a->getType()->isVectorTy() && !b->getType()->isVectorTy()) b = builder_->CreateVectorSplat(count, b);
  if (b->getType()->isVectorTy() && !a->getType()->isVectorTy()) a = builder_->CreateVectorSplat(count, a);
  return a;
}

llvm::Value* DimCode::operator()(Dim dim) {
  auto number = [&](int64_t n) -> llvm::Value* { return builder_->getInt64(static_cast<uint64_t>(n)); };
  if (dim.is_constant()) return number(dim.constant());
  if (auto known = values_.find(dim.node()); known != values_.end()) return known->second;
  const DimParts parts = parts_of(dim);
  auto binary = [&](auto&& make, Dim x, Dim y) {
    llvm::Value *a = (*this)(x), *b = (*this)(y);
    both(a, b);
    return make(a, b);
  };
  // Lanes of 64 bits have no product's upper half to divide by, and go one by one; those of 32 have.
  auto in_halves = [&](Dim x, Dim y, bool quotient) -> llvm::Value* {
    const auto shift = y.is_constant() && varies(x) ? shift_to_half(x, y.constant()) : std::nullopt;
    if (!shift) return nullptr;
    llvm::Value* whole = (*this)(x);
    llvm::Type* type = whole->getType();
    auto* half = llvm::FixedVectorType::get(builder_->getInt32Ty(), static_cast<unsigned>(lanes_));
    auto constant = [](llvm::Type* of, int64_t n) { return llvm::ConstantInt::get(of, static_cast<uint64_t>(n)); };
    llvm::Value *a = builder_->CreateTrunc(builder_->CreateAdd(whole, constant(type, *shift * y.constant())), half),
                *b = constant(half, y.constant());
    if (!quotient) return builder_->CreateZExt(builder_->CreateURem(a, b), type);
    return builder_->CreateSub(builder_->CreateZExt(builder_->CreateUDiv(a, b), type), constant(type, *shift));
  };
  auto divided = [&](llvm::Value* a, llvm::Value* b, bool quotient) -> llvm::Value* {
    const Quotients made = divide_down(*builder_, a, b);
    return quotient ? made.quotient : made.remainder;
  };
  switch (parts.kind) {
    case SymKind::symbol: internal_error("a symbol without a value: " + to_string(dim), __FILE__, __LINE__);
    case SymKind::sum: {
      if (const auto known = less_known(dim, parts.operands.size())) {
        llvm::Value *rest = (*this)(known->first), *sum = known->second;
        both(rest, sum);
        return builder_->CreateAdd(rest, sum);
      }
      if (varies(dim))
        if (llvm::Value* made = by_lanes(parts)) return made;
      llvm::Value* total = nullptr;
      for (size_t i = 0; i < parts.operands.size(); ++i) {
        llvm::Value* term = (*this)(parts.operands[i]);
        if (parts.coefficients[i] != 1) {
          llvm::Value* factor = number(parts.coefficients[i]);
          both(term, factor);
          term = builder_->CreateMul(term, factor);
        }
        if (total) both(total, term);
        total = total ? builder_->CreateAdd(total, term) : term;
      }
      if (parts.constant == 0 && total) return total;
      llvm::Value* constant = number(parts.constant);
      if (!total) return constant;
      both(total, constant);
      return builder_->CreateAdd(total, constant);
    }
    case SymKind::product: {
      llvm::Value* total = nullptr;
      for (Dim operand : parts.operands) {
        llvm::Value* factor = (*this)(operand);
        if (total) both(total, factor);
        total = total ? builder_->CreateMul(total, factor) : factor;
      }
      return total;
    }
    case SymKind::floor_div:
      if (llvm::Value* made = in_halves(parts.operands[0], parts.operands[1], true)) return made;
      if (const auto made = of_one_divisor(parts.operands[0], parts.operands[1], true)) return *made;
      return binary([&](llvm::Value* a, llvm::Value* b) { return divided(a, b, true); }, parts.operands[0],
                    parts.operands[1]);
    case SymKind::mod:
      if (llvm::Value* made = in_halves(parts.operands[0], parts.operands[1], false)) return made;
      if (const auto made = of_one_divisor(parts.operands[0], parts.operands[1], false)) return *made;
      return binary([&](llvm::Value* a, llvm::Value* b) { return divided(a, b, false); }, parts.operands[0],
                    parts.operands[1]);
    case SymKind::min:
    case SymKind::max: {
      llvm::Value* best = (*this)(parts.operands[0]);
      for (size_t i = 1; i < parts.operands.size(); ++i) {
        llvm::Value* other = (*this)(parts.operands[i]);
        both(best, other);
        best = builder_->CreateBinaryIntrinsic(
            parts.kind == SymKind::min ? llvm::Intrinsic::smin : llvm::Intrinsic::smax, best, other);
      }
      return best;
    }
    case SymKind::call: return scaled((*this)(parts.operands[0]), parts.function, parts.factor);
  }
  internal_error("a size of no kind: " + to_string(dim), __FILE__, __LINE__);
}

// The lower half of its bits. Those of sums and products hang on lower halves alone.
llvm::Value* DimCode::low_half(Dim dim) {
  llvm::Type* half = builder_->getInt32Ty();
  if (dim.is_constant()) return builder_->getInt32(static_cast<uint32_t>(dim.constant()));
  const DimParts parts = parts_of(dim);
  const bool known = values_.contains(dim.node());
  if (known || (parts.kind != SymKind::sum && parts.kind != SymKind::product)) {
    llvm::Value* whole = (*this)(dim);
    if (whole->getType()->isVectorTy()) half = llvm::FixedVectorType::get(half, static_cast<unsigned>(lanes_));
    auto* wider = llvm::dyn_cast<llvm::SExtInst>(whole);
    return wider && wider->getSrcTy() == half ? wider->getOperand(0) : builder_->CreateTrunc(whole, half);
  }
  const bool sum = parts.kind == SymKind::sum;
  llvm::Value* total = nullptr;
  auto take = [&](llvm::Value* next) {
    if (total) both(total, next);
    total = !total ? next : sum ? builder_->CreateAdd(total, next) : builder_->CreateMul(total, next);
  };
  for (size_t i = 0; i < parts.operands.size(); ++i) {
    llvm::Value* term = low_half(parts.operands[i]);
    if (sum && parts.coefficients[i] != 1) {
      llvm::Value* factor = builder_->getInt32(static_cast<uint32_t>(parts.coefficients[i]));
      both(term, factor);
      term = builder_->CreateMul(term, factor);
    }
    take(term);
  }
  if (sum && parts.constant != 0) take(builder_->getInt32(static_cast<uint32_t>(parts.constant)));
  return total;
}

llvm::Value* DimCode::as_half(Dim dim) {
  llvm::Value* made = low_half(dim);
  llvm::Type* whole = builder_->getInt64Ty();
  if (made->getType()->isVectorTy()) whole = llvm::FixedVectorType::get(whole, static_cast<unsigned>(lanes_));
  return builder_->CreateSExt(made, whole);
}

// A sum in lanes: what they share is one scalar, and so is what each number of theirs is multiplied with. Null where
// that is how it stands.
llvm::Value* DimCode::by_lanes(const DimParts& sum) {
  Dim shared = sum.constant;
  std::vector<std::pair<Dim, Dim>> all;  // in lanes, and what for
  for (size_t i = 0; i < sum.operands.size(); ++i) {
    Dim wide = 1, scalar = sum.coefficients[i];
    for (Dim factor : factors_of(sum.operands[i])) (varies(factor) ? wide : scalar) *= factor;
    if (wide.is(1)) {
      shared += scalar;
      continue;
    }
    auto same = std::ranges::find(all, wide, &std::pair<Dim, Dim>::first);
    if (same == all.end())
      all.emplace_back(wide, scalar);
    else
      same->second += scalar;
  }
  if (all.size() == sum.operands.size()) return nullptr;
  llvm::Value* total = nullptr;
  for (const auto& [wide, scalar] : all) {
    llvm::Value* term = (*this)(wide);
    if (!scalar.is(1)) {
      llvm::Value* factor = (*this)(scalar);
      both(term, factor);
      term = builder_->CreateMul(term, factor);
    }
    total = total ? builder_->CreateAdd(total, term) : term;
  }
  if (shared.is(0)) return total;
  llvm::Value* rest = (*this)(shared);
  both(total, rest);
  return builder_->CreateAdd(total, rest);
}

// How far each lane is from the one before, if that is a number that is known.
std::optional<int64_t> DimCode::step(Dim dim) const {
  constexpr int64_t kMost = 1 << 20;
  if (base_ == nullptr || dim.is_constant()) return std::nullopt;
  const DimParts parts = parts_of(dim);
  if (parts.kind != SymKind::sum) return dim == along_ ? std::optional(1) : std::nullopt;
  int64_t made = 0;
  for (size_t i = 0; i < parts.operands.size(); ++i) {
    if (parts.operands[i] == along_)
      made += parts.coefficients[i];
    else if (varies(parts.operands[i]))
      return std::nullopt;
  }
  return made == 0 || made >= kMost || -made >= kMost ? std::nullopt : std::optional(made);
}

// Lanes by what is one number for all of them; nothing where that may be none that numbers are divided by.
std::optional<llvm::Value*> DimCode::of_one_divisor(Dim x, Dim y, bool quotient) {
  if (points_ == nullptr || !varies(x) || varies(y)) return std::nullopt;
  if (y.is_constant() && std::has_single_bit(static_cast<uint64_t>(y.constant()))) return std::nullopt;
  if (const Range range = points_->range(y); !range.low || *range.low < 1) return std::nullopt;
  llvm::Value* divisor = (*this)(y);
  Quotients made{};
  if (const auto by = step(x)) {
    DimCode least = *this;
    llvm::Value* last = builder_->getInt64(static_cast<uint64_t>(lanes_ - 1));
    least.bind(along_, *by > 0 ? base_ : builder_->CreateAdd(base_, last));
    made = divide_steps(*builder_, least(x), *by, lanes_, divisor);
  } else {
    made = divide_all(*builder_, (*this)(x), divisor);
  }
  return quotient ? made.quotient : made.remainder;
}

// In double, as evaluate() does it.
llvm::Value* DimCode::scaled(llvm::Value* of, SymFn function, double factor) {
  llvm::Type *integer = of->getType(), *real = builder_->getDoubleTy();
  if (integer->isVectorTy()) real = llvm::FixedVectorType::get(real, static_cast<unsigned>(lanes_));
  llvm::Value* product = builder_->CreateFMul(builder_->CreateSIToFP(of, real), llvm::ConstantFP::get(real, factor));
  const llvm::Intrinsic::ID rounding = function == SymFn::floor_scale  ? llvm::Intrinsic::floor
                                       : function == SymFn::ceil_scale ? llvm::Intrinsic::ceil
                                                                       : llvm::Intrinsic::roundeven;
  return builder_->CreateFPToSI(builder_->CreateUnaryIntrinsic(rounding, product), integer);
}

}  // namespace lenz::native
