// Which missing proofs are bugs, and which nobody can rule out.
#include "compiler/loops/linear.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "compiler/loops/text.h"
#include "compiler/loops/verify.h"
#include "compiler/ops/op_table.h"

namespace lenz::loops {
namespace {

TEST(Linear, DimsAreWhereNoSymbolsMeet) {
  SymPool pool;
  for (const char* text : {"7", "a", "3*a - 2*b + 1", "a//8", "(a + b) % 3", "min(a, b*2)", "(a//2 + b)//3"})
    EXPECT_FALSE(is_nonlinear(parse_dim(text, pool))) << text;
  for (const char* text : {"a*b", "a*a + 1", "a//b", "8 % a", "min(a, b*c)", "(a*b)//2", "3*(a//2)*b"})
    EXPECT_TRUE(is_nonlinear(parse_dim(text, pool))) << text;
}

Program program(const std::string& where, const std::string& extent, const std::string& size,
                const std::string& index) {
  return parse_program("loops @f where " + where + " {\n  input %a: f32[s0]\n  input %b: f32[s1]\n  input %x: f32[" +
                           size + "]\n  temp %y: f32[" + extent + "] placed\n  for i0 < " + extent +
                           " {\n    %0 = load %x[" + index + "]\n    store %y[i0] = %0\n  }\n  return %y\n}\n",
                       op_table());
}
const std::string kSizes = "s0 in 1..64, s1 in 1..64";
ProgramVerdict verdict(const std::string& where, const std::string& extent, const std::string& size,
                       const std::string& index) {
  return verify(program(where, extent, size, index));
}

// 2*a*b <= a*a + b*b, because a square is not below 0.
TEST(Linear, ProofsOfProductsMayBeMissing) {
  const ProgramVerdict v = verdict(kSizes, "s0*s1*2", "s0*s0 + s1*s1", "i0");
  ASSERT_EQ(v.violations.size(), 1u);
  EXPECT_EQ(v.violations[0].rule, 301);
  EXPECT_TRUE(v.lacks_proofs_alone());
}

TEST(Linear, ProofsOfLinearSizesMayNot) {
  const ProgramVerdict v = verdict(kSizes, "s0", "s1*2", "i0");
  ASSERT_EQ(v.violations.size(), 1u);
  EXPECT_FALSE(v.violations[0].nonlinear);
  EXPECT_FALSE(v.lacks_proofs_alone());
  // A product that is a number is none, and what ties other sizes excuses nothing.
  EXPECT_FALSE(verdict("s0 in 1..64, s1 in 1..64, s0*s1 == 12", "s0*s1", "s0*s1 - 1", "i0").lacks_proofs_alone());
  EXPECT_FALSE(verdict("s0 in 1..64, s1 in 1..64, s0*s1 != 12", "s0", "s1", "i0").lacks_proofs_alone());
  // One that is missing beside one that may be.
  ProgramVerdict both = verdict(kSizes, "s0*s1*2", "s0*s0 + s1*s1", "i0");
  both.violations.push_back(v.violations[0]);
  EXPECT_FALSE(both.lacks_proofs_alone());
}

// An extent counts as the index does, whose axis it is.
TEST(Linear, ExtentsCount) {
  EXPECT_TRUE(verdict(kSizes, "s0*s1", "s0", "i0").lacks_proofs_alone());
  EXPECT_TRUE(verdict(kSizes, "s0", "s0", "i0//s1 + 1").lacks_proofs_alone());
}

TEST(Linear, WhoNeedsProofsRefusesAll) {
  const Program lacking = program(kSizes, "s0*s1*2", "s0*s0 + s1*s1", "i0");
  EXPECT_FALSE(require_linear_proofs(lacking, "a test"));
  EXPECT_THROW(require_valid(lacking, "a test"), InternalError);
  EXPECT_TRUE(require_linear_proofs(program(kSizes, "s0*s1*2", "s0*s1*3", "i0"), "a test"));
  EXPECT_THROW(require_linear_proofs(program(kSizes, "s0", "s1", "i0"), "a test"), InternalError);
}

}  // namespace
}  // namespace lenz::loops
