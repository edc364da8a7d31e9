// Draws of compiler/scalar/random_stream.h: words and uniform numbers bit for bit, normal ones to the last place or so.
#include <llvm/IR/IRBuilder.h>

#include <array>
#include <cmath>

#include "compiler/backend/llvm/lane_code.h"
#include "compiler/backend/llvm/scalar_code.h"
#include "compiler/backend/llvm/wide.h"
#include "compiler/base/error.h"

namespace lenz::native {

namespace {

using loops::DrawKind;
using Words = std::array<V, 4>;

Words philox(LaneCode& code, V seed, V counter) {
  constexpr int64_t kFirst = 0xD2511F53, kSecond = 0xCD9E8D57, kGolden = 0x9E3779B9, kRootOfThree = 0xBB67AE85;
  V low_key = convert(seed, LaneType::i32), high_key = convert(lshr(seed, 32), LaneType::i32);
  const V zero = code.integer(LaneType::i32, 0);
  Words c = {convert(counter, LaneType::i32), convert(lshr(counter, 32), LaneType::i32), zero, zero};
  for (int round = 0; round < 10; ++round) {
    const auto [high_a, low_a] = code.whole_product(c[0], kFirst);
    const auto [high_b, low_b] = code.whole_product(c[2], kSecond);
    c = {high_b ^ c[1] ^ low_key, low_b, high_a ^ c[3] ^ high_key, low_a};
    low_key = low_key + kGolden, high_key = high_key + kRootOfThree;
  }
  return c;
}

V joined(V low, V high) {
  LaneCode& code = *low.code;
  return code.zero_extend(low, LaneType::i64) | (code.zero_extend(high, LaneType::i64) << 32);
}

// r cos t and r sin t, for u in (0, 1] and a turn in [0, 1); of doubles, to the width of `like`.
SinCos normals(Wide like, V u, V turn) {
  Wide log_u = log(wide_of(like, u));
  const Wide square = log_u * -2.0;
  // log 1 is 0, but for the rounding of its parts.
  const Wide radius = sqrt(select(square.hi > 0, square, constant(like, 0)));
  const V quarter = round_even(turn * 4.0);
  const Wide angle = wide_of(like, turn - quarter * 0.25) * constant(like, dd::kPi) * 2.0;
  const SinCos at = sin_cos(like, {bits(quarter + 0x1.8p52), {angle.hi, angle.is_double() ? angle.hi : angle.lo}});
  return {radius * at.sin, radius * at.cos};
}

// One of the words, by the element's place in its block.
V chosen(const Words& words, V place) {
  V result = words[0];
  for (int i = 1; i < 4; ++i) result = select(place == i, words[static_cast<size_t>(i)], result);
  return result;
}

class Drawing {
 public:
  Drawing(LaneCode& code, DrawKind kind, Dtype dtype, LaneType held) : code_(code), kind_(kind), held_(held) {
    digits_ = info(dtype).mantissa_bits;
    wide_ = kind == DrawKind::wide_word || kind == DrawKind::wide_normal ||
            (kind == DrawKind::uniform && held == LaneType::f64);
  }
  int per_block() const { return wide_ ? 2 : 4; }

  // What a block gives, element by element.
  std::vector<V> all(const Words& w) const {
    if (kind_ == DrawKind::normal) {
      const SinCos first = narrow_pair(w[0], w[1]), second = narrow_pair(w[2], w[3]);
      return {held(first.cos), held(first.sin), held(second.cos), held(second.sin)};
    }
    if (kind_ == DrawKind::wide_normal) {
      const SinCos pair = wide_pair(joined(w[0], w[1]), joined(w[2], w[3]));
      return {held(pair.cos), held(pair.sin)};
    }
    if (wide_) return {of_wide(joined(w[0], w[1])), of_wide(joined(w[2], w[3]))};
    return {of_word(w[0]), of_word(w[1]), of_word(w[2]), of_word(w[3])};
  }
  // The element of its block that each lane asks for.
  V one(const Words& w, V element) const {
    const V odd = (element & 1) != 0, upper = (element & 2) != 0;
    if (kind_ == DrawKind::normal) {
      const SinCos pair = narrow_pair(select(upper, w[2], w[0]), select(upper, w[3], w[1]));
      return select(odd, held(pair.sin), held(pair.cos));
    }
    if (kind_ == DrawKind::wide_normal) {
      const std::vector<V> both = all(w);
      return select(odd, both[1], both[0]);
    }
    if (wide_) return of_wide(select(odd, joined(w[2], w[3]), joined(w[0], w[1])));
    return of_word(chosen(w, convert(element & 3, LaneType::i32)));
  }

 private:
  V held(Wide x) const { return narrow(x, held_); }
  V of_word(V word) const {
    if (kind_ == DrawKind::signed_word) return word ^ int64_t { 0x80000000 };
    if (kind_ == DrawKind::word) return code_.zero_extend(word, LaneType::i64);
    return convert(lshr(word, 32 - digits_), held_) * std::ldexp(1.0, -digits_);
  }
  V of_wide(V word) const {
    if (kind_ == DrawKind::wide_word) return word;
    return convert(lshr(word, 64 - digits_), LaneType::f64) * std::ldexp(1.0, -digits_);
  }
  static SinCos narrow_pair(V a, V b) {
    LaneCode& code = *a.code;
    auto fraction = [&](V x, double more) { return (code.unsigned_to_float(x, LaneType::f64) + more) * 0x1p-32; };
    const V u = fraction(a, 1);
    return normals({u, {}}, u, fraction(b, 0));
  }
  static SinCos wide_pair(V a, V b) {
    LaneCode& code = *a.code;
    auto fraction = [&](V x, double more) { return (code.unsigned_to_float(x, LaneType::f64) + more) * 0x1p-64; };
    const V u = fraction(a, 1);
    return normals({u, u}, u, fraction(b, 0));
  }

  LaneCode& code_;
  DrawKind kind_;
  LaneType held_;
  int digits_ = 0;
  bool wide_ = false;
};

LaneType held_in(Dtype dtype) {
  if (is_integral(dtype, false)) return dtype == Dtype::i32 ? LaneType::i32 : LaneType::i64;
  return dtype == Dtype::f64 ? LaneType::f64 : LaneType::f32;
}

}  // namespace

Lanes ScalarCode::draw(DrawKind kind, Dtype dtype, llvm::Value* seed, llvm::Value* offset, llvm::Value* element,
                       bool consecutive) {
  llvm::IRBuilderBase::FastMathFlagGuard guard(*builder_);
  builder_->clearFastMathFlags();
  LaneCode code(*builder_, *target_, lanes_);
  const LaneType held = held_in(dtype);
  const V at = code.wrap(element);
  const Drawing whole(code, kind, dtype, held);
  const int per = whole.per_block();
  if (!consecutive || lanes_ % per != 0) {
    const V block = lshr(at, per == 4 ? 2 : 1);
    return {whole.one(philox(code, code.splat(seed), block + code.splat(offset)), at).value};
  }
  return draw_together(kind, dtype, seed, offset, element, 1, true)[0];
}

std::vector<Lanes> ScalarCode::draw_together(DrawKind kind, Dtype dtype, llvm::Value* seed, llvm::Value* offset,
                                             llvm::Value* element, int vectors, bool in_blocks) {
  llvm::IRBuilderBase::FastMathFlagGuard guard(*builder_);
  builder_->clearFastMathFlags();
  LaneCode code(*builder_, *target_, lanes_);
  const LaneType held = held_in(dtype);
  const V at = code.wrap(element);
  // One block for several elements: computed in fewer lanes, then brought into order.
  const int per = Drawing(code, kind, dtype, held).per_block();
  LaneCode blocks(*builder_, *target_, lanes_ * vectors / per);
  const V first = code.slice(at, 0, 1);
  llvm::Value* start = builder_->CreateAdd(builder_->CreateLShr(first.value, per == 4 ? 2 : 1), offset);
  const std::vector<V> drawn =
      Drawing(blocks, kind, dtype, held)
          .all(philox(blocks, blocks.splat(seed), blocks.splat(start) + blocks.lane_numbers()));
  std::vector<Lanes> made;
  for (int v = 0; v < vectors; ++v) {
    std::vector<V> parts;
    for (const V& of_block : drawn) parts.push_back(blocks.slice(of_block, v * lanes_ / per, lanes_ / per));
    made.push_back({code.interleave(parts, lanes_).value});
  }
  if (in_blocks) return made;
  // The first element stands somewhere in its block, and the last ones in a block more: by way of memory.
  LaneCode single(*builder_, *target_, 1);
  llvm::Value* last = builder_->CreateAdd(start, builder_->getInt64(static_cast<uint64_t>(lanes_ * vectors / per)));
  const std::vector<V> beyond =
      Drawing(single, kind, dtype, held).all(philox(single, single.splat(seed), single.splat(last)));
  llvm::Type* vector = made[0].value->getType();
  llvm::Type* number = vector->getScalarType();
  llvm::Function* function = builder_->GetInsertBlock()->getParent();
  llvm::IRBuilder<> entry(&function->getEntryBlock(), function->getEntryBlock().begin());
  llvm::AllocaInst* buffer = entry.CreateAlloca(number, entry.getInt32(static_cast<uint32_t>(lanes_ * vectors + per)));
  buffer->setAlignment(llvm::Align(64));
  const llvm::Align align(number->getPrimitiveSizeInBits() / 8);
  auto at_place = [&](llvm::Value* i) { return builder_->CreateGEP(number, buffer, i); };
  auto place_of = [&](int i) { return builder_->getInt64(static_cast<uint64_t>(i)); };
  for (int v = 0; v < vectors; ++v)
    builder_->CreateAlignedStore(made[static_cast<size_t>(v)].value, at_place(place_of(v * lanes_)), align);
  for (int i = 0; i < per; ++i) {
    llvm::Value* one = beyond[static_cast<size_t>(i)].value;
    if (one->getType()->isVectorTy()) one = builder_->CreateExtractElement(one, uint64_t{0});
    builder_->CreateAlignedStore(one, at_place(place_of(lanes_ * vectors + i)), align);
  }
  llvm::Value* skipped = builder_->CreateAnd(first.value, static_cast<uint64_t>(per - 1));
  for (int v = 0; v < vectors; ++v)
    made[static_cast<size_t>(v)] = {
        builder_->CreateAlignedLoad(vector, at_place(builder_->CreateAdd(skipped, place_of(v * lanes_))), align)};
  return made;
}

}  // namespace lenz::native
