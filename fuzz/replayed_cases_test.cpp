// Cases that a campaign found and that no check of a graph alone shows: special values, plans of small grain, or a
// death of the reference.
#include "fuzz/replayed_case_test.h"

namespace lenz::fuzz {
namespace {

// Integers that are drawn may be any for the reference: eager's kernel dies of some quotients of the least one.
TEST(ReplayedCases, QuotientsOfIntegersThatMayBeAny) {
  expect_to_hold(R"(# fuzz: values=ordinary seed=1221266583 target=generic
graph @fuzzed(%x0: f32[1, 2, 4] init uniform(-4.0, 4.0, seed=33980)) {
  %0 = aten.dropout(%x0, 0.75, true)
  %1 = aten.to(%0, i32)
  %2 = aten.slice(%0, dim=2, start=1, end=2)
  %3 = aten.to(%2, i32)
  %4 = aten.lcm(%1, %3)
  return %4
}
)");
}

// What is subtracted of complex numbers is multiplied by -1, and inf * 0 is NaN: no sum is a difference there.
TEST(ReplayedCases, ComplexSumsWithAnInfiniteNegative) {
  expect_to_hold(R"(# fuzz: values=ordinary seed=392833494 target=generic
graph @fuzzed(
    %x0: c128[1, 1, 2, 2] init uniform(-4.0, 4.0, seed=9798),
    %c2: c128[1, 1, 1, 1] init uniform(-2.0, 2.0, seed=1)
) {
  %0 = aten.neg(%x0)
  %1 = aten.add(%0, %c2)
  return %1
}
)");
}

// A random row that draws nothing, nor does the random step of its definition: who fuses keeps what overflows wider.
TEST(ReplayedCases, NoisySlopesThatOverflowWithoutNoise) {
  expect_to_hold(R"(# fuzz: values=ordinary seed=3940815160 target=generic
graph @fuzzed(
    %x0: f16[2] init uniform(-4.0, 4.0, seed=64418),
    %x1: f16[2] init uniform(-4.0, 4.0, seed=48045),
    %x2: f16[2] mut init uniform(-4.0, 4.0, seed=1269)
) {
  %0, %1 = aten.rrelu_with_noise_functional(%x0, %x1, upper=4)
  %2 = aten.conj_physical(%0, out=%x2)
  %3 = aten.sin(%2)
  return %3
}
)");
}

// Of these sizes and this grain the first result goes past the caches with one thread, and not with two.
TEST(ReplayedCases, SumsOfWhatGoesPastTheCachesOnOneThread) {
  expect_to_hold(R"(# fuzz: values=ordinary seed=64 sizes=s0=30,s1=21 target=generic
graph @fuzzed(%x0: f64[s0, s1] init uniform(-2.0, 2.0, seed=34655)) where s0 in 0..64, s1 in 2..64 {
  %0 = aten.to(%x0, f32)
  %1 = aten.sum.dim_IntList(%0, [1])
  return %1, %0
}
)");
}

// Two short axes of a window, of each of which rows have parts.
TEST(ReplayedCases, WindowsWhoseRowsHaveShortPartsTwice) {
  expect_to_hold(R"(# fuzz: values=ordinary seed=0 target=generic
graph @fuzzed(%x1: f32[1, 2, 64, 4, 1] init uniform(-4.0, 4.0, seed=56944)) {
  %0 = aten.adaptive_avg_pool3d(%x1, [4, 2, 3])
  return %0
}
)");
}

// What is added may leave the range by a factor where the sum that it cancels in does not.
TEST(ReplayedCases, ScoresThatCancelBeforeTheyAreScaled) {
  expect_to_hold(R"(# fuzz: values=special seed=2555202449
graph @fuzzed(
    %x0: f32[4, 7, 3] init uniform(-4.0, 4.0, seed=0),
    %x1: f32[4, 3, 3] init uniform(-4.0, 4.0, seed=0),
    %x2: f32[4, 7, 3] init uniform(-4.0, 4.0, seed=62746),
    %c5: f32[4, 3, 3] init uniform(-2.0, 2.0, seed=1)
) {
  %0 = aten.baddbmm(%x2, %x0, %x1)
  %1 = aten.mul(%0, -2.125)
  %2 = aten.softmax(%1, -1)
  %3 = aten.bmm(%2, %c5)
  return %3
}
)");
}

// How far the last part of a sum goes hangs on its number, which is no axis that another one becomes one with.
TEST(ReplayedCases, PartsOfSumsWhoseNumbersAreNoRows) {
  expect_to_hold(R"(# fuzz: values=ordinary seed=740538072 target=avx2
graph @fuzzed(
    %b0: f32[s0, s1, 9, s2] init uniform(-4.0, 4.0, seed=59140),
    %b1: f32[s1, 1, s3, 1] init uniform(-4.0, 4.0, seed=4419),
    %b2: f32[s0, s0, s4, 3] init uniform(-4.0, 4.0, seed=17542)
) where s0 in 1..64, s1 in 1..64, s2 in 0..64, s3 in 1..64, s4 in 1..1000
  assuming s0 <= s1, s1 % s0 == 0, 1 < max(1, s0), 0 < s2, 0 < s2 - s0*2, s4 == s0*6 + s3 + 1, 3 == s2 - s0*2,
  1 < max(1, s3) {
  %0, %1, %2 = aten.convolution_backward(%b2, %b0, %b1, stride=[s0, 1], padding=[s0, s0], dilation=[1, 1],
    transposed=true, output_padding=[1, 0], groups=s0, output_mask=[false, true, true])
  return %2
}
)");
}

// A mask that bounds leave open: how much it takes is open with it.
TEST(ReplayedCases, SizesThatOpenMasksDecide) {
  expect_to_hold(R"(# fuzz: values=ordinary seed=684081052 target=avx2
graph @fuzzed(
    %x2: f32[3, 3, 1] init uniform(-4.0, 4.0, seed=64443),
    %c4: f32[3, 3, 2] init uniform(-2.0, 2.0, seed=1),
    %c3: c128[3, 6] init uniform(-2.0, 2.0, seed=1)
) where u114_0 in 0..3 {
  %0 = aten.slice(%c4, dim=2, start=1)
  %1 = aten.to(%0, c128)
  %2 = aten.reshape(%1, [9])
  %3 = aten.slice(%2, start=3, end=6)
  %4 = aten.to(%3, bool)
  %5: c128[u114_0, 6] = aten.index(%c3, [%4])
  %6 = aten.sym_size(%5, 0)
  %7 = aten.full([%6], 0.0)
  %8 = aten.geometric(%x2, 0.0625)
  return %7
}
)");
}

// Where eager's own steps overflow, bounds reach to an infinity on one side, and as far as before on the other one.
TEST(ReplayedCases, StepsOfEagersThatOverflowBesideRoundingTheOtherWay) {
  expect_to_hold(R"(# fuzz: values=ordinary seed=1473640180 target=generic
graph @fuzzed(
    %x: bf16[3, 41, 2, 4] init uniform(-4.0, 4.0, seed=49283),
    %x1: bf16[3, 41, 2, 4] init uniform(-4.0, 4.0, seed=50210)
) {
  %0 = aten.elu_backward(%x, 0, 0.0, 2.1875, true, %x1)
  return %0
}
)");
}

// What a definition in a branch decides of sizes, whoever calls the branch has to know: a diagonal's length.
TEST(ReplayedCases, SizesThatADefinitionInABranchDecides) {
  expect_to_hold(R"(# fuzz: values=ordinary seed=0 sizes=s0=9 target=avx2
graph @guards_of_a_branch(
    %x: u8[s0, 6] init integers(0, 4, seed=0),
    %p: f32[] init uniform(-2.0, 2.0, seed=1)
) where s0 in 2..64 {
  %b = aten.any(%p)
  %y = lenz.cond(%b, @yes, @no, [%x])
  return %y
}

graph @yes(%x: u8[s0, 6]) where s0 in 2..64 {
  %y = aten.trace(%x)
  return %y
}

graph @no(%x: u8[s0, 6]) where s0 in 2..64 {
  %y = aten.sum(%x)
  return %y
}
)");
}

// Of what raises and nobody needs, results are given a stand-in each: float8 has no infinity.
TEST(ReplayedCases, RowsOfEightBitsThatRaise) {
  expect_to_hold(R"(# fuzz: values=ordinary seed=0
graph @fuzzed(
    %x0: f8e4m3[2, 1, 1, 1, 1] init uniform(-4.0, 4.0, seed=10966),
    %x1: i64[1, 2] init integers(0, 2, seed=33177),
    %x2: f8e4m3[1, 2, 1, 1, 1] init uniform(-4.0, 4.0, seed=2111),
    %c3: i64[1, 2] init integers(0, 3, seed=1),
    %c4: f8e4m3[2, 1, 2, 1, 1] init uniform(-2.0, 2.0, seed=1)
) {
  %0 = aten._unsafe_index_put(%x0, [%x1, %c3], %x2)
  %1 = aten.cat([%c4, %0], dim=2)
  %2 = aten.slice(%1, end=0)
  return %2
}
)");
}

// Float8 of one element of a list among integers: its ends are those of f32.
TEST(ReplayedCases, FloatsOfEightBitsAmongIntegers) {
  expect_to_hold(R"(# fuzz: values=special seed=2314849808 target=generic
graph @fuzzed(%x0: i8[], %x1: f8e5m2[3, 4] init uniform(0.125, 4.0, seed=34934)) {
  %0 = aten._foreach_pow([%x0, %x1], [2, false])
  return %0
}
)");
}

// The order is no number, and what it is of rounds to a pole, where that does not count.
TEST(ReplayedCases, OrdersThatAreNoneAtPoles) {
  expect_to_hold(R"(# fuzz: values=exact seed=1387416317 target=generic
graph @fuzzed() {
  %0 = lenz.constant(f32[4] [nan, 2.5, inf, nan])
  %1 = aten.full([], 1e-50, dtype=f64)
  %2: float = aten._local_scalar_dense(%1)
  %3 = aten.special_zeta(%0, %2)
  %4 = aten.neg(%3)
  return %4
}
)");
}

// An exponential overflows on eager's way to what lies below the normal numbers.
TEST(ReplayedCases, ComplexSigmoidsFarOut) {
  expect_to_hold(R"(# fuzz: values=special seed=30833993 target=generic
graph @fuzzed(%x0: f16[3, 4, 5] mut, %x1: c128[19, 23] mut) {
  aten._foreach_sigmoid_([%x0, %x1])
  return
}
)");
}

// Of a NaN eager leaves what was in memory before.
TEST(ReplayedCases, PolynomialsOfNaNIntoStrides) {
  expect_to_hold(R"(# fuzz: values=special seed=17749202
graph @fuzzed(
    %x1: f64[5, 2, 4] strides [8, 1, 2] mut init uniform(-0.9375, 4.0, seed=19011)
) {
  %11 = lenz.constant(f64[5, 2, 4] [3.6581094669587415, inf, 2.5835032598799574, 0.4378701936317042, -0.5071291376715928, 3.441057792101689, 3.9959532197119305, 0.7797911314701935, 2.72785852732303, 1.331908938850221, 0.13463646916216376, -0.0, 3.356193954828621, 1.4029289860343934, -1.0, -inf, inf, 3.19589607920822, -0.0, 3.26496367241666, 1.8754906901885926, 2.9881555323550497, inf, nan, -1.0, -0.46578823338536307, 1.0, 5e-324, 2.3280565172700083, -inf, 3.3602724061458584, 0.4495824087222151, 0.30608623073369934, 2.827838633461242, 5e-324, 1.7976931348623157e+308, 0.5217200928884065, 1.0, -0.0, -0.6394231022936374])
  %12 = aten.special_shifted_chebyshev_polynomial_w(%11, 3, out=%x1)
  %13 = aten.tanh(%12)
  return %13
}
)");
}

// A long row of half floats, walked in two places at once.
TEST(ReplayedCases, LeastHalfFloatsOfALongRow) {
  expect_to_hold(R"(# fuzz: values=ordinary seed=1848880642 sizes=s0=3,s1=256
graph @fuzzed(%x0: bf16[s0, 3, s1] init uniform(-4.0, 4.0, seed=62305)) where s0 in 0..64, s1 in 1..256 assuming s0*s1*3 != 0 {
  %0 = aten.min(%x0)
  %1 = aten.neg(%0)
  return %1, %0
}
)");
}

// Nearer to an end of its domain than an angle can say: a polynomial of many steps is its end.
TEST(ReplayedCases, PolynomialsOfGreatDegreeNextToAnEnd) {
  expect_to_hold(R"(# fuzz: values=special seed=1
graph @fuzzed(%x3: f64[2, 4] init uniform(-0.9375, 4.0, seed=42491)) {
  %0 = aten.full([], 70000.0)
  %1: float = aten._local_scalar_dense(%0)
  %2 = aten.special_shifted_chebyshev_polynomial_u(%x3, %1)
  return %2
}
)");
}

// What an alpha of zero leaves no share in the result may be left out or computed, beside a complex beta too.
TEST(ReplayedCases, ComplexProductsWithoutAShare) {
  for (const std::string alpha : {"0", "complex(0.0, 0.0)"})
    expect_to_hold(R"(# fuzz: values=ordinary seed=428236966 target=generic
graph @fuzzed(
    %x2: c128[1, 17, 8] mut init uniform(-4.0, 4.0, seed=48354),
    %c8: c128[1, 17, 3] init uniform(-2.0, 2.0, seed=1),
    %c3: c128[1, 17, 8] init uniform(-2.0, 2.0, seed=1),
    %c4: c128[1, 3, 8] init uniform(-2.0, 2.0, seed=1)
) {
  %0 = aten.baddbmm(%c3, %c8, %c4, beta=complex(-1.875, 0.125), alpha=)" +
                   alpha + ", out=%x2)\n  return\n}\n");
}

// A root that eager rounds to 1, and a better one does not: to the power of NaN that is 1 or NaN.
TEST(ReplayedCases, PowersBesideOneByNoNumber) {
  expect_to_hold(R"(# fuzz: values=special seed=2877158236 target=generic
graph @fuzzed(%x0: f64[3, 33, 2, 4, 1] init uniform(-4.0, 4.0, seed=47658)) {
  %0 = aten.rsqrt(%x0)
  %1 = aten.numpy_T(%0)
  %2 = aten.slice(%1, dim=1, start=0, end=1)
  %3 = aten.slice(%2, dim=4, start=1, end=2)
  %4 = aten.float_power(%3, %1)
  return %4
}
)");
}

// One power that a dtype can't hold, of an exponent that only the run knows, is refused.
TEST(ReplayedCases, OnePowerOutOfRange) {
  for (const char* dtype : {"f32", "i32", "u8", "c64", "f16"}) {
    SCOPED_TRACE(dtype);
    expect_to_hold(R"(# fuzz: values=ordinary seed=1
graph @fuzzed(%x0: f32[4]) {
  %0 = aten.full([], 500.0, dtype=f64)
  %1: float = aten._local_scalar_dense(%0)
  %2 = aten.logspace(%1, -1, 1, base=2.0, dtype=)" +
                   std::string(dtype) + R"()
  %3 = aten.tanh(%x0)
  return %2, %3
}
)");
  }
}

// A quotient that vanishes has a sign: of -5e-324, which may be -0 in a narrower dtype, by a great number.
TEST(ReplayedCases, RemaindersOfWhatMayBeZero) {
  expect_to_hold(R"(# fuzz: values=special seed=3770217406
graph @fuzzed(
    %x1: f64[1, 17] init uniform(-4.0, 4.0, seed=51694),
    %x2: f32[1, 17] init uniform(1.0, 4.0, seed=50944),
    %x3: f32[1, 17] mut init uniform(-4.0, 4.0, seed=15141)
) {
  %0 = aten.to(%x1, f32)
  %1 = aten.remainder(%0, %x2, out=%x3)
  return
}
)");
}

// What becomes an integer of NaN is open, and so is that in a wider one, and back in the narrower one.
TEST(ReplayedCases, OpenIntegersThatAreNarrowed) {
  expect_to_hold(R"(# fuzz: values=special seed=443032968 target=avx2
graph @fuzzed(
    %x0: f32[8, 2, 4, 3] init uniform(-4.0, 4.0, seed=45453),
    %x4: i64[8, 2, 4, 3] init integers(-4, 4, seed=23938)
) {
  %0 = aten.to(%x0, i32)
  %1, %2 = aten.sort(%0)
  %3 = aten.clamp_max_(%1, %x4)
  return %3
}
)");
}

// A host may have keys beside one another where eager has not, and runs another kernel then.
TEST(ReplayedCases, AttentionOfWhatLiesOtherwise) {
  expect_to_hold(R"(# fuzz: values=special seed=0 target=generic
graph @fuzzed(
    %x0: f32[3, 3, 6, 4] init integers(1, 9, seed=45604),
    %x1: f32[3, 3, 6, 4] strides [6, 72, 1, 18] mut init uniform(-4.0, 4.0, seed=51469),
    %x5: f32[3, 3, 6, 4] init uniform(-4.0, 4.0, seed=46491),
    %c3: f32[3, 1, 6, 4] init uniform(-2.0, 2.0, seed=1)
) {
  %0 = aten.binomial(%x0, %c3, out=%x1)
  %1 = aten.scaled_dot_product_attention(%x5, %0, %0)
  return %1, %0
}
)");
}

// What only grows the tensor that another op then writes all of is seen by nobody.
TEST(ReplayedCases, RefusalsInWhatAnotherWritesOver) {
  expect_to_hold(R"(# fuzz: values=ordinary seed=0
graph @fuzzed(
    %x3: f32[1] init uniform(-4.0, 4.0, seed=40287),
    %c5: f32[1] init uniform(-2.0, 2.0, seed=1),
    %c2: f32[0] mut init uniform(-2.0, 2.0, seed=1)
) {
  %0 = aten.full([], 1e+300, dtype=f64)
  %1: float = aten._local_scalar_dense(%0)
  %2 = aten.rsub(%x3, %x3, alpha=%1, out=%c2)
  %3 = aten.cumsum(%c5, 0, out=%2)
  return
}
)");
}

// A dtype without infinities has none of a complex number's either.
TEST(ReplayedCases, InfinitePartsInADtypeThatHasNone) {
  expect_to_hold(R"(# fuzz: values=special seed=2243718844 target=avx2
graph @fuzzed(%x0: c128[40, 1] init uniform(-4.0, 4.0, seed=49283)) {
  %0 = aten.to(%x0, f8e4m3)
  %1 = aten.to(%0, cpu, c128)
  %2 = aten.neg(%1)
  return %2
}
)");
}

// Of whole numbers sinc is rounding alone: how many are not 0 is anybody's.
TEST(ReplayedCases, AsManyAsRoundingLeaves) {
  for (const std::string taken : {"aten.masked_select(%0, %1)", "aten.index(%0, [%1])", "aten.nonzero(%1)"})
    expect_to_hold(R"(# fuzz: values=ordinary seed=0 target=avx2
graph @fuzzed(%x0: f32[34] init integers(0, 3, seed=1)) {
  %0 = aten.special_sinc(%x0)
  %1 = aten.to(%0, bool)
  %2 = )" + taken + "\n  return %2\n}\n");
}

// What a nest stores at points that it reduces is stored at each of them, of which there may be none.
TEST(ReplayedCases, AccountsOfReductionsOverNothing) {
  expect_to_hold(R"(# fuzz: values=ordinary seed=0 target=generic
graph @fuzzed(%x2: f32[4, 0] strides [1, 0] init uniform(-4.0, 4.0, seed=1475)) {
  %0 = aten.special_ndtr(%x2)
  %1 = aten._log_softmax_backward_data(%0, %0, -1, f32)
  return %1
}
)");
}

// Of few elements eager rounds each step to halves, in its order: 65504 * (1 + 0.189) is infinite, the result is not.
TEST(ReplayedCases, HalvesThatOverflowOnTheWay) {
  expect_to_hold(R"(# fuzz: values=special seed=962152364
graph @fuzzed(
    %x0: f16[3, 1, 1] init uniform(-4.0, 4.0, seed=1253),
    %x1: f16[] init uniform(-4.0, 4.0, seed=54431)
) {
  %0 = aten.sigmoid_backward(%x1, %x0)
  return %0
}
)");
}

// What NaN becomes where it is put among integers is anybody's.
TEST(ReplayedCases, NoNumberAmongIntegers) {
  for (const std::string call : {"aten.select_scatter(%x0, %x1, 0, 0)", "aten.diagonal_scatter(%x2, %x3)"})
    expect_to_hold(R"(# fuzz: values=nan seed=0 target=avx2
graph @fuzzed(%x0: i32[1, 1, 1, 1], %x1: f32[1, 1, 1], %x2: i32[1, 1], %x3: f32[1]) {
  %0 = )" + call + "\n  return %0\n}\n");
}

// A share of nothing that the run alone knows takes nothing, whatever it is of.
TEST(ReplayedCases, SharesThatTheRunKnowsToBeNothing) {
  expect_to_hold(R"(# fuzz: values=ordinary seed=2744201464 target=generic
graph @fuzzed(
    %x0: i64[1, 1],
    %x1: f32[1, 1] init uniform(-4.0, 4.0, seed=43522),
    %x2: f32[1] init uniform(-4.0, 4.0, seed=46560),
    %x3: f32[1] mut init uniform(-4.0, 4.0, seed=40487)
) {
  %0 = aten.full([], 0.0)
  %1: float = aten._local_scalar_dense(%0)
  %2 = aten.addmv_(%x3, %x1, %x2, beta=%1)
  return %x0
}
)");
}

// What eager itself is off by in one result is no fault of a pass that changes the bits of another.
TEST(ReplayedCases, EagersOwnRoundingBesideComplexProducts) {
  expect_to_hold(R"(# fuzz: values=ordinary seed=0
graph @fuzzed(
    %x1: f32[] mut init uniform(-4.0, 4.0, seed=11823),
    %x4: c64[4, 7, 3, 4] strides [1, 12, 4, 84] mut init uniform(-4.0, 4.0, seed=13805),
    %x5: c64[4, 7, 3, 4] init uniform(-4.0, 4.0, seed=988),
    %c7: f32[] init uniform(-2.0, 2.0, seed=1),
    %c8: c64[1, 1, 3, 4] init uniform(-2.0, 2.0, seed=1)
) {
  %0 = lenz.constant(bf16[3, 3, 2, 2] [-0.46875, 1.5, -3.578125, 1.0078125, -3.640625, 3.0, -1.65625, -2.3125, -2.25, -1.7890625, 0.1484375, -0.9453125, -2.609375, -1.2578125, 3.984375, 2.609375, 3.625, -2.84375, -0.77734375, -3.234375, -2.03125, 2.828125, -3.90625, -2.671875, -1.46875, 1.109375, -2.109375, 1.4609375, 3.765625, -1.2109375, -3.328125, 1.578125, 2.46875, -3.828125, -2.046875, 0.796875])
  %1 = lenz.constant(bf16[3] [0.6484375, -1.5390625, -0.64453125])
  %2, %3, %4 = aten.native_batch_norm(%0, %1, %1, training=true, momentum=0.0, eps=0.0)
  aten._foreach_addcmul_([%x1, %x4], [%c7, %c8], [%c7, %x5], [1, 1])
  return %4
}
)");
}

// A mean and what is added to it may cancel, however large both are.
TEST(ReplayedCases, DrawsWhoseMeanAndDeviationCancel) {
  expect_to_hold(R"(# fuzz: values=ordinary seed=1
graph @fuzzed(%x0: f64[4096] init uniform(0.0, 9e15), %x1: f64[4096] init uniform(0.0, 9e15)) {
  %0 = aten.normal(%x0, %x1)
  return %0
}
)");
}

// The first of powers that the dtype does not hold is an infinity, however well its exponent is known.
TEST(ReplayedCases, PowersThatBeginBeyondTheDtype) {
  expect_to_hold(R"(# fuzz: values=ordinary seed=2164318893 target=avx2
graph @call(%x0: u8[], %x1: i64[]) {
  %0 = aten.fill(%x0, 255)
  %1 = aten.fill(%x1, -128)
  %2 = aten.logspace(%0, %1, 7, base=2.0)
  return %2
}
)");
}

// How many different numbers there are among uncertain ones may be another count than the graph says.
TEST(ReplayedCases, CountsThatRoundingTakesBeyondAFact) {
  expect_to_hold(R"(# fuzz: values=ties seed=804341974 target=generic
graph @fuzzed(%x0: f32[1, 5, 5, 1] init uniform(-4.0, 4.0, seed=37493)) where u3_0 in 1..6 {
  %0 = aten._upsample_bilinear2d_aa(%x0, [1, 3], false)
  %1: f32[u3_0], %2: i64[0], %3: i64[0] = aten._unique2(%0)
  return %1
}
)");
}

// An integer rounded on its way to f32 is odd, even or neither: below zero that decides whether a sum has an end.
TEST(ReplayedCases, OrdersThatRoundingMakesEven) {
  expect_to_hold(R"(# fuzz: values=special seed=524315855
graph @fuzzed(%x0: i32[15] strides [3], %x1: f32[15] mut init uniform(1.125, 4.0, seed=53417)) {
  %0 = aten.special_zeta(%x0, -1.5, out=%x1)
  return %0
}
)");
}

// Eager asks whether the greatest fits into what it is written to; its meaning converts it as a copy does.
TEST(ReplayedCases, GreatestIntegersBeyondWhatIsWritten) {
  expect_to_hold(R"(# fuzz: values=special seed=575581365 target=generic
graph @fuzzed(%x0: i64[2, 9], %x1: i32[] mut init integers(-4, 4, seed=36587)) {
  %0 = aten.max(%x0, out=%x1)
  return %0
}
)");
}

// Eager takes the mean in the dtype that it writes to: rounded to f16 before it would be another number of bf16.
TEST(ReplayedCases, AMeanOfHalvesWrittenAsOtherHalves) {
  expect_to_hold(R"(# fuzz: values=sorted seed=2827176654 target=avx2
graph @call(
    %x0: f16[3, 1] init uniform(-4.0, 4.0, seed=37909),
    %x1: f16[3, 1] init uniform(-4.0, 4.0, seed=58346),
    %x2: bf16[] mut init uniform(-4.0, 4.0, seed=10953)
) {
  %0 = aten.mse_loss(%x0, %x1, out=%x2)
  return %0
}
)");
}

// Powers of bools are filled in, or copied: there is no primitive of them, and the reference had none for uncertain
// ones.
TEST(ReplayedCases, PowersOfUncertainBools) {
  expect_to_hold(R"(# fuzz: values=ordinary seed=0 sizes=s0=2
graph @fuzzed(
    %x4: f32[2, 1] init uniform(-4.0, 4.0, seed=33231),
    %c2: f32[1, s0] init uniform(-2.0, 2.0, seed=1)
) where s0 in 1..64 assuming 1 != s0, s0 == 2 {
  %0 = aten.mm(%c2, %x4)
  %1 = aten.le(%0, %0)
  %2 = lenz.constant(c128[1] [complex(1.5833142287438273, 3.3838883507157447)])
  %3 = aten._foreach_pow([%2, %1], [0.375, false])
  %4 = lenz.getitem(%3, 0)
  return %4
}
)");
}

// Variances that eager keeps in f16: one that is too great makes their average infinite, which f32 holds.
TEST(ReplayedCases, AveragesOfRoundedVariances) {
  expect_to_hold(R"(# fuzz: values=special seed=2368454628 sizes=s0=2,s1=7 target=avx2
graph @symbolic(%x0: f16[s0, s1, s1], %x1: f32[s1] mut, %x2: f32[s1] mut) assuming s0 != 0, s1 != 0, s1 != 1, s0 != 1 {
  %0 = aten.instance_norm(%x0, running_mean=%x1, running_var=%x2, use_input_stats=true, momentum=0.125, eps=0.0, cudnn_enabled=false)
  return %0
}
)");
}

// Half of the least number is a zero once it is rounded, but not within a fused sum.
TEST(ReplayedCases, HalfOfTheLeastNumberSubtracted) {
  expect_to_hold(R"(# fuzz: values=special seed=914695488 target=generic
graph @fuzzed(%c0: f64[4] init uniform(-2.0, 2.0, seed=1)) {
  %0 = aten.sub(%c0, %c0, alpha=0.5)
  return %0
}
)");
}

// One divided by a complex product that overflows is NaN, in eager too.
TEST(ReplayedCases, ComplexPowersThatOverflowOnTheWay) {
  expect_to_hold(R"(# fuzz: values=special seed=1055560624 target=generic
graph @fuzzed(%x0: c64[1, 255, 1] init uniform(0.125, 4.0, seed=24195)) {
  %0 = aten.pow(%x0, -2)
  return %0
}
)");
}

// A call that raises writes to memory of open sizes: what stands in for what it wrote is as large.
TEST(ReplayedCases, RefusedLossesWrittenToOpenSizes) {
  expect_to_hold(R"(# fuzz: values=ordinary seed=0 sizes=s0=2,s1=5
graph @symbolic(
    %x0: f32[s0, 1, s1, s0], %x1: i64[s0, s1, s0], %x2: f32[1], %x3: f32[s0, s1, s0] mut, %x4: f32[] mut
) assuming s0 != 0, s1 != 0 {
  %0, %1 = aten.nll_loss2d_forward(%x0, %x1, %x2, 0, 0, output=%x3, total_weight=%x4)
  return
}
)");
}

// Numbers that the run knows are factors of floats: as integers their products, and what is 0 less than they are, end.
TEST(ReplayedCases, FactorsOfTheGreatestIntegers) {
  expect_to_hold(R"(# fuzz: values=special seed=3411872765 target=generic
graph @fuzzed(%b0: f32[9] init uniform(-4.0, 4.0, seed=20565), %b1: i64[]) where u2_0 in -9223372036854775808.. {
  %0: int u2_0 = aten._local_scalar_dense(%b1)
  %1 = aten.elu(%b0, %0, %0)
  %2 = aten.hardshrink(%b0, %0)
  %3 = aten.hardshrink_backward(%b0, %b0, %0)
  %4 = aten.elu_backward(%b0, %0, %0, %0, false, %b0)
  return %1, %2, %3, %4
}
)");
}

}  // namespace
}  // namespace lenz::fuzz
