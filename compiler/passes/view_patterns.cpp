#include "compiler/passes/view_patterns.h"

namespace lenz {

const ViewForms& view_forms() {
  static const ViewForms forms{.permute = "aten.permute", .reshape = "aten.view"};
  return forms;
}

}  // namespace lenz
