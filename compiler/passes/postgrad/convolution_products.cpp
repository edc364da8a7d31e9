#include "compiler/passes/pass.h"
#include "compiler/passes/postgrad/convolution_patterns.h"

namespace lenz {

namespace {
void run(Graph& graph, PassContext& context) { context.apply(graph, convolution_patterns()); }
}  // namespace

Pass convolution_products() {
  return {.name = "convolution_products",
          .contract =
              "Makes matrix products of convolutions whose kernels have one tap, and so adds nothing up but channels.\n"
              "Asks that images lie channel by channel, and have pixels enough for a product of their own.\n"
              "Keeps values within their bounds; a bias is added behind, pointwise.",
          .levels = {Level::torch, Level::aten, Level::core},
          .idempotent = true,
          .rounds = true,
          .run = run};
}

}  // namespace lenz
