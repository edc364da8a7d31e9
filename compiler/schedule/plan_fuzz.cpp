// libFuzzer's entry: any bytes as `--plan FILE`. What parses is a plan of the program or no plan of it, and realised
// where it is one.
#include <cstdint>
#include <string_view>

#include "compiler/driver/compile.h"
#include "compiler/graph/text.h"
#include "compiler/loops/verify.h"
#include "compiler/ops/op_table.h"
#include "compiler/schedule/realise.h"

namespace {
lenz::loops::Program program() {
  static const auto graph = lenz::parse_graph(
      "graph @g(%x: f32[20, 30], %y: f32[30, 20]) { %t = aten.t(%y) %z = aten.add(%x, %t) %s = aten.sum(%z) "
      "return %z, %s }",
      lenz::op_table());
  lenz::loops::Program loops = lenz::to_loops(*graph);
  prepare(loops, lenz::schedule::cpu_target("avx512", 2));
  return loops;
}
}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  try {
    const auto plan = lenz::schedule::parse_plan({reinterpret_cast<const char*>(data), size});
    static const lenz::loops::Program given = program();
    if (!why_illegal(plan, given).empty()) return 0;
    const lenz::loops::Program made = lenz::schedule::realise(program(), plan);
    LENZ_CHECK(lenz::loops::verify(made).violations.empty(), "a legal plan makes a program that breaks rules");
  } catch (const lenz::UserError&) {
  } catch (const lenz::Unsupported&) {
  }
  return 0;
}
