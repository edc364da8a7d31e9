// Many lanes of bytes: what is left of a row goes byte by byte where masks have no lanes so short.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "compiler/backend/llvm/same_bits_test.h"

namespace lenz::native {
namespace {

std::string computed(const std::string& points, const std::string& extent, int lanes, const std::string& steps) {
  return fmt::format(
      "loops @g {{\n  input %x: u8[{0}] placed\n  input %y: u8[{0}] placed\n  temp %r: u8[{0}] placed\n"
      "  kernel k < 1 {{\n    for i < {1} lanes {2} unroll 2 {{\n"
      "      %0 = load %x[i]\n      %1 = load %y[i]\n{3}      store %r[i] = %2\n    }}\n  }}\n  return %r\n}}\n",
      points, extent, lanes, steps);
}

loops::InputValue bytes(int64_t count, int64_t seed) {
  loops::Tensor t(Dtype::u8, loops::Ints{count});
  for (int64_t i = 0; i < count; ++i) t.put(i, ScalarValue((i * 37 + seed) % 251));
  return {t};
}

TEST(LanesOfBytes, OfAnyNumberComputeTheSame) {
  for (const char* steps : {"      %2 = mul.u8 %0, %1\n", "      %2 = maximum.u8 %0, %1\n"})
    for (int lanes : {16, 32})
      for (int points : {1, 15, 16, 31, 33, 64, 65, 95, 127, 200}) {
        expect_same(computed(std::to_string(points), std::to_string(points), lanes, steps),
                    {bytes(points, 3), bytes(points, 11)});
        expect_same(computed("n", "n", lanes, steps), {bytes(points, 3), bytes(points, 11)});
      }
}

}  // namespace
}  // namespace lenz::native
