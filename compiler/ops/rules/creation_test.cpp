// What makers of tensors refuse of what eager refuses: numbers that a dtype has not, memory that is not plain.
#include <gtest/gtest.h>

#include "compiler/graph/text.h"
#include "compiler/ops/op_table.h"

namespace lenz {
namespace {

void infer(const std::string& call) { parse_graph("graph @g() {\n  %r = " + call + "\n  return %r\n}\n", op_table()); }

// Of integers as many as are not below zero; of floats all up to the first gap.
TEST(Creation, PermutationsFitTheirDtype) {
  for (const char* fits : {"256, dtype=u8", "128, dtype=i8", "32768, dtype=i16", "2049, dtype=f16", "300"})
    EXPECT_NO_THROW(infer("aten.randperm(" + std::string(fits) + ")")) << fits;
  for (const char* none : {"257, dtype=u8", "129, dtype=i8", "32769, dtype=i16", "2050, dtype=f16"})
    EXPECT_THROW(infer("aten.randperm(" + std::string(none) + ")"), UserError) << none;
}

TEST(Creation, PinnedMemoryIsNotPlain) {
  EXPECT_NO_THROW(infer("aten.zeros([3], pin_memory=false)"));
  EXPECT_THROW(infer("aten.zeros([3], pin_memory=true)"), Unsupported);
}

}  // namespace
}  // namespace lenz
