#include "compiler/passes/pass.h"
#include "compiler/passes/postgrad/vector_patterns.h"

namespace lenz {

namespace {
void run(Graph& graph, PassContext& context) { context.apply(graph, vector_patterns()); }
}  // namespace

Pass vector_products() {
  return {.name = "vector_products",
          .contract =
              "Makes sums of matrix products of which one factor is a vector: memory bounds them, and they fuse.\n"
              "Asks that the matrix of each vector is its own.\n"
              "Keeps values within their bounds.",
          .levels = {Level::torch, Level::aten, Level::core},
          .idempotent = true,
          .rounds = true,
          .run = run};
}

}  // namespace lenz
