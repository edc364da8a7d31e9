#include "oracle/decisions.h"

#include <gtest/gtest.h>

#include "compiler/graph/text.h"
#include "compiler/ops/op_table.h"

namespace lenz::oracle {
namespace {

bool decides(std::string_view body) {
  return decides_by_floats(
      *parse_graph("graph @g(%x: f32[4, 6], %i: i64[4]) {\n" + std::string(body) + " return %y\n}", op_table()));
}

TEST(Decisions, AreWhatRoundingMayTurn) {
  for (const char* body : {"%y = aten.floor(%x)", "%y = aten.argmax(%x, 1)",
                           "%c = aten.gt(%x, 0.5) %y = aten.where(%c, %x, 0.0)", "%y = aten.hardshrink(%x)",
                           "%v, %k = aten.max.dim(%x, 1, true) %y = aten.gather(%x, 0, %k)", "%y = aten.sign(%x)"})
    EXPECT_TRUE(decides(body)) << body;
  for (const char* body :
       {"%y = aten.layer_norm(%x, [6])", "%y = aten.gelu(%x)", "%y = aten.softmax(%x, -1)", "%y = aten.relu(%x)",
        "%y = aten.embedding(%x, %i)", "%y, %k = aten.max.dim(%x, 1)", "%c = aten.gt(%i, 2) %y = aten.add(%i, %c)"})
    EXPECT_FALSE(decides(body)) << body;
}

}  // namespace
}  // namespace lenz::oracle
