#include "compiler/ops/call_classes.h"

#include <gtest/gtest.h>

#include <set>

#include "compiler/ops/call_file.h"
#include "compiler/ops/op_table.h"

namespace lenz {
namespace {

std::set<std::string> classes(std::string_view text) {
  std::vector<CallText> calls = split_calls(text);
  EXPECT_EQ(calls.size(), 1u);
  DrawnCall call = read_call(calls[0], op_table());
  std::set<std::string> all;
  for (const Facet& f : call_classes(*call.op, *call.graph, call.args)) all.insert(f.classes.begin(), f.classes.end());
  return all;
}

using Set = std::set<std::string>;

TEST(CallClasses, SaysWhatTheFacetsSay) {
  EXPECT_EQ(classes("graph @c(%x: f32[2, 3], %y: i64[3]) {\n  %r = aten.mul.Tensor(%x, %y)\n  return %r\n}\n"),
            (Set{"lead:f32", "mix:floating+integer", "rank:2", "layout:contiguous", "broadcast:rank"}));
  EXPECT_EQ(
      classes("graph @c(%x: f32[0, 1] offset 3) {\n  %r = aten.sum.dim_IntList(%x, [-1], dtype=f64)\n  return %r\n}\n"),
      (Set{"lead:f32", "rank:2", "shape:empty", "shape:one", "layout:contiguous", "layout:offset", "dim:1 item",
           "dim:negative items", "keepdim:false", "dtype:floating"}));
}

TEST(CallClasses, TellsLayoutsApart) {
  struct Case {
    const char *type, *layout;
  };
  for (const Case& c : std::initializer_list<Case>{{"f32[2, 3]", "contiguous"},
                                                   {"f32[2, 1] strides [1, 77]", "contiguous"},
                                                   {"f32[2, 3] strides [1, 2]", "permuted"},
                                                   {"f32[2, 3, 4, 5] strides [60, 1, 15, 3]", "channels_last"},
                                                   {"f32[2, 3] strides [0, 1]", "expanded"},
                                                   {"f32[2, 3] strides [1, 1]", "overlapping"},
                                                   {"f32[2, 3] strides [8, 2]", "gaps"}}) {
    auto found = classes(std::string("graph @c(%x: ") + c.type + ") {\n  %r = aten.neg(%x)\n  return %r\n}\n");
    EXPECT_TRUE(found.contains(std::string("layout:") + c.layout)) << c.type;
  }
}

TEST(CallFile, CutsAndReadsCalls) {
  auto calls = split_calls(
      "graph @a(%x: f32[2]) {\n  %r = aten.neg.default(self=%x)\n  return %r\n}\n%%\n"
      "graph @b(%x: f32[2], %y: f32[2]) {\n  %r = aten.mul.Tensor(%x, %y)\n  return %r\n}\n");
  ASSERT_EQ(calls.size(), 2u);
  EXPECT_EQ(calls[0].op, "aten.neg");
  EXPECT_EQ(calls[1].op, "aten.mul.Tensor");
  DrawnCall call = read_call(calls[1], op_table());
  EXPECT_EQ(call.graph->node_count(), 0u);
  EXPECT_EQ(call.graph->inputs().size(), 2u);
  EXPECT_EQ(call.args.size(), 2u);
  EXPECT_TRUE(split_calls("").empty());
}

TEST(CallFile, WhatIsNoCallIsAnError) {
  EXPECT_THROW(split_calls("graph @a(%x: f32[2]) {\n  return %x\n}\n"), UserError);
  for (const char* text : {"graph @a(%x: f32[2]) {\n  %r = aten.no_such_op(%x)\n  return %r\n}\n",
                           "graph @a(%x: f32[2]) {\n  %r = aten.neg(%x)\n  %s = aten.neg(%r)\n  return %s\n}\n",
                           "graph @a(%x: f32[2], %y: f32[3]) {\n  %r = aten.mul.Tensor(%x, %y)\n  return %r\n}\n"})
    EXPECT_THROW(read_call(split_calls(text).at(0), op_table()), UserError) << text;
}

}  // namespace
}  // namespace lenz
