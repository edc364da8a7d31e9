// Passes and lowerings with one fault each, as people make them: `lenz check --bisect` names each of them. Every broken
// pass does something right first, so that the number of the rewrite counts.
#include "oracle/bisect.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "compiler/base/json_schema.h"
#include "compiler/graph/text.h"
#include "compiler/graph/verify.h"
#include "compiler/ops/op_table.h"
#include "compiler/ops/rows/families.h"
#include "oracle/graph_check.h"

namespace lenz::oracle {
namespace {

// --- broken passes

bool is(const Node& node, std::string_view packet) { return node.op->schema.packet == packet; }

// Nothing: not a tensor, or an input.
const Node* producer(const Graph& graph, const Arg& arg) {
  if (!arg.is_value() || graph.value(arg.value()).producer == kNone) return nullptr;
  return &graph.node(graph.value(arg.value()).producer);
}

void hand_on(Graph& graph, const Node& node, ValueId instead) { graph.replace_uses(node.result(), instead); }

// Calls visit(NodeId, Node) for the nodes of an op; a copy of the node, for visit may rewrite.
template <class F>
void each(Graph& graph, std::string_view packet, F&& visit) {
  graph.for_each_node([&](NodeId id) {
    const Node node = graph.node(id);
    if (is(node, packet)) visit(id, node);
  });
}

// A pattern's condition forgotten: whatever the factor, it is taken for one.
void every_factor_is_one(Graph& graph, PassContext& context) {
  each(graph, "mul", [&](NodeId, const Node& node) {
    if (!node.args[1].is_value() && context.allow("factor")) hand_on(graph, node, node.args[0].value());
  });
}

// A write that nobody reads by name is taken for dead.
void unnamed_writes_are_dead(Graph& graph, PassContext& context) {
  graph.for_each_node([&](NodeId id) {
    const Node& node = graph.node(id);
    if (node.op->schema.mutates() && graph.value(node.result()).users.empty() && context.allow("write"))
      graph.erase(id);
  });
}

// Every op of two tensors is taken for commutative.
void all_ops_commute(Graph& graph, PassContext& context) {
  graph.for_each_node([&](NodeId id) {
    const Node& node = graph.node(id);
    if (node.arg_count < 2 || !node.args[0].is_value() || !node.args[1].is_value() || !context.allow("order")) return;
    SmallVec<Arg, 4> args(node.arguments());
    std::swap(args[0], args[1]);
    graph.set_args(id, args);
  });
}

// A cast back undoes a cast, however narrow the dtype between.
void casts_undo_each_other(Graph& graph, PassContext& context) {
  each(graph, "_to_copy", [&](NodeId, const Node& node) {
    const Node* first = producer(graph, node.args[0]);
    if (first && is(*first, "_to_copy") && context.allow("casts")) hand_on(graph, node, first->args[0].value());
  });
}

// (x * a) * b becomes x * (a + b).
void factors_are_added(Graph& graph, PassContext& context) {
  each(graph, "mul", [&](NodeId id, const Node& node) {
    const Node* first = producer(graph, node.args[0]);
    if (!first || !is(*first, "mul") || node.args[1].is_value() || !context.allow("fold")) return;
    const Arg args[] = {first->args[0], Arg::of_real(first->args[1].d + node.args[1].d)};
    graph.set_args(id, args);
  });
}

// Equal calls give equal values, whatever was written between them.
void equal_calls_across_writes(Graph& graph, PassContext& context) {
  graph.for_each_node([&](NodeId later) {
    const Node& b = graph.node(later);
    if (b.op->schema.mutates()) return;
    for (NodeId at = graph.first(); at != later; at = graph.node(at).next) {
      const Node& a = graph.node(at);
      if (a.op != b.op || !std::ranges::equal(a.arguments(), b.arguments())) continue;
      if (context.allow("same call")) hand_on(graph, b, a.result());
      return;
    }
  });
}

// What reads a view is moved up to the view, past writes to what it is a view of.
void views_are_read_early(Graph& graph, PassContext& context) {
  graph.for_each_node([&](NodeId id) {
    const Node node = graph.node(id);
    const Node* view = node.arg_count ? producer(graph, node.args[0]) : nullptr;
    if (node.op->schema.mutates() || !view || !view->op->has(Trait::view) || !context.allow("move")) return;
    graph.move_before(id, view->next);
  });
}

// where(c, x, y) becomes x.
void masks_hold(Graph& graph, PassContext& context) {
  each(graph, "where", [&](NodeId, const Node& node) {
    if (context.allow("mask")) hand_on(graph, node, node.args[1].value());
  });
}

// A row of a slice is that row of the whole: where the slice starts is forgotten.
void slices_start_at_zero(Graph& graph, PassContext& context) {
  each(graph, "select", [&](NodeId id, const Node& node) {
    const Node* slice = producer(graph, node.args[0]);
    if (!slice || !is(*slice, "slice") || !context.allow("chain")) return;
    SmallVec<Arg, 4> args(node.arguments());
    args[0] = slice->args[0];
    NodeId made = graph.insert(id, *node.op, args);
    hand_on(graph, node, graph.node(made).result());
  });
}

// A reduction does not care for a transposition before it, whichever dims it takes.
void transpositions_do_not_matter(Graph& graph, PassContext& context) {
  each(graph, "amax", [&](NodeId id, const Node& node) {
    const Node* turned = producer(graph, node.args[0]);
    if (!turned || !is(*turned, "t") || !context.allow("transposition")) return;
    SmallVec<Arg, 4> args(node.arguments());
    args[0] = turned->args[0];
    graph.set_args(id, args);
  });
}

// A mean is a sum, of however many.
void means_are_sums(Graph& graph, PassContext& context) {
  each(graph, "mean", [&](NodeId id, const Node& node) {
    if (!context.allow("mean")) return;
    NodeId made = graph.insert(id, *graph.ops().find("aten.sum.dim_IntList"), node.arguments());
    hand_on(graph, node, graph.node(made).result());
  });
}

// The bias of a linear layer is dropped.
void epilogues_are_dropped(Graph& graph, PassContext& context) {
  each(graph, "addmm", [&](NodeId id, const Node& node) {
    if (!context.allow("bias")) return;
    NodeId made = graph.insert(id, *graph.ops().find("aten.mm"), node.arguments().subspan(1, 2));
    hand_on(graph, node, graph.node(made).result());
  });
}

// An output may be the tensor that it is a copy of.
void copies_are_the_same(Graph& graph, PassContext& context) {
  each(graph, "clone", [&](NodeId, const Node& node) {
    if (context.allow("copy")) hand_on(graph, node, node.args[0].value());
  });
}

void branches_are_swapped(Graph& graph, PassContext& context) {
  each(graph, "cond", [&](NodeId id, const Node& node) {
    if (!context.allow("branches")) return;
    SmallVec<Arg, 4> args(node.arguments());
    std::swap(args[1], args[2]);
    graph.set_args(id, args);
  });
}

// Does its rewrite without asking.
void unasked(Graph& graph, PassContext&) {
  each(graph, "sin", [&](NodeId id, const Node& node) {
    NodeId made = graph.insert(id, *graph.ops().find("aten.cos"), node.arguments());
    hand_on(graph, node, graph.node(made).result());
  });
}

// The real pass; then what was written to an input is not copied back.
void forgets_to_give_back(Graph& graph, PassContext& context) {
  find_pass("functionalise")->pass.run(graph, context);
  NodeId last = graph.last();
  if (graph.level == Level::aten && graph.node(last).op->schema.mutates() && context.allow("give back"))
    graph.erase(last);
}

// A write to an input moves before what reads it.
void writes_come_first(Graph& graph, PassContext& context) {
  NodeId last = graph.last();
  if (graph.node(last).op->schema.mutates() && context.allow("order")) graph.move_before(last, graph.first());
}

// An invalid graph: the verifier speaks, not the values.
void forgets_types(Graph& graph, PassContext& context) {
  each(graph, "exp", [&](NodeId, const Node& node) {
    if (!context.allow("type")) return;
    graph.set_type(node.result(), &graph.type(graph.inputs()[0].value));
  });
}

struct BrokenPass {
  std::string_view name;
  void (*run)(Graph&, PassContext&);
  size_t occurrence;      // of the wrong rewrite
  std::string_view what;  // as the pass calls it
  std::string_view graph;
  std::string_view instead_of = "";  // the line that it replaces; none: it stands first
  std::string_view before = "";      // or before that one
};

const BrokenPass kBrokenPasses[] = {
    {"every_factor_is_one", every_factor_is_one, 3, "factor", R"(graph @g(%x: f32[5]) {
       %a = aten.mul(%x, 1.0)
       %b = aten.sin(%a)
       %c = aten.mul(%b, 1.0)
       %d = aten.cos(%c)
       %e = aten.mul(%d, 2.0)
       return %e
     })"},
    {"unnamed_writes_are_dead", unnamed_writes_are_dead, 2, "write", R"(graph @g(%x: f32[5]) {
       %a = aten.sin(%x)
       %t = aten.cos(%x)
       %u = aten.add_(%t, 1.0)
       %v = aten.mul_(%a, 2.0)
       return %a
     })"},
    {"all_ops_commute", all_ops_commute, 3, "order", R"(graph @g(%x: f32[5], %y: f32[5]) {
       %a = aten.add(%x, %y)
       %b = aten.mul(%a, %y)
       %c = aten.sub(%b, %x)
       return %c
     })"},
    {"casts_undo_each_other", casts_undo_each_other, 2, "casts", R"(graph @g(%x: f32[50]) {
       %a = aten._to_copy(%x, dtype=f64)
       %b = aten._to_copy(%a, dtype=f32)
       %c = aten.sin(%b)
       %d = aten._to_copy(%c, dtype=f16)
       %e = aten._to_copy(%d, dtype=f32)
       %f = aten.cos(%e)
       return %f
     })"},
    {"factors_are_added", factors_are_added, 2, "fold", R"(graph @g(%x: f32[5]) {
       %a = aten.mul(%x, 2.0)
       %b = aten.mul(%a, 2.0)
       %c = aten.sin(%b)
       %d = aten.mul(%c, 2.0)
       %e = aten.mul(%d, 3.0)
       return %e
     })"},
    {"equal_calls_across_writes", equal_calls_across_writes, 2, "same call", R"(graph @g(%x: f32[5] mut) {
       %a = aten.sin(%x)
       %b = aten.sin(%x)
       %w = aten.add_(%x, 1.0)
       %c = aten.sin(%x)
       %r = aten.sub(%a, %b)
       return %r, %c
     })"},
    {"views_are_read_early", views_are_read_early, 2, "move", R"(graph @g(%x: f32[3, 5] mut) {
       %v = aten.select(%x, 0, 1)
       %a = aten.sin(%v)
       %w = aten.mul_(%x, 2.0)
       %b = aten.cos(%v)
       return %a, %b
     })"},
    {"masks_hold", masks_hold, 2, "mask", R"(graph @g(%x: f32[20], %y: f32[20]) {
       %c = aten.gt(%x, 0.0)
       %a = aten.where(%c, %x, %x)
       %b = aten.where(%c, %a, %y)
       return %b
     })"},
    {"slices_start_at_zero", slices_start_at_zero, 2, "chain", R"(graph @g(%x: f32[6, 5]) {
       %s = aten.slice(%x, dim=0, start=0, end=3)
       %a = aten.select(%s, 0, 1)
       %t = aten.slice(%x, dim=0, start=1, end=4)
       %b = aten.select(%t, 0, 1)
       %r = aten.add(%a, %b)
       return %r
     })"},
    {"transpositions_do_not_matter", transpositions_do_not_matter, 2, "transposition", R"(graph @g(%x: f32[4, 4]) {
       %t = aten.t(%x)
       %a = aten.amax(%t, dim=[0, 1])
       %b = aten.amax(%t, dim=[0])
       %r = aten.add(%b, %a)
       return %r
     })"},
    {"means_are_sums", means_are_sums, 2, "mean", R"(graph @g(%x: f32[4, 1]) {
       %a = aten.mean(%x, dim=[1])
       %b = aten.mean(%a, dim=[0])
       return %b
     })"},
    {"epilogues_are_dropped", epilogues_are_dropped, 1, "bias", R"(graph @g(%b: f32[4], %x: f32[3, 2], %y: f32[2, 4]) {
       %a = aten.addmm(%b, %x, %y)
       return %a
     })"},
    {"copies_are_the_same", copies_are_the_same, 2, "copy", R"(graph @g(%x: f32[5]) {
       %a = aten.clone(%x)
       %b = aten.sin(%a)
       %c = aten.clone(%x)
       return %b, %c
     })"},
    {"branches_are_swapped", branches_are_swapped, 2, "branches", R"(graph @g(%p: bool[], %x: f32[5]) {
       %a = lenz.cond(%p, @one, @one, [%x])
       %b = lenz.cond(%p, @one, @other, [%a])
       return %b
     }
     graph @one(%x: f32[5]) {
       %a = aten.sin(%x)
       return %a
     }
     graph @other(%x: f32[5]) {
       %a = aten.cos(%x)
       return %a
     })"},
    {"unasked", unasked, 0, "", R"(graph @g(%x: f32[5]) {
       %a = aten.sin(%x)
       %b = aten.mul(%a, 1.0)
       return %b
     })"},
    {"functionalise", forgets_to_give_back, 3, "give back", R"(graph @g(%x: f32[5] mut) {
       %a = aten.sin(%x)
       %w = aten.mul_(%x, 2.0)
       %b = aten.cos(%x)
       return %a, %b
     })",
     "functionalise"},
    {"writes_come_first", writes_come_first, 1, "order", R"(graph @g(%x: f32[5] mut) {
       %a = aten.softplus(%x)
       %w = aten.mul_(%x, 2.0)
       return %a
     })",
     "", "local_reordering"},
    {"forgets_types", forgets_types, 1, "type", R"(graph @g(%x: f32[5], %y: f32[3]) {
       %a = aten.exp(%y)
       return %x, %a
     })"},
};

GraphReport bisected(const Graph& graph, std::span<const PipelineLine> lines = pipeline(),
                     std::optional<Values> values = std::nullopt) {
  GraphCheckOptions options;
  options.bisect = options.core = options.loops = options.bounds = true;
  options.lines = lines;
  options.values = values;
  return check_graph(graph, options);
}

TEST(Bisect, NamesTheRewriteOfEachBrokenPass) {
  for (const BrokenPass& broken : kBrokenPasses) {
    SCOPED_TRACE(broken.name);
    std::vector<PipelineLine> lines(pipeline().begin(), pipeline().end());
    std::string_view place = broken.instead_of.empty() ? broken.before : broken.instead_of;
    auto at = place.empty() ? lines.begin()
                            : std::ranges::find_if(lines, [&](const auto& l) { return l.pass.name == place; });
    ASSERT_NE(at, lines.end());
    PipelineLine line{{.name = broken.name, .contract = "", .levels = kEveryLevel, .run = broken.run}, "broken"};
    size_t position = static_cast<size_t>(at - lines.begin());
    if (broken.instead_of.empty())
      lines.insert(at, line);
    else
      *at = line;
    auto graph = parse_graph(broken.graph, op_table());
    ASSERT_TRUE(verify(*graph).empty()) << to_string(verify(*graph)[0]);
    GraphReport report = bisected(*graph, lines);
    ASSERT_TRUE(report.culprit.has_value());
    const Culprit& c = *report.culprit;
    EXPECT_EQ(c.kind, Culprit::rewrite) << c.text();
    EXPECT_EQ(c.step, broken.name) << c.text();
    EXPECT_EQ(c.line, position + 1) << c.text();
    EXPECT_EQ(c.occurrence, broken.occurrence) << c.text();
    EXPECT_EQ(c.what, broken.what) << c.text();
    EXPECT_FALSE(c.diff.empty());
  }
}

// --- broken rows

// A table of its own, in which one text of one row is wrong.
struct BrokenTable {
  OpTable table;
  BrokenTable() {
    RowSink sink(table);
    for (const Family& family : kFamilies) family.fill(sink);
  }
  OpDef& row(std::string_view name) {
    for (const auto& row : table.rows())
      if (row->full_name == name) return *row;
    throw InternalError("no row " + std::string(name));
  }
};

std::string replaced(std::string_view text, std::string_view from, std::string_view to) {
  std::string made(text);
  size_t at = made.find(from);
  EXPECT_NE(at, std::string::npos) << from << " is not in " << text;
  if (at != std::string::npos) made.replace(at, from.size(), to);
  return made;
}

struct BrokenRow {
  std::string_view row, from, to;  // of its loops; of its primitive where it has no text
  std::string_view graph;          // the node that the row lowers wrong first is %bad
  std::optional<Values> values = std::nullopt;
};

const BrokenRow kBrokenRows[] = {
    {"aten.flip", "- 1 - at", "- at", R"(graph @g(%x: f32[4, 5]) {
       %a = aten.sin(%x)
       %bad = aten.flip(%a, [1])
       %b = aten.cos(%bad)
       return %b
     })"},  // one past the end
    {"aten.roll", "at($j, $d) - at", "at($j, $d) + at", R"(graph @g(%x: f32[7, 3]) {
       %a = aten.sin(%x)
       %bad = aten.roll(%a, [2], [0])
       %b = aten.exp(%bad)
       return %b
     })"},  // the other way round
    {"aten.sum.dim_IntList", "reduce sum", "reduce product", R"(graph @g(%x: f32[4, 5]) {
       %a = aten.sin(%x)
       %bad = aten.sum(%a, dim=[1])
       %b = aten.cos(%bad)
       %c = aten.sum(%b, dim=[0])
       return %c
     })"},  // another combine
    {"aten.constant_pad_nd", "masked(within($at, $sizes), %self[first($i, $lead), $at], $value)",
     "%self[first($i, $lead), $at]", R"(graph @g(%x: f32[4]) {
       %a = aten.sin(%x)
       %bad = aten.constant_pad_nd(%a, [1, 1], 0.5)
       return %bad
     })"},  // no mask
    {"aten.scatter_add", "+= %src", "put= %src", R"(graph @g(%x: f32[4], %i: i64[6] init integers(0, 3), %y: f32[6]) {
       %a = aten.sin(%x)
       %bad = aten.scatter_add(%a, 0, %i, %y)
       %b = aten.exp(%bad)
       return %b
     })"},  // duplicates overwrite
    {"aten.cumsum", "dtype(%out) == f32, f64", "dtype(%out) == f32, i32", R"(graph @g(%x: f32[6]) {
       %a = aten.exp(%x)
       %bad = aten.cumsum(%a, 0)
       return %bad
     })"},  // a dtype that has no fractions
    {"aten.cat", "$before = $before + size(%x, $d)", "$before = $before + size(%x, $d) - 1",
     R"(graph @g(%x: f32[4], %y: f32[3]) {
       %a = aten.sin(%x)
       %b = aten.cos(%y)
       %bad = aten.cat([%a, %b])
       %c = aten.exp(%bad)
       return %c
     })"},  // one element too early
    {"aten.index_select", "replaced($i, $dim, $p)", "$i", R"(graph @g(%x: f32[4], %i: i64[4] init integers(0, 3)) {
       %a = aten.sin(%x)
       %bad = aten.index_select(%a, 0, %i)
       return %bad
     })"},  // the index is not looked at
    {"aten.max.dim", "argmax(", "argmax_last(", R"(graph @g(%x: i32[9, 5]) {
       %a = aten.abs(%x)
       %bad, %i = aten.max.dim(%a, 0)
       return %i
     })",
     Values::ties},  // the last of equals
    {"aten.maximum", "maximum", "minimum", R"(graph @g(%x: f32[4], %y: f32[4]) {
       %a = aten.sin(%x)
       %bad = aten.maximum(%a, %y)
       %b = aten.add(%bad, %a)
       return %b
     })"},           // the wrong primitive
};

TEST(Bisect, NamesTheNodeOfEachBrokenLowering) {
  for (const BrokenRow& broken : kBrokenRows) {
    SCOPED_TRACE(broken.row);
    BrokenTable t;
    OpDef& row = t.row(broken.row);
    std::string text;
    if (row.lowering.body.empty()) {
      row.scalar = replaced(row.scalar, broken.from, broken.to);
    } else {
      text = replaced(row.lowering.body, broken.from, broken.to);
      row.lowering.body = text;
    }
    auto graph = parse_graph(broken.graph, t.table);
    GraphReport report = bisected(*graph, pipeline(), broken.values);
    ASSERT_TRUE(report.culprit.has_value());
    const Culprit& c = *report.culprit;
    EXPECT_EQ(c.kind, Culprit::lowering) << c.text();
    EXPECT_EQ(c.step, broken.row) << c.text();
    EXPECT_THAT(c.node, testing::ContainsRegex("^%bad(, %i)? = ")) << c.text();
    EXPECT_FALSE(c.graph.empty());
  }
}

// A definition is put in an op's place by a pass: that rewrite is to blame. The reference believes the definition, so
// it is eager that seems to be wrong.
TEST(Bisect, NamesTheRewriteThatPutAWrongDefinition) {
  BrokenTable t;
  OpDef& row = t.row("aten.hardswish");
  std::string text = replaced(row.decompose, "3), 0, 6)", "3), 0, 5)");
  row.decompose = text;
  auto graph = parse_graph(R"(graph @g(%x: f32[50]) {
    %a = aten.softplus(%x)
    %b = aten.hardswish(%a)
    return %b
  })",
                           t.table);
  GraphReport report = bisected(*graph);
  ASSERT_TRUE(report.culprit.has_value());
  const Culprit& c = *report.culprit;
  EXPECT_EQ(c.step, "decompose_to_core") << c.text();
  EXPECT_EQ(c.occurrence, 2u) << c.text();
  EXPECT_THAT(c.what, testing::HasSubstr("hardswish"));
  EXPECT_THAT(c.diff, testing::HasSubstr("aten.clamp"));
}

// What stands behind a fault in one table must not hide it, nor one that values do not show.
TEST(Bisect, FindsTheFirstOfTwoWrongLowerings) {
  BrokenTable t;
  std::string flip = replaced(t.row("aten.flip").lowering.body, "- 1 - at", "- at");
  std::string roll = replaced(t.row("aten.roll").lowering.body, "at($j, $d) - at", "at($j, $d) + at");
  t.row("aten.flip").lowering.body = flip;
  t.row("aten.roll").lowering.body = roll;
  auto graph = parse_graph(R"(graph @g(%x: f32[7, 3]) {
    %a = aten.roll(%x, [2], [0])
    %b = aten.flip(%a, [0])
    return %b
  })",
                           t.table);
  GraphReport report = bisected(*graph);
  ASSERT_TRUE(report.culprit.has_value());
  EXPECT_EQ(report.culprit->step, "aten.roll") << report.culprit->text();
}

TEST(Bisect, RightGraphsHaveNoCulprit) {
  for (const BrokenPass& broken : kBrokenPasses) {
    GraphReport report = bisected(*parse_graph(broken.graph, op_table()));
    EXPECT_TRUE(report.findings.empty()) << report.findings[0].mismatch.summary();
    EXPECT_FALSE(report.culprit.has_value());
    EXPECT_EQ(report.on_loops, report.seeds) << report.not_lowered;
  }
}

// Rewrites in sub-graphs count too, and the loops of what they hold are bisected as one node.
TEST(Bisect, ControlFlowIsOneNode) {
  BrokenTable t;
  OpDef& row = t.row("aten.roll");
  std::string text = replaced(row.lowering.body, "at($j, $d) - at", "at($j, $d) + at");
  row.lowering.body = text;
  auto graph = parse_graph(R"(graph @g(%p: bool[] init ones, %x: f32[5, 3]) {
    %a = aten.sin(%x)
    %b = lenz.cond(%p, @one, @other, [%a])
    return %b
  }
  graph @one(%x: f32[5, 3]) {
    %a = aten.roll(%x, [2], [0])
    return %a
  }
  graph @other(%x: f32[5, 3]) {
    %a = aten.cos(%x)
    return %a
  })",
                           t.table);
  GraphReport report = bisected(*graph);
  ASSERT_TRUE(report.culprit.has_value());
  EXPECT_EQ(report.culprit->step, "lenz.cond") << report.culprit->text();
}

TEST(Bisect, JsonFitsItsSchema) {
  BrokenTable t;
  OpDef& row = t.row("aten.flip");
  std::string text = replaced(row.lowering.body, "- 1 - at", "- at");
  row.lowering.body = text;
  PipelineLine line{{.name = "unasked", .contract = "", .levels = kEveryLevel, .run = unasked}, "broken"};
  nlohmann::json reports = nlohmann::json::array();
  auto lowered = parse_graph("graph @g(%x: f32[4]) { %a = aten.flip(%x, [0]) return %a }", t.table);
  auto rewritten = parse_graph("graph @g(%x: f32[4]) { %a = aten.sin(%x) return %a }", t.table);
  for (const GraphReport& report : {bisected(*lowered), bisected(*rewritten, {&line, 1})}) {
    ASSERT_TRUE(report.culprit.has_value());
    reports.push_back(report.to_json());
    reports.back()["file"] = "g.lenz";
    reports.back()["code"] = 7;
  }
  EXPECT_EQ(reports[0]["culprit"]["kind"], "lowering");
  EXPECT_EQ(reports[1]["culprit"]["kind"], "rewrite");
  std::ifstream file(std::string(LENZ_SOURCE_DIR) + "/oracle/graph_check.schema.json");
  auto violations = schema_violations(reports, nlohmann::json::parse(file));
  EXPECT_TRUE(violations.empty()) << violations[0];
}

}  // namespace
}  // namespace lenz::oracle
