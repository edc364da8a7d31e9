#include "compiler/passes/joint/operands.h"

namespace lenz {

namespace {
void run(Graph& graph, PassContext& context) { read_sources(graph, context, Trait::elementwise); }

}  // namespace

Pass operand_sources() {
  return {.name = "operand_sources",
          .contract =
              "Hands a call what its operand was copied or expanded from, where that changes neither type nor bits.\n"
              "Asks patterns what copies (source_patterns.cpp), and the user's type rule what it would give then.\n"
              "Keeps the copies for those who need them: outputs, views, and calls that sum in the order of memory.",
          .levels = {Level::torch, Level::aten},
          .idempotent = true,
          .never_grows = true,
          .run = run};
}

}  // namespace lenz
