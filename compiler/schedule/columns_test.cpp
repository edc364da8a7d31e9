// Columns that are summed together: how many vectors of them, by the target's registers and by what else has to be
// there.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>

#include "compiler/driver/compile.h"
#include "compiler/graph/text.h"
#include "compiler/loops/interpret.h"
#include "compiler/loops/text.h"
#include "compiler/loops/verify.h"
#include "compiler/ops/op_table.h"
#include "compiler/schedule/realise.h"

namespace lenz::schedule {
namespace {

using testing::ContainsRegex;
using testing::Not;

loops::Program scheduled(const std::string& graph, const Target& target) {
  loops::Program made = schedule(to_loops(*parse_graph(graph, op_table())), target);
  loops::require_valid(made, "the scheduler");
  return made;
}

std::string summed(int rows, int columns, const std::string& value = "%x", const std::string& dtype = "f32") {
  return fmt::format("graph @g(%x: {}[{}, {}]) {{\n{}  %s = aten.sum.dim_IntList({}, [0])\n  return %s\n}}\n", dtype,
                     rows, columns, value == "%x" ? "" : "  %e = aten.exp(%x)\n", value);
}

TEST(Columns, HalfOfTheRegistersAreSums) {
  auto text = [&](const char* name, const std::string& graph) {
    return loops::print(scheduled(graph, cpu_target(name, 1)));
  };
  for (int columns : {1024, 1021}) {
    EXPECT_THAT(text("avx512", summed(300, columns)), ContainsRegex("lanes 16 unroll 16, reduce"));
    EXPECT_THAT(text("avx2", summed(300, columns)), ContainsRegex("lanes 8 unroll 8, reduce"));
    EXPECT_THAT(text("generic", summed(300, columns)), ContainsRegex("lanes 4 unroll 8, reduce"));
  }
  EXPECT_THAT(text("avx512", summed(300, 1024, "%x", "f64")), ContainsRegex("lanes 8 unroll 16, reduce"));
  EXPECT_THAT(text("avx512", summed(300, 1024, "%e")),
              ContainsRegex("lanes 16 unroll 4, reduce"));  // it needs registers
}

// Rows that are scanned by steps that take long are in lanes, several at a time, though they lie apart; not by short
// steps, nor few rows.
TEST(Columns, RowsWhoseStepsTakeLongAreBesideEachOther) {
  auto text = [&](const std::string& sizes, const std::string& op) {
    return loops::print(scheduled("graph @g(%x: f32[" + sizes + "]) {\n  %y = aten." + op + "\n  return %y\n}\n",
                                  cpu_target("avx512", 1)));
  };
  EXPECT_THAT(text("63, 63, 63", "logcumsumexp(%x, 2)"), ContainsRegex("lanes 16.*, scan"));
  EXPECT_THAT(text("3969, 63", "logcumsumexp(%x, 1)"), ContainsRegex("lanes 16.*, scan"));
  EXPECT_THAT(text("4, 1000", "logcumsumexp(%x, 1)"), Not(ContainsRegex("lanes 16.*, scan")));
  EXPECT_THAT(text("3969, 63", "cumsum(%x, 1)"), Not(ContainsRegex("lanes 16.*, scan")));
}

// A row is scanned in vectors where it lies so and is as long as some; what each writes is read by none behind it.
TEST(Columns, LongRowsAreScannedInLanes) {
  auto text = [&](const std::string& dtype, const std::string& sizes, const std::string& value) {
    return loops::print(
        scheduled("graph @g(%x: " + dtype + "[" + sizes + "]) {\n  %y = aten." + value + "\n  return %y\n}\n",
                  cpu_target("avx512", 1)));
  };
  EXPECT_THAT(text("i64", "1000003", "cumsum(%x, 0)"), ContainsRegex("scan j[0-9]+ < 1000003 lanes 8"));
  EXPECT_THAT(text("i32", "7, 1000", "cumprod(%x, 1)"), ContainsRegex("scan j[0-9]+ < 1000 lanes 8"));
  EXPECT_THAT(text("f32", "4, 1000", "logcumsumexp(%x, 1)"), ContainsRegex("scan j[0-9]+ < 1000 lanes 16"));
  EXPECT_THAT(text("i64", "4000, 11", "cumsum(%x, 1)"), Not(ContainsRegex("scan j[0-9]+ < 11 lanes")));
  EXPECT_THAT(text("i64", "1000, 40", "cumsum(%x, 0)"), Not(ContainsRegex("scan j[0-9]+ < 1000 lanes")));
  // Sums so far of what is not below zero never fall, and a zero stays one however large what comes behind it.
  for (const char* dtype : {"f64", "f32", "bf16"})
    for (const char* scan : {"cumsum(%x, 1)", "cumprod(%x, 1)"})
      EXPECT_THAT(text(dtype, "7, 1000", scan), Not(ContainsRegex("scan j[0-9]+ < 1000 lanes"))) << dtype << scan;
}

TEST(Columns, TheBestSoFarIsFoundOneByOne) {
  const char* graph = "graph @g(%x: f32[64, 5000]) {\n  %y, %i = aten.cummax(%x, 1)\n  return %y, %i\n}\n";
  EXPECT_THAT(loops::print(scheduled(graph, cpu_target("avx512", 1))), Not(ContainsRegex("scan j[0-9]+ < 5000 lanes")));
}

// What is made of a sum needs registers when the sum is done.
TEST(Columns, WhatIsMadeOfSumsTakesNoneOfThem) {
  const std::string graph =
      "graph @g(%x: f32[5, 77], %w: f32[77, 308], %b: f32[308]) {\n  %y = aten.addmm(%b, %x, %w)\n"
      "  %z = aten.sigmoid(%y)\n  return %z\n}\n";
  EXPECT_THAT(loops::print(scheduled(graph, cpu_target("avx512", 1))), ContainsRegex("lanes 16 unroll 16, reduce"));
}

// Of tiles that have fewer columns than so many registers, no vector is left to walk its rows alone.
TEST(Columns, OfATileThatEndsSomewhereAreOneTurn) {
  const std::string open =
      "graph @g(%x: f32[s0, s1]) where s0 in 2..9000, s1 in 2..9000 {\n  %y = aten.OP\n  return %y\n}\n";
  auto text = [&](const std::string& op) {
    return loops::print(scheduled(std::regex_replace(open, std::regex("OP"), op), cpu_target("avx512", 1)));
  };
  EXPECT_THAT(text("softmax(%x, 0)"), ContainsRegex("min\\(64, .*lanes 16 unroll 4, reduce .*amax"));
  EXPECT_THAT(text("amax(%x, [0])"), ContainsRegex("min\\(256, .*lanes 16 unroll 16, reduce"));
}

// Rows that data name lie in no order: what is contiguous in each of them are its columns.
TEST(Columns, OfRowsThatDataNameRunInLanes) {
  const std::string graph = R"(graph @g(%x: f32[300, 40], %from: i64[2000], %to: i64[2000]) {
    %z = aten.zeros([300, 40])
    %rows = aten.index(%x, [%from])
    %r = aten.index_add(%z, 0, %to, %rows)
    return %r
  })";
  EXPECT_THAT(loops::print(scheduled(graph, cpu_target("avx512", 2))), ContainsRegex("lanes 16 unroll 2, j0 < 2000"));
}

// Of rows that are shorter than a vector, what is done once a row has lanes only beside other rows.
TEST(Columns, RowsShorterThanAVectorRunBesideEachOther) {
  const std::string rows = "graph @g(%x: f32[5000, 8]) {\n  %y = aten.logsumexp(%x, [1])\n  return %y\n}\n";
  const std::string text = loops::print(scheduled(rows, cpu_target("avx512", 2)));
  EXPECT_THAT(text, ContainsRegex("lanes 16 unroll 4, reduce j[0-9]+ < 8"));
  EXPECT_THAT(text, testing::Not(ContainsRegex("< 8 lanes")));
}

// What a point keeps of a row may be read at the point's own place: which is not the one within its tile.
TEST(Columns, TheDiagonalOfWhatIsKeptIsReadWhereItIs) {
  const std::string graph = R"(
    graph @g(%x: f32[s0, s1] mut) where s0 in 2..64, s1 in 1..64 assuming s0 <= s1, 4 == s1 {
      %d = aten.diagonal(%x)
      %0 = aten.fill_(%d, 0)
      %n = aten.neg_(%x)
      %parts = aten.split(%n, [0, 4], dim=1)
      %none = lenz.getitem(%parts, 0)
      %m = aten.neg(%none)
      %r = aten.neg(%0)
      return %r, %m
    })";
  Target target = cpu_target("avx512", 1);
  target.grain = 128;  // tiles of two rows
  loops::Tensor x(Dtype::f32, loops::Ints{4, 4});
  for (int64_t i = 0; i < x.numel(); ++i) x.put(i, ScalarValue(static_cast<double>(i + 1)));
  const loops::Program made = scheduled(graph, target);
  EXPECT_THAT(loops::print(made), ContainsRegex("temp %[a-z0-9_]+: f32\\[s1, 2\\] local"));
  const loops::Results got = loops::interpret(made, std::vector<loops::InputValue>{x});
  ASSERT_EQ(got.ending, loops::Ending::finished) << got.text;
  for (int64_t r = 0; r < 4; ++r) EXPECT_EQ(got.outputs[0].tensor.at(r).real(), 0) << r << loops::print(made);
}

TEST(Columns, ComputeTheSame) {
  for (int rows : {1, 5, 131})
    for (int columns : {3, 257, 300}) {
      const std::string graph = summed(rows, columns);
      loops::Tensor x(Dtype::f32, loops::Ints{rows, columns});
      for (int64_t i = 0; i < x.numel(); ++i) x.put(i, ScalarValue(static_cast<double>(i * 7 % 100)));
      for (const char* name : {"avx512", "avx2", "generic"}) {
        const loops::Results got =
            loops::interpret(scheduled(graph, cpu_target(name, 2)), std::vector<loops::InputValue>{x});
        ASSERT_EQ(got.ending, loops::Ending::finished) << got.text;
        for (int64_t c = 0; c < columns; ++c) {
          double wanted = 0;
          for (int64_t r = 0; r < rows; ++r) wanted += x.at(r * columns + c).real();
          EXPECT_EQ(got.outputs[0].tensor.at(c).real(), wanted) << name << " " << rows << " " << columns << " " << c;
        }
      }
    }
}

}  // namespace
}  // namespace lenz::schedule
