#include "compiler/passes/joint/idiom_patterns.h"
#include "compiler/passes/pass.h"

namespace lenz {

namespace {
void run(Graph& graph, PassContext& context) { context.apply(graph, idiom_patterns()); }
}  // namespace

Pass known_idioms() {
  return {.name = "known_idioms",
          .contract =
              "Rules of a few nodes (idiom_patterns.cpp): quotients by powers of two, running counts, lists of one.\n"
              "Asks numbers and dtypes: each rule is exact, for NaN, infinities and wrapped integers too.\n"
              "Keeps types and every bit.",
          .levels = {Level::torch, Level::aten},
          .idempotent = true,
          .run = run};
}

}  // namespace lenz
