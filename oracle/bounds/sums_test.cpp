// Bounds of sums and means: what n roundings may add, and where they add nothing.
#include "oracle/bounds/reference.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <random>
#include <vector>

#include "oracle/bounds/judged_case.h"
#include "oracle/bounds/rounded.h"

namespace lenz::oracle {
namespace {

constexpr double kUlp = 0x1p-23;  // of f32, at one

// In no order is a part of the sum more than all terms of one sign: here one half of what they come to without signs.
TEST(Bounds, OfALongSumCountsPartsNotTerms) {
  auto error = [](const char* last) {
    return Judged(
               "graph @g(%x: f32[64] init uniform(1, 1.5, seed=1), %y: f32[64] init uniform(1, 1.5, seed=2)) { "
               "%n = aten.mul(%y, " +
               std::string(last) + ") %c = aten.cat([%x, %n]) %z = aten.sum(%c) return %z }")
        .errors()[0];
  };
  EXPECT_LT(error("-1"), 0.75 * error("1"));
  EXPECT_GT(error("-1"), 0);
}

// Nor is a part of few terms more than so many times the greatest: until half of the sum has come together each rounds
// by half as much.
TEST(Bounds, OfALongSumCountsSmallPartsForLess) {
  auto error = [](const char* terms) {
    return Judged("graph @g(%x: f32[1024] init " + std::string(terms) +
                      ") { %y = aten.mul(%x, 1.25) %z = aten.sum(%y) return %y, %z }",
                  {})
        .errors(1)[0];
  };
  const double even = error("uniform(1, 1.0625)");  // 1,290 or so
  const double counted_all = 1024 * 0x1p-14;        // half a place of what lies above 1,024
  EXPECT_LT(even, 0.7 * counted_all);
  EXPECT_GT(even, 0.25 * counted_all);
}

// Adds f32 numbers so that roundings go one way: to what is summed so far the one or two next ones of a few that do
// most for each, or, now and then, a part of several; in one of four trees parts are kept in float64 here and there.
double steered_tree(std::vector<double> terms, double way, std::mt19937& random) {
  const bool wide = random() % 4 == 0;
  auto add = [&](double a, double b) {
    const double exact = a + b;
    return wide && random() % 8 == 0 ? exact : static_cast<double>(static_cast<float>(exact));
  };
  if (random() % 2) std::ranges::sort(terms, [](double a, double b) { return std::fabs(a) > std::fabs(b); });
  double sum = 0;
  for (size_t i = 0; i < terms.size();) {
    const size_t end = std::min(terms.size(), i + 24);
    size_t first = i, second = i;
    double most = -HUGE_VAL, next = 0;
    auto better = [&](size_t a, size_t b, double exact, double got) {
      const double gain = way * (got - exact) / (a == b ? 1 : 2);
      if (gain > most) most = gain, first = a, second = b, next = got;
    };
    for (size_t a = i; a < end; ++a) {
      better(a, a, sum + terms[a], add(sum, terms[a]));
      for (size_t b = a + 1; b < end; ++b) better(a, b, sum + terms[a] + terms[b], add(sum, add(terms[a], terms[b])));
    }
    std::swap(terms[i++], terms[first]);
    if (second != first) std::swap(terms[i++], terms[second]);
    sum = next;
    if (const size_t some = 3 + random() % 5; random() % 40 == 0 && i + some < terms.size()) {
      double part = terms[i];
      for (size_t k = 1; k < some; ++k) part = add(part, terms[i + k]);
      sum = add(sum, part);
      i += some;
    }
  }
  return static_cast<float>(sum);
}

// A term rounds by an amount of its own where it is added to a part on the grid of the largest ones, and only others
// round by half a place: no tree gets beyond that, though some come near.
TEST(Bounds, OfALongSumKnowWhatItsTermsAreBesideTheGrid) {
  std::mt19937 random(7);
  auto uniform = [&](double from, double to) { return from + (to - from) * (random() * 0x1p-32); };
  double nearest = 0;
  for (int kind = 0; kind < 6; ++kind)
    for (int trial = 0; trial < 8; ++trial) {
      const size_t n = 200 + random() % 1200;
      std::vector<double> terms(n);
      for (double& t : terms)
        t = kind == 0   ? uniform(0, 1)
            : kind == 1 ? uniform(-1, 1)
            : kind == 2 ? uniform(-1, 1.5)
            : kind == 3 ? 1 + uniform(0.4, 0.6) * 0x1p-13  // half a place of what lies above 1,024, or nearly so
            : kind == 4 ? -uniform(1, 4)
                        : uniform(0, 1) * (random() % 50 ? 0.01 : 20);
      for (double& t : terms) t = static_cast<float>(t);
      Judged j("graph @g(%x: f32[" + std::to_string(n) + "]) { %z = aten.sum(%x) return %z }", {terms});
      const double exact = j.values()[0], error = j.errors()[0];
      for (double way : {-1.0, 1.0})
        for (int tree = 0; tree < 6; ++tree) {
          const double off = std::fabs(steered_tree(terms, way, random) - exact);
          EXPECT_LE(off, error) << "kind " << kind << ", " << n << " terms";
          if (kind == 0) nearest = std::max(nearest, off / error);
        }
      const double place = std::exp2(std::floor(std::log2(exact + 2 * error))) * kUlp;
      if (kind == 0) EXPECT_LT(error, (0.31 * static_cast<double>(n) + 9) * place);
    }
  EXPECT_GT(nearest, 0.5);
}

// Few terms can meet the largest parts of a sum: of those that have one sign no tree gets beyond what is counted level
// by level, be they alike or not, and where the sum is just above a power of two that is far less than a count of
// terms.
TEST(Bounds, OfALongSumCountTermsByTheLevelThatTheyMeet) {
  std::mt19937 random(11);
  auto uniform = [&](double from, double to) { return from + (to - from) * (random() * 0x1p-32); };
  double nearest = 0;
  for (int kind = 0; kind < 5; ++kind)
    for (int trial = 0; trial < 6; ++trial) {
      const size_t n = 256 + random() % 1800;
      std::vector<double> terms(n);
      for (double& t : terms)
        t = kind == 0   ? uniform(0.25, 4)
            : kind == 1 ? -uniform(0, 1)
            : kind == 2 ? 1 + uniform(0.4, 0.6) * 0x1p-13
            : kind == 3 ? uniform(0, 1) * (random() % 10 ? 0.1 : 4)
                        : std::exp(uniform(-6, 1));
      const double whole = std::accumulate(terms.begin(), terms.end(), 0.0);
      const double power = std::exp2(std::floor(std::log2(std::fabs(whole))));
      const double scale = trial % 2 ? 1.02 * power / std::fabs(whole) : 1;  // just above a power of two
      for (double& t : terms) t = static_cast<float>(t * scale);
      Judged j("graph @g(%x: f32[" + std::to_string(n) + "]) { %z = aten.sum(%x) return %z }", {terms});
      const double exact = j.values()[0], error = j.errors()[0];
      for (double way : {-1.0, 1.0})
        for (int tree = 0; tree < 6; ++tree) {
          const double off = std::fabs(steered_tree(terms, way, random) - exact);
          EXPECT_LE(off, error) << "kind " << kind << ", " << n << " terms";
          nearest = std::max(nearest, off / error);
        }
      const double place = std::exp2(std::floor(std::log2(std::fabs(exact)))) * kUlp;
      const double counted = kind == 2 ? 0.5 : 0.3;  // of a last place, for each term wherever it stands
      if (trial % 2 && kind < 3) EXPECT_LT(error, 0.8 * counted * static_cast<double>(n) * place) << "kind " << kind;
    }
  EXPECT_GT(nearest, 0.7);
}

// Nor does it matter much that a few little terms have the other sign, though they let a sum reach a level more than
// once.
TEST(Bounds, OfALongSumCountLevelsBesideFewTermsOfTheOtherSign) {
  std::mt19937 random(13);
  auto uniform = [&](double from, double to) { return from + (to - from) * (random() * 0x1p-32); };
  double nearest = 0;
  for (int kind = 0; kind < 4; ++kind)
    for (int trial = 0; trial < 8; ++trial) {
      const size_t n = 400 + random() % 1200;
      std::vector<double> terms(n);
      for (double& t : terms) {
        const bool other = kind == 3 ? random() % 12 == 0 : random() % 2 == 0;
        t = other       ? -uniform(0, kind == 3 ? 1 : 0.01)
            : kind == 0 ? uniform(0, 3)
            : kind == 1 ? uniform(0.25, 4)
            : kind == 2 ? 1 + uniform(0.4, 0.6) * 0x1p-13
                        : uniform(0, 2);
      }
      double along = 0, against = 0;
      for (double t : terms) (t > 0 ? along : against) += t;
      const double power = std::exp2(std::floor(std::log2(along)));
      const double scale = (trial % 2 ? 1.1 * power / along : 1) * (trial % 4 < 2 ? 1 : -1);
      for (double& t : terms) t = static_cast<float>(t * scale);
      Judged j("graph @g(%x: f32[" + std::to_string(n) + "]) { %z = aten.sum(%x) return %z }", {terms});
      const double exact = j.values()[0], error = j.errors()[0];
      for (double way : {-1.0, 1.0})
        for (int tree = 0; tree < 8; ++tree) {
          const double off = std::fabs(steered_tree(terms, way, random) - exact);
          EXPECT_LE(off, error) << "kind " << kind << ", " << n << " terms";
          nearest = std::max(nearest, off / error);
        }
      const double place = std::exp2(std::floor(std::log2(std::fabs(exact)))) * kUlp;
      if (trial % 2 && kind < 2) EXPECT_LT(error, 0.27 * static_cast<double>(n) * place) << "kind " << kind;
    }
  EXPECT_GT(nearest, 0.5);
}

// Of products too no part is more than what has one sign: terms rounded or not, scaled one by one or all at once, no
// tree gets beyond that, and what n roundings of all without signs would come to is far off.
TEST(Bounds, OfALongProductCountPartsNotTerms) {
  std::mt19937 random(13);
  auto uniform = [&](double from, double to) { return from + (to - from) * (random() * 0x1p-32); };
  auto f32 = [](double v) { return static_cast<double>(static_cast<float>(v)); };
  double nearest = 0;
  for (int trial = 0; trial < 24; ++trial) {
    const size_t n = 8 + random() % 120;
    const bool scaled = trial % 3 == 2;
    const double alpha = scaled ? f32(uniform(0.3, 3)) : 1;
    std::vector<double> x(n), y(n), terms(n);
    double sizes = 0;
    for (size_t k = 0; k < n; ++k) {
      x[k] = f32(uniform(-2, 2)), y[k] = f32(uniform(-1, trial % 2 ? 1 : 3));
      sizes += alpha * std::fabs(x[k] * y[k]);
    }
    const std::string length = std::to_string(n), dims = "(%x: f32[1, " + length + "], %y: f32[" + length + ", 1]";
    Judged j(scaled ? "graph @g" + dims + ", %c: f32[1, 1]) { %z = aten.addmm(%c, %x, %y, beta=0, alpha=" +
                          std::to_string(alpha) + ") return %z }"
                    : "graph @g" + dims + ") { %z = aten.mm(%x, %y) return %z }",
             {x, y});
    const double exact = j.values()[0], error = j.errors()[0], by = scaled ? std::stod(std::to_string(alpha)) : 1;
    for (double way : {-1.0, 1.0})
      for (int tree = 0; tree < 12; ++tree) {
        const bool first = tree % 2, rounds = tree % 3 != 0;
        for (size_t k = 0; k < n; ++k) {
          terms[k] = (first ? f32(f32(by) * x[k]) : x[k]) * y[k];
          if (rounds) terms[k] = f32(terms[k]);
        }
        const double sum = steered_tree(terms, way, random), got = first ? sum : f32(f32(by) * sum);
        EXPECT_LE(std::fabs(got - exact), error) << n << " terms, tree " << tree << " of trial " << trial;
        if (!scaled) nearest = std::max(nearest, std::fabs(got - exact) / error);
      }
    if (!scaled && trial % 2) EXPECT_LT(error, (0.7 * static_cast<double>(n) + 3) * sizes * (kUlp / 2));
  }
  EXPECT_GT(nearest, 0.25);
}

// What is added by an index is rounded once for each addition, in the dtype that it is stored in.
TEST(Bounds, OfWhatIsAddedByAnIndexCountAdditions) {
  Judged j(
      "graph @g(%x: bf16[3, 1], %i: i64[2] init permutation(seed=1), %y: bf16[2, 1]) { "
      "%z = aten.index_add(%x, 0, %i, %y) return %z }",
      {{1, 1, 1}, {}, {0x1.8p-8, 0x1.8p-8}});
  const std::vector<double> errors = j.errors();
  EXPECT_GT(errors[0], 0);
  EXPECT_LE(errors[0], 0x1p-8 * 1.01);  // half a place of what lies above 1
  EXPECT_EQ(errors[2], 0);              // nothing is added
  EXPECT_FALSE(j.verdict().mismatch.has_value());
  EXPECT_TRUE(j.with(0, 0, 1).mismatch.has_value());
}

// One term is its own sum, be it a step of a definition: it is rounded, if it has been kept wider, and that is all.
TEST(Bounds, OfOneTermIsWhatTheTermIsOffBy) {
  for (const char* dtype : {"f32", "f64", "bf16"}) {
    Judged j(std::string("graph @g(%x: ") + dtype + R"([3, 1] init uniform(1, 2, seed=3)) {
      %e = aten.exp(%x) %s = aten.sum(%e, [1], true) %c = aten.cumsum(%e, 1) %z = aten.zeros_like(%e)
      %w = aten.cat([%e, %z], 1) %t = aten.sum(%w, [1], true)
      return %e, %s, %c, %t })");
    const Dtype d = *parse_dtype(dtype);
    for (size_t output : {1, 2, 3})
      for (size_t k = 0; k < 3; ++k) {
        const double v = j.values(0)[k], e = j.errors(0)[k];
        const double ends = std::max(nearest(d, v + e) - v, v - nearest(d, v - e));
        EXPECT_LE(j.errors(output)[k], std::max(e, ends) * 1.001) << dtype << output;
      }
  }
  Judged alone(
      "graph @g(%x: f32[4, 1] init uniform(-2, 2, seed=3)) { %y = aten._log_softmax(%x, 1, false) return %y }");
  for (double e : alone.errors()) EXPECT_LE(e, 1.01 * kUlp);  // of the exponential of zero alone
  EXPECT_FALSE(alone.verdict().mismatch);
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

// Partial sums that a format can count are exact in whatever order they are taken.
TEST(Bounds, SumsOfWholeNumbersAreExactAsFarAsTheyCanBeCounted) {
  auto errors = [](double x) {
    return Judged(R"(graph @g(%x: f32[3]) { %s = aten.sum(%x) %c = aten.cumsum(%x, 0) return %s, %c })", {{x, -0.5, 3}})
        .errors()[0];
  };
  EXPECT_EQ(errors(8388604), 0);  // 2^23 and a few halves
  EXPECT_GT(errors(8388605), 0);
  Judged norm("graph @g(%x: f32[4]) { %n = aten.linalg_vector_norm(%x, 0) return %n }", {{1, 0, -3, 0.1}});
  EXPECT_EQ(norm.errors()[0], 0);
  Judged integers(
      "graph @g(%x: i64[2] init integers(16777217, 16777217, seed=1)) { %s = aten.sum(%x, dtype=f32) return %s }");
  EXPECT_GT(integers.errors()[0], 0);  // which are rounded first
}

// Integers whose sum is a float may be converted one by one: their sizes count, not that of the sum.
TEST(Bounds, IntegersAddUpAsTheFloatsThatTheyBecome) {
  for (std::string_view op : {"aten.sum(%x, [1], false, dtype=f32)", "aten.cumsum(%x, 1, dtype=f32)",
                              "aten.nansum(%x, [1], false, dtype=f32)", "aten.mean.dim(%x, [1], false, dtype=f32)"}) {
    Judged j(R"(graph @g(%a: i64[1, 1] init integers(16777217, 16777217, seed=1)) {
      %b = aten.neg(%a) %c = aten.sub(%b, 2) %d = aten.ones_like(%a) %x = aten.cat([%a, %b, %d, %c], 1)
      %r = )" +
             std::string(op) + " return %r }");
    EXPECT_FALSE(j.verdict().mismatch) << op << j.verdict().mismatch->summary();
    const size_t last = j.errors().size() - 1;
    const double terms = op.find("mean") == std::string_view::npos ? 1 : 4;
    EXPECT_GE(j.errors()[last], 3 / terms) << op;  // each but one is off by one
    EXPECT_LE(j.errors()[last], 12) << op;
    EXPECT_TRUE(j.with(0, last, -123.0F).mismatch) << op;
  }
  Judged small(R"(graph @g(%x: i64[1000] init integers(-9, 9, seed=1)) {
    %s = aten.sum(%x, dtype=f32) %c = aten.cumsum(%x, 0, dtype=bf16) return %s, %c })");
  EXPECT_EQ(small.errors()[0], 0);
  EXPECT_LT(small.errors(1)[0], 1e-5);
}

// Eager takes a running mean, which rounds where a sum of all would not, and where a term is zero.
TEST(Bounds, MeansBesideVariancesAreRunning) {
  Judged j("graph @g(%x: f32[1, 4]) { %v, %m = aten.var_mean.correction(%x, [1]) return %v, %m }", {{1, 0, 0, 3}});
  EXPECT_GE(j.errors(1)[0], kUlp);
  // It rounds distances and shares too, which shows where few terms cancel.
  const char* norm =
      "graph @g(%x: f32[1, 3]) { %y, %m, %r = aten.native_layer_norm(%x, [3], none, none, 1e-5) return %m }";
  const std::vector<std::vector<double>> terms = {{0x1.def8da0000000p-1, 0x1.1747000000000p-1, -0x1.8992500000000p+0}};
  const Judged of_eager(norm, terms, Widening::bounds_of_eager), by_definition(norm, terms);
  EXPECT_FALSE(of_eager.verdict().mismatch);
  EXPECT_LT(of_eager.errors()[0], 16 * by_definition.errors()[0]);
  const char* mean = "graph @g(%x: f32[1, 3]) { %m = aten.mean(%x, [1]) return %m }";
  EXPECT_EQ(Judged(mean, terms, Widening::bounds_of_eager).errors(), Judged(mean, terms).errors());
}

// A bias that is large beside the products: who begins with that rounds at each of them, by places of its own.
TEST(Bounds, OfAProductWithABiasThatMayComeFirst) {
  const std::vector<double> x(6, 0.3);
  Judged j("graph @g(%x: f64[1, 6], %w: f64[1, 6], %b: f64[1]) { %y = aten.linear(%x, %w, %b) return %y }",
           {x, x, {1000}});
  EXPECT_FALSE(j.verdict().mismatch);
  EXPECT_FALSE(j.with(0, 0, 1000.54 + 4e-13).mismatch);
  EXPECT_TRUE(j.with(0, 0, 1000.54 + 1e-10).mismatch);
}

// No order of its terms makes anything of zeros, and below a dtype's normal numbers sums round nothing.
TEST(Bounds, SumsOfZerosAreExact) {
  for (const char* dtype : {"f32", "f16", "f64"}) {
    Judged j(std::string("graph @g(%x: ") + dtype + R"([4, 3] init zeros) {
      %s = aten.sum(%x) %m = aten.mean.dim(%x, [0]) %c = aten.cumsum(%x, 0) %n = aten.nansum(%x)
      %l = aten.log(%s) %t = aten.t(%x) %p = aten.mm(%x, %t) %q = aten.prod(%x)
      return %s, %m, %c, %n, %l, %p, %q
    })");
    for (size_t output = 0; output < 7; ++output)
      for (double e : j.errors(output)) EXPECT_EQ(e, 0) << dtype << ", output " << output;
    EXPECT_FALSE(j.verdict().mismatch);
  }
  Judged tiny("graph @g(%x: f32[3]) { %s = aten.sum(%x) return %s }", {{0x1p-149, 0, 0x1p-148}});
  EXPECT_LT(tiny.errors()[0], 0x1p-165);
}

TEST(Bounds, MeansOfNothingAreCertain) {
  Judged j(R"(graph @g(%x: f32[0, 4]) {
    %m = aten.mean.dim(%x, [0]) %v = aten.var.correction(%x, [0]) %d = aten.std.correction(%x, [0])
    %l = aten.logsumexp(%x, [0])
    return %m, %v, %d, %l
  })");
  for (size_t output = 0; output < 4; ++output)
    for (double e : j.errors(output)) EXPECT_EQ(e, 0) << output;
  EXPECT_FALSE(j.verdict().mismatch);
  EXPECT_FALSE(j.verdict().shares.weak());
  EXPECT_TRUE(j.with(0, 1, 0.0F).mismatch);
}

TEST(Bounds, OfALongSumGrowWithItsTermsAndStillSeeOneLeftOut) {
  std::vector<double> ones(32, 1.0);
  Judged j("graph @g(%x: f32[32]) { %s = aten.sum(%x) return %s }", {ones});
  EXPECT_LE(j.errors()[0], 40 * 32 * kUlp / 2);
  EXPECT_FALSE(j.verdict().mismatch);
  EXPECT_TRUE(j.with(0, 0, 31).mismatch);
}

TEST(Bounds, AnInfinityAmongUncertainTermsIsOne) {
  Judged j("graph @g(%x: f32[3]) { %p = aten.mul(%x, 1.3) %s = aten.sum(%p) return %s }", {{1, INFINITY, 3}});
  EXPECT_FALSE(j.verdict().mismatch);
  EXPECT_TRUE(j.with(0, 0, 0).mismatch);
  EXPECT_TRUE(j.with(0, 0, NAN).mismatch);
  Judged by_zero("graph @g(%x: f32[1], %y: f32[1]) { %p = aten.mul(%x, 1.3) %q = aten.div(%p, %y) return %q }",
                 {{-2}, {0}});
  EXPECT_FALSE(by_zero.verdict().mismatch);
  EXPECT_TRUE(by_zero.with(0, 0, 0).mismatch);
}
// However many terms there are, two infinities of opposite signs are no number in any order.
TEST(Sums, OfOppositeInfinitiesAreNoNumber) {
  for (size_t n : {3, 31, 32, 100}) {
    std::vector<double> x(n, 1);
    x[0] = HUGE_VAL, x[2] = -HUGE_VAL;
    const std::string size = std::to_string(n);
    Judged j("graph @g(%x: f32[" + size + "]) { %v = aten.sum(%x) return %v }", {x});
    EXPECT_EQ(j.errors()[0], 0) << n;
    EXPECT_FALSE(j.verdict().mismatch);
    EXPECT_TRUE(j.with(0, 0, 5).mismatch) << n;
  }
}

// An exponential of -inf is nothing, and a sum that is infinite or NaN once stays so. What may be infinite is open.
TEST(Bounds, OfLogarithmsOfSumsWithInfinitiesAreKnown) {
  const double inf = HUGE_VAL, nan = std::nan("");
  auto sums = [](const std::string& steps, std::vector<double> terms) {
    return Judged("graph @g(%x: f32[4]) { " + steps + " %z = aten.logcumsumexp(%y, 0) return %z }", {std::move(terms)});
  };
  const std::string as_it_is = "%y = aten.alias(%x)";
  Judged small = sums(as_it_is, {-inf, -inf, 1, 2});
  EXPECT_FALSE(small.verdict().mismatch);
  EXPECT_EQ(small.errors()[1], 0);
  EXPECT_LT(small.errors()[3], 64 * kUlp);
  EXPECT_TRUE(small.with(0, 2, nan).mismatch);
  Judged large = sums(as_it_is, {1, inf, 2, nan});
  EXPECT_FALSE(large.verdict().mismatch);
  EXPECT_EQ(large.errors()[2], 0);
  EXPECT_TRUE(large.with(0, 3, inf).mismatch);
  // 3e38 + 3e38 - 3e38 overflows in some orders.
  Judged open =
      sums("%w = lenz.constant(f32[3] [3e38, 3e38, -3e38]) %v = aten.sum(%w) %y = aten.add(%v, %x)", {-inf, 1, 2, nan});
  EXPECT_EQ(open.errors()[1], inf);
}

}  // namespace
}  // namespace lenz::oracle
