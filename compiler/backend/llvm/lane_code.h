// Arithmetic on lanes, as emitters write it: V is a vector of `lanes` elements (a scalar where lanes is 1) that a piece
// of emitted code computes, and a + b * c on Vs emits the instructions. The families of primitives are written in it
// and see nothing of LLVM.
//
// Both operands of an operator have one type; a number beside a V is a constant of its type. Comparisons of floats are
// false for NaN (but !=); integers are signed, but for the functions called unsigned.
//
// Thread-safety: as the builder's module.
#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/backend/llvm/target.h"

namespace llvm {
class IRBuilderBase;
class Type;
class Function;
class Value;
}  // namespace llvm

namespace lenz {
struct ScalarRow;
}

namespace lenz::native {

enum class LaneType : uint8_t { i1, i8, i16, i32, i64, f32, f64 };

inline bool is_float(LaneType type) { return type >= LaneType::f32; }
int bits_of(LaneType type);
LaneType integer_of(LaneType type);  // of the same width
LaneType integer_of_bits(int bits);
inline int mantissa_bits(LaneType type) { return type == LaneType::f32 ? 23 : 52; }  // of a float, as stored

class LaneCode;

struct V {
  LaneCode* code = nullptr;
  llvm::Value* value = nullptr;
  LaneType type = LaneType::f32;
  explicit operator bool() const { return value != nullptr; }
};

enum class Binary : uint8_t {
  add,
  sub,
  mul,
  div,
  rem,
  bit_and,
  bit_or,
  bit_xor,
  shl,
  lshr,
  ashr,
  unsigned_div,
  unsigned_rem
};
enum class Unary : uint8_t {
  neg,
  sqrt,
  floor,
  ceil,
  trunc,
  round_even,
  fabs,
  count_leading_zeros,
  count_trailing_zeros
};
enum class Compare : uint8_t { eq, ne, lt, le, gt, ge, unsigned_lt, unordered };

class LaneCode {
 public:
  LaneCode(llvm::IRBuilderBase& builder, const CpuTarget& target, int lanes);

  llvm::IRBuilderBase& builder() const { return *builder_; }
  const CpuTarget& target() const { return *target_; }
  int lanes() const { return lanes_; }

  llvm::Type* llvm_type(LaneType type) const;
  V wrap(llvm::Value* value);  // of a type that LaneType has
  V real(LaneType type, double value);
  V integer(LaneType type, int64_t value);  // of an integer type, wrapped into it
  // Of like's type; whole numbers keep all their bits.
  template <class N>
  V same(V like, N value) {
    return is_float(like.type) ? real(like.type, static_cast<double>(value))
                               : integer(like.type, static_cast<int64_t>(value));
  }
  // The number that a float is in every lane, where that is known as code is emitted.
  std::optional<double> known(V x) const;
  bool asks_for_nan(V condition, V x) const;  // whether it says of each lane that x is a NaN
  // Each NaN as 0. Whole registers take one instruction: of what comes from memory as soon as it is there, more of it
  // is waited for at a time.
  V zero_for_nan(V x);
  // Of several lanes: whether all are one scalar.
  bool same_in_all(V x) const;
  V truth(bool value) { return integer(LaneType::i1, value ? 1 : 0); }
  V splat(llvm::Value* scalar);
  V lane_numbers();  // 0, 1, 2, ... as i64

  V binary(Binary op, V a, V b);
  V unary(Unary op, V a);
  V compare(Compare op, V a, V b);
  V select(V condition, V yes, V no);
  V multiply_add(V a, V b, V c);  // a * b + c, rounded once or twice as the target likes
  V fused(V a, V b, V c);         // rounded once on every target (a call where it has no such instruction)
  V copysign(V magnitude, V sign);

  V bits(V x);                  // of a float, as an integer of its width
  V as_float(V x);              // of i32, i64
  V convert(V x, LaneType to);  // by value; integers are signed; a float that an integer can't hold gives any integer
  V zero_extend(V x, LaneType to);
  V unsigned_to_float(V x, LaneType to);
  V truth_to_float(V x, LaneType to) { return select(x, real(to, 1), real(to, 0)); }
  V f16_bits(V x);  // target().f16: the bits of the nearest f16 of an f32, as i16
  V f16_value(V bits);
  // target().bf16, 8 or 16 lanes: the bits of the nearest bf16 of each f32 that is not subnormal, as i16; a NaN arrives
  // quiet.
  V bf16_bits(V x);
  V is_subnormal(V x);  // as above
  V is_subnormal_or_nan(V x);
  V at_least_zero(V x);  // of integers
  // 16 lanes, target().bf16: of a vector, then of another, as one of 32 i16.
  V bf16_bits(V first, V second);
  // 16 lanes, target().permute_bytes: i32 whose upper halves are 16 of 32 i16, from the `first` on; the lower are zero.
  V in_upper_halves(V words, int first);
  // Two vectors of i16, one behind the other, as i32, and back.
  V as_words(llvm::Value* halves);
  V as_halves(V words);
  // The second one's elements between the first one's: 16 lanes, target().avx512.
  V alternating(V halves);
  // words << 16, target().funnel_shifts: by units that multiply rather than those that add.
  V lower_halves_up(V words);
  // Nearly 1 / x and 1 / sqrt(x), to 13 digits or more; infinite for 0, nothing for infinities.
  V reciprocal_estimate(V x) { return estimate(x, false); }
  V rsqrt_estimate(V x) { return estimate(x, true); }
  // 2^n * x with one rounding, for an x near one (within 2^100; of f32, 2^20) and an n of whole numbers, |n| <= 1900
  // (of f32, 240). For any other x only where the result and half the way to it are normal.
  V scale(V x, V n);
  V scale_down(V x, V n) {
    return scale(x, fills_registers(x.type) ? n : unary(Unary::floor, n));
  }  // floor(n), of any n

  // The element of a constant table that each lane's i32 index names.
  V look_up(std::span<const double> table, LaneType type, V index);
  V look_up(std::span<const uint32_t> table, V index);  // i32
  // The same of a table that two registers hold, by the low bits of an index as wide as its elements.
  V look_up_held(std::span<const double> table, LaneType type, V index);
  // Of several such tables of f64, by the same index. What registers do not hold is read in rows that have an element
  // of each, two at a time: a lane's place is worked out once.
  std::vector<V> look_up_held(std::span<const std::vector<double>> tables, V index);
  static constexpr int held_entries(LaneType type) { return type == LaneType::f32 ? 32 : 16; }

  // Shuffles, for what neighbours share.
  V pick(V x, std::span<const int> from);             // lane i of the result is lane from[i]
  V interleave(std::span<const V> parts, int lanes);  // lane i is lane i / n of part i % n; of any lane counts
  V slice(V x, int first, int count);
  V join(V first, V second);  // of twice as many lanes
  // The upper and the lower half of an i32, unsigned, times a factor of 32 bits.
  std::pair<V, V> whole_product(V x, int64_t factor);

  // What rarely happens: where `condition` holds in some lane, `rare` is computed, else branched around. The result is
  // rare's where the condition holds, `usual` elsewhere.
  std::vector<V> rarely(V condition, const std::vector<V>& usual, const std::function<std::vector<V>()>& rare);
  // The same, where `rare` computes every lane.
  std::vector<V> instead(V condition, const std::vector<V>& usual, const std::function<std::vector<V>()>& rare) {
    return instead(std::span(&condition, 1), usual, rare);
  }
  // Where one of these holds in some lane.
  std::vector<V> instead(std::span<const V> conditions, const std::vector<V>& usual,
                         const std::function<std::vector<V>()>& rare);
  // Lane by lane, by a function of the module's own that `one` writes, once, for a scalar f64; it answers an i64 and
  // two f64: for rare paths that are too long to stand in vectors wherever they may be needed.
  std::vector<V> by_lane(std::string_view name, V x, const std::function<std::vector<V>(V)>& one);
  // All lanes at once, by a function of the module's own that `body` writes, once, for an argument like this one: for
  // rare paths that would stand, long as they are, behind each of many rows. `types`: of what it answers.
  std::vector<V> apart(std::string_view name, V x, std::span<const LaneType> types,
                       const std::function<std::vector<V>(V)>& body);
  // What the table's own function gives, called for all lanes at once; f32 or f64.
  V by_table(const ScalarRow& row, LaneType type, std::span<const V> operands);
  // While `test(state)` holds in some lane, the state of those lanes becomes body(state).
  std::vector<V> repeat(const std::vector<V>& state, const std::function<V(const std::vector<V>&)>& test,
                        const std::function<std::vector<V>(const std::vector<V>&)>& body);

 private:
  V make(llvm::Value* value, LaneType type) { return {this, value, type}; }
  llvm::Function* own_function(const std::string& name, std::initializer_list<llvm::Type*> arguments,
                               const std::function<void(llvm::IRBuilderBase&, llvm::Function&)>& write);
  llvm::Value* memory_of_call(uint64_t words);
  llvm::Value* any(std::span<const V> conditions);
  llvm::Value* any(V condition) { return any(std::span(&condition, 1)); }
  V estimate(V x, bool of_root);
  V is_of_class(V x, uint32_t classes);
  bool fills_registers(LaneType type) const { return target_->avx512 && lanes_ % (512 / bits_of(type)) == 0; }
  V in_pieces(int lanes, const std::function<V(int first)>& piece);  // of so many lanes each

  llvm::IRBuilderBase* builder_;
  const CpuTarget* target_;
  int lanes_;
};

template <class N>
concept Number = std::is_arithmetic_v<N>;

#define LENZ_LANE_OPERATOR(symbol, method, op)                            \
  inline V operator symbol(V a, V b) { return a.code->method(op, a, b); } \
  template <Number N>                                                     \
  V operator symbol(V a, N b) {                                           \
    return a.code->method(op, a, a.code->same(a, b));                     \
  }                                                                       \
  template <Number N>                                                     \
  V operator symbol(N a, V b) {                                           \
    return b.code->method(op, b.code->same(b, a), b);                     \
  }
LENZ_LANE_OPERATOR(+, binary, Binary::add)
LENZ_LANE_OPERATOR(-, binary, Binary::sub)
LENZ_LANE_OPERATOR(*, binary, Binary::mul)
LENZ_LANE_OPERATOR(/, binary, Binary::div)
LENZ_LANE_OPERATOR(&, binary, Binary::bit_and)
LENZ_LANE_OPERATOR(|, binary, Binary::bit_or)
LENZ_LANE_OPERATOR(^, binary, Binary::bit_xor)
LENZ_LANE_OPERATOR(<<, binary, Binary::shl)
LENZ_LANE_OPERATOR(>>, binary, Binary::ashr)
LENZ_LANE_OPERATOR(==, compare, Compare::eq)
LENZ_LANE_OPERATOR(!=, compare, Compare::ne)
LENZ_LANE_OPERATOR(<, compare, Compare::lt)
LENZ_LANE_OPERATOR(<=, compare, Compare::le)
LENZ_LANE_OPERATOR(>, compare, Compare::gt)
LENZ_LANE_OPERATOR(>=, compare, Compare::ge)
#undef LENZ_LANE_OPERATOR

inline V operator-(V a) { return a.code->unary(Unary::neg, a); }
V operator~(V a);  // all bits; of i1: not
inline V operator!(V a) { return ~a; }

inline V lshr(V a, int n) { return a.code->binary(Binary::lshr, a, a.code->integer(a.type, n)); }
inline V lshr(V a, V n) { return a.code->binary(Binary::lshr, a, n); }
inline V select(V condition, V yes, V no) { return condition.code->select(condition, yes, no); }
template <Number N>
V select(V condition, V yes, N no) {
  return select(condition, yes, yes.code->same(yes, no));
}
template <Number N>
V select(V condition, N yes, V no) {
  return select(condition, no.code->same(no, yes), no);
}
inline V fma(V a, V b, V c) { return a.code->multiply_add(a, b, c); }
inline V fma(V a, double b, V c) { return fma(a, a.code->same(a, b), c); }
inline V fma(V a, V b, double c) { return fma(a, b, a.code->same(a, c)); }
inline V fma(V a, double b, double c) { return fma(a, a.code->same(a, b), a.code->same(a, c)); }
inline V sqrt(V a) { return a.code->unary(Unary::sqrt, a); }
inline V floor(V a) { return a.code->unary(Unary::floor, a); }
inline V ceil(V a) { return a.code->unary(Unary::ceil, a); }
inline V trunc(V a) { return a.code->unary(Unary::trunc, a); }
inline V round_even(V a) { return a.code->unary(Unary::round_even, a); }
inline V abs(V a) { return a.code->unary(Unary::fabs, a); }  // of a float
// Whose powers are added to it, or to more: 0 where they are nothing beside it. Powers that are no normal numbers take
// processors a hundred times as long.
inline V for_powers(V x) { return select(abs(x) < (x.type == LaneType::f64 ? 0x1p-100 : 0x1p-30), 0, x); }
inline V copysign(V magnitude, V sign) { return magnitude.code->copysign(magnitude, sign); }
inline V bits(V a) { return a.code->bits(a); }
inline V as_float(V a) { return a.code->as_float(a); }
inline V convert(V a, LaneType to) { return a.code->convert(a, to); }
inline V is_nan(V a) { return a.code->compare(Compare::unordered, a, a); }
V is_infinite(V a);
V is_finite(V a);
V sign_bit(V a);      // i1, of a float
V smaller(V a, V b);  // b where either is NaN
V larger(V a, V b);
template <Number N>
V from(V like, N value) {  // a constant of like's type
  return like.code->same(like, value);
}

// Horner's scheme in the lanes' own type: coefficients[0] + x * coefficients[1] + ...
V polynomial(V x, std::span<const double> coefficients);
// The same, powers of even and of odd exponents apart, where each step waits for the one before.
V polynomial_by_halves(V x, std::span<const double> coefficients);

}  // namespace lenz::native
