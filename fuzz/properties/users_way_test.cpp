#include "fuzz/properties/users_way.h"

#include <gtest/gtest.h>

#include "compiler/driver/compile.h"
#include "compiler/graph/text.h"
#include "compiler/ops/op_table.h"
#include "compiler/schedule/realise.h"

namespace lenz::fuzz {
namespace {

struct Planned {
  loops::Program prepared;
  schedule::Plan plan;
  std::string text;
};
Planned planned() {
  const auto graph = parse_graph(
      "graph @g(%x: f32[4096]) {\n  %s = aten.sin(%x)\n  %m = aten.sum(%s)\n  %d = aten.div(%s, %m)\n  return %d\n}\n",
      op_table());
  const schedule::Target target = schedule::cpu_target("avx2", 1);
  Planned made{.prepared = to_loops(*graph, {}, {}), .plan = {}, .text = {}};
  schedule::prepare(made.prepared, target);
  made.plan = schedule::plan(made.prepared, target);
  made.text = schedule::print(made.plan, made.prepared);
  return made;
}

TEST(UsersWay, APlanIsReadAsItIsPrinted) {
  const Planned made = planned();
  EXPECT_EQ(lost_in_plan(made.prepared, made.plan, made.text), "") << made.text;
}

// What a reader or a printer forgets, or tells otherwise, does not stay unnoticed.
TEST(UsersWay, APlanWithoutALineOfItsOwnIsAnotherOne) {
  const Planned made = planned();
  int lines = 0;
  for (size_t at = made.text.find('\n') + 1; at < made.text.size(); ++lines) {
    const size_t end = made.text.find('\n', at) + 1;
    std::string without = made.text;
    without.erase(at, end - at);
    EXPECT_NE(lost_in_plan(made.prepared, made.plan, without), "") << without;
    at = end;
  }
  EXPECT_GT(lines, 2) << made.text;
}

}  // namespace
}  // namespace lenz::fuzz
