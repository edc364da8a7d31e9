// What control flow gives, in sizes of who calls: a sub-graph's symbols are its own.
#include "compiler/ops/rules/control_flow.h"

#include <gtest/gtest.h>

#include <string>

#include "compiler/graph/text.h"
#include "compiler/ops/op_table.h"

namespace lenz {
namespace {

std::string type_of_result(const std::string& operand, const std::string& formal, const std::string& body) {
  const std::string branch = "(" + formal + ") {\n" + body + "\n  return %y\n}\n";
  try {
    const auto graph =
        parse_graph("graph @g(%p: bool[], " + operand + ") {\n  %r = lenz.cond(%p, @yes, @no, [%x])\n  return %r\n}\n" +
                        "graph @yes" + branch + "graph @no" + branch,
                    op_table());
    return to_string(graph->type(graph->outputs()[0].value()));
  } catch (const UserError& error) {
    return error.message().substr(0, error.message().find('\n'));  // what stands below it shows the place
  }
}

TEST(ControlFlow, SizesAreTheCallersOwn) {
  const std::string turned = "  %y = aten.transpose(%x, 0, 1)";
  EXPECT_EQ(type_of_result("%x: f32[s0, 3]", "%x: f32[s1, 3]", turned), "f32[3, s0] strides [1, 3]");
  // The number stands behind a size that is made of it.
  EXPECT_EQ(type_of_result("%x: f32[6, 3]", "%x: f32[2*s1, s1]", turned), "f32[3, 6] strides [1, 3]");
  EXPECT_EQ(type_of_result("%x: f32[7, 3]", "%x: f32[2*s1, s1]", turned),
            "lenz.cond: operand 0 of @yes: sizes differ (needs 6 == 7)");
}

// A layout that is declared by a name of its own is none that the caller knows, not even by a symbol of that name.
TEST(ControlFlow, LayoutsThatOnlyTheSubGraphNames) {
  EXPECT_EQ(
      type_of_result("%x: f32[5, 3], %w: f32[s1]", "%x: f32[5, 3] strides [s1, 1]", "  %y = aten.transpose(%x, 0, 1)"),
      "f32[3, 5]");
}

TEST(ControlFlow, SizesThatOnlyItsOwnRunKnowsAreRefused) {
  EXPECT_EQ(type_of_result("%x: f32[5], %w: f32[u0]", "%x: f32[5]",
                           "  %m = aten.gt(%x, 0.0)\n  %y: f32[u0] = aten.masked_select(%x, %m)"),
            "lenz.cond: @yes returns f32[u0], a size of which only its own run knows");
}

}  // namespace
}  // namespace lenz
