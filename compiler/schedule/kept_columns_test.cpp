// Softmaxes and norms over a dim that is not the last in memory: what is walked twice is read from memory once, in
// lanes along what is contiguous.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <new>
#include <string>

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
using testing::HasSubstr;
using testing::Not;

std::string scheduled(const std::string& graph) {
  const loops::Program made = schedule(to_loops(*parse_graph(graph, op_table())), cpu_target("avx512", 2));
  loops::require_valid(made, "the scheduler");
  return loops::print(made);
}

size_t kernels(const std::string& text) {
  size_t count = 0;
  for (size_t at = 0; (at = text.find("\n  kernel ", at)) != std::string::npos; ++at) ++count;
  return count;
}

TEST(KeptColumns, OneKernelHasAllRowsOfSomeColumns) {
  const std::string text = scheduled("graph @g(%x: f32[1024, 1024]) {\n  %y = aten.softmax(%x, 0)\n  return %y\n}\n");
  EXPECT_EQ(kernels(text), 1u) << text;
  EXPECT_THAT(text, ContainsRegex("kernel t0 < 32 "));
  EXPECT_THAT(text, HasSubstr("f32[1024, 32] local"));
}

// Results that lie the other way are turned in registers: no lane reads or writes in steps of a row.
TEST(KeptColumns, ResultsThatLieTheOtherWayAreTurned) {
  for (const char* what : {"aten.softmax(%t, 1)", "aten.layer_norm(%t, [1024])"}) {
    const std::string text = scheduled(std::string("graph @g(%x: f32[1024, 1000]) {\n  %t = aten.t(%x)\n  %y = ") +
                                       what + "\n  return %y\n}\n");
    EXPECT_EQ(kernels(text), 1u) << text;
    EXPECT_THAT(text, ContainsRegex("lanes 16, j[0-9]+ < 1024 unroll 16"));
    EXPECT_THAT(text, Not(ContainsRegex("reduce j[0-9]+ < 1024 lanes")));
  }
}

// Of images too, whose rows are shorter than a tile: of static sizes in whole vectors, of open ones in some.
TEST(KeptColumns, PartsOfImagesGoOnOverTheEndsOfRows) {
  for (const char* sizes : {"8, 64, 56, 56", "s0, s1, s2, s3"}) {
    const bool open = sizes[0] == 's';
    const std::string text = scheduled(std::string("graph @g(%x: f32[") + sizes + "])" +
                                       (open ? " where s0 in 1..64, s1 in 2..512, s2 in 2..512, s3 in 2..512" : "") +
                                       " {\n  %y = aten.softmax(%x, 1)\n  return %y\n}\n");
    EXPECT_EQ(kernels(text), 1u) << text;
    EXPECT_THAT(text, HasSubstr(open ? "kernel k0 < s0, t0 < (s2*s3 + 63)//64 " : "kernel k0 < 8, t0 < 14 ")) << text;
  }
}

// Parts of one result are stored at several places: of axes that are one, nothing proves that points stay apart.
TEST(KeptColumns, PartsThatAreJoinedKeepTheirAxes) {
  Target target = cpu_target("avx512", 1);
  target.grain = 1024;
  const std::string graph =
      "graph @g(%x: f32[2, 3, 1, 1], %y: f32[2, 3, 1, 1], %z: f32[2, 3, 1, 2]) {\n  %c = aten.cat([%x, %y, %z], "
      "dim=3)\n"
      "  %p = aten.slice(%c, dim=3, start=1, end=3)\n  %s = aten.sin(%p)\n  return %s\n}\n";
  loops::require_valid(schedule(to_loops(*parse_graph(graph, op_table())), target), "the scheduler");
}

// Of images of which nothing is known the counts of points end somewhere.
TEST(KeptColumns, SizesOfWhichNothingIsKnown) {
  const std::string text =
      scheduled("graph @g(%x: f32[s0, s1, s2, s3]) {\n  %y = aten.softmax(%x, 1)\n  return %y\n}\n");
  EXPECT_EQ(kernels(text), 1u) << text;
}

// Rows so many that no cache keeps them are reduced in parts, by many cores; so are columns that are few.
TEST(KeptColumns, NotOfTooManyRowsOrTooFewColumns) {
  for (const char* sizes : {"8192, 512", "20000, 64"}) {
    const std::string text =
        scheduled(std::string("graph @g(%x: f32[") + sizes + "]) {\n  %y = aten.softmax(%x, 0)\n  return %y\n}\n");
    EXPECT_THAT(text, HasSubstr("partial")) << text;
  }
}

// Running sums too go beside each other, in doubles.
TEST(KeptColumns, WhatIsScannedAlongThemHasLanes) {
  const std::string text = scheduled("graph @g(%x: f32[8, 64, 56, 56]) {\n  %y = aten.cumsum(%x, 1)\n  return %y\n}\n");
  EXPECT_THAT(text, ContainsRegex("lanes 8 unroll 2, scan j[0-9]+ < 64"));
}

TEST(KeptColumns, ComputeTheSame) {
  const std::string graph = R"(
graph @g(%x: f32[s0, s1, s2, s3]) where s0 in 2..64, s1 in 2..512, s2 in 2..512, s3 in 2..512 {
  %y = aten.softmax(%x, 1)
  %v = aten.var.correction(%x, [1], correction=0, keepdim=true)
  %m = aten.mul(%y, %v)
  %z = aten.cumsum(%m, 1)
  return %z
}
)";
  for (const loops::Ints& sizes : {loops::Ints{2, 3, 5, 7}, {4, 40, 9, 31}, {3, 2, 2, 5}, {2, 17, 16, 16}}) {
    loops::Tensor x(Dtype::f32, sizes);
    for (int64_t i = 0; i < x.numel(); ++i) x.put(i, ScalarValue(static_cast<double>(i * 37 % 101) / 25.0));
    const std::vector<loops::InputValue> inputs{x};
    const loops::Results wanted = loops::interpret(to_loops(*parse_graph(graph, op_table())), inputs);
    for (const char* name : {"avx512", "generic"})
      for (const int64_t grain : {1, 8}) {
        Target target = cpu_target(name, 2);
        target.grain = grain;
        const loops::Program made = schedule(to_loops(*parse_graph(graph, op_table())), target);
        loops::require_valid(made, "the scheduler");
        const loops::Results got = loops::interpret(made, inputs);
        ASSERT_EQ(got.ending, loops::Ending::finished) << got.text;
        for (int64_t i = 0; i < x.numel(); ++i)
          ASSERT_NEAR(got.outputs[0].tensor.at(i).real(), wanted.outputs[0].tensor.at(i).real(), 1e-5) << i;
      }
  }
}

// Each cell of a table is made of three before it: as many paths lead through 14 x 14 of them as memory has bytes.
TEST(KeptColumns, TablesOfResultsTakeNoMoreMemoryThanCells) {
#if defined(LENZ_ADDRESS_SANITIZER)
  GTEST_SKIP() << "the sanitizer needs its address space";
#endif
  constexpr int kCells = 14;
  std::string text = "graph @table(%x: f32[4]) {\n";
  auto cell = [](int i, int k) {
    return i < 0 || k < 0 ? std::string("%x") : "%c" + std::to_string(i) + "_" + std::to_string(k);
  };
  for (int i = 0; i < kCells; ++i)
    for (int k = 0; k < kCells; ++k) {
      const std::string own = cell(i, k).substr(1);
      text += "  %s" + own + " = aten.stack([" + cell(i - 1, k - 1) + ", " + cell(i - 1, k) + ", " + cell(i, k - 1) +
              "])\n  %m" + own + " = aten.logsumexp(%s" + own + ", [0])\n  " + cell(i, k) + " = aten.add(%m" + own +
              ", %x)\n";
    }
  text += "  return " + cell(kCells - 1, kCells - 1) + "\n}\n";
  loops::Program program = to_loops(*parse_graph(text, op_table()));
  rlimit before{};
  getrlimit(RLIMIT_AS, &before);
  rlimit some = before;
  some.rlim_cur = rlim_t{4} << 30;
  setrlimit(RLIMIT_AS, &some);
  try {
    schedule(std::move(program), cpu_target("avx512", 2));
  } catch (const std::bad_alloc&) {
    ADD_FAILURE() << "it takes more than that";
  }
  setrlimit(RLIMIT_AS, &before);
}

}  // namespace
}  // namespace lenz::schedule
