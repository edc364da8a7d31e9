// Sizes that a branch refuses are none for the graph, whether it is taken or not: so such a case is none.
#include <gtest/gtest.h>

#include "fuzz/reduce.h"

namespace lenz::fuzz {
namespace {

TEST(UntakenBranch, SizesThatItRefusesAreNoCase) {
  const auto failure = failure_alone(
      parse_case(R"(# fuzz: values=ordinary seed=0 sizes=s12=3,s13=2,s16=2,s20=4,s21=2,s22=65,s23=4 target=avx2
graph @fuzzed(
    %x7: bf16[0, s12, s13] init uniform(-4.0, 4.0, seed=27538),
    %x10: bf16[s16] init uniform(-4.0, 4.0, seed=13553),
    %x13: f64[s20, s21, s22] init uniform(0.125, 4.0, seed=33254),
    %x14: bf16[s23, 2, 2] init uniform(-4.0, 4.0, seed=16180),
    %c5: bool[] init integers(0, 1, seed=1)
) where s12 in 1..64, s13 in 1..64, s16 in 2..64, s20 in 0..64, s21 in 0..64, s22 in 2..65, s23 in 0..64 assuming 3 == s12, s13 == 2, s16 == 2, s20 != 0, s21 != 0, s21 != 1, s20 != 1, 4 == s20, s16 % s21 == 0 {
  %0 = lenz.cond(%c5, @yes0fuzzed, @no0fuzzed, [%x13, %x10, %x7, %x14])
  return %0
}

graph @yes0fuzzed(%a0: f64[4, s0, s1], %a1: bf16[s2], %a2: bf16[0, s3, s4], %a3: bf16[s5, s6, s7]) where s0 in 1..64, s1 in 0..65, s2 in 0..64, s3 in 2..64, s4 in 2..64, s5 in 1..64, s6 in 1..64, s7 in 1..65 {
  %0 = lenz.constant(f64[2] [0.12415407099295983, 5e-324])
  %1 = aten.ge(%0, -0.4375)
  %2 = aten.ge(%0, -0.4375)
  %3 = aten.to(%2, f64)
  return %3
}

graph @no0fuzzed(%a0: f64[s0, s1, s2], %a1: bf16[s3], %a2: bf16[0, s4, 2], %x3: bf16[s5, s6, s7]) where s0 in 2..64, s1 in 1..64, s2 in 0..65, s3 in 2..64, s4 in 0..64, s5 in 0..64, s6 in 2..64, s7 in 1..65 assuming s5 != 1, s7 != 1, s5*s6*s7 == 520 {
  %0 = aten.ge(%x3, -1)
  %1 = aten.ge(%x3, -1)
  %2 = aten.reshape(%1, [520])
  %3 = aten.slice(%2, start=170, end=172)
  %4 = aten.to(%3, f64)
  return %4
}
)"),
      {});
  EXPECT_FALSE(failure) << failure->key() << failure->detail;
}

}  // namespace
}  // namespace lenz::fuzz
