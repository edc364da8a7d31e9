#include "compiler/passes/joint/operands.h"

namespace lenz {

namespace {
void run(Graph& graph, PassContext& context) { read_sources(graph, context, Trait::contraction); }
}  // namespace

Pass product_operands() {
  return {
      .name = "product_operands",
      .contract =
          "Hands products and convolutions what their operand was copied from: a permuted one is a layout, no copy.\n"
          "Asks patterns what copies (source_patterns.cpp), and the type rule what the result would be then.\n"
          "Keeps types, and values within their bounds: kernels sum in another order for another layout.",
      .levels = {Level::torch, Level::aten},
      .idempotent = true,
      .never_grows = true,
      .rounds = true,
      .run = run};
}

}  // namespace lenz
