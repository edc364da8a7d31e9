// What eager changes of its operands, on generated calls of every row: nothing but what the row says that it writes to.
#include <gtest/gtest.h>

#include "compiler/graph/alias.h"
#include "compiler/graph/text.h"
#include "compiler/ops/call_maker.h"
#include "compiler/ops/op_table.h"
#include "oracle/boxed.h"
#include "oracle/tensors.h"

namespace lenz::oracle {
namespace {

constexpr int kCalls = 8;

TEST(Writes, EagerChangesNothingElse) {
  Boxed cpu(DeviceKind::cpu);
  quieten_libtorch();
  size_t looked = 0, changed = 0;
  for (const auto& op : op_table().rows()) {
    if (!op->generate || op->has(Trait::structural)) continue;
    for (uint64_t seed = 0; seed < kCalls; ++seed) {
      RandomChooser choose(seed);
      DrawnCall call = draw_call(*op, op_table(), choose);
      std::vector<bool> written(call.graph->inputs().size(), false);
      for (size_t i = 0; i < call.args.size(); ++i)
        if (writes_operand(*op, call.args, i))
          for_each_value(call.args[i], [&](ValueId v) { written[call.graph->value(v).index] = true; });
      std::vector<RunValue> values = cpu.inputs(*call.graph);
      std::vector<std::vector<std::byte>> before;
      for (const RunValue& v : values) before.push_back(elements_of(v));
      if (cpu.run(*op, call.args, values).raised) continue;
      for (size_t i = 0; i < values.size(); ++i) {
        bool same = written[i] || elements_of(values[i]) == before[i];
        ++looked;
        changed += written[i];
        EXPECT_TRUE(same) << op->full_name << " changes input " << i << " though its row does not say so\n"
                          << print(*call.graph);
      }
    }
  }
  EXPECT_GT(looked, 10000u);
  EXPECT_GT(changed, 3000u);
}

}  // namespace
}  // namespace lenz::oracle
