// Control flow with sub-graphs, and the tokens that order effects. Lenz's own ops: ATen has none of them.
#include "compiler/ops/rules/control_flow.h"
#include "compiler/ops/rows/families.h"

namespace lenz {

void control_flow_rows(RowSink& t) {
  using enum Trait;
  t.row("lenz::cond(Any pred, Graph true_graph, Graph false_graph, Any[] operands) -> Any[]",
        {.traits = structural | core, .infer = rule::cond, .raises = "the branches return different types"});
  t.row("lenz::while_loop(Graph cond_graph, Graph body_graph, Any[] carried, Any[] additional=[]) -> Any[]",
        {.traits = structural | core, .infer = rule::while_loop, .raises = "the body changes a carried type"});
  t.row("lenz::scan(Graph combine_graph, Any[] init, Any[] xs, Any[] additional=[]) -> Any[]",
        {.traits = structural | core, .infer = rule::scan, .raises = "the carried types change"});

  t.row("lenz::make_token() -> Token", {.traits = structural | core, .infer = rule::token});
  t.row("lenz::assert(Token token, Any condition, str message) -> Token",
        {.traits = structural | effect | core, .infer = rule::token, .raises = "the condition is false"});
  t.row("lenz::print(Token token, str format, Any[] values) -> Token",
        {.traits = structural | effect | core,
         .infer = rule::print,
         .raises = "the text has another number of {} than there are values"});
}

}  // namespace lenz
