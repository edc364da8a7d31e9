#include "oracle/controls/variant.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "compiler/graph/text.h"
#include "compiler/ops/op_table.h"
#include "compiler/scalar/error_propagation.h"
#include "compiler/scalar/rounding.h"
#include "oracle/controls/accumulate.h"
#include "oracle/controls/graph_maker.h"
#include "oracle/execute.h"

namespace lenz::oracle::controls {
namespace {

struct Made {
  std::unique_ptr<Graph> graph;
  Plan plan;
  std::vector<Elements> eager;
};

Made planned(std::unique_ptr<Graph> graph, Boxed& boxed) {
  Made m;
  m.graph = std::move(graph);
  auto inputs = initial_inputs(*m.graph, boxed, {});
  m.plan = make_plan(*m.graph, inputs, boxed);
  Execution eager = Executor(boxed).run(*m.graph, inputs);
  EXPECT_EQ(eager.ending, Ending::finished) << eager.text << "\n" << print(*m.graph);
  for (size_t i = 0; i < eager.outputs.size(); ++i)
    m.eager.push_back(read_elements(eager.outputs[i], m.graph->type(m.graph->outputs()[i].value()).dtype));
  return m;
}
Made planned(std::string_view text, Boxed& boxed) { return planned(parse_graph(text, op_table()), boxed); }

// In float64 nothing is chosen but roundings of the last place, so that the executor is right if it is close.
TEST(Variant, PlainAndPerturbedRunsAreCloseToEagerInF64) {
  quieten_libtorch();
  Boxed boxed(DeviceKind::cpu);
  for (uint64_t seed = 0; seed < 60; ++seed) {
    RandomChooser choose(seed), variant(seed + 1000);
    Made m = planned(with_every_result(*make_graph(choose, {.dtype = Dtype::f64})), boxed);
    ReplayChooser plain({});
    for (const auto& got : {run_variant(m.plan, plain), run_variant(m.plan, variant)}) {
      ASSERT_EQ(got.size(), m.eager.size());
      for (size_t i = 0; i < got.size(); ++i) {
        ASSERT_EQ(got[i].size(), m.eager[i].size());
        const Dtype d = m.graph->type(m.graph->outputs()[i].value()).dtype;
        if (d != Dtype::f64) break;  // narrower from here on
        for (size_t k = 0; k < got[i].size(); ++k)
          ASSERT_NEAR(got[i][k], m.eager[i][k], 1e-6 * (1 + std::fabs(m.eager[i][k])))
              << "result " << i << "[" << k << "] of seed " << seed << "\n"
              << print(*m.graph);
      }
    }
  }
}

// A tensor of no dims takes the dtype of what it meets: -1 is 255 there.
TEST(Variant, IntegersAreWrappedWhereTheyMeetOthers) {
  Boxed boxed(DeviceKind::cpu);
  Made m = planned(
      "graph @g(%x: u8[8] init integers(0, 9, seed=1), %y: i8[] init integers(-3, -1, seed=2)) { "
      "%z = aten.threshold_backward(%x, %y, 2) return %z }",
      boxed);
  RandomChooser choose(3);
  EXPECT_EQ(run_variant(m.plan, choose)[0], m.eager[0]);
}

// Wider than float64 too: what rounding takes from a sum is there for who reads it, also behind a view.
TEST(Variant, SumsOfFloat64MayStayWide) {
  Boxed boxed(DeviceKind::cpu);
  Made m = planned(R"(graph @g(%x: f64[4] init uniform(0.5, 1)) {
    %m = aten.mul(%x, 0.9)
    %y = aten.add(%m, 0.25)
    %z = aten.reshape(%y, [2, 2])
    %w = aten.reshape(%m, [2, 2])
    %d = aten.sub(%w, %z)
    return %d
  })",
                   boxed);
  bool rounded = false, whole = false;
  for (uint64_t seed = 0; seed < 64; ++seed) {
    RandomChooser choose(seed);
    const auto got = run_variant(m.plan, choose);
    const bool exact = std::ranges::all_of(got[0], [](double v) { return v == -0.25; });
    whole = whole || exact;
    rounded = rounded || !exact;
  }
  EXPECT_TRUE(rounded);
  EXPECT_TRUE(whole);
}

TEST(Variant, ChoicesMakeADifferenceAndTheSameOnesDoNot) {
  Boxed boxed(DeviceKind::cpu);
  Made m = planned(R"(graph @g(%x: f32[33, 64] init normal(0, 1)) {
    %e = aten.exp(%x)
    %s = aten.sum(%e, [1])
    return %s
  })",
                   boxed);
  auto variant = [&](uint64_t seed) {
    RandomChooser choose(seed);
    return run_variant(m.plan, choose);
  };
  const auto one = variant(1);
  EXPECT_EQ(one, variant(1));
  bool differs = false;
  for (uint64_t seed = 2; seed < 8; ++seed) differs = differs || variant(seed) != one;
  EXPECT_TRUE(differs);
}

// Whatever is chosen, a function stays within its row's accuracy.
TEST(Variant, StaysWithinTheRowsAccuracy) {
  Boxed boxed(DeviceKind::cpu);
  for (Dtype d : {Dtype::f16, Dtype::bf16, Dtype::f32}) {
    for (const char* op : {"exp", "tanh", "div", "rsqrt", "erf"}) {
      const bool two = std::string_view(op) == "div";
      const std::string t(name(d));
      Made m =
          planned("graph @g(%x: " + t + "[64] init uniform(0.5, 3), %y: " + t +
                      "[64] init uniform(0.5, 2)) { %r = aten." + op + (two ? "(%x, %y)" : "(%x)") + " return %r }",
                  boxed);
      const ScalarRow& row = *find_scalar(op);
      for (uint64_t seed = 0; seed < 60; ++seed) {
        RandomChooser choose(seed);
        const Elements got = run_variant(m.plan, choose)[0];
        for (size_t i = 0; i < got.size(); ++i) {
          const ScalarValue operands[] = {ScalarValue(m.plan.inputs[0][i]),
                                          ScalarValue(two ? m.plan.inputs[1][i] : 0.0)};
          const ScalarValue exact = evaluate(row, d, {operands, two ? size_t{2} : size_t{1}});
          // Kept wider and rounded at the end: half a last place comes to it.
          const double of_eager = is_reduced_float(d) ? row.eager.narrow_ulps * last_place(d, exact.real()) : 0;
          const double own = std::max(own_error(row, d, exact, {operands, 1}), of_eager);
          const double allowed = own + 0.51 * last_place(d, exact.real());
          ASSERT_LE(std::fabs(got[i] - exact.real()), allowed) << op << " " << t << " seed " << seed;
        }
      }
    }
  }
}

TEST(Accumulate, EveryOrderSumsEveryTermOnce) {
  std::vector<double> terms(37);
  double total = 0;
  for (size_t i = 0; i < terms.size(); ++i) total += terms[i] = static_cast<double>(i * i % 101);
  std::vector<uint32_t> places;
  for (int p = 0; p < 3; ++p)
    for (size_t lanes : {1, 2, 5, 16, 36, 37, 100})
      for (bool dealt : {false, true})
        for (bool tree : {false, true}) {
          const Order order{static_cast<Order::Permutation>(p), lanes, dealt, tree, false, 7};
          permute(order, terms.size(), places);
          EXPECT_EQ(accumulate<float>(order, places, terms.data(), 1, nullptr, 0), total);
          EXPECT_EQ(accumulate<double>(order, places, terms.data(), 1, terms.data(), 0), total * terms[0]);
        }
}

TEST(Mutant, EachChangesSomethingSomewhere) {
  Boxed boxed(DeviceKind::cpu);
  int changed[kMutants] = {};
  for (uint64_t seed = 0; seed < 80; ++seed) {
    RandomChooser choose(seed);
    Made m = planned(with_every_result(*make_graph(choose, {})), boxed);
    ReplayChooser one({});
    const auto good = run_variant(m.plan, one, {.by_definition = true});
    for (int k = 0; k < kMutants; ++k) {
      const auto places = sites(m.plan, static_cast<Mutant>(k));
      if (places.empty()) continue;
      ReplayChooser two({});
      const Mutation mutation = mutate(*places[seed % places.size()], static_cast<Mutant>(k), seed);
      changed[k] += run_variant(m.plan, two, {.mutation = &mutation, .by_definition = true}) != good;
    }
  }
  for (int k = 0; k < kMutants; ++k) {
    if (static_cast<Mutant>(k) == Mutant::nan_lost) continue;  // there are none by themselves: the next test
    EXPECT_GT(changed[k], 0) << name(static_cast<Mutant>(k));
  }
}

TEST(Mutant, ALostNaNIsAChange) {
  Boxed boxed(DeviceKind::cpu);
  Made m = planned(R"(graph @g(%x: f32[33] init normal(0, 1)) {
    %l = aten.log(%x)
    %r = aten.relu(%l)
    return %r
  })",
                   boxed);
  const Mutation lost = mutate(m.plan.steps[1], Mutant::nan_lost, 0);
  ReplayChooser plain({});
  const Elements got = run_variant(m.plan, plain, {.mutation = &lost})[0];
  EXPECT_TRUE(std::ranges::any_of(m.eager[0], [](double v) { return std::isnan(v); }));
  EXPECT_FALSE(std::ranges::any_of(got, [](double v) { return std::isnan(v); }));
}

}  // namespace
}  // namespace lenz::oracle::controls
