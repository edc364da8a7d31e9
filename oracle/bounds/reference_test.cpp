// The reference and its bounds, where a person can say what they must be; and the judge: what is right passes, what is
// wrong by more than any right answer can be does not.
#include "oracle/bounds/reference.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "compiler/graph/text.h"
#include "compiler/ops/op_table.h"
#include "oracle/tensors.h"

namespace lenz::oracle {
namespace {

class Judged {
 public:
  explicit Judged(std::string_view text, std::vector<std::vector<double>> values = {})
      : graph_(parse_graph(text, op_table())), boxed_(DeviceKind::cpu), values_(std::move(values)) {
    complete(binding_, *graph_);
    eager = Executor(boxed_).run(*graph_, inputs(), binding_);
    reference = Referee(boxed_).run(*graph_, inputs(), binding_);
  }

  std::vector<double> values(size_t output = 0) const { return doubles(reference.outputs[output].value); }
  std::vector<double> errors(size_t output = 0) const {
    const Bounded& b = reference.outputs[output];
    return b.error ? doubles(b.error) : std::vector<double>(doubles(b.value).size(), 0.0);
  }
  Judgement verdict() const { return judge(*graph_, reference, eager); }
  // An element of an output of eager's put otherwise.
  Judgement with(size_t output, size_t element, float value) {
    std::vector<std::byte> bytes = elements_of(eager.outputs[output]);
    std::memcpy(bytes.data() + element * sizeof value, &value, sizeof value);
    set_elements(eager.outputs[output], bytes);
    return verdict();
  }

  Execution eager;
  Reference reference;

 private:
  std::vector<RunValue> inputs() {
    std::vector<RunValue> made = initial_inputs(*graph_, boxed_, binding_);
    for (size_t i = 0; i < values_.size(); ++i) {
      if (values_[i].empty()) continue;
      std::vector<float> floats(values_[i].begin(), values_[i].end());
      set_elements(made[i], std::as_bytes(std::span(floats)));
    }
    return made;
  }
  static std::vector<double> doubles(const RunValue& v) {
    std::vector<std::byte> bytes = elements_of(v);
    std::vector<double> all(bytes.size() / sizeof(double));
    std::memcpy(all.data(), bytes.data(), all.size() * sizeof(double));
    return all;
  }

  std::unique_ptr<Graph> graph_;
  Boxed boxed_;
  Binding binding_;
  std::vector<std::vector<double>> values_;
};

constexpr double kUlp = 0x1p-23;  // of f32, at one

// What may be infinite in its dtype may be NaN behind a difference, and no function's range bounds that.
TEST(Reference, WhatMayBeNanHasNoBound) {
  Judged j(R"(graph @g(%x: f32[600]) {
    %big = aten.exp(%x)
    %apart = aten.sub(%big, %big)
    %y = aten.erf(%apart)
    return %y
  })",
           {std::vector<double>(600, 88.72284)});
  EXPECT_TRUE(std::isinf(j.errors()[0]));
  EXPECT_FALSE(j.with(0, 7, std::nanf("")).mismatch);
}

// Nobody promises which sign a NaN has.
TEST(Reference, SignsOfNanAreOpen) {
  Judged j(R"(graph @g(%x: f32[2]) {
    %nan = aten.acos(%x)
    %bit = aten.signbit(%nan)
    %two = aten.copysign(%x, %nan)
    return %bit, %two
  })",
           {{2, 0.5}});
  EXPECT_EQ(j.errors(0), (std::vector<double>{1, 0}));
  EXPECT_EQ(j.errors(1), (std::vector<double>{4, 0}));
}

// A slice's elements carry their own errors wherever the slice's storage is read again.
TEST(Reference, ErrorsStayWithTheElementsOfASlice) {
  std::vector<double> x;
  for (int i = 0; i < 12; ++i) x.push_back(i);
  Judged whole(R"(graph @g(%x: f32[3, 4]) {
    %y = aten.exp(%x)
    return %y
  })",
               {x});
  Judged slice(R"(graph @g(%x: f32[3, 4]) {
    %y = aten.exp(%x)
    %row = aten.select(%y, 0, 1)
    %again = lenz.restride(%row, [1])
    return %again
  })",
               {x});
  std::vector<double> all = whole.errors();
  EXPECT_EQ(slice.errors(), std::vector<double>(all.begin() + 4, all.begin() + 8));
  EXPECT_FALSE(slice.verdict().mismatch);
}

// Kernels differ in whether they multiply the zeros around an image: 0 * inf is NaN. Inside, inf is inf.
TEST(Reference, InfiniteWeightsThatMeetPaddingAreOpen) {
  std::vector<double> weight(9, 1.0);
  weight[0] = HUGE_VAL;
  Judged j(R"(graph @g(%x: f32[2, 1, 4, 4], %w: f32[1, 1, 3, 3]) {
    %y = aten.conv2d(%x, %w, none, [1, 1], [1, 1])
    return %y
  })",
           {std::vector<double>(32, 1.0), weight});
  EXPECT_FALSE(j.verdict().mismatch) << j.verdict().mismatch->summary();
  EXPECT_TRUE(std::isinf(j.errors()[0]));  // the corner: the infinite weight lies outside
  EXPECT_EQ(j.errors()[5], 0);
  EXPECT_FALSE(j.with(0, 0, 4).mismatch);
  EXPECT_FALSE(j.with(0, 0, NAN).mismatch);
  EXPECT_TRUE(j.with(0, 5, 4).mismatch);
}

TEST(Bounds, OfOneCertainSumIsWhatRoundingDoesToIt) {
  Judged j("graph @g(%x: f32[1], %y: f32[1]) { %z = aten.add(%x, %y) return %z }", {{1.0}, {0x1p-30}});
  EXPECT_EQ(j.values()[0], 1 + 0x1p-30);
  EXPECT_GE(j.errors()[0], 0x1p-30);
  EXPECT_LT(j.errors()[0], 0x1.001p-30);
  EXPECT_FALSE(j.verdict().mismatch);
  auto wrong = j.with(0, 0, static_cast<float>(1 + kUlp)).mismatch;
  ASSERT_TRUE(wrong);
  EXPECT_EQ(wrong->rung, Rung::bound);
  EXPECT_EQ(wrong->what, "output 0");
}

// Of what is open the interval's ends are rounded.
TEST(Bounds, OfOneOpenSumIsHowFarRoundingTakesTheEnds) {
  auto error = [](double x) {
    return Judged("graph @g(%x: f32[1], %y: f32[1]) { %s = aten.add(%x, %y) %z = aten.add(%s, %x) return %z }",
                  {{x}, {0x1p-30}})
        .errors()[0];
  };
  EXPECT_GE(error(1), 0x1p-30);  // s is 1 or 1 + 2^-30, z may be kept so or be 2
  EXPECT_LT(error(1), 0x1.01p-29);
}

TEST(Bounds, APowerOfTwoRoundsNothing) {
  auto error = [](const char* by, double x) {
    return Judged("graph @g(%x: f32[1]) { %z = aten." + std::string(by) + " return %z }", {{x}}).errors()[0];
  };
  EXPECT_EQ(error("mul(%x, 0.25)", 1.5), 0);
  EXPECT_EQ(error("div(%x, 8)", 1.5), 0);
  EXPECT_GT(error("mul(%x, 0.3)", 1.5), 0);
}

// In no order is a part of the sum more than all terms of one sign: here one half of what they come to without signs.
TEST(Bounds, OfALongSumCountsPartsNotTerms) {
  auto error = [](const char* last) {
    return Judged(
               "graph @g(%x: f32[512] init uniform(1, 1.5, seed=1), %y: f32[512] init uniform(1, 1.5, seed=2)) { "
               "%n = aten.mul(%y, " +
               std::string(last) + ") %c = aten.cat([%x, %n]) %z = aten.sum(%c) return %z }")
        .errors()[0];
  };
  EXPECT_LT(error("-1"), 0.6 * error("1"));
  EXPECT_GT(error("-1"), 0);
}

// Conversions and writes round, and would leave errors behind.
TEST(Bounds, ValuesAloneCarryNoErrors) {
  auto graph = parse_graph(R"(graph @g(%x: f32[4], %h: f16[4] mut) {
    %e = aten.exp(%x) %c = aten._to_copy(%e, dtype=bf16) %s = aten.add_(%h, %e) %o = aten.exp(%x, out=%c)
    return %e, %o, %s
  })",
                           op_table());
  Boxed boxed(DeviceKind::cpu);
  auto errors = [&](Widening widening) {
    Reference r = Referee(boxed, {}, widening).run(*graph, initial_inputs(*graph, boxed, {}));
    EXPECT_EQ(r.ending, Ending::finished) << r.text;
    size_t count = 0;
    for (const auto* planes : {&r.outputs, &r.inputs})
      for (const Bounded& b : *planes) count += (b.error != nullptr) + (b.ambiguous != nullptr);
    return count;
  };
  EXPECT_GE(errors(Widening::bounds), 4u);
  EXPECT_EQ(errors(Widening::values_only), 0u);
}

TEST(Bounds, MovementAndSelectionStayExact) {
  Judged j(R"(graph @g(%x: f32[2, 3]) {
    %t = aten.t(%x) %c = aten.cat([%t, %t], 1) %m = aten.amax(%c, [0]) %r = aten.relu(%m)
    return %c, %r
  })");
  EXPECT_EQ(j.reference.outputs[0].error, nullptr);
  EXPECT_EQ(j.reference.outputs[1].error, nullptr);
  auto wrong = j.with(0, 3, std::nextafter(static_cast<float>(j.values()[3]), 9.0f)).mismatch;
  ASSERT_TRUE(wrong);
  EXPECT_EQ(wrong->rung, Rung::bitwise);
  EXPECT_EQ(wrong->at, (std::vector<int64_t>{0, 3}));
}

TEST(Bounds, ErrorsSeenThroughAViewAreThoseWrittenThroughAnother) {
  Judged j(R"(graph @g(%x: f32[2, 2]) {
    %y = aten.clone(%x) %row = aten.select(%y, 0, 1) %w = aten.exp_(%row) %t = aten.t(%y)
    return %t
  })",
           {{1, 2, 3, 4}});
  EXPECT_EQ(j.errors()[0], 0);  // y[0, 0]
  EXPECT_GT(j.errors()[1], 0);  // y[1, 0]
  EXPECT_EQ(j.errors()[2], 0);
  EXPECT_GT(j.errors()[3], 0);
  EXPECT_FALSE(j.verdict().mismatch);
}

// 1e16 + 1 - 1e16, and a product of matrices that cancels: as float64 sums them they are off.
TEST(Bounds, SumsOfFloat64AreRightToALastPlace) {
  auto graph = parse_graph(R"(graph @g(%x: f64[3], %a: f64[1, 3]) {
    %s = aten.sum(%x) %c = aten.reshape(%x, [3, 1]) %m = aten.mm(%a, %c)
    return %s, %m
  })",
                           op_table());
  Boxed boxed(DeviceKind::cpu);
  std::vector<RunValue> inputs = initial_inputs(*graph, boxed, {});
  auto value_of = [](const RunValue& v) {
    double x = 0;
    std::memcpy(&x, elements_of(v).data(), sizeof x);
    return x;
  };
  double x[] = {0x1p54, 1, -0x1p54}, a[] = {1, 3, 1 + 0x1p-52};
  set_elements(inputs[0], std::as_bytes(std::span(x)));
  set_elements(inputs[1], std::as_bytes(std::span(a)));
  Reference r = Referee(boxed).run(*graph, inputs);
  EXPECT_EQ(value_of(r.outputs[0].value), 1);
  EXPECT_EQ(value_of(r.outputs[1].value), 3 - 4);
  // What a legal sum may be off by is still there, and paid for once.
  EXPECT_GE(value_of(r.outputs[0].error), 4);
  EXPECT_LE(value_of(r.outputs[0].error), 6 * 0x1p-53 * 0x1p55);
}

TEST(Bounds, AZeroHasASignWhereItsRowPromisesOne) {
  Judged j(R"(graph @g(%x: f32[2]) {
    %t = aten.neg(%x) %y = aten.flip(%t, [0]) %s = aten.sum(%y) %u = aten.clone(%y) %w = aten.mul_(%u, 0.0)
    return %y, %s, %u
  })",
           {{0.0, 0.0}});
  EXPECT_FALSE(j.verdict().mismatch);
  auto wrong = j.with(0, 1, 0.0F).mismatch;
  ASSERT_TRUE(wrong);
  EXPECT_EQ(wrong->rung, Rung::bitwise);
  EXPECT_FALSE(j.with(0, 1, -0.0F).mismatch);
  EXPECT_FALSE(j.with(1, 0, 0.0F).mismatch);  // where a sum starts is nobody's promise
  EXPECT_FALSE(j.with(1, 0, -0.0F).mismatch);
  EXPECT_FALSE(j.with(2, 0, 0.0F).mismatch);
}

TEST(Bounds, OfALongSumGrowWithItsTermsAndStillSeeOneLeftOut) {
  std::vector<double> ones(32, 1.0);
  Judged j("graph @g(%x: f32[32]) { %s = aten.sum(%x) return %s }", {ones});
  EXPECT_LE(j.errors()[0], 40 * 32 * kUlp / 2);
  EXPECT_FALSE(j.verdict().mismatch);
  EXPECT_TRUE(j.with(0, 0, 31).mismatch);
}

TEST(Bounds, AComparisonWithinReachIsAmbiguousAndOneOutOfReachIsNot) {
  // exp(x) > 1 for x = 0: the exponential may fall on either side.
  Judged j(R"(graph @g(%x: f32[4]) { %e = aten.exp(%x) %c = aten.gt(%e, 1.0) %w = aten.where(%c, %e, 5.0) return %w })",
           {{0, 1, 2, 3}});
  EXPECT_GE(j.errors()[0], 4);
  EXPECT_LT(j.errors()[1], 1e-5);
  Judgement v = j.verdict();
  EXPECT_FALSE(v.mismatch);
  EXPECT_EQ(v.shares.ambiguous, 1u);
  EXPECT_TRUE(v.shares.weak());
}

TEST(Bounds, AnIndexAmongRivalsIsOpenAndAClearOneIsNot) {
  std::string_view text = "graph @g(%x: f32[3]) { %e = aten.exp(%x) %i = aten.argmax(%e) return %i }";
  Judged close(text, {{1, 1.00000012, -2}}), clear(text, {{1, 2, -2}});
  EXPECT_EQ(close.verdict().shares.ambiguous, 1u);
  EXPECT_EQ(clear.verdict().shares.ambiguous, 0u);
}

TEST(Bounds, WhatMayOverflowIsOpen) {
  Judged j("graph @g(%x: f16[1] init ones) { %y = aten.mul(%x, 65504) %z = aten.add(%y, 16) return %z }");
  EXPECT_TRUE(std::isinf(j.errors()[0]));
}

TEST(Bounds, NaNAndInfinityStandWhereTheyMust) {
  Judged j(R"(graph @g(%x: f32[4]) { %l = aten.log(%x) %y = aten.add(%l, 1) return %y })", {{-1, 0, 1, INFINITY}});
  EXPECT_FALSE(j.verdict().mismatch);
  EXPECT_EQ(j.errors()[0], 0);
  auto wrong = j.with(0, 0, 3).mismatch;
  ASSERT_TRUE(wrong);
  EXPECT_EQ(wrong->rung, Rung::special);
  EXPECT_TRUE(
      Judged(R"(graph @g(%x: f32[4]) { %l = aten.log(%x) %y = aten.add(%l, 1) return %y })", {{-1, 0, 1, INFINITY}})
          .with(0, 3, -INFINITY)
          .mismatch);
}

TEST(Bounds, AnOpenPredicateOpensWhatFollows) {
  Judged j(R"(graph @g(%x: f32[1]) {
    %e = aten.exp(%x) %c = aten.gt(%e, 1.0) %p = aten.any(%c)
    %r = lenz.cond(%p, @yes, @no, [%x])
    return %r
  }
  graph @yes(%x: f32[1]) { %y = aten.add(%x, 1.0) return %y }
  graph @no(%x: f32[1]) { %y = aten.sub(%x, 1.0) return %y })",
           {{0}});
  EXPECT_TRUE(j.verdict().shares.weak());
}

TEST(Bounds, CancellationIsWideThereAndNowhereElse) {
  Judged j(R"(graph @g(%x: f32[2], %y: f32[2]) {
    %a = aten.exp(%x) %b = aten.exp(%y) %d = aten.sub(%a, %b) return %d
  })",
           {{1, 1}, {1.0000001, -3}});
  EXPECT_GT(j.errors()[0] / std::fabs(j.values()[0]), 0.1);
  EXPECT_LT(j.errors()[1] / std::fabs(j.values()[1]), 1e-6);
}

TEST(Bounds, ANarrowerRangeRoundsTooWhateverTheDigits) {
  // Below float16's smallest normal number its steps are of 2^-24: those of bfloat16 go on.
  Judged j(R"(graph @g(%x: bf16[1] init ones) {
    %s = aten.mul(%x, 3.904104232788086e-06) %h = aten._to_copy(%s, dtype=f16) %f = aten._to_copy(%h, dtype=f32)
    return %f
  })");
  EXPECT_GE(j.errors()[0], 0x1p-25);
  EXPECT_FALSE(j.verdict().mismatch);
}

TEST(Bounds, InPlaceInANarrowerDtypeRoundsToIt) {
  Judged j(R"(graph @g(%x: f32[1] mut, %y: f64[1] init ones) { %z = aten.add_(%x, %y) return %z })", {{0x1p-30}});
  EXPECT_GE(j.errors()[0], 0x1p-30);
  EXPECT_FALSE(j.verdict().mismatch);
}
}  // namespace
}  // namespace lenz::oracle
