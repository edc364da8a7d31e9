#include "compiler/passes/pass.h"
#include "compiler/passes/postgrad/batch_norm_patterns.h"

namespace lenz {

namespace {
void run(Graph& graph, PassContext& context) { context.apply(graph, batch_norm_patterns()); }
}  // namespace

Pass batch_norm_folding() {
  return {
      .name = "batch_norm_folding",
      .contract =
          "Folds normalisation by running statistics into the weights of the convolution or linear map before it.\n"
          "Asks that all of them are constants, and what is folded finite: an input may hold an infinity.\n"
          "Keeps values within their bounds; where a weight is no such constant the normalisation stays, pointwise.",
      .levels = {Level::torch, Level::aten},
      .idempotent = true,
      .rounds = true,
      .run = run};
}

}  // namespace lenz
