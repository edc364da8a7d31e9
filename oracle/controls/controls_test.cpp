#include "oracle/controls/controls.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "compiler/base/json_schema.h"
#include "compiler/graph/text.h"
#include "compiler/ops/op_table.h"
#include "oracle/commands.h"
#include "oracle/controls/variant.h"

namespace lenz::oracle::controls {
namespace {

Subject subject(std::string_view text, Boxed& boxed) {
  auto made = Subject::make(parse_graph(text, op_table())->clone(), boxed);
  EXPECT_TRUE(made.has_value());
  return std::move(*made);
}

constexpr std::string_view kText = R"(graph @g(%x: f32[17, 33] init uniform(-2, 2)) {
  %e = aten.exp(%x)
  %s = aten.sum(%e, [1], true)
  %r = aten.div(%e, %s)
  return %r
})";

TEST(Controls, AMutantRaisesAnAlarmAndWhatItMutatesDoesNot) {
  Boxed boxed(DeviceKind::cpu);
  Subject s = subject(kText, boxed);
  for (Mutant kind : {Mutant::one_bad_element, Mutant::reduction_drops_last, Mutant::transposed_read,
                      Mutant::wrong_dtype, Mutant::row_off_by_one, Mutant::operands_swapped, Mutant::row_unwritten}) {
    ASSERT_FALSE(sites(s.plan(), kind).empty()) << name(kind);
    const Mutation mutation = mutate(*sites(s.plan(), kind)[0], kind, 1);
    RandomChooser one(5), two(5);
    const auto good = run_variant(s.plan(), one, {.by_definition = true});
    const auto bad = run_variant(s.plan(), two, {.mutation = &mutation, .by_definition = true});
    EXPECT_FALSE(s.alarmed(Criterion::ours, good, Scope::outputs)) << name(kind);
    EXPECT_TRUE(s.alarmed(Criterion::ours, bad, Scope::every_result)) << name(kind);
  }
}

// A graph of anybody's, on other inputs each time.
TEST(Controls, AreMadeOfAGivenGraphToo) {
  const auto given = [](std::string_view text) { return std::shared_ptr<const Graph>(parse_graph(text, op_table())); };
  ControlsOptions options;
  options.given = given(R"(graph @g(%x: f32[3, 8], %w: f32[8, 8] init uniform(-1, 1)) {
    %a = aten.linear(%x, %w) %r = aten.layer_norm(%a, [8]) return %r
  })");
  options.mutants = true;
  options.criteria = false;
  options.efforts.search = 20;
  options.efforts.redraws = 4;
  EXPECT_NO_THROW(require_controllable(*options.given));
  Boxed boxed(DeviceKind::cpu);
  const Tally tally = run_batch(options, 0, 3, boxed);
  const DtypeTally& t = tally.dtypes.at("f32");
  EXPECT_EQ(t.graphs, 3u);
  EXPECT_EQ(t.eager_alarms + t.alarms[1][0] + t.extreme_alarms, 0u);
  EXPECT_GT(t.ops.at("aten.layer_norm").elements, 0u);
  EXPECT_GT(t.mutants[1].at("one bad element").killed[0], 0u);
  for (const char* text :
       {"graph @g(%x: i64[3]) { %y = aten.neg(%x) return %y }", "graph @g(%x: f32[s0]) { %y = aten.neg(%x) return %y }",
        "graph @g(%x: f32[3] mut) { %y = aten.neg_(%x) return %y }",
        "graph @g(%x: f32[3]) { %y = aten.neg(%x) return %x }"})
    EXPECT_THROW(require_controllable(*given(text)), UserError) << text;
}

// In whatever order a graph returns them, and however often.
TEST(Controls, OutputsAreHeldToTheirOwn) {
  ControlsOptions options;
  options.given = parse_graph(R"(graph @g(%x: f32[8]) {
    %f = aten.neg(%x) %h = aten.mul(%x, 2.0) %k = aten.exp(%h) return %k, %f, %k
  })",
                              op_table());
  Boxed boxed(DeviceKind::cpu);
  const DtypeTally& t = run_batch(options, 0, 4, boxed).dtypes.at("f32");
  EXPECT_EQ(t.graphs, 4u);
  EXPECT_EQ(t.alarms[0][0] + t.alarms[1][0], 0u);
}

// Each criterion's own idea of wrong.
TEST(Controls, CriteriaSeeWhatTheyAreMeantToSee) {
  const Elements exact{1, 2, 3, 100}, running(4, 1e-6);
  const Compared expected{Dtype::f32, &exact, &exact, &running, &running, &running};
  auto alarms = [&](double off) {
    Elements got = exact;
    got[1] += off;
    std::vector<bool> all;
    for (Criterion c :
         {Criterion::torchfuzz, Criterion::nnsmith, Criterion::assert_close, Criterion::same, Criterion::running_error})
      all.push_back(alarmed(c, expected, got));
    return all;
  };
  using testing::ElementsAre;
  EXPECT_THAT(alarms(0), ElementsAre(false, false, false, false, false));
  EXPECT_THAT(alarms(5e-6), ElementsAre(false, false, false, false, true));
  EXPECT_THAT(alarms(2e-5), ElementsAre(false, false, true, false, true));
  EXPECT_THAT(alarms(1e-2), ElementsAre(false, false, true, true, true));
  EXPECT_THAT(alarms(1), ElementsAre(false, true, true, true, true));
  EXPECT_THAT(alarms(50), ElementsAre(true, true, true, true, true));
  EXPECT_THAT(alarms(std::nan("")), ElementsAre(true, true, true, true, true));
}

TEST(Controls, CriteriaOfNumericsThatHaveABoundOfTheirOwn) {
  const Elements exact{1, 2, 3, 100}, running(4, 1e-6), worst(4, 1e-5), perturbed(4, 1e-6), wide{0, 1e-6, 0, 0};
  auto alarms = [&](Dtype dtype, const Elements& bounds, double off) {
    Elements got = exact;
    got[1] += off;
    const Compared expected{dtype, &exact, &exact, &bounds, &worst, &perturbed};
    std::vector<bool> all;
    for (Criterion c : {Criterion::running_worst, Criterion::perturbed, Criterion::close, Criterion::masked})
      all.push_back(alarmed(c, expected, got));
    return all;
  };
  using testing::ElementsAre;
  EXPECT_THAT(alarms(Dtype::f64, running, 0), ElementsAre(false, false, false, false));
  EXPECT_THAT(alarms(Dtype::f64, running, 5e-7), ElementsAre(false, false, true, false));
  EXPECT_THAT(alarms(Dtype::f64, running, 5e-6), ElementsAre(false, true, true, true));
  EXPECT_THAT(alarms(Dtype::f64, running, 5e-5), ElementsAre(true, true, true, true));
  EXPECT_THAT(alarms(Dtype::f64, Elements(4, 0), 1e-12), ElementsAre(false, false, false, false));
  EXPECT_THAT(alarms(Dtype::f64, wide, 5e-7), ElementsAre(false, false, true, false));
  EXPECT_THAT(alarms(Dtype::bf16, running, 5e-6), ElementsAre(false, false, true, true));  // 4 unit roundoffs
  EXPECT_FALSE(applies(Criterion::masked, Dtype::bf16));
}

TEST(Controls, NoLegalVariantIsCalledWrong) {
  Boxed boxed(DeviceKind::cpu);
  ControlsOptions options;
  options.seed = 11;
  options.variants = 2;
  options.criteria = false;
  Tally t = run_batch(options, 0, 120, boxed);
  uint64_t graphs = 0;
  for (const auto& [dtype, d] : t.dtypes) {
    graphs += d.graphs;
    EXPECT_EQ(d.alarms[0][0] + d.alarms[1][0], 0u) << dtype;
    EXPECT_EQ(d.refused, 0u);
  }
  EXPECT_EQ(graphs, 120u);
  EXPECT_TRUE(t.unsupported.empty()) << t.unsupported.begin()->first;
  for (const Alarm& a : t.alarms) EXPECT_EQ(a.by, "eager") << a.summary << "\n" << a.text;
}

// Where a product is not rounded before it is added: zeros of which one was called wrong.
TEST(Controls, ZerosKeepTheirSignsInLegalVariants) {
  Boxed boxed(DeviceKind::cpu);
  ControlsOptions options;
  options.seed = 20261123;
  options.criteria = false;
  for (uint64_t graph : {59491, 241587}) {
    const Tally t = run_batch(options, graph, 1, boxed);
    EXPECT_TRUE(t.alarms.empty()) << t.alarms[0].summary << "\n" << t.alarms[0].text;
  }
}

TEST(Controls, TalliesAddUpAndTravelAsJson) {
  Boxed boxed(DeviceKind::cpu);
  ControlsOptions options;
  options.mutants = true;
  options.reach = 2;
  Tally whole = run_batch(options, 0, 8, boxed);
  Tally parts = Tally::from_json(run_batch(options, 0, 5, boxed).to_json());
  parts.merge(Tally::from_json(run_batch(options, 5, 3, boxed).to_json()));
  EXPECT_EQ(parts.to_json(), whole.to_json());
}

TEST(Controls, AnAlarmIsExplained) {
  Boxed boxed(DeviceKind::cpu);
  ControlsOptions options;
  options.criteria = false;
  options.fault = Mutant::one_bad_element;
  Tally t = run_batch(options, 0, 4, boxed);
  const auto alarm = std::ranges::find(t.alarms, "a legal variant", &Alarm::by);
  ASSERT_NE(alarm, t.alarms.end());
  EXPECT_THAT(alarm->text, testing::HasSubstr("graph @control"));
  EXPECT_THAT(alarm->summary, testing::HasSubstr("expected"));
  EXPECT_TRUE(alarm->choices.empty()) << alarm->choices[0];  // the plainest variant has the fault too
}

struct Said {
  ExitCode code;
  std::string text;
};
Said command(std::vector<std::string> args) {
  testing::internal::CaptureStdout();
  Said said{ExitCode::fine, {}};
  try {
    said.code = controls_command(args);
  } catch (const UserError&) {
    said.code = ExitCode::bad_input;
  }
  said.text = testing::internal::GetCapturedStdout();
  return said;
}

TEST(ControlsCommand, SilenceIsZeroAndAnAlarmIsSeven) {
  const Said silent = command({"--graphs", "8", "--jobs", "1", "--mutants"});
  EXPECT_EQ(silent.code, ExitCode::fine) << silent.text;
  EXPECT_THAT(silent.text, testing::HasSubstr("8 legal variants, 16 extreme ones, 0 alarms"));
  EXPECT_THAT(silent.text, testing::HasSubstr("as far as 400 steps of --search and 100 --redraws found"));
  EXPECT_THAT(silent.text, testing::HasSubstr("torchfuzz sum"));
  const Said loud = command({"--graphs", "8", "--jobs", "1", "--ours", "--fault", "row unwritten"});
  EXPECT_EQ(loud.code, ExitCode::wrong) << loud.text;
  EXPECT_THAT(loud.text, testing::Not(testing::HasSubstr("torchfuzz sum")));  // which nobody measured
  EXPECT_THAT(loud.text, testing::HasSubstr("spoiled on purpose, of"));
  EXPECT_THAT(loud.text, testing::HasSubstr("again: lenz controls --seed 0 --first"));
}

TEST(ControlsCommand, JsonFitsItsSchemaWhateverTheJobs) {
  const Said one = command({"--graphs", "300", "--jobs", "1", "--json", "--ours"});
  const Said two = command({"--graphs", "300", "--jobs", "2", "--json", "--ours"});
  auto a = nlohmann::json::parse(one.text), b = nlohmann::json::parse(two.text);
  std::ifstream file(std::string(LENZ_SOURCE_DIR) + "/oracle/controls/controls.schema.json");
  const auto violations = schema_violations(a, nlohmann::json::parse(file));
  EXPECT_TRUE(violations.empty()) << violations[0];
  for (auto* j : {&a, &b}) j->erase("seconds"), j->erase("jobs");
  EXPECT_EQ(a, b);
}

TEST(ControlsCommand, RefusesNonsense) {
  EXPECT_EQ(command({"--graphs", "0"}).code, ExitCode::bad_input);
  EXPECT_EQ(command({"--variants", "-1"}).code, ExitCode::bad_input);
  EXPECT_EQ(command({"--fault", "laziness"}).code, ExitCode::bad_input);
}

}  // namespace
}  // namespace lenz::oracle::controls
