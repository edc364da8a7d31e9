// What a loss says of all pairs of classes is asked for pair by pair, and kept nowhere: of many classes there would be
// no memory for it.
#include <gtest/gtest.h>

#include "compiler/driver/compile.h"
#include "compiler/graph/text.h"
#include "compiler/ops/op_table.h"
#include "compiler/schedule/realise.h"

namespace lenz::schedule {
namespace {

TEST(Pairs, OfClassesAreKeptNowhere) {
  for (const char* call :
       {"%y = aten.multilabel_margin_loss(%x, %t)", "%y = aten.multilabel_margin_loss_backward(%g, %x, %t, 1, %i)"}) {
    const std::string text = "graph @g(%g: f32[], %x: f32[4, 512], %t: i64[4, 512], %i: f32[4, 512]) { " +
                             std::string(call) + " return %y }";
    const loops::Program program = schedule(to_loops(*parse_graph(text, op_table())), cpu_target("avx512", 1), {});
    for (const loops::Buffer& b : program.buffers)
      EXPECT_LE(numel(b.type.sizes).constant(), 4 * 4 * 512) << call << ": " << b.name;
  }
}

}  // namespace
}  // namespace lenz::schedule
