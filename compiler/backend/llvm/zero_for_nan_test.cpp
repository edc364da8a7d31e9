// Zeros in place of NaN, by one instruction where a target has it: every other number stays what it is, zeros with
// their signs.
#include <bit>
#include <limits>

#include "compiler/backend/llvm/same_bits_test.h"

namespace lenz::native {
namespace {

constexpr int64_t kElements = 333;

loops::Tensor kinds_of_numbers(Dtype dtype) {
  loops::Tensor x(dtype, loops::Ints{kElements});
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const double kinds[] = {0.0, -0.0, kInfinity, -kInfinity, std::nan(""), -std::nan("1"), 1e-40, -5e-324, 1, -1, 3e38};
  for (int64_t i = 0; i < kElements; ++i) x.put(i, ScalarValue(kinds[i % std::ssize(kinds)]));
  return x;
}

TEST(ZeroForNan, EveryKindOfNumber) {
  for (const Dtype dtype : {Dtype::f32, Dtype::f64, Dtype::bf16})
    for (const char* instead : {"0.0", "-0.0", "2.0"})
      for (const char* lanes : {"", " lanes 8", " lanes 16", " lanes 16 unroll 2"}) {
        std::string text = R"(loops @zeros {
  input %x: TYPE[333] placed
  temp %y: TYPE[333] placed
  kernel {
    for i < 333LANES {
      %0 = load %x[i]
      %1 = isnan.TYPE %0
      %2 = TYPE INSTEAD
      %3 = where.TYPE %1, %2, %0
      store %y[i] = %3
    }
  }
  return %y
})";
        auto put = [&](std::string_view what, const std::string& by) {
          for (size_t at = 0; (at = text.find(what)) != std::string::npos;) text.replace(at, what.size(), by);
        };
        put("TYPE", std::string(name(dtype)));
        put("LANES", lanes);
        put("INSTEAD", instead);
        expect_same(text, {kinds_of_numbers(dtype)}, same_real);
      }
}

}  // namespace
}  // namespace lenz::native
