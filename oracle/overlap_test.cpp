// Writes to what an operand overlaps in memory: refused where eager refuses them, and Unsupported where it would
// depend on the order of its loops.
#include "compiler/graph/overlap.h"

#include <gtest/gtest.h>

#include "compiler/graph/text.h"
#include "compiler/ops/op_table.h"
#include "oracle/boxed.h"

namespace lenz::oracle {
namespace {

struct Case {
  std::string_view target, operand, op, arguments;  // views of %x: f32[16]; a call on %a and %b
};

// Whether eager raises. The views are made by hand, for a graph that writes so would not be read.
bool eager_raises(const Case& c) {
  std::string text = "graph @g(%x: f32[16], %i: i64[4]) {\n";
  text += "  %a = aten.as_strided(%x, " + std::string(c.target) + ")\n";
  text += "  %b = aten.as_strided(%x, " + std::string(c.operand) + ")\n  return %a, %b\n}\n";
  auto graph = parse_graph(text, op_table());
  Boxed boxed(DeviceKind::cpu);
  std::vector<RunValue> values = boxed.inputs(*graph);
  values.resize(graph->value_count());
  graph->for_each_node([&](NodeId id) {
    const Node& node = graph->node(id);
    values[node.result()] = boxed.run(*node.op, node.arguments(), values).results.at(0);
  });
  const OpDef& op = *op_table().find(c.op);
  ValueId i = graph->inputs()[1].value;
  ValueId a = graph->outputs()[0].value(), b = graph->outputs()[1].value();
  SmallVec<Arg, 8> args;
  for (const Param& p : op.schema.params) {
    if (p.name == "dim") {
      args.push_back(Arg::of_int(0));
    } else if (p.name == "index") {
      args.push_back(Arg::of_value(i));
    } else if (p.writes) {
      args.push_back(Arg::of_value(a));
    } else if (p.type.kind == ParamKind::tensor) {
      args.push_back(Arg::of_value(b));
    } else {
      args.push_back(default_arg(graph->context(), p));
    }
  }
  return boxed.run(op, args, values).raised;
}

enum class Verdict { taken, refused, order };  // order: the result would hang on that of eager's loops
Verdict verdict(const Case& c) {
  std::string text = "graph @g(%x: f32[16] mut, %i: i64[4] init zeros) {\n";
  text += "  %a = aten.as_strided(%x, " + std::string(c.target) + ")\n";
  text += "  %b = aten.as_strided(%x, " + std::string(c.operand) + ")\n";
  text += "  %r = " + std::string(c.op) + "(" + std::string(c.arguments) + ")\n  return %r\n}\n";
  try {
    parse_graph(text, op_table());
    return Verdict::taken;
  } catch (const UserError& error) {
    EXPECT_NE(error.message().find("overlaps"), std::string::npos) << error.what();
    return Verdict::refused;
  } catch (const Unsupported& gap) {
    EXPECT_NE(std::string_view(gap.what()).find("order of its loops"), std::string::npos) << gap.what();
    return Verdict::order;
  }
}

constexpr std::string_view kFirst = "[4], [1]", kShifted = "[4], [1], 1", kBehind = "[4], [1], 4", kEven = "[4], [2]",
                           kOdd = "[4], [2], 1", kNone = "[0], [1]", kOne = "[1], [1], 2", kBeside = "[1], [1], 9",
                           kSquare = "[2, 2], [2, 1]", kTurned = "[2, 2], [1, 2]", kTable = "[4, 3], [4, 1]",
                           kColumn = "[4, 1], [4, 1]", kLastColumn = "[4, 1], [4, 1], 3", kWide = "[4, 3], [4, 0]",
                           kNextTable = "[4, 3], [4, 1], 1";

TEST(Overlap, IsRefusedWhereEagerRefusesIt) {
  const Case cases[] = {
      {kFirst, kShifted, "aten.add_.Tensor", "%a, %b"},
      {kFirst, kFirst, "aten.add_.Tensor", "%a, %b"},
      {kFirst, kBehind, "aten.add_.Tensor", "%a, %b"},
      {kFirst, kOne, "aten.add_.Tensor", "%a, %b"},
      {kFirst, kBeside, "aten.add_.Tensor", "%a, %b"},
      {kEven, kOdd, "aten.add_.Tensor", "%a, %b"},  // eager does not look at what has gaps
      {kTable, kLastColumn, "aten.sub_.Tensor", "%a, %b"},
      {kTable, kTable, "aten.sub_.Tensor", "%a, %b"},
      {kNone, kNone, "aten.add_.Tensor", "%a, %b"},
      {kSquare, kTurned, "aten.mul_.Tensor", "%a, %b"},
      {kFirst, kShifted, "aten.copy_", "%a, %b"},
      {kFirst, kShifted, "aten.sin.out", "%b, out=%a"},
      {kFirst, kFirst, "aten.sin.out", "%b, out=%a"},
      {kFirst, kShifted, "aten.atan2_", "%a, %b"},
      {kFirst, kShifted, "aten.index_add_", "%a, 0, %i, %b"},
      {kFirst, kFirst, "aten.index_add_", "%a, 0, %i, %b"},
      {kFirst, kBehind, "aten.index_add_", "%a, 0, %i, %b"},
      {kFirst, kFirst, "aten.scatter_.src", "%a, 0, %i, %b"},
      {kFirst, kShifted, "aten.cumsum.out", "%b, 0, out=%a"},
  };
  for (const Case& c : cases)
    EXPECT_EQ(verdict(c), eager_raises(c) ? Verdict::refused : Verdict::taken)
        << c.op << " to " << c.target << " from " << c.operand;
}

TEST(Overlap, ThatEagerDoesNotSeeIsUnsupported) {
  const Case cases[] = {
      {kEven, kFirst, "aten.mul_.Tensor", "%a, %b"},
      {kTable, kColumn, "aten.sub_.Tensor", "%a, %b"},
      {kTable, kWide, "aten.add_.Tensor", "%a, %b"},
      {kTable, kColumn, "aten.addcmul_", "%a, %b, %b"},
      {kNextTable, kTable, "aten.copy_", "%a, %b"},
      {kNextTable, kTable, "aten.cumsum.out", "%b, 0, out=%a"},
      {kTable, kTable, "aten.index_add_", "%a, 0, %i, %b"},
      {kSquare, kSquare, "aten.mm.out", "%b, %b, out=%a"},
      {kSquare, kEven, "aten.sum.IntList_out", "%b, [0], out=%a"},
      {kEven, kFirst, "aten.cat.out", "[%b], out=%a"},
  };
  for (const Case& c : cases)
    EXPECT_EQ(verdict(c), Verdict::order) << c.op << " to " << c.target << " from " << c.operand;
}

}  // namespace
}  // namespace lenz::oracle
