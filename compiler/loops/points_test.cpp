// How many points a program runs, of sizes that are known when it is called.
#include "compiler/loops/points.h"

#include <gtest/gtest.h>

#include "compiler/loops/text.h"
#include "compiler/ops/op_table.h"

namespace lenz::loops {
namespace {

double points_at(const std::string& body, int64_t size) {
  const Program program = parse_program(
      "loops @g {\n  input %x: f32[s0] placed\n  temp %y: f32[s0] placed\n" + body + "  return %y\n}\n", op_table());
  return points(program, [&](const SymNode* s) { return symbol_name(s) == "s0" ? std::optional(size) : std::nullopt; });
}

TEST(Points, OfNests) {
  EXPECT_EQ(points_at("  for i < s0 {\n    %0 = load %x[i]\n    store %y[i] = %0\n  }\n", 1000), 1000);
}

// Whole tiles, of which the last one may end earlier.
TEST(Points, OfKernelsInTiles) {
  const std::string tiles =
      "  kernel t < (s0 + 63)//64 {\n    for i < min(64, s0 - t*64) lanes 8 {\n"
      "      %0 = load %x[i + t*64]\n      store %y[i + t*64] = %0\n    }\n  }\n";
  EXPECT_EQ(points_at(tiles, 640), 640);
  EXPECT_EQ(points_at(tiles, 1000), 1024);
  EXPECT_EQ(points_at(tiles, 0), 0);
}

}  // namespace
}  // namespace lenz::loops
