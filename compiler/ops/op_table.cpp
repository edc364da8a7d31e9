#include "compiler/ops/op_table.h"

#include "compiler/ops/rows/families.h"

namespace lenz {

const OpTable& op_table() {
  static const OpTable table = [] {
    OpTable t;
    RowSink sink(t);
    for (const Family& family : kFamilies) family.fill(sink);
    return t;
  }();
  return table;
}

}  // namespace lenz
