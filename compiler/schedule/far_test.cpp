// Which results go past the caches.
#include "compiler/schedule/far.h"

#include <gtest/gtest.h>

#include "compiler/base/sym_node.h"
#include "compiler/driver/compile.h"
#include "compiler/graph/text.h"
#include "compiler/loops/equal.h"
#include "compiler/loops/text.h"
#include "compiler/loops/uses.h"
#include "compiler/loops/verify.h"
#include "compiler/ops/op_table.h"
#include "compiler/schedule/realise.h"

namespace lenz::schedule {
namespace {

loops::Program scheduled(std::string_view graph, uint32_t cores = 1) {
  loops::Program made = schedule(to_loops(*parse_graph(graph, op_table())), cpu_target("avx512", cores));
  loops::require_valid(made, "the scheduler");
  EXPECT_TRUE(loops::equal(made, loops::parse_program(loops::print(made), op_table())));
  return made;
}

// By buffers that are no local ones: empty where it is near.
std::string far_ones(const loops::Program& program) {
  std::string all;
  for (const loops::Buffer& b : program.buffers)
    if (b.far) all += (all.empty() ? "" : "; ") + (*b.far == loops::kAlways ? "always" : to_string(*b.far));
  return all;
}

std::string chain(const std::string& type) {
  return "graph @g(%x: " + type + ", %y: " + type + ") {\n  %a = aten.add.Tensor(%x, %y)\n  return %a\n}\n";
}

// 20 MiB a core.
TEST(Far, ResultsOfMuchMemory) {
  EXPECT_EQ(far_ones(scheduled(chain("f32[2048, 1024]"))), "always");
  EXPECT_EQ(far_ones(scheduled(chain("f32[2048, 1024]"), 2)), "");
  EXPECT_EQ(far_ones(scheduled(chain("f32[1024, 1024]"))), "");
}

// Of a table no more moves than is looked up.
TEST(Far, RowsOfATable) {
  auto looked_up = [](int rows) {
    return far_ones(scheduled("graph @g(%table: f32[60000, 768], %i: i64[" + std::to_string(rows) +
                              "]) {\n  %a = aten.index_select(%table, 0, %i)\n  %b = aten.neg(%a)\n  return %b\n}\n"));
  };
  EXPECT_EQ(looked_up(2000), "");
  EXPECT_EQ(looked_up(4000), "always");
}

// Nor of one whose sizes are open; what looks the same up again does not count twice.
TEST(Far, RowsOfATableOfOpenSizes) {
  const auto program = scheduled(
      "graph @g(%table: f32[s1, 768], %i: i64[s0]) where s0 in 2..3000, s1 in 2..60000 {\n"
      "  %a = aten.index_select(%table, 0, %i)\n  %m = aten.amax(%a, [1], true)\n  %b = aten.sub.Tensor(%a, %m)\n"
      "  return %b\n}\n");
  EXPECT_EQ(far_ones(program), "");
}

// Of squares, rows that each begin with a line: parts of lines are written where they are.
TEST(Far, RowsOfSquaresThatBeginWithALine) {
  auto turned = [](const std::string& rows, const std::string& columns) {
    return far_ones(scheduled("graph @g(%x: f32[" + rows + ", " + columns + "], %y: f32[" + columns + ", " + rows +
                              "]) {\n  %t = aten.t(%y)\n  %a = aten.add.Tensor(%x, %t)\n  return %a\n}\n"));
  };
  EXPECT_EQ(turned("2049", "1536"), "always");
  EXPECT_EQ(turned("2049", "1537"), "");
}

TEST(Far, OpenSizesDecideAtTheCall) {
  EXPECT_EQ(far_ones(scheduled("graph @g(%x: f32[s0, 1024]) where s0 in 1..100000 {\n"
                               "  %a = aten.neg(%x)\n  return %a\n}\n")),
            "0 <= s0*8192 - 20971520");
  EXPECT_EQ(far_ones(scheduled("graph @g(%x: f32[s0, 1024]) where s0 in 1..100 {\n"
                               "  %a = aten.neg(%x)\n  return %a\n}\n")),
            "");
}

// All that the program moves lies before its caller's reading, however many tensors that is.
TEST(Far, OpenSizesOfAllKernelsCount) {
  const std::string all = "0 <= s0*4096 + s1*8 - 20971520";
  EXPECT_EQ(far_ones(scheduled("graph @g(%x: f32[s0, 512], %y: f32[s1]) {\n"
                               "  %a = aten.neg(%x)\n  %b = aten.sin(%y)\n  return %a, %b\n}\n")),
            all + "; " + all);
}

// The kernels of sizes that inputs tell are made ready before anything has run.
TEST(Far, SizesThatComeLaterCountWhereTheyAreKnown) {
  const loops::Program program = scheduled(R"(graph @g(%x: f32[s0, 512], %m: bool[s1]) {
    %a = aten.neg(%x)
    %n = aten.nonzero(%m)
    %b = aten.mul(%n, 3)
    return %a, %b
  })");
  int early = 0, late = 0;
  for (const loops::Buffer& b : program.buffers) {
    if (!b.far || *b.far == loops::kAlways) continue;
    const bool told_later = !loops::all_in(b.far->rhs, loops::early_symbols(program));
    EXPECT_EQ(told_later, b.type.rank() == 2 && b.type.sizes[1] == 1) << to_string(*b.far);
    (told_later ? late : early)++;
  }
  EXPECT_GT(early, 0);
  EXPECT_GT(late, 0);
}

// Sums of few rows are read again by the same kernel or by the next; they are small too.
TEST(Far, FewBytesStayNear) {
  const loops::Program program = scheduled(R"(graph @g(%x: f32[4096, 1024], %small: f32[64]) {
    %s = aten.neg(%small)
    %t = aten.cumsum(%s, 0)
    %b = aten.sigmoid(%x)
    return %t, %b
  })");
  for (const loops::Buffer& b : program.buffers)
    EXPECT_EQ(b.far.has_value(), b.kind == loops::BufferKind::temporary && !b.local && b.type.sizes.size() == 2)
        << loops::print(program);
}

// A program of many small kernels moves much too: its results are read after all of it.
TEST(Far, ResultsOfManyKernels) {
  std::string text = "graph @g(", body, outputs;
  for (int i = 0; i < 40; ++i) {
    const std::string n = std::to_string(i);
    text += (i ? ", %x" : "%x") + n + ": f32[256, " + std::to_string(256 + i) + "]";
    body += "  %y" + n + " = aten.neg(%x" + n + ")\n";
    outputs += (i ? ", %y" : "%y") + n;
  }
  const loops::Program program = scheduled(text + ") {\n" + body + "  return " + outputs + "\n}\n");
  size_t far = 0;
  for (const loops::Buffer& b : program.buffers) far += b.far.has_value();
  EXPECT_EQ(far, 40u);
}

// What all expressions are written with that planning so many tensors made, each of a size of its own.
size_t written(int tensors) {
  std::string inputs, lists[3], results, given, ranges;
  for (int k = 0; k < tensors; ++k) {
    const std::string n = std::to_string(k), comma = k ? ", " : "";
    for (int l = 0; l < 3; ++l) {
      const std::string name = "%" + std::string(1, static_cast<char>('a' + l)) + n;
      inputs += (inputs.empty() ? "" : ", ") + name + ": f32[s" + n + "]";
      lists[l] += comma + name;
    }
    results += "  %y" + n + " = lenz.getitem(%l, " + n + ")\n";
    given += comma + "%y" + n;
    ranges += comma + "s" + n + " in 2..100000000";
  }
  const auto graph = parse_graph("graph @g(" + inputs + ") where " + ranges + " {\n  %l = aten._foreach_addcmul([" +
                                     lists[0] + "], [" + lists[1] + "], [" + lists[2] + "], value=0.5)\n" + results +
                                     "  return " + given + "\n}\n",
                                 op_table());
  loops::Program program = to_loops(*graph);
  const auto& nodes = program.context->syms.impl().nodes;
  const size_t before = nodes.size();
  program = schedule(std::move(program), cpu_target("avx512", 2));
  EXPECT_FALSE(far_ones(program).empty());
  size_t all = 0;
  for (size_t k = before; k < nodes.size(); ++k) all += nodes[k]->size;
  return all;
}

// All sizes together are added up by halves: one after another they were written as often as there are tensors.
TEST(Far, ManySizesAreAddedUpByHalves) {
  const size_t few = written(10), many = written(100);
  EXPECT_LT(many, 13 * few) << few;
}

// More terms than an expression may have: some of them say that the rest is far.
TEST(Far, MoreSizesThanASumHasTerms) { written(160); }

}  // namespace
}  // namespace lenz::schedule
