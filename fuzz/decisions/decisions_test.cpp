#include "fuzz/decisions/fixed.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "compiler/driver/compile.h"
#include "compiler/graph/text.h"
#include "compiler/ops/eager_processor.h"
#include "compiler/ops/op_table.h"
#include "compiler/schedule/realise.h"
#include "fuzz/properties/list.h"

namespace lenz::fuzz {
namespace {

using testing::HasSubstr;

const Fixed kSome{Fixed::graph, "some"};

TEST(Decisions, ALineReadsBack) {
  const Facts facts{
      {"dead_code/node", 3}, {"scheduling/avx512/#", 0xabc}, {"scheduling/avx512/kernels' own buffers", 12}};
  const std::string line = line_of("seeds/some.lenz", facts);
  EXPECT_EQ(line, "seeds/some.lenz: dead_code: node=3 | scheduling/avx512: #=abc; kernels' own buffers=12");
  EXPECT_EQ(parse_baseline("# words\n" + line + "\n").at("seeds/some.lenz"), facts);
  EXPECT_THROW(parse_baseline("some: dead_code: node"), UserError);
  EXPECT_THROW(parse_baseline("some: dead_code: node=3x"), UserError);
}

TEST(Decisions, WhatIsLostComesFirst) {
  const Facts before{{"dead_code/node", 3}, {"scheduling/avx512/kernels", 4}, {"scheduling/avx512/#", 7}};
  EXPECT_EQ(drift(kSome, before, before).stage, "");

  Facts now = before;
  now.erase("dead_code/node");
  now["scheduling/avx512/kernels"] = 5;
  now["scheduling/avx512/#"] = 8;
  const Drift lost = drift(kSome, before, now);
  EXPECT_EQ(lost.stage, "dead_code");
  EXPECT_EQ(lost.symptom, "feature lost");
  EXPECT_THAT(lost.text, HasSubstr("dead_code/node: 0, 3 in the baseline"));
  EXPECT_THAT(lost.text, HasSubstr("scheduling/avx512/kernels: 1.25 times the baseline (5, 4 in the baseline)"));

  now["dead_code/node"] = 3;
  EXPECT_EQ(drift(kSome, before, now).stage, "scheduling");
  EXPECT_EQ(drift(kSome, before, now).symptom, "worse than the baseline");
  now["scheduling/avx512/kernels"] = 4;
  EXPECT_EQ(drift(kSome, before, now).symptom, "not as in the baseline");
  now["scheduling/avx512/#"] = 7;
  now["memory/avx512/arena"] = 64;
  EXPECT_EQ(drift(kSome, before, now).stage, "memory");
}

TEST(Decisions, EachThingIsAskedOnceInARow) {
  std::set<const Fixed*> asked;
  size_t times = 0;
  for (uint64_t number = 0; number < 4096; ++number) {
    const auto part = part_of_decisions(number);
    if (!part) continue;
    for (const Fixed* fixed : things_of(*part)) asked.insert(fixed), ++times;
  }
  EXPECT_EQ(asked.size(), fixed_things().size());
  EXPECT_EQ(times, fixed_things().size());
  EXPECT_GE(fixed_things().size(), 2500u);
  std::set<std::string> names;
  for (const Fixed& fixed : fixed_things()) names.insert(fixed.name);
  EXPECT_EQ(names.size(), fixed_things().size());
}

SymValues none() {
  return [](const SymNode*) { return std::nullopt; };
}

Costs costs(std::string_view text, bool schedules) {
  loops::Program program = to_loops(*parse_graph(text, op_table()));
  if (schedules) program = schedule::schedule(std::move(program), schedule::cpu_target("avx512", 1));
  return costs_of(program, none());
}

TEST(Decisions, BytesAreCountedFromTheLoops) {
  constexpr std::string_view kTwo =
      "graph @g(%x: f32[100, 8]) {\n  %a = aten.exp(%x)\n  %b = aten.sin(%a)\n  return %b\n}\n";
  const Costs apart = costs(kTwo, false), joined = costs(kTwo, true);
  EXPECT_EQ(apart.kernels, 0);
  EXPECT_EQ(apart.nests, 2);
  EXPECT_EQ(apart.moved, 4 * 800 * 4.0);  // each reads and writes all
  EXPECT_EQ(joined.kernels, 1);
  EXPECT_EQ(joined.moved, 2 * 800 * 4.0);
  // Behind a reduction there is a point a row.
  EXPECT_EQ(costs("graph @g(%x: f64[100, 8]) {\n  %a = aten.sum(%x, dim=[1])\n  return %a\n}\n", false).moved,
            8 * (800 + 100.0));
}

// Of joined nests as well: a polynomial whose size alone is drawn by is computed by nobody.
TEST(Decisions, NothingIsReadForNestsThatNobodyReads) {
  constexpr std::string_view kUnread =
      "graph @g(%x: i64[]) {\n  %a = aten.full([], 0.0)\n  %n: float = aten._local_scalar_dense(%a)\n"
      "  %p = aten.special_shifted_chebyshev_polynomial_w(%n, %x)\n  %u = aten.uniform(%p)\n  return %a\n}\n";
  EXPECT_EQ(costs(kUnread, true).moved, 4);
}

TEST(Decisions, MemoryIsCountedNodeByNode) {
  runtime::MemoryPlan plan;
  auto add = [&](int64_t bytes, uint32_t first, uint32_t last) {
    plan.places.push_back({.kind = runtime::Place::arena, .bytes = bytes, .first = first, .last = last});
  };
  add(100, 0, 1), add(100, 1, 2), add(40, 1, 3);
  plan.arena_bytes = 192;
  const Memory memory = memory_of(plan, none());
  EXPECT_EQ(memory.arena, 192);
  EXPECT_EQ(memory.all, 128 + 128 + 64);
  EXPECT_EQ(memory.peak, 140);
}

TEST(Decisions, ACaseOfThatNumberAsks) {
  const Property* property = find_property("decisions");
  ASSERT_NE(property, nullptr);
  Case c = parse_case("# fuzz: values=ordinary seed=1 number=5\ngraph @g(%x: f32[2]) {\n  return %x\n}\n");
  EXPECT_EQ(c.setting.number, 5u);
  EXPECT_THAT(c.text(), HasSubstr("number=5"));
  oracle::Boxed boxed(DeviceKind::cpu);
  Subject subject(*c.graph, c.setting, boxed, {});
  const auto failure = property->holds(subject);
  EXPECT_FALSE(failure) << failure->detail;
}

TEST(Decisions, AFeatureOfTheCompilerThatIsLostIsSeen) {
  const Fixed& fixed = *std::ranges::find(fixed_things(), "passes/dead_code/unused_results.lenz", &Fixed::name);
  Facts now = fixed.facts();
  EXPECT_EQ(drift(fixed, baseline().at(fixed.name), now).text, "");
  now.erase("dead_code/node");
  EXPECT_EQ(drift(fixed, baseline().at(fixed.name), now).stage, "dead_code");
}

// Eager's layouts are other ones on some processors; what is held against a committed text is not.
TEST(Decisions, AreTheSameOnEveryProcessor) {
  constexpr std::string_view kThings[] = {"aten.convolution",
                                          "regressions/half_floats_in_three_dims_lie_as_they_did.lenz"};
  for (const bool computes : {false, true}) {
    const InPlaceOfEagersProcessor other({.computes_in_half = computes, .computes_in_bf16 = computes});
    EXPECT_EQ(eager_processor().computes_in_half, computes);
    for (const std::string_view name : kThings) {
      const Fixed& fixed = *std::ranges::find(fixed_things(), name, &Fixed::name);
      EXPECT_EQ(drift(fixed, baseline().at(fixed.name), fixed.facts()).text, "");
    }
    EXPECT_EQ(eager_processor().computes_in_half, computes);
    EXPECT_EQ(eager_processor().computes_in_bf16, computes);
  }
}

}  // namespace
}  // namespace lenz::fuzz
