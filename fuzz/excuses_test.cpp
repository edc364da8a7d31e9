// What eager is known for excuses what it is known for, and nothing else in the graph.
#include "fuzz/excuses.h"

#include <gtest/gtest.h>

#include "compiler/graph/text.h"
#include "compiler/ops/op_table.h"

namespace lenz::fuzz {
namespace {

std::string excuse(std::string_view inputs, std::string_view call, std::string_view symptom, bool by_eager) {
  const auto graph = parse_graph(
      "graph @g(" + std::string(inputs) + ") {\n  %y = aten." + std::string(call) + "\n  return %y\n}\n", op_table());
  return excuse_of(*graph, {}, excused(symptom, by_eager));
}

// `aten.gelu*` is known where the right answer is infinite: who has seen the values has asked whether it is.
TEST(Excuses, OfSomeValuesExcuseNoOthers) {
  EXPECT_EQ(excuse("%x: f32[3]", "gelu(%x)", "bound", true), "");
  EXPECT_EQ(excuse("%x: f32[3]", "gelu(%x)", "bound", false), "");
  EXPECT_NE(excuse("%x: f32[3]", "gelu(%x)", "ending", false), "");  // what follows from its values
}

// Its trigamma is good to ten digits: that of loops is no eager's.
TEST(Excuses, OfEagersKernelsExcuseNoLoops) {
  const std::string_view inputs = "%x: f64[3]", call = "polygamma(1, %x)";
  EXPECT_NE(excuse(inputs, call, "bitwise", true), "");
  EXPECT_EQ(excuse(inputs, call, "bitwise", false), "");
}

TEST(Excuses, WhatIsLeftOpenIsOpenToAll) {
  const std::string_view inputs = "%x: f32[3, 4]", call = "upsample_bicubic2d(%x, [4, 4], false)";
  const std::string_view bytes = "%x: u8[1, 1, 3, 4]";
  EXPECT_NE(excuse(bytes, call, "bound", true), "");
  EXPECT_NE(excuse(bytes, call, "bound", false), "");
  EXPECT_EQ(excuse(inputs, "neg(%x)", "bound", true), "");
}

}  // namespace
}  // namespace lenz::fuzz
