#include "oracle/needless.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "compiler/graph/text.h"
#include "compiler/ops/op_table.h"
#include "oracle/judge_results.h"
#include "oracle/values_file.h"

namespace lenz::oracle {
namespace {

const std::string kInputs = "graph @g(%x: f32[1, 2], %i: i64[] init integers(3, 4, seed=0))";

// How a graph that raises ends once nothing raises any more that nobody needs.
Ending ends_by_need(Boxed& boxed, const Graph& graph) {
  auto run = [&](const Graph& part, const ExecuteOptions& options) {
    return Executor(boxed, options).run(part, draw_inputs(part, boxed, {}, Values::ordinary, 3));
  };
  EXPECT_EQ(run(graph, {}).ending, Ending::raised);
  return run_needed(graph, {}, run).ended.ending;
}

// Eager raises at a number that nobody needs: whoever drops it, and with it the error, has the results all the same.
TEST(Needless, ErrorsAreDroppedByWhoeverMadeResults) {
  const auto whole = parse_graph(kInputs +
                                     " where u0 in -1..0 {\n  %u: int u0 = aten._local_scalar_dense(%i)\n"
                                     "  %row = aten.select(%x, 0, %u)\n  %r = aten.tanh(%x)\n  return %r\n}\n",
                                 op_table());
  const auto dropped = parse_graph(kInputs + " {\n  %r = aten.tanh(%x)\n  return %r\n}\n", op_table());
  Boxed boxed(DeviceKind::cpu);
  auto run = [&](const Graph& graph) {
    return Executor(boxed).run(graph, draw_inputs(graph, boxed, {}, Values::ordinary, 3));
  };
  ASSERT_EQ(run(*whole).ending, Ending::raised);
  JudgeOptions options;
  options.seed = 3;
  options.results = testing::TempDir() + "needless_" + std::to_string(getpid()) + ".npz";
  write_results(options.results, *dropped, run(*dropped));
  const ResultsVerdict verdict = judge_results(*whole, options);
  EXPECT_EQ(verdict.code, ExitCode::fine) << verdict.why << (verdict.mismatch ? verdict.mismatch->summary() : "");
}

// x - x of integers is 0 whatever x is: who folds it never looks for the row. At least 1 is another matter.
TEST(Needless, NoResultHangsOnTheValue) {
  Boxed boxed(DeviceKind::cpu);
  auto ends = [&](const std::string& rest, const std::string& dtype = "i16") {
    const auto graph = parse_graph("graph @g(%x: " + dtype +
                                       "[1], %i: i64[1] init integers(2, 3, seed=0)) {\n"
                                       "  %row = aten.index_select(%x, 0, %i)\n" +
                                       rest,
                                   op_table());
    const NeededRun run = run_needed(*graph, {}, [&](const Graph& part, const ExecuteOptions& options) {
      return Executor(boxed, options).run(part, draw_inputs(part, boxed, {}, Values::ordinary, 3));
    });
    return std::pair(run.ended.ending, run.refusal.has_value());
  };
  EXPECT_EQ(ends("  %r = aten.sub.Tensor(%row, %row)\n  return %r\n}\n"), std::pair(Ending::finished, true));
  EXPECT_EQ(ends("  %r = aten.clamp(%row, 1)\n  return %r\n}\n"), std::pair(Ending::raised, false));
  // What raises further on needs none of it either.
  EXPECT_EQ(ends("  %z = aten.sub.Tensor(%row, %row)\n  %far = aten.index_select(%x, 0, %i)\n"
                 "  %r = aten.add(%z, %far)\n  return %r\n}\n"),
            std::pair(Ending::raised, true));
  // The angle of an integer is 0 of what is not below 0.
  EXPECT_EQ(ends("  %r = aten.angle(%row)\n  return %r\n}\n"), std::pair(Ending::raised, false));
  EXPECT_EQ(ends("  %r = aten.angle(%row)\n  return %r\n}\n", "u8"), std::pair(Ending::finished, true));
  // 0 times a float is 0 only of what is a number, and nobody says that it gives one.
  const std::string times = "  %r = aten.mul(%row, 0)\n  return %r\n}\n";
  EXPECT_EQ(ends(times), std::pair(Ending::finished, true));
  EXPECT_EQ(ends(times, "f32"), std::pair(Ending::raised, false));
  // Elements less the greatest of them are 0 only of what is all one number. (The row that nobody needs is refused
  // too.)
  const std::string less_the_greatest =
      "  %m = aten.amax(%rows, [0], true)\n  %r = aten.sub(%rows, %m)\n  return %r\n}\n";
  EXPECT_EQ(ends("  %two = aten.expand(%i, [2])\n  %rows = aten.index_select(%x, 0, %two)\n" + less_the_greatest),
            std::pair(Ending::raised, true));
  // Of equal elements, and of those that rise, the last is the greatest.
  EXPECT_EQ(ends("  %two = aten.expand(%i, [2])\n  %rows = aten.index_select(%x, 0, %two)\n"
                 "  %v, %r = aten.cummax(%rows, 0)\n  return %r\n}\n"),
            std::pair(Ending::raised, true));
}

// What is written to memory of the graph's own is nothing that a caller sees; to an input's it is.
TEST(Needless, NoResultHangsOnWhatIsWritten) {
  Boxed boxed(DeviceKind::cpu);
  auto ends = [&](const std::string& made, const std::string& rest) {
    const auto graph = parse_graph(
        "graph @g(%x: i16[2], %m: i16[2] mut, %i: i64[2] init integers(2, 3, seed=0)) {\n" + made + rest + "}\n",
        op_table());
    return ends_by_need(boxed, *graph);
  };
  const std::string nothing = "  %r = aten.mul(%w, 0)\n  return %r\n";
  const std::string apart = "  %o = aten.empty([2], dtype=i16)\n",
                    out = "  %w = aten.index_copy(%x, 0, %i, %x, out=%o)\n";
  EXPECT_EQ(ends(apart + out, nothing), Ending::finished);
  EXPECT_EQ(ends(apart + out, "  %r = aten.clamp(%w, 1)\n  return %r\n"), Ending::raised);
  EXPECT_EQ(ends(apart + out, "  %r = aten.mul(%w, 0)\n  %q = aten.neg(%o)\n  return %r, %q\n"), Ending::raised);
  EXPECT_EQ(ends("  %e = aten.clone(%x)\n  %w = aten.index_copy_(%e, 0, %i, %x)\n", nothing), Ending::finished);
  EXPECT_EQ(ends("  %w = aten.index_copy_(%m, 0, %i, %x)\n", nothing), Ending::raised);
}

// Of what takes lists one element may raise that nobody needs.
TEST(Needless, AnElementOfAList) {
  const auto graph = parse_graph(
      "graph @g(%a: f32[1], %b: f32[2], %n: f64[2]) {\n  %c = lenz.constant(f64[2] [2.0, 1.0e+300])\n"
      "  %l = aten._foreach_addcmul([%a, %b], [%a, %b], [%a, %b], %c)\n"
      "  %r = lenz.getitem(%l, 0)\n  return %r\n}\n",
      op_table());
  Boxed boxed(DeviceKind::cpu);
  auto run = [&](const Graph& part, const ExecuteOptions& options) {
    return Executor(boxed, options).run(part, draw_inputs(part, boxed, {}, Values::ordinary, 3));
  };
  ASSERT_EQ(run(*graph, {}).ending, Ending::raised);
  EXPECT_EQ(run_needed(*graph, {}, run).ended.ending, Ending::finished);
  const Reference right = Referee(boxed).run(*graph, draw_inputs(*graph, boxed, {}, Values::ordinary, 3));
  EXPECT_EQ(right.ending, Ending::raised);
}

// What draws anew in the place of a tensor asks it for its type, and draws whatever else is left out: so what is put
// into that tensor nobody needs.
TEST(Needless, ATypeThatIsDrawnBy) {
  Boxed boxed(DeviceKind::cpu);
  auto ends = [&](const std::string& rest) {
    const auto graph = parse_graph(
        "graph @g(%x: f32[2, 2], %i: i64[2] init integers(2, 3, seed=0)) {\n"
        "  %e = aten.clone(%x)\n  %w = aten.index_add_(%e, 0, %i, %x)\n" +
            rest + "}\n",
        op_table());
    return ends_by_need(boxed, *graph);
  };
  EXPECT_EQ(ends("  %d = aten.cauchy(%w)\n  %r = aten.rand([2])\n  return %r\n"), Ending::finished);
  EXPECT_EQ(ends("  %d = aten.randn_like(%w)\n  return %d\n"), Ending::finished);
  EXPECT_EQ(ends("  %s = aten.slice(%w, 1, 1)\n  %d = aten.normal_functional(%s)\n  return %d\n"), Ending::finished);
  // Of a type by which several elements share a place, away from where its memory begins.
  EXPECT_EQ(ends("  %s = aten.slice(%w, 1, 1)\n  %t = aten.expand(%s, [2, 3])\n  %d = aten.cauchy(%t)\n  return %d\n"),
            Ending::finished);
  EXPECT_EQ(ends("  %d = aten.cauchy(%w)\n  %r = aten.add(%d, %w)\n  return %r\n"), Ending::raised);
  EXPECT_EQ(ends("  %d = aten.bernoulli(%w)\n  return %d\n"), Ending::raised);  // by its values
}

// What is written over before anybody reads it nobody needs: who writes the later values alone drops the error.
TEST(Needless, WhatIsWrittenOver) {
  Boxed boxed(DeviceKind::cpu);
  auto ends = [&](const std::string& rest) {
    const auto graph = parse_graph(
        "graph @g(%x: f32[2] mut, %y: f32[2], %i: i64[2] init integers(2, 3, seed=0)) {\n" + rest + "}\n", op_table());
    return ends_by_need(boxed, *graph);
  };
  const std::string out = "  %w = aten.index_select(%y, 0, %i, out=%x)\n";
  const std::string copied = "  %row = aten.index_select(%y, 0, %i)\n  %w = aten.copy_(%x, %row)\n";
  for (const std::string& writes : {out, copied}) {
    for (const std::string over :
         {"aten.atan(%y, out=%w)", "aten.zero_(%w)", "aten.copy_(%x, %y)", "aten.fill_(%w, 2)"})
      EXPECT_EQ(ends(writes + "  %r = " + over + "\n  return\n"), Ending::finished) << over;
    EXPECT_EQ(ends(writes + "  %v = aten.view(%w, [1, 2])\n  %r = aten.zero_(%w)\n  return %v\n"), Ending::finished);
    EXPECT_EQ(ends(writes + "  aten._foreach_copy_([%w], [%y])\n  return\n"), Ending::finished);
    // By an element of a list, behind what reads it for nobody.
    EXPECT_EQ(ends(writes + "  %f = aten.sin_(%w)\n  aten._foreach_exp([%y], out=[%f])\n  return\n"), Ending::finished);
    EXPECT_EQ(ends(writes + "  %f = aten.sin_(%w)\n  aten._foreach_exp([%f], out=[%f])\n  return\n"), Ending::raised);
    const std::string grown =
        "  %none = aten.slice(%x, 0, 0, 0)\n  %e = aten.clone(%none)\n"
        "  %g = aten.index_select(%y, 0, %i, out=%e)\n";
    EXPECT_EQ(ends(grown + "  %r = aten.atan(%y, out=%g)\n  return %r\n"), Ending::finished);
    EXPECT_EQ(ends(grown + "  %v = aten.view(%g, [1, 2])\n  %r = aten.atan(%y, out=%g)\n  return %v\n"),
              Ending::raised);
    // A part of it stays, or somebody has read it.
    EXPECT_EQ(ends(writes + "  %half = aten.slice(%x, 0, 0, 1)\n  %r = aten.zero_(%half)\n  return\n"), Ending::raised);
    EXPECT_EQ(ends(writes + "  %s = aten.sin(%x)\n  %r = aten.zero_(%x)\n  return %s\n"), Ending::raised);
    EXPECT_EQ(ends(writes + "  %r = aten.add_(%x, %y)\n  return\n"), Ending::raised);
    EXPECT_EQ(ends(writes + "  %r = aten.atan(%w, out=%x)\n  return\n"), Ending::raised);
  }
}

// Which node of a body raises nobody says: what is made of it may take its type alone.
TEST(Needless, ATypeIsNoValueInABody) {
  Boxed boxed(DeviceKind::cpu);
  auto ends = [&](const std::string& made, const std::string& before = {}) {
    const auto graph = parse_graph(
        "graph @g(%x: f32[1, 2], %i: i64[1] init integers(2, 3, seed=0)) {\n"
        "  %c, %r = lenz.scan(@step, [%x], [%i])\n  return %c, %r\n}\n"
        "graph @step(%a: f32[1, 2], %k: i64[]) {\n  %at = aten.view(%k, [1])\n"
        "  %row = aten.index_select(%a, 0, %at)\n" +
            before + "  %r = " + made + "\n  %c = aten.clone(%a)\n  return %c, %r\n}\n",
        op_table());
    return ends_by_need(boxed, *graph);
  };
  EXPECT_EQ(ends("aten.new_zeros(%row, [2])"), Ending::finished);
  EXPECT_EQ(ends("aten.ones_like(%row)"), Ending::finished);
  EXPECT_EQ(ends("aten.randn_like(%row, generator=seed(7))"), Ending::finished);
  EXPECT_EQ(ends("aten.cauchy(%row)"), Ending::finished);
  EXPECT_EQ(ends("aten.neg(%row)"), Ending::raised);
  for (const std::string reads :
       {"sym_size(%row, 1)", "sym_stride(%row, 0)", "sym_numel(%row)", "sym_storage_offset(%row)"})
    EXPECT_EQ(ends("aten.mul(%a, %n)", "  %n = aten." + reads + "\n"), Ending::finished) << reads;
}

// What a branch gives that its caller does not take, nobody needs.
TEST(Needless, WhatABranchGivesToNobody) {
  Boxed boxed(DeviceKind::cpu);
  auto ends = [&](const std::string& taken) {
    const auto graph = parse_graph(
        "graph @g(%p: bool[] init integers(1, 1, seed=0), %x: f32[1, 2], %i: i64[1] init integers(2, 3, seed=0)) {\n"
        "  %a, %b = lenz.cond(%p, @yes, @no, [%x, %i])\n  return " +
            taken +
            "\n}\n"
            "graph @yes(%a: f32[1, 2], %k: i64[1]) {\n  %r = aten.index_select(%a, 0, %k)\n  %c = aten.neg(%a)\n"
            "  return %r, %c\n}\n"
            "graph @no(%a: f32[1, 2], %k: i64[1]) {\n  %r = aten.neg(%a)\n  %c = aten.abs(%a)\n  return %r, %c\n}\n",
        op_table());
    return ends_by_need(boxed, *graph);
  };
  EXPECT_EQ(ends("%b"), Ending::finished);
  EXPECT_EQ(ends("%a, %b"), Ending::raised);
  EXPECT_EQ(ends("%a"), Ending::raised);
}

// Nor does anybody need the rows that a step of a scan gives to nobody; what it carries its next step may take.
TEST(Needless, WhatAScanStacksForNobody) {
  Boxed boxed(DeviceKind::cpu);
  auto ends = [&](const std::string& taken, const std::string& step) {
    const auto graph = parse_graph(
        "graph @g(%x: f32[1, 2], %y: f32[1, 2], %i: i64[2, 1] init integers(2, 3, seed=0)) {\n"
        "  %c, %d, %a, %b = lenz.scan(@step, [%x, %y], [%i])\n  return " +
            taken +
            "\n}\ngraph @step(%a: f32[1, 2], %b: f32[1, 2], %k: i64[1]) {\n"
            "  %r = aten.index_select(%a, 0, %k)\n  %n = aten.neg(%a)\n  %m = aten.abs(%b)\n  return " +
            step + "\n}\n",
        op_table());
    return ends_by_need(boxed, *graph);
  };
  EXPECT_EQ(ends("%c, %b", "%n, %m, %r, %n"), Ending::finished);
  EXPECT_EQ(ends("%c, %a", "%n, %m, %n, %r"), Ending::finished);
  EXPECT_EQ(ends("%c, %a", "%n, %m, %r, %n"), Ending::raised);
  EXPECT_EQ(ends("%b", "%r, %m, %r, %n"), Ending::raised);  // the next step negates it
}

// Nor is it one where what is made has it from an out= tensor that what raises resized.
TEST(Needless, ATypeIsNoValueOfWhatIsWritten) {
  Boxed boxed(DeviceKind::cpu);
  const auto graph = parse_graph(
      "graph @g(%x: f32[1, 2], %i: i64[3] init integers(2, 3, seed=0)) {\n"
      "  %o = aten.zeros([0])\n  %row = aten.index_select(%x, 1, %i, out=%o)\n"
      "  %r = aten.full_like(%row, 0)\n  return %r\n}\n",
      op_table());
  auto run = [&](const Graph& part, const ExecuteOptions& options) {
    return Executor(boxed, options).run(part, draw_inputs(part, boxed, {}, Values::ordinary, 3));
  };
  EXPECT_EQ(run(*graph, {}).ending, Ending::raised);
  EXPECT_EQ(run_needed(*graph, {}, run).ended.ending, Ending::finished);
}

// Who asks for a size alone never looks where indices point, if that size does not hang on them.
TEST(Needless, ASizeThatHangsOnOtherOperands) {
  Boxed boxed(DeviceKind::cpu);
  auto ends = [&](const std::string& rest) {
    const auto graph = parse_graph(
        "graph @g(%x: f32[2, 2], %m: bool[2] init ones, %j: i64[1] init integers(1, 1, seed=0)) where u0 in 0..9 {\n"
        "  %i = aten.mul(%j, 7)\n  %less = aten.neg(%j)\n" +
            rest,
        op_table());
    return ends_by_need(boxed, *graph);
  };
  const std::string rows = "  %r: f32[u0] = aten.index(%x, [%m, %i])\n";
  const std::string size = "  %n = aten.sym_size(%r, 0)\n  %y = aten.full([%n], 1.0)\n  return %y\n}\n";
  EXPECT_EQ(ends(rows + size), Ending::finished);
  EXPECT_EQ(ends(rows + "  %y = aten.ones_like(%r)\n  return %y\n}\n"), Ending::finished);
  EXPECT_EQ(ends(rows + "  %y = aten.neg(%r)\n  return %y\n}\n"), Ending::raised);
  EXPECT_EQ(ends("  %r: i64[u0] = aten.repeat_interleave(%less)\n" + size), Ending::raised);
  // One number in the place of all: nothing is laid so.
  EXPECT_EQ(ends("  %all = aten.expand(%less, [3])\n  %r: i64[u0] = aten.repeat_interleave(%all)\n" + size),
            Ending::raised);
}

// What a mask's places say how many they are has no stand-in: nobody else knows its size.
TEST(Needless, SizesOfTheRunHaveNoStandIn) {
  Boxed boxed(DeviceKind::cpu);
  const auto graph = parse_graph(
      "graph @g(%x: f32[2, 2], %m: bool[2] init ones, %i: i64[1] init integers(2, 3, seed=0))"
      " where u0 in 0..2 {\n"
      "  %r: f32[u0] = aten.index(%x, [%m, %i])\n  return %r\n}\n",
      op_table());
  auto run = [&](const Graph& part, const ExecuteOptions& options) {
    return Executor(boxed, options).run(part, draw_inputs(part, boxed, {}, Values::ordinary, 3));
  };
  EXPECT_EQ(run_needed(*graph, {}, run).ended.ending, Ending::raised);
}

}  // namespace
}  // namespace lenz::oracle
