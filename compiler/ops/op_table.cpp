#include "compiler/ops/op_table.h"

#include "compiler/ops/rows/families.h"

namespace lenz {

const OpTable& op_table() {
  // Never taken apart: at the end of a process that takes a tenth of a small command's time, and frees nothing of use.
  static const OpTable* const table = [] {
    auto* t = new OpTable;
    RowSink sink(*t);
    for (const Family& family : kFamilies) family.fill(sink);
    return t;
  }();
  return *table;
}

}  // namespace lenz
