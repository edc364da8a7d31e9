// What is rounded to fewer digits between other steps, two vectors at once where a target has that: subnormal numbers,
// infinities and NaN among others.
#include <bit>
#include <random>

#include "compiler/backend/llvm/same_bits_test.h"

namespace lenz::native {
namespace {

constexpr int64_t kElements = 1613;

// Of every exponent; each third vector of 16 has one subnormal number, others none.
loops::Tensor numbers() {
  loops::Tensor x(Dtype::f32, loops::Ints{kElements});
  std::mt19937 random(3);
  for (int64_t i = 0; i < kElements; ++i) {
    uint32_t word = random();
    if ((word & 0x7f800000) == 0) word |= 0x00800000;
    if (i % 48 == 5) word &= 0x807fffff;
    if (i % 97 == 0) word = word & 1 ? 0x80000000 : 0x7f800000;
    if (i % 101 == 0) word = 0x7f800001;
    x.put(i, ScalarValue(static_cast<double>(std::bit_cast<float>(word))));
  }
  return x;
}

TEST(RoundedBetween, EveryKindOfNumber) {
  for (const char* dtype : {"bf16", "f16"})
    for (const char* unroll : {"2", "3", "4"}) {
      std::string text = R"(loops @rounds {
  input %x: f32[1613] placed
  temp %y: f32[1613] placed
  kernel {
    for i < 1613 lanes 16 unroll TIMES {
      %0 = load %x[i]
      %1: NARROW = to_dtype.f32 %0
      %2: f32 = to_dtype.NARROW %1
      %3 = neg.f32 %2
      store %y[i] = %3
    }
  }
  return %y
})";
      for (size_t at = 0; (at = text.find("NARROW")) != std::string::npos;) text.replace(at, 6, dtype);
      text.replace(text.find("TIMES"), 5, unroll);
      expect_same(text, {numbers()}, same_real);
    }
}

}  // namespace
}  // namespace lenz::native
