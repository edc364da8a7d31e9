// What lies in memory that is still needed is seen without running any code.
#include "fuzz/properties/shared_memory.h"

#include <gtest/gtest.h>

#include "compiler/loops/text.h"
#include "compiler/ops/op_table.h"

namespace lenz::fuzz {
namespace {

// A row is scanned into %a, read at these places into %b, and that is scanned into the output.
std::string of_two_in_one_slot(const std::string& index, bool one_slot) {
  const loops::Program program = loops::parse_program(
      "loops @g {\n  input %x: f32[8]\n  temp %a: f32[8]\n  temp %b: f32[8]\n  temp %y: f32[8]\n"
      "  kernel \"first\" {\n    for i0 < 8 \"aten.neg\" {\n      %0 = load %x[i0]\n      %1 = neg.f32 %0\n"
      "      store %a[i0] = %1\n    }\n  }\n"
      "  kernel \"second\" {\n    for i1 < 8 \"aten.neg\" {\n      %0 = load %a[" +
          index +
          "]\n      %1 = neg.f32 %0\n      store %b[i1] = %1\n    }\n  }\n"
          "  kernel \"third\" {\n    for i2 < 8 \"aten.neg\" {\n      %0 = load %b[i2]\n      %1 = neg.f32 %0\n"
          "      store %y[i2] = %1\n    }\n  }\n  return %y\n}\n",
      op_table());
  runtime::MemoryPlan plan = runtime::plan_memory(program);
  if (one_slot)
    for (runtime::Place& place : plan.places) place.number = 0;
  return overwritten(program, plan, [](const SymNode*) { return std::nullopt; });
}

TEST(SharedMemory, MayBeWhereEachPointReadsWhatItWrites) {
  EXPECT_EQ(of_two_in_one_slot("i1", true), "");
  EXPECT_EQ(of_two_in_one_slot("i1", false), "");
}

TEST(SharedMemory, MayNotBeWhereAnotherPointReads) {
  EXPECT_EQ(of_two_in_one_slot("7 - i1", true), "b lies where a is needed still, in slot 0");
  EXPECT_EQ(of_two_in_one_slot("7 - i1", false), "");
}

}  // namespace
}  // namespace lenz::fuzz
