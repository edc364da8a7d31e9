// What control flow gives, in sizes of who calls: a sub-graph's symbols are its own.
#include "compiler/ops/rules/control_flow.h"

#include <gtest/gtest.h>

#include <string>

#include "compiler/graph/text.h"
#include "compiler/ops/op_table.h"

namespace lenz {
namespace {

std::string type_of_result(const std::string& operand, const std::string& formal, const std::string& body,
                           const std::string& where = "") {
  const std::string branch = "(" + formal + ")" + where + " {\n" + body + "\n  return %y\n}\n";
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

// What a sub-graph says of its sizes its caller has to know, or to assume.
TEST(ControlFlow, SizesAreAsTheSubGraphSays) {
  const auto of = [](const std::string& operand, const std::string& where) {
    return type_of_result(operand, "%x: f32[s1, s2]", "  %y = aten.transpose(%x, 0, 1)", " where " + where);
  };
  EXPECT_EQ(of("%x: f32[3, 5]", "s1 == s2 - 2"), "f32[5, 3] strides [1, 5]");
  EXPECT_EQ(of("%x: f32[3, 6]", "s1 == s2 - 2"), "lenz.cond: @yes assumes s1 == s2 - 2 (needs 3 == 4)");
  EXPECT_EQ(of("%x: f32[3, 6]", "s1 % 2 == 0"), "lenz.cond: @yes assumes s1 % 2 == 0 (needs 1 == 0)");
  EXPECT_EQ(of("%x: f32[3, s0]", "s1 == s2 - 2"), "f32[s0, 3] strides [1, max(1, s0)]");  // and s0 is 5
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
