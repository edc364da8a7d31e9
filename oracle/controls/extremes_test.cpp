#include "oracle/controls/extremes.h"

#include <gtest/gtest.h>

#include "compiler/graph/text.h"
#include "compiler/ops/op_table.h"
#include "oracle/bounds/rounded.h"
#include "oracle/controls/steered_sums.h"
#include "oracle/controls/subject.h"

namespace lenz::oracle::controls {
namespace {

Subject subject(std::string_view text, Boxed& boxed) {
  auto made = Subject::make(parse_graph(text, op_table())->clone(), boxed);
  EXPECT_TRUE(made.has_value());
  return std::move(*made);
}

double width(const Extremes& e, size_t output) { return e.greatest[output][0] - e.least[output][0]; }

// An order chosen for it drives a sum far from what any plain order gives, and stays within the bound.
TEST(Extremes, OrdersOfSumsAreSteered) {
  Boxed boxed(DeviceKind::cpu);
  Subject s = subject(R"(graph @g(%x: f32[2048] init uniform(0.25, 4)) {
  %y = aten.div(%x, 3.0)
  %s = aten.sum(%y)
  return %s
})",
                      boxed);
  const Extremes e = find_extremes(s.plan());
  const double exact = s.exact()[1][0], error = s.errors()[1][0];
  EXPECT_GT(width(e, 1), 0.4 * error);
  EXPECT_LE(e.greatest[1][0], exact + error);
  EXPECT_GE(e.least[1][0], exact - error);
}

// A definition's sum may be kept in units that change: it gets about as far as its bound.
TEST(Extremes, SumsOfDefinitionsChangeTheirUnits) {
  Boxed boxed(DeviceKind::cpu);
  for (const char* dtype : {"f32", "f64"}) {
    Subject s = subject(
        "graph @g(%x: " + std::string(dtype) +
            "[24] init uniform(4, 5)) {\n  %m = aten.mean(%x)\n  %l = " + "aten.logsumexp(%x, [0])\n  return %m, %l\n}",
        boxed);
    const Extremes e = find_extremes(s.plan(), {.tries = 1});
    EXPECT_GT(width(e, 0), 1.4 * s.errors()[0][0]) << dtype;
    for (size_t i : {0u, 1u}) {
      EXPECT_LE(e.greatest[i][0], s.exact()[i][0] + s.errors()[i][0]) << dtype;
      EXPECT_GE(e.least[i][0], s.exact()[i][0] - s.errors()[i][0]) << dtype;
    }
  }
}

// A quotient that lies halfway between two numbers of the dtype is rounded either way, where a reciprocal is estimated.
TEST(Extremes, QuotientsInTheMiddleGoEitherWay) {
  Boxed boxed(DeviceKind::cpu);
  Subject s = subject(
      "graph @g(%x: bf16[1] init uniform(3.09375, 3.09375)) { %y = aten.div(%x, 0.3333333333333333) return %y }",
      boxed);
  const Extremes e = find_extremes(s.plan());
  EXPECT_EQ(e.least[0][0], 9.25);
  EXPECT_EQ(e.greatest[0][0], 9.3125);
  EXPECT_FALSE(s.judge_elements(e.greatest, Scope::outputs).mismatch);
}

// But not by a power of two, whose reciprocal is exact.
TEST(Extremes, QuotientsByPowersOfTwoGoOneWay) {
  Boxed boxed(DeviceKind::cpu);
  Subject s = subject(
      "graph @g(%x: bf16[1] init uniform(3.09375, 3.09375), %y: bf16[1] init uniform(1.0078125, 1.0078125)) {\n"
      "  %z = aten.sub(%x, %y)\n  %q = aten.div(%z, 2.0)\n  return %q }",
      boxed);
  const Extremes e = find_extremes(s.plan());
  EXPECT_FALSE(s.judge_elements(e.least, Scope::outputs).mismatch);
  EXPECT_FALSE(s.judge_elements(e.greatest, Scope::outputs).mismatch);
}

// Terms that change places take a sum farther than the order that they come in. What an order gives is what it gave.
TEST(Extremes, OrdersAreClimbed) {
  std::mt19937 bits;
  SumOrder order;
  for (int k = 0; k < 300; ++k) order.terms.push_back(nearest(Dtype::f32, bits() * 0x1p-31 - 0.75));
  order.joined.assign(order.terms.size(), 0);
  auto sum = [&](size_t exchanges) { return with_exchanges(order, 1, Dtype::f32, exchanges); };
  const double plain = sum(0), climbed = sum(20000);
  EXPECT_GT(climbed, plain + 0x1p-14);
  EXPECT_EQ(sum(0), climbed);
  Chance none;
  const double steered_to = steered(order, 1, Dtype::f32, none);
  EXPECT_EQ(sum(0), steered_to);
}

// Each element is rounded, or not, on its own: what they bring to a sum adds up.
TEST(Extremes, ElementsChooseForThemselves) {
  Boxed boxed(DeviceKind::cpu);
  Subject s = subject(R"(graph @g(%x: bf16[32] init uniform(1, 2), %y: bf16[32] init uniform(1, 2)) {
  %p = aten.mul(%x, %y)
  %w = aten._to_copy(%p, dtype=f32)
  %s = aten.sum(%w)
  return %p, %w, %s
})",
                      boxed);
  const Extremes e = find_extremes(s.plan());
  const double place = 0x1p-7;
  EXPECT_GT(width(e, 2), 4 * place);
  for (size_t k = 0; k < 32; ++k) EXPECT_EQ(e.least[0][k], e.greatest[0][k]);  // stored, it is one number
}

// Wider than float64 too, element by element.
TEST(Extremes, SumsOfFloat64MayStayWide) {
  Boxed boxed(DeviceKind::cpu);
  Subject s = subject(R"(graph @g(%x: f64[1] init uniform(0.5, 1)) {
  %m = aten.mul(%x, 0.9)
  %y = aten.add(%m, 0.25)
  %d = aten.sub(%m, %y)
  return %y, %d
})",
                      boxed);
  const Extremes e = find_extremes(s.plan());
  EXPECT_GT(width(e, 2), 0);
  EXPECT_TRUE(e.least[2][0] == -0.25 || e.greatest[2][0] == -0.25);
}

// More orders of sums take them farther.
TEST(Extremes, MoreOrdersOfSumsAreTried) {
  Boxed boxed(DeviceKind::cpu);
  Subject s = subject(R"(graph @g(%x: f32[96] init normal(0, 1)) {
  %s = aten.sum(%x)
  return %s
})",
                      boxed);
  const Extremes first = find_extremes(s.plan()), tried = find_extremes(s.plan(), {.tries = 50});
  const double exact = s.exact()[0][0], error = s.errors()[0][0];
  EXPECT_GT(width(tried, 0), width(first, 0));
  EXPECT_LE(tried.greatest[0][0], exact + error);
  EXPECT_GE(tried.least[0][0], exact - error);
}

// Steps of definitions by other formulas: what is found so is legal, and lies farther out than what is rounded as the
// definition says.
TEST(Extremes, StepsOfDefinitionsAreComputedOtherwise) {
  Boxed boxed(DeviceKind::cpu);
  double farthest = 0;
  for (const char* dtype : {"bf16", "f16", "f32", "f64"})
    for (const char* of : {"_softmax(%x, 0, false)", "_log_softmax(%x, 0, false)", "logsumexp(%x, [0])", "std(%x, [0])",
                           "var(%x, [0])", "layer_norm(%x, [17])"})
      for (int seed = 1; seed < 4; ++seed) {
        Subject s =
            subject(std::string("graph @g(%x: ") + dtype + "[17] init uniform(0.25, 4, seed=" + std::to_string(seed) +
                        ")) {\n  %y = aten." + of + "\n  return %y\n}",
                    boxed);
        for (const int tries : {0, 20}) {
          const Extremes e = find_extremes(s.plan(), {.tries = tries});
          for (size_t k = 0; k < e.least[0].size(); ++k) {
            const double exact = s.exact()[0][k], error = s.errors()[0][k];
            ASSERT_GE(e.least[0][k], exact - error) << dtype << " " << of;
            ASSERT_LE(e.greatest[0][k], exact + error) << dtype << " " << of;
            if (std::string_view(of) == "layer_norm(%x, [17])" && std::string_view(dtype) == "f32")
              farthest = std::max(farthest, std::max(e.greatest[0][k] - exact, exact - e.least[0][k]) / error);
          }
        }
      }
  EXPECT_GT(farthest, 0.3);
}

// What multiplies a number by itself reads it once: no square is negative, and none has a root that is NaN.
TEST(Extremes, SquaresAreOfOneNumber) {
  Boxed boxed(DeviceKind::cpu);
  Subject s = subject(R"(graph @g(%x: bf16[3] init uniform(1, 1.0625)) {
  %y = aten.std(%x, [0], correction=0)
  %d = aten.sub(%x, 1.03)
  %s = aten.mul(%d, %d)
  %r = aten.sqrt(%s)
  return %y, %s, %r
})",
                      boxed);
  const Extremes e = find_extremes(s.plan());
  for (size_t i : {0, 2, 3})
    for (double least : e.least[i]) EXPECT_GE(least, 0) << i;
}

}  // namespace
}  // namespace lenz::oracle::controls
