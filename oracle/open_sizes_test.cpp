// Sizes that only a run knows, at values that eager takes and at such that it refuses: eager, the interpreter and
// machine code end alike.
#include <gtest/gtest.h>

#include "compiler/driver/build.h"
#include "compiler/graph/text.h"
#include "compiler/ops/op_table.h"
#include "oracle/compare.h"
#include "oracle/interpreted.h"
#include "oracle/native_run.h"

namespace lenz::oracle {
namespace {

// A graph for a number u, read from %i.
std::string graph_text(std::string_view body, int64_t u, std::string_view facts) {
  return "graph @g(%x: f32[8] mut, %y: f32[8, 6], %i: i64[] init integers(" + std::to_string(u) + ", " +
         std::to_string(u) + ")) " + std::string(facts) + " {\n  %u: int u = aten._local_scalar_dense(%i)\n  " +
         std::string(body) + "\n}\n";
}

Execution ended(const std::function<Execution()>& run) {
  try {
    return run();
  } catch (const UserError& error) {
    Execution raised;
    raised.ending = Ending::raised;
    raised.text = error.what();
    return raised;
  }
}

void expect_alike(std::string_view body, std::initializer_list<int64_t> legal, std::initializer_list<int64_t> illegal,
                  std::string_view facts = "") {
  Boxed boxed(DeviceKind::cpu);
  auto check = [&](int64_t u, Ending ending) {
    const std::string text = graph_text(body, u, facts);
    SCOPED_TRACE(text);
    auto graph = parse_graph(text, op_table());
    auto inputs = [&] { return initial_inputs(*graph, boxed, {}); };
    Execution eager = Executor(boxed).run(*graph, inputs());
    EXPECT_EQ(eager.ending, ending) << eager.text;
    const loops::Program program = to_loops(*graph);
    auto executable = build(*graph);
    for (const Execution& got : {ended([&] { return run_interpreted(program, inputs(), boxed); }),
                                 ended([&] { return run_native(*executable, inputs(), boxed); })}) {
      EXPECT_EQ(got.ending, ending) << got.text;
      if (ending != Ending::finished || got.ending != ending) continue;
      auto mismatch = compare_runs(*graph, eager, got);
      EXPECT_FALSE(mismatch) << mismatch->summary();
    }
  };
  for (int64_t u : legal) check(u, Ending::finished);
  for (int64_t u : illegal) check(u, Ending::raised);
}

constexpr int64_t kHuge = int64_t{1} << 62;

TEST(OpenSizes, Slices) {
  const auto all = {-100L, -8L, -3L, 0L, 1L, 5L, 8L, 100L};
  expect_alike("%r = aten.slice(%x, 0, 0, %u) return %r", all, {});
  expect_alike("%r = aten.slice(%x, 0, %u) return %r", all, {});
  expect_alike("%s = aten.slice(%x, 0, 0, %u, 2) %r = aten.sum(%s) return %r", all, {});
  expect_alike("%s = aten.slice(%x, 0, %u) %r = aten.cat([%s, %x]) return %r", all, {});
  expect_alike("%s = aten.slice(%y, 1, %u, 5) %r = aten.mul(%s, 2.0) return %r", all, {});
}

TEST(OpenSizes, Selections) {
  expect_alike("%r = aten.select(%x, 0, %u) return %r", {-8, -3, 0, 7}, {-9, 8, 1000000, 100000000000, -kHuge, kHuge});
  expect_alike("%s = aten.select(%y, 1, %u) %r = aten.mul(%s, 2.0) return %r", {-6, -1, 0, 5}, {-7, 6, kHuge});
  expect_alike("%s = aten.select(%x, 0, %u) %w = aten.fill_(%s, 7.0) return %x", {-8, 3}, {8, 1000000});
}

TEST(OpenSizes, Parts) {
  expect_alike("%s = aten.narrow(%x, 0, 0, %u) %r = aten.add(%s, 1) return %r", {0, 1, 8}, {-1, 9, 50, kHuge});
  expect_alike("%s = aten.narrow(%x, 0, %u, 2) %r = aten.mul(%s, 2) return %r", {-8, -2, 0, 6}, {-9, -1, 7, 50});
  expect_alike("%r = aten.unfold(%x, 0, %u, 1) return %r", {0, 1, 5, 8}, {-1, 9, kHuge});
}

TEST(OpenSizes, Memory) {
  expect_alike("%r = aten.as_strided(%x, [%u], [1]) return %r", {0, 1, 8}, {-1, 9, 30, kHuge});
  expect_alike("%r = aten.as_strided(%x, [2], [1], %u) return %r", {0, 6}, {-2, 7, kHuge});
  expect_alike("%r = aten.zeros([%u]) return %r", {0, 1, 3}, {-2});
}

TEST(OpenSizes, Shapes) { expect_alike("%r = aten.view(%x, [-1, %u]) return %r", {1, 2, 4, 8}, {0, 3, -2, kHuge}); }

// The sub-graph's own number, read in the way that is taken.
TEST(OpenSizes, InsideOfControlFlow) {
  Boxed boxed(DeviceKind::cpu);
  for (int64_t u : {-8, -3, 7, 8, -9}) {
    const std::string number = std::to_string(u);
    auto graph = parse_graph("graph @g(%x: f32[8], %i: i64[] init integers(" + number + ", " + number + R"()) {
      %p = aten.ge(%i, -100)
      %r = lenz.cond(%p, @one, @none, [%x, %i])
      return %r
    }
    graph @one(%x: f32[8], %i: i64[]) {
      %u: int u = aten._local_scalar_dense(%i)
      %s = aten.select(%x, 0, %u)
      %r = aten.mul(%s, 2.0)
      return %r
    }
    graph @none(%x: f32[8], %i: i64[]) {
      %r = aten.sum(%x)
      return %r
    })",
                             op_table());
    auto inputs = [&] { return initial_inputs(*graph, boxed, {}); };
    Execution eager = Executor(boxed).run(*graph, inputs());
    const loops::Program program = to_loops(*graph);
    Execution got = ended([&] { return run_interpreted(program, inputs(), boxed); });
    ASSERT_EQ(got.ending, eager.ending) << u << ": " << got.text;
    if (got.ending == Ending::finished) {
      auto mismatch = compare_runs(*graph, eager, got);
      EXPECT_FALSE(mismatch) << mismatch->summary();
    }
  }
}

// A number that 64 bits don't hold is refused by whoever needs it.
TEST(OpenSizes, NumbersThatOverflow) {
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max() - 1023;  // the greatest that a double holds too
  expect_alike("%r = aten.slice(%x, end=u + u + 1) return %r", {0L, 3L}, {kMost, kHuge}, "where u in 0..");
}

// Of what a graph reckons in sizes of its inputs nobody says anything there.
TEST(OpenSizes, SumsOfSizesThatOverflowAreNobodys) {
  Boxed boxed(DeviceKind::cpu);
  auto graph = parse_graph(R"(graph @g(%x: f32[s0]) {
    %n: int s0 = aten.sym_size(%x, 0)
    %m = lenz.sym_add(%n, 9223372036854775804)
    %r = aten.slice(%x, end=%m)
    return %r
  })",
                           op_table());
  auto run = [&](std::string_view sizes) {
    Binding binding = parse_binding(std::string(sizes), *graph);
    return Executor(boxed).run(*graph, initial_inputs(*graph, boxed, binding), binding);
  };
  EXPECT_EQ(run("s0=3").ending, Ending::finished);
  EXPECT_THROW(run("s0=4"), UserError);
}

}  // namespace
}  // namespace lenz::oracle
