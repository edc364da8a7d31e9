#include "fuzz/properties/kernel_keys.h"

#include <gtest/gtest.h>

#include "compiler/driver/compile.h"
#include "compiler/graph/text.h"
#include "compiler/loops/text.h"
#include "compiler/ops/op_table.h"
#include "compiler/schedule/realise.h"

namespace lenz::fuzz {
namespace {

loops::Program realised() {
  constexpr std::string_view kText =
      "graph @g(%x: f32[6], %y: f32[6]) {\n  %a = aten.sub(%x, %y)\n  %f = aten.flip(%x, [0])\n"
      "  %b = aten.mul(%a, %f)\n  return %b\n}\n";
  return schedule::schedule(to_loops(*parse_graph(kText, op_table())), schedule::cpu_target("avx2", 1));
}

// The first thing said by one of so many draws.
std::string said(const KeyOf& key, const loops::Program& program = realised()) {
  for (uint64_t seed = 0; seed < 40; ++seed) {
    RandomChooser choose(seed);
    if (std::string wrong = wrong_keys(program, "avx2", choose, key); !wrong.empty()) return wrong;
  }
  return {};
}

TEST(KernelKeys, HoldOfChangedKernels) { EXPECT_EQ(said(key_of), ""); }

// The axes' names say which of the factors stands first, and so which of the sizes.
TEST(KernelKeys, HoldOfProductsOfWhatAxesMeasure) {
  const loops::Program program = loops::parse_program(R"(loops @products where s0 in 2..9, s1 in 2..9 {
  input %x: f32[s0, s1] placed
  temp %y: f32[3, 5] placed
  kernel k < 3 {
    for i < 5 {
      %0 = index[((i*s1)//2)*((k*s0)//2)]
      %1: f32 = to_dtype.i64 %0
      store %y[k, i] = %1
    }
  }
  return %y
}
)",
                                                      op_table());
  EXPECT_EQ(said(key_of, program), "");
}

TEST(KernelKeys, OneKeyForAllIsTold) {
  const std::string wrong = said([](const loops::Program&, const loops::Kernel&) { return "one"; });
  EXPECT_EQ(wrong.find("one key for two codes"), 0u) << wrong;
}

TEST(KernelKeys, NamesInAKeyAreTold) {
  const std::string wrong = said([](const loops::Program& program, const loops::Kernel&) { return print(program); });
  EXPECT_EQ(wrong.find("other names make another key"), 0u) << wrong;
}

}  // namespace
}  // namespace lenz::fuzz
