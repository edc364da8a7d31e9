// Plans as text: what is printed parses, what is damaged says where, and what would compute something else is refused.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "compiler/base/chooser.h"
#include "compiler/driver/compile.h"
#include "compiler/graph/mutate.h"
#include "compiler/graph/text.h"
#include "compiler/loops/interpret.h"
#include "compiler/loops/text.h"
#include "compiler/loops/verify.h"
#include "compiler/ops/call_maker.h"
#include "compiler/ops/op_table.h"
#include "compiler/schedule/realise.h"

namespace lenz::schedule {
namespace {

using testing::HasSubstr;

struct Prepared {
  loops::Program program;
  Plan plan;
};
Prepared prepared(const Graph& graph, uint32_t cores = 2) {
  const Target target = cpu_target("avx512", cores);
  Prepared made{to_loops(graph), {}};
  prepare(made.program, target);
  made.plan = plan(made.program, target);
  return made;
}
Prepared prepared(std::string_view text) { return prepared(*parse_graph(text, op_table())); }

constexpr std::string_view kNorm =
    "graph @g(%x: f32[7, 100], %w: f32[100]) { %y = aten.softmax.int(%x, -1) %z = aten.layer_norm(%y, [100], %w) "
    "return %z }";
constexpr std::string_view kTurned =
    "graph @g(%x: f32[200, 300], %y: f32[300, 200]) { %t = aten.t(%y) %z = aten.add(%x, %t) return %z }";
constexpr std::string_view kDistances =
    "graph @g(%x: f32[40, 100], %y: f32[90, 100]) { %d = aten.cdist(%x, %y) return %d }";
constexpr std::string_view kTwo =
    "graph @g(%x: f32[64, 8]) { %a = aten.cumsum(%x, 0) %b = aten.cumsum(%a, 1) %c = aten.sin(%b) return %a, %b, %c }";

std::string refused(std::string_view text) {
  try {
    parse_plan(text, "a.plan");
  } catch (const UserError& error) {
    return std::string(error.what()) + "\n" + error.remedy();
  }
  return "";
}

TEST(Plan, WhatIsPrintedParses) {
  size_t plans = 0, cut = 0;
  for (const auto& row : op_table().rows()) {
    if (!row->generate) continue;
    RandomChooser chooser(11);
    try {
      const Prepared p = prepared(*generate_call(*row, op_table(), chooser));
      const std::string text = print(p.plan, p.program);
      const Plan again = parse_plan(text);
      EXPECT_EQ(again, p.plan) << text;
      EXPECT_EQ(print(again, p.program), text);
      EXPECT_EQ(why_illegal(again, p.program), "") << text;
      ++plans;
      cut += text.find(" tile ") != std::string::npos;
    } catch (const Unsupported&) {
    }
  }
  EXPECT_GT(plans, 800u);
  EXPECT_GT(cut, 400u);
}

TEST(Plan, SaysHowAxesAreCut) {
  EXPECT_THAT(print(prepared(kTurned).plan, prepared(kTurned).program), HasSubstr("shared 2 tile 256 rows 0 of 64 {"));
  EXPECT_THAT(print(prepared(kDistances).plan, prepared(kDistances).program),
              HasSubstr("shared 2 tile 64 rows 0 of 4 abreast {"));
  EXPECT_THAT(print(prepared(kNorm).plan, prepared(kNorm).program), HasSubstr("kernel shared 1 {"));
}

// Other legal plans compute the same: one kernel a nest, other tiles, another order.
TEST(Plan, AGivenPlanIsDone) {
  loops::Tensor x(Dtype::f32, loops::Ints{200, 300}), y(Dtype::f32, loops::Ints{300, 200});
  for (loops::Tensor* t : {&x, &y})
    for (int64_t i = 0; i < t->numel(); ++i) t->put(i, ScalarValue(static_cast<double>(i * 7 % 1000)));
  const std::vector<loops::InputValue> inputs{x, y};
  const Prepared p = prepared(kTurned);
  for (std::string_view kernel :
       {"kernel shared 2 {", "kernel shared 2 tile 7 rows 0 of 5 {", "kernel shared 2 order 1 0 tile 100 {",
        "kernel shared 2 order 1 0 tile 16 rows 0 of 16 {", "kernel shared 1 {", "kernel shared 0 {",
        "kernel shared 1 tile 9 {"}) {
    const Plan given = parse_plan(fmt::format("plan @g for avx2 cores 1 vector 32 {{ {} phase 0 }} }}", kernel));
    ASSERT_EQ(why_illegal(given, p.program), "") << kernel;
    loops::Program made = realise(prepared(kTurned).program, given);
    ASSERT_TRUE(loops::verify(made).valid()) << loops::print(made);
    const loops::Results got = loops::interpret(made, inputs);
    ASSERT_EQ(got.ending, loops::Ending::finished) << kernel << got.text;
    for (int64_t i = 0; i < 200; ++i)
      for (int64_t k = 0; k < 300; ++k)
        ASSERT_EQ(got.outputs[0].tensor.at(i * 300 + k).real(), x.at(i * 300 + k).real() + y.at(k * 200 + i).real())
            << kernel;
  }
}

// Of small images neither rows nor columns fill a vector: both are one axis, on either side of the turn.
TEST(Plan, ShortAxesAreOneInSquares) {
  auto plan_of = [](std::string_view sizes, std::string_view order) {
    const std::string graph = fmt::format(
        "graph @g(%x: f32[{}]) {{ %a = aten.relu(%x) %p = aten.permute(%a, [{}]) %c = aten.clone(%p, "
        "memory_format=contiguous_format) return %c }}",
        sizes, order);
    const Prepared p = prepared(graph);
    const loops::Program made = realise(prepared(graph).program, p.plan);
    EXPECT_TRUE(loops::verify(made).valid()) << loops::print(made);
    return print(p.plan, p.program);
  };
  EXPECT_THAT(plan_of("2, 40, 7, 9", "0, 2, 3, 1"), HasSubstr("shared 4 tile 256 rows 2 of 64 joined 2 {"));
  EXPECT_THAT(plan_of("2, 7, 9, 40", "0, 3, 1, 2"), HasSubstr("shared 4 tile 256 joined 2 rows 1 of 64 {"));
  EXPECT_THAT(plan_of("2, 40, 20, 20", "0, 2, 3, 1"), HasSubstr("shared 4 tile 256 rows 2 of 64 {"));
}

TEST(Plan, WhatWouldComputeSomethingElseIsRefused) {
  auto why = [](std::string_view graph, std::string_view lines, std::string_view name = "@g") {
    return why_illegal(parse_plan(fmt::format("plan {} for avx512 cores 1 vector 64 {{ {} }}", name, lines)),
                       prepared(graph).program);
  };
  constexpr std::string_view kThree =
      "kernel shared 1 { phase 0 } kernel shared 1 { phase 1 } kernel shared 1 { phase 2 }";
  EXPECT_EQ(why(kTwo, kThree), "");
  EXPECT_THAT(why(kTwo, kThree, "@h"), HasSubstr("for @h"));
  EXPECT_THAT(why(kTwo, std::string(kThree) + " block 1"), HasSubstr("2 blocks"));
  EXPECT_THAT(why(kTwo, "kernel shared 1 { phase 0 1 }"), HasSubstr("node 2 is missing"));
  EXPECT_THAT(why(kTwo, "kernel shared 1 { phase 0 9 }"), HasSubstr("no node 9"));
  EXPECT_THAT(why(kTwo, "kernel shared 1 { phase 0 } kernel shared 1 { phase 0 1 2 }"), HasSubstr("stands twice"));
  EXPECT_THAT(why(kTwo, "node 0 node 1 node 2"), HasSubstr("is a nest"));
  EXPECT_THAT(why(kTwo, "kernel shared 1 { phase 1 } kernel shared 1 { phase 0 } kernel shared 1 { phase 2 }"),
              HasSubstr("which it needs"));
  EXPECT_THAT(why(kTwo, "kernel shared 1 { phase 0 1 2 }"), testing::Not(""));
  EXPECT_THAT(why(kTwo, "kernel shared 3 { phase 0 } kernel shared 1 { phase 1 } kernel shared 1 { phase 2 }"),
              HasSubstr("apart along 1 axes only"));
  EXPECT_THAT(why(kTurned, "kernel shared 2 order 1 1 { phase 0 }"), HasSubstr("order"));
  EXPECT_THAT(why(kTurned, "kernel shared 2 tile 64 joined 2 { phase 0 }"), HasSubstr("not one in all memory"));
  EXPECT_THAT(why(kTurned, "kernel shared 2 tile 64 rows 1 of 64 { phase 0 }"), HasSubstr("squares"));
  EXPECT_THAT(why(kTurned, "kernel shared 2 tile 64 rows 0 of 64 joined 2 { phase 0 }"), HasSubstr("more axes"));
  EXPECT_THAT(why(kTurned, "kernel shared 2 tile 64 joined 2 rows 0 of 64 { phase 0 }"), HasSubstr("squares"));
  EXPECT_THAT(why(kTurned, "kernel shared 2 tile 64 rows 0 of 64 abreast { phase 0 }"), HasSubstr("no more than 16"));
  EXPECT_THAT(why(kTurned, "kernel shared 2 tile 64 rows 0 of 4 joined 2 abreast { phase 0 }"),
              HasSubstr("one axis each"));
  EXPECT_THAT(why(kTurned, "kernel shared 2 rows 0 of 64 { phase 0 }"), HasSubstr("nothing is cut"));
  EXPECT_THAT(why(kTurned, "kernel shared 2 tile 64 rows 0 of 1 { phase 0 }"), HasSubstr("2 to"));
  EXPECT_THAT(why(kTurned, "kernel shared 0 tile 8 { phase 0 }"), HasSubstr("no shared axis"));
  // Phases in the wrong order, and merged where one has to be done before the other begins.
  const Prepared norm = prepared(kNorm);
  Plan turned = norm.plan;
  std::ranges::reverse(turned.blocks[0][0].phases);
  EXPECT_THAT(why_illegal(turned, norm.program), HasSubstr("earlier one"));
  Plan merged = norm.plan;
  merged.blocks[0][0].phases = {{merged.blocks[0][0].nests}};
  EXPECT_THAT(why_illegal(merged, norm.program), HasSubstr("phase"));
}

TEST(Plan, ErrorsSayWhereAndWhatToDo) {
  EXPECT_THAT(refused(""), HasSubstr("expected `plan`"));
  EXPECT_THAT(refused("plan @g for sse cores 1 vector 64 {}"), HasSubstr("a.plan:1:13"));
  EXPECT_THAT(refused("plan @g for avx2 cores 0 vector 64 {}"), HasSubstr("from 1 to 4096"));
  EXPECT_THAT(refused("plan @g for avx2 cores 1 vector 32 {\n  colonel\n}"),
              testing::AllOf(HasSubstr("a.plan:2:3"), HasSubstr("`kernel`")));
  EXPECT_THAT(refused("plan @g for avx2 cores 1 vector 32 { kernel shared 1 { } }"), HasSubstr("without nests"));
  EXPECT_THAT(refused("plan @g for avx2 cores 1 vector 32 { node 99999999999 }"), HasSubstr("32 bits"));
  EXPECT_THAT(refused("plan @g for avx2 cores 1 vector 32 { block 3 }"), HasSubstr("write block 1"));
  EXPECT_THAT(refused("plan @g for avx2 cores 1 vector 32 { kernel shared 1 tile 1000000 { phase 0 } }"),
              HasSubstr("from 1 to"));
  EXPECT_THAT(refused("plan @g for avx2 cores 1 vector 32 { } more"), HasSubstr("one plan"));
}

// No damaged text crashes or hangs, and no plan that is taken makes a program that is not valid.
TEST(Plan, HostileTexts) {
  std::vector<std::string> texts;
  for (std::string_view graph : {kNorm, kTurned, kTwo})
    texts.push_back(print(prepared(graph).plan, prepared(graph).program));
  size_t parsed = 0, legal = 0;
  for (uint64_t seed = 0; seed < 3000; ++seed) {
    RandomChooser chooser(seed);
    const std::string text = mutate(texts[seed % texts.size()], texts, chooser);
    std::optional<Plan> plan;
    try {
      plan = parse_plan(text);
    } catch (const UserError&) {
      continue;
    }
    ++parsed;
    for (std::string_view graph : {kNorm, kTurned, kTwo}) {
      loops::Program program = to_loops(*parse_graph(graph, op_table()));
      prepare(program, plan->target);
      if (!why_illegal(*plan, program).empty()) continue;
      ++legal;
      EXPECT_EQ(parse_plan(print(*plan, program)), *plan) << text;
      program = realise(std::move(program), *plan);
      EXPECT_TRUE(loops::verify(program).valid()) << text << loops::print(program);
    }
  }
  EXPECT_GT(parsed, 100u);
  EXPECT_GT(legal, 20u);
}

}  // namespace
}  // namespace lenz::schedule
