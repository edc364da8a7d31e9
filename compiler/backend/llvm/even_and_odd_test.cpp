// bf16 by twos, the elements at even places and those at odd ones: every kind of number comes back where it was, and
// sums and extremes take in each element once.
#include <bit>
#include <cmath>
#include <random>

#include "compiler/backend/llvm/same_bits_test.h"

namespace lenz::native {
namespace {

constexpr int64_t kRows = 3, kColumns = 461;

// Of every exponent, few of them subnormal, infinite or NaN of either sign: most vectors have no such number.
loops::Tensor halves(uint32_t seed) {
  loops::Tensor x(Dtype::bf16, loops::Ints{kRows, kColumns});
  std::mt19937 random(seed);
  for (int64_t i = 0; i < x.numel(); ++i) {
    uint32_t word = static_cast<uint32_t>(random()) & 0xffff0000;
    if ((word & 0x7f800000) == 0 || (word & 0x7f800000) == 0x7f800000) word = (word & 0x807f0000) | 0x3f800000;
    if (i % 211 == 5) word &= 0x807f0000;
    if (i % 199 == 7) word = (word & 0x80000000) | 0x7f800000;
    if (i % 197 == 8) word = (word & 0x80000000) | 0x7fc10000;
    if (i % 193 == 9) word = word & 0x80000000;
    x.put(i, ScalarValue(static_cast<double>(std::bit_cast<float>(word))));
  }
  return x;
}
loops::Tensor small_numbers() {
  loops::Tensor x(Dtype::bf16, loops::Ints{kRows, kColumns});
  for (int64_t i = 0; i < x.numel(); ++i) x.put(i, ScalarValue(static_cast<double>(i * 37 % 101 - 50)));
  return x;
}

bool same_but_for_zeros(const ScalarValue& a, const ScalarValue& b) {
  return same_real(a, b) || (a.real() == 0 && b.real() == 0);
}

std::string with(std::string text, const std::string& name, const std::string& value) {
  for (size_t at = 0; (at = text.find(name)) != std::string::npos;) text.replace(at, name.size(), value);
  return text;
}

// What is stored of two rows of halves, by a body of instructions up to %9.
std::string pointwise(const std::string& body, const std::string& lanes) {
  return R"(loops @pairs {
  input %x: bf16[3, 461] placed
  input %y: bf16[3, 461] placed
  input %s: bf16[3] placed
  temp %z: bf16[3, 461] placed
  kernel k < 3 {
    for i < 461 lanes )" +
         lanes + R"( {
      %0 = load %x[k, i]
      %1 = load %y[k, i]
      %2 = load %s[k]
)" + body +
         R"(      store %z[k, i] = %9
    }
  }
  return %z
})";
}

TEST(EvenAndOdd, EveryNumberStaysInItsPlace) {
  loops::Tensor scale(Dtype::bf16, loops::Ints{kRows});
  for (int64_t i = 0; i < kRows; ++i) scale.put(i, ScalarValue(std::ldexp(1.5, static_cast<int>(i) - 1)));
  const std::string rounded = R"(      %3: f32 = to_dtype.bf16 %0
      %4: f32 = to_dtype.bf16 %1
      %5: f32 = to_dtype.bf16 %2
      %6 = mul.f32 %4, %5
      %7 = add.f32 %3, %6
      %8: bf16 = to_dtype.f32 %7
)";
  const std::string exact = R"(      %3 = neg.bf16 %0
      %4 = maximum.bf16 %3, %1
      %5 = minimum.bf16 %4, %2
      %6 = neg.bf16 %5
      %7 = abs.bf16 %6
      %8 = neg.bf16 %6
)";
  for (const std::string& body : {rounded, exact})
    for (const char* last : {"relu.bf16 %8", "neg.bf16 %8"})
      for (const char* lanes : {"16 unroll 2", "16 unroll 4", "8 unroll 2", "4 unroll 2"})
        expect_same(pointwise(body + "      %9 = " + last + "\n", lanes), {halves(1), halves(2), scale},
                    std::string_view(last).starts_with("relu") ? same_but_for_zeros : same_real);
}

TEST(EvenAndOdd, SumsOfColumnsAreInOrder) {
  const std::string text = R"(loops @columns {
  input %x: bf16[3, 461] placed
  temp %z: DTYPE[461] placed
  kernel {
    for i < 461 lanes LANES, reduce j < 3 {
      %0 = load %x[j, i]
      %1: f32 = to_dtype.bf16 %0
      %2 = reduce sum %1
      %3: DTYPE = to_dtype.f32 %2
      store %z[i] = %3
    }
  }
  return %z
})";
  for (const char* dtype : {"bf16", "f32"})
    for (const char* lanes : {"16 unroll 4", "16 unroll 2", "8 unroll 2", "4 unroll 8"})
      expect_same(with(with(text, "LANES", lanes), "DTYPE", dtype), {small_numbers()}, same_real);
}

TEST(EvenAndOdd, ReductionsTakeEachElementOnce) {
  const std::string text = R"(loops @reduces {
  input %x: bf16[3, 461] placed
  temp %z: f32[3] placed
  kernel k < 3 {
    for reduce i < 461 lanes LANES {
      %0 = load %x[k, i]
      %1: f32 = to_dtype.bf16 %0
      %2 = sub.f32 %1, %1
      %3 = add.f32 %1, %2
      %4 = reduce COMBINE %3
      store %z[k] = %4
    }
  }
  return %z
})";
  for (const char* combine : {"sum", "maximum", "minimum"})
    for (const char* lanes : {"16 unroll 4", "16 unroll 2", "8 unroll 4", "4 unroll 2"})
      expect_same(with(with(text, "LANES", lanes), "COMBINE", combine), {small_numbers()}, same_real);
}

}  // namespace
}  // namespace lenz::native
