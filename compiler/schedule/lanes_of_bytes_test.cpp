// Bytes and truths have as many lanes as a vector has bytes, where nothing else is computed.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "compiler/driver/compile.h"
#include "compiler/graph/text.h"
#include "compiler/loops/text.h"
#include "compiler/loops/verify.h"
#include "compiler/ops/op_table.h"
#include "compiler/schedule/realise.h"

namespace lenz::schedule {
namespace {

using testing::HasSubstr;
using testing::Not;

std::string made_of(const std::string& dtype, const std::string& value, int columns, const std::string& target) {
  const std::string graph = fmt::format(
      "graph @g(%x: {0}[40, {1}], %y: {0}[40, {1}]) {{\n  %r = {2}\n  return %r\n}}\n", dtype, columns, value);
  const loops::Program made = schedule(to_loops(*parse_graph(graph, op_table())), cpu_target(target, 1));
  loops::require_valid(made, "the scheduler");
  return loops::print(made);
}

TEST(LanesOfBytes, FillAVector) {
  EXPECT_THAT(made_of("bool", "aten.logical_and(%x, %y)", 100, "avx2"), HasSubstr("lanes 32"));
  EXPECT_THAT(made_of("u8", "aten.mul(%x, %y)", 100, "avx2"), HasSubstr("lanes 32"));
  EXPECT_THAT(made_of("i8", "aten.maximum(%x, %y)", 100, "generic"), HasSubstr("lanes 16"));
  EXPECT_THAT(made_of("u8", "aten.eq(%x, %y)", 100, "avx512"), HasSubstr("lanes 32"));
}

TEST(LanesOfBytes, NotWhereAnythingIsWider) {
  EXPECT_THAT(made_of("i16", "aten.mul(%x, %y)", 100, "avx2"), HasSubstr("lanes 8"));
  EXPECT_THAT(made_of("u8", "aten.div(%x, %y)", 100, "avx2"), HasSubstr("lanes 8"));
  EXPECT_THAT(made_of("f32", "aten.lt(%x, %y)", 100, "avx2"), HasSubstr("lanes 8"));
}

TEST(LanesOfBytes, NotWhereTheyAreCombinedOrFew) {
  EXPECT_THAT(made_of("bool", "aten.any(%x, 1)", 100, "avx2"), Not(HasSubstr("lanes 32")));
  EXPECT_THAT(made_of("u8", "aten.cumsum(%x, 1, dtype=u8)", 100, "avx2"), Not(HasSubstr("lanes 32")));
  EXPECT_THAT(made_of("bool", "aten.logical_and(%x, %y)", 5, "avx2"), HasSubstr("lanes 8"));
}

}  // namespace
}  // namespace lenz::schedule
