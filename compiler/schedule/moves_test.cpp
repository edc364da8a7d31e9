// What moves elements is copies: no remainders of what they read, no condition at each of them.
#include <gtest/gtest.h>

#include "compiler/driver/compile.h"
#include "compiler/graph/text.h"
#include "compiler/loops/index_algebra.h"
#include "compiler/loops/interpret.h"
#include "compiler/ops/op_table.h"
#include "compiler/schedule/addresses.h"
#include "compiler/schedule/realise.h"

namespace lenz::schedule {
namespace {

loops::Program rolled(std::string_view input, std::string_view by) {
  const std::string text =
      "graph @g(%x: f32" + std::string(input) + ") { %y = aten.roll(%x, " + std::string(by) + ") return %y }";
  return to_loops(*parse_graph(text, op_table()));
}

// All elements rolled on as one line, whatever the dims.
TEST(Moves, ARollIsTwoCopies) {
  for (const auto& [input, by] : {std::pair("[6, 7, 40]", "[5]"), std::pair("[1680]", "[-5], [0]")}) {
    const loops::Program program = rolled(input, by);
    int copies = 0;
    loops::for_each_node(program.body, [&](const loops::Node& node) {
      const auto* nest = std::get_if<loops::Nest>(&node.is);
      if (nest == nullptr) return;
      ++copies;
      ASSERT_EQ(nest->axes.size(), 1u);
      loops::IndexSpace space(program.context->syms, program.assumptions.known());
      space.add_axis(nest->axes[0].symbol, nest->axes[0].extent);
      EXPECT_EQ(space.stride(address_of(program, nest->body[0].buffer, nest->body[0].index), 0), Dim(1));
      EXPECT_EQ(space.stride(address_of(program, nest->stores[0].buffer, nest->stores[0].index), 0), Dim(1));
    });
    EXPECT_EQ(copies, 2);
  }
}

TEST(Moves, ARollIsOfElementsInTheirOrder) {
  for (const int64_t by : {0, 5, -5, 47, 48, 1000003})
    for (const bool turned : {false, true}) {
      const std::string text = std::string("graph @g(%x: f32[4, 3, 4]) { %p = aten.permute(%x, ") +
                               (turned ? "[2, 1, 0]" : "[0, 1, 2]") + ") %y = aten.roll(%p, [" + std::to_string(by) +
                               "]) return %y }";
      const loops::Program program =
          schedule(to_loops(*parse_graph(text, op_table())), cpu_target("avx512", 1), {.tiles = true});
      loops::Tensor x(Dtype::f32, {4, 3, 4});
      for (int64_t i = 0; i < 48; ++i) x.put(i, ScalarValue(static_cast<double>(i)));
      const loops::Results got = loops::interpret(program, std::vector<loops::InputValue>{x});
      ASSERT_EQ(got.ending, loops::Ending::finished) << got.text;
      for (int64_t i = 0; i < 48; ++i) {
        const int64_t from = (((i - by) % 48) + 48) % 48, there = from % 4 * 12 + from / 4 % 3 * 4 + from / 12;
        EXPECT_EQ(got.outputs[0].tensor.at(i).real(), static_cast<double>(turned ? there : from)) << by;
      }
    }
}

TEST(Moves, ADiagonalIsNoCondition) {
  const loops::Program program =
      to_loops(*parse_graph("graph @g(%x: i8[4, 512]) { %y = aten.diag_embed(%x, 1) return %y }", op_table()));
  loops::for_each_node(program.body, [](const loops::Node& node) {
    if (const auto* nest = std::get_if<loops::Nest>(&node.is))
      for (const loops::Instr& i : nest->body) EXPECT_NE(i.dtype, Dtype::b8);
  });
}

}  // namespace
}  // namespace lenz::schedule
