#include "fuzz/properties/primitives.h"

#include <gtest/gtest.h>

#include "compiler/backend/llvm/ulp.h"

namespace lenz::fuzz {
namespace {

TEST(Primitives, OfEachDtypeAndTargetHold) {
  RandomChooser choose(7);
  for (int i = 0; i < 200; ++i) EXPECT_EQ(wrong_primitive(choose), "");
}

// A sine is no cosine: what is said names the primitive, its dtype, the target and where.
TEST(Primitives, AWrongOneIsSaid) {
  ScalarRow wrong = *find_scalar("sin");
  wrong.eval = find_scalar("cos")->eval;
  const std::string said = wrong_primitive(
      {.row = &wrong, .compute = Dtype::c64, .result = Dtype::c64, .target = native::runnable_target(), .samples = 64});
  EXPECT_NE(said.find("c64 to c64 on "), std::string::npos) << said;
  EXPECT_NE(said.find("sin("), std::string::npos) << said;
}

}  // namespace
}  // namespace lenz::fuzz
