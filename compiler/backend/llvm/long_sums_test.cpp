// Places behind as many sizes: what hangs on these alone comes to the code as one value.
#include <gtest/gtest.h>

#include "compiler/backend/llvm/compile_kernels.h"
#include "compiler/backend/llvm/same_bits_test.h"

namespace lenz::native {
namespace {

// The last part of inputs that are joined.
std::string joined(int parts) {
  std::string inputs, sizes, symbols, body;
  for (int k = 0; k < parts; ++k) {
    const std::string n = std::to_string(k), before = sizes.empty() ? "" : " + " + sizes;
    symbols += (k ? ", s" : "s") + n;
    inputs += "  input %x" + n + ": f32[s" + n + "] placed\n";
    body += "  kernel {\n    for i < s" + n + " lanes 8 {\n      %0 = load %x" + n + "[i]\n      store %y[i" + before +
            "] = %0\n    }\n  }\n";
    sizes += (k ? " + s" : "s") + n;
  }
  return "loops @joined {\n" + inputs + "  temp %y: f32[" + sizes + "] placed\n" + body + "  return %y\n}\n";
}

size_t additions(int parts) {
  const std::string code = kernels_as_text(loops::parse_program(joined(parts), op_table()), find_target("avx2"), false);
  const std::string last = code.substr(code.rfind("define i32"));
  size_t count = 0;
  for (size_t at = 0; (at = last.find(" add ", at)) != std::string::npos; ++at) ++count;
  return count;
}

TEST(LongSums, AreOneValue) { EXPECT_EQ(additions(24), additions(12)); }

TEST(LongSums, SayWhereThingsAre) {
  std::vector<loops::InputValue> inputs;
  for (int64_t k = 0; k < 12; ++k) inputs.push_back(numbers({3 + k % 5}));
  expect_same(joined(12), inputs);
}

}  // namespace
}  // namespace lenz::native
