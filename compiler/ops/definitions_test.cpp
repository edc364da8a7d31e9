// A composite row that has a type rule of its own: its definition must say the same.
#include <gtest/gtest.h>

#include "compiler/graph/alias.h"
#include "compiler/graph/rebuild.h"
#include "compiler/graph/text.h"
#include "compiler/ops/call_maker.h"
#include "compiler/ops/decompose.h"
#include "compiler/ops/op_table.h"

namespace lenz {
namespace {

// Whose storage a value lives in: an input's number, or none of them.
size_t input_owner(const Graph& graph, ValueId v) {
  ValueId owner = graph.storage(v);
  for (size_t i = 0; i < graph.inputs().size(); ++i)
    if (graph.inputs()[i].value == owner) return i;
  return SIZE_MAX;
}

// A fresh result's layout is the rule's to say, not the definition's.
std::string described(const Type& t, bool with_layout) {
  if (with_layout || !t.is_tensor()) return to_string(t);
  std::string text(name(t.dtype));
  // What only the run knows has a symbol of its own each time.
  for (Dim d : t.sizes()) text += " " + (d.is_constant() ? to_string(d) : "?");
  return text + " on " + to_string(t.device);
}

void compare(const OpDef& op, uint64_t seed) {
  RandomChooser chooser(seed);
  auto graph = generate_call(op, op_table(), chooser);
  NodeId node = graph->last();
  SmallVec<Arg, 4> results = expand(*graph, kNone, op, graph->node(node).arguments());
  ASSERT_EQ(results.size(), graph->node(node).result_count);
  for (size_t i = 0; i < results.size(); ++i) {
    ValueId by_rule = graph->node(node).result(i);
    if (!results[i].is_value()) continue;  // a list is checked by running it
    ValueId by_definition = results[i].value();
    size_t owner = input_owner(*graph, by_rule);
    EXPECT_EQ(owner, input_owner(*graph, by_definition)) << "shares another input's storage";
    bool shares = owner != SIZE_MAX;
    EXPECT_EQ(described(graph->type(by_rule), shares), described(graph->type(by_definition), shares));
  }
}

TEST(Definitions, SayWhatTheRowsOwnRuleSays) {
  size_t compared = 0;
  for (const auto& row : op_table().rows()) {
    bool own_rule = row->infer && row->infer != rule::composite && row->infer != rule::composite_of_copies;
    if (row->decompose.empty() || !own_rule || !row->generate || row->variant != VariantKind::functional) continue;
    ++compared;
    for (uint64_t seed = 0; seed < 100 && !testing::Test::HasFailure(); ++seed) {
      SCOPED_TRACE(row->full_name + " seed " + std::to_string(seed));
      compare(*row, seed);
    }
  }
  EXPECT_GT(compared, 20u);
}

// A definition says by its nodes what it writes to; the row must say it too, where its schema does not.
TEST(Definitions, WriteWhatTheRowSays) {
  size_t writing = 0;
  for (const auto& row : op_table().rows()) {
    if (row->decompose.empty() || !row->generate || row->variant != VariantKind::functional) continue;
    for (uint64_t seed = 0; seed < 60; ++seed) {
      RandomChooser chooser(seed);
      auto graph = generate_call(*row, op_table(), chooser);
      NodeId node = graph->last();
      std::vector<bool> said(graph->inputs().size(), false);
      for_each_written(*graph, graph->node(node), [&](ValueId v) { said[graph->value(v).index] = true; });
      expand(*graph, kNone, *row, graph->node(node).arguments());
      for (NodeId id = graph->node(node).next; id != kNone; id = graph->node(id).next)
        for_each_written(*graph, graph->node(id), [&](ValueId v) {
          size_t owner = input_owner(*graph, v);
          if (owner == SIZE_MAX) return;
          ++writing;
          EXPECT_TRUE(said[owner]) << row->full_name << " seed " << seed << " writes to input " << owner;
        });
    }
  }
  EXPECT_GT(writing, 100u);
}

const Type* on_device(Context& context, const Type& type, Device device) {
  if (type.kind == TypeKind::list) {
    SmallVec<const Type*, 8> elements;
    for (const Type* e : type.elements()) elements.push_back(on_device(context, *e, device));
    return context.list(elements);
  }
  if (!type.is_tensor()) return &type;
  TensorType moved = type.tensor();
  moved.device = device;
  return context.tensor(moved);
}

// What a definition makes itself lies where the operands do.
TEST(Definitions, KeepToTheDeviceOfTheirOperands) {
  const Device device{DeviceKind::cuda, 0};
  for (const auto& row : op_table().rows()) {
    if (row->decompose.empty() || !row->generate || row->variant != VariantKind::functional) continue;
    for (uint64_t seed = 0; seed < 40; ++seed) {
      RandomChooser chooser(seed);
      auto graph = generate_call(*row, op_table(), chooser);
      const auto given_device = [](const Arg& a) { return a.kind == ArgKind::device; };
      if (std::ranges::any_of(graph->node(graph->last()).arguments(), given_device)) continue;
      std::vector<const Type*> types;
      for (const Input& i : graph->inputs()) types.push_back(on_device(graph->context(), graph->type(i.value), device));
      try {
        auto moved = rebuilt(*graph, {.inputs = types});
        ASSERT_TRUE(moved) << row->full_name << " seed " << seed << " is refused on " << to_string(device);
        expand(*moved, kNone, *row, moved->node(moved->last()).arguments());
      } catch (const Error& error) {
        ADD_FAILURE() << row->full_name << " seed " << seed << ": " << error.what();
        break;
      }
    }
  }
}

// What a row takes its definition must not refuse: eager computes in f32, or converts numbers as elements.
TEST(Definitions, TakeNumbersThatTheResultsDtypeHasNot) {
  for (const char* call :
       {"aten.addcmul(%h, %h, %h, value=1e6)", "aten.addcdiv(%h, %h, %h, value=1e6)", "aten.norm(%h, 1e6)",
        "aten.linalg_vector_norm(%h, 1e6)", "aten.dist(%h, %h, 1e6)", "aten.addcmul(%i, %i, %i, value=-2.5)",
        "aten.rsub(%i, 300)", "aten.rsub(%f, 1e39)", "aten.nan_to_num(%f, 1e300)", "aten.renorm(%m, 2, 0, 1e39)",
        "aten.cosine_similarity(%h, %h, 0, 1e5)", "aten.scalar_tensor(1e6, dtype=f16)", "aten.leaky_relu(%h, 1e6)"}) {
    auto graph = parse_graph(
        "graph @g(%h: f16[4], %i: i8[4], %f: f32[4], %m: f32[2, 2]) { %y = " + std::string(call) + " return %y }",
        op_table());
    const NodeId id = graph->first();
    const OpDef* op = graph->node(id).op;
    SmallVec<Arg, 8> args(graph->node(id).arguments());
    EXPECT_NO_THROW(expand(*graph, id, *op, args)) << call;
  }
}

// Shapes are the same where all that is known of their sizes says so, and else what is taken for granted is asked.
TEST(Definitions, CompareSizesAsTheyAreKnown) {
  auto product = [](std::string_view facts) {
    auto graph = parse_graph("graph @g(%x: f16[2, 9], %y: f16[s0, s1])" + std::string(facts) +
                                 " { %r = aten.tensordot(%x, %y, [1], [1]) return %r }",
                             op_table());
    const NodeId node = graph->last();
    expand(*graph, kNone, *graph->node(node).op, graph->node(node).arguments());
    bool multiplies = false;
    graph->for_each_node([&](NodeId id) { multiplies |= graph->node(id).op->full_name == "aten.mm"; });
    return multiplies;
  };
  EXPECT_TRUE(product(" where s1 in 2..64 assuming s1 == 9"));
  EXPECT_FALSE(product(" where s1 in 1..64 assuming s1 == 1"));
}

}  // namespace
}  // namespace lenz
