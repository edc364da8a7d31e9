#include "compiler/backend/llvm/kept_objects.h"

#include <gtest/gtest.h>

#include "compiler/backend/llvm/compile_kernels.h"
#include "compiler/loops/text.h"
#include "compiler/ops/op_table.h"

namespace lenz::native {
namespace {

TEST(KeptObjects, AreForgottenBeyondTheirMost) {
  KeptObjects kept(10);
  kept.put("a", "12345");
  kept.put("a", "12345");
  kept.put("b", "1234");
  EXPECT_EQ(kept.find("a"), "12345");
  kept.put("c", "12");
  EXPECT_EQ(kept.find("a"), std::nullopt);
  EXPECT_EQ(kept.find("c"), "12");
}

TEST(KeptObjects, ServeTheNextCompilation) {
  const loops::Program program = loops::parse_program(
      "loops @twice {\n  input %x: f32[5] placed\n  temp %y: f32[5] placed\n  kernel {\n    for i < 5 {\n      %0 = "
      "load %x[i]\n      %1 = add.f32 %0, %0\n      store %y[i] = %1\n    }\n  }\n  return %y\n}\n",
      op_table());
  const auto kept = std::make_shared<KeptObjects>();
  for (const size_t compiled : {1, 0}) {
    CompileStatistics statistics;
    compile_kernels(program, runnable_target(""), {.kept = kept}, &statistics);
    EXPECT_EQ(statistics.compiled, compiled);
    EXPECT_EQ(statistics.from_cache, 1 - compiled);
  }
}

}  // namespace
}  // namespace lenz::native
