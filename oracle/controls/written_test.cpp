#include "oracle/controls/written.h"

#include <gtest/gtest.h>

#include "compiler/graph/text.h"
#include "compiler/graph/verify.h"
#include "compiler/ops/op_table.h"
#include "oracle/controls/graph_maker.h"
#include "oracle/element_compare.h"
#include "oracle/execute.h"

namespace lenz::oracle::controls {
namespace {

TEST(Written, TwinsGiveWhatTheirGraphsGive) {
  Boxed boxed(DeviceKind::cpu);
  size_t twins = 0;
  for (uint64_t seed = 0; seed < 200; ++seed) {
    RandomChooser choose(seed);
    const auto graph = make_graph(choose, {.dtype = seed % 2 ? Dtype::bf16 : Dtype::f32});
    const auto written = with_writes(*graph);
    if (!written) continue;
    ++twins;
    verify(*written);
    const std::vector<RunValue> inputs = initial_inputs(*graph, boxed, {});
    const Execution one = Executor(boxed).run(*graph, inputs), two = Executor(boxed).run(*written, inputs);
    ASSERT_EQ(two.ending, Ending::finished) << two.text << print(*written);
    for (size_t i = 0; i < one.outputs.size(); ++i)
      EXPECT_FALSE(first_apart(one.outputs[i], two.outputs[i], {})) << print(*graph) << print(*written);
  }
  EXPECT_GT(twins, 100u);
}

TEST(Written, WhatIsReadAgainStays) {
  const auto graph = parse_graph(R"(graph @g(%x: f32[4, 3], %y: f32[3]) {
    %a = aten.sin(%x) %t = aten.transpose(%a, 0, 1) %b = aten.add(%a, %y) %c = aten.exp(%b)
    %d = aten.mul(%c, %c) %e = aten.neg(%x) %j = aten.cat([%d, %e], 1)
    return %t, %j
  })",
                                 op_table());
  const std::string text = print(*with_writes(*graph));
  EXPECT_NE(text.find("aten.add(%a"), std::string::npos) << text;  // a view of %a is a result
  EXPECT_NE(text.find("aten.exp_("), std::string::npos) << text;
  EXPECT_EQ(text.find("aten.mul_"), std::string::npos) << text;  // it reads what it would write twice
  EXPECT_NE(text.find("aten.copy_("), std::string::npos) << text;
  EXPECT_EQ(text.find("aten.cat"), std::string::npos) << text;
}

}  // namespace
}  // namespace lenz::oracle::controls
