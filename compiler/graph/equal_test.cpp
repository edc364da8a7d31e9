#include "compiler/graph/equal.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "compiler/graph/test_ops.h"
#include "compiler/graph/text.h"

namespace lenz {
namespace {

std::unique_ptr<Graph> read(std::string_view text) { return parse_graph(text, test::table()); }

void expect_same(std::string_view a, std::string_view b) {
  auto x = read(a), y = read(b);
  std::string why;
  EXPECT_TRUE(structurally_equal(*x, *y, &why)) << why;
  EXPECT_EQ(structural_hash(*x), structural_hash(*y));
}

void expect_different(std::string_view a, std::string_view b, std::string_view reason) {
  auto x = read(a), y = read(b);
  std::string why;
  EXPECT_FALSE(structurally_equal(*x, *y, &why)) << a << "\n" << b;
  EXPECT_FALSE(structurally_equal(*y, *x));
  EXPECT_THAT(why, testing::HasSubstr(reason));
  EXPECT_NE(structural_hash(*x), structural_hash(*y)) << a << "\n" << b;
}

TEST(Equal, NamesDoNotCount) {
  expect_same("graph @f(%x: f32[s0] alias a, %y: f32[s0] alias a) { %r = test.relu(%x) from %q return %r, %y }",
              "graph @g(%1: f32[s0] alias b, %z: f32[s0] alias b) { %2 = test.relu(%1) return %2, %z }");
  expect_same("graph @f(%x: f32[s0]) where s0 in 2..8, s0 % 2 == 0 { return %x }",
              "graph @f(%x: f32[s0]) where s0 % 2 == 0, s0 in 2..8 { return %x }");
}

TEST(Equal, WhatCounts) {
  constexpr std::string_view base =
      "graph @g(%x: f32[4], %y: f32[4]) { %a = test.add(%x, %y) %b = test.relu(%a) return %b }";
  auto with = [&](std::string_view from, std::string_view to) {
    std::string text(base);
    return text.replace(text.find(from), from.size(), to);
  };
  expect_different(base, with("test.add(%x, %y)", "test.add(%y, %x)"), "test.add(%x, %y)");
  expect_different(base, with("test.add(%x, %y)", "test.add(%x, %y, alpha=2)"), "alpha=2");
  expect_different(base, with("test.add(%x, %y)", "test.max(%x, %y)"), "test.max");
  expect_different(base, with("test.relu(%a)", "test.view(%a)"), "test.view");
  expect_different(base, with("%x: f32[4]", "%x: f32[4] mut"), "input 0");
  expect_different(base, with("%x: f32[4]", "%x: f32[4] requires_grad"), "input 0");
  expect_different(base, with("%x: f32[4]", "%x: f32[4] init ones"), "input 0");
  expect_different(base, with(") {", ") level aten {"), "levels");
  expect_different(base, with("return %b", "return %b, %b"), "outputs");
  expect_different(base, with("return %b", "return %a"), "output 0");
  expect_different(base, with("return %b", "%c = test.relu(%b) return %b"), "the other has %c");
  expect_different("graph @g(%x: f32[s0]) { return %x }", "graph @g(%x: f32[s1]) { return %x }", "input 0");
  expect_different("graph @g(%x: f32[s0]) { return %x }", "graph @g(%x: f32[s0]) where s0 in 2.. { return %x }",
                   "facts");
  expect_different("graph @g(%x: f32[s0]) { return %x }", "graph @g(%x: f32[s0]) assuming s0 != 7 { return %x }",
                   "guards");
  expect_different("graph @g(%x: f32[2] alias a, %y: f32[2] alias a) { return %x }",
                   "graph @g(%x: f32[2] alias a, %y: f32[2] alias b) { return %x }", "alias");
}

TEST(Equal, ArgumentsToTheBit) {
  auto real = [](std::string_view text) {
    return "graph @g(%x: f32[4]) { %a = test.kinds(%x, f=" + std::string(text) + ") return %a }";
  };
  expect_same(real("1"), real("1.0"));
  expect_same(real("nan"), real("nan"));
  expect_different(real("0.0"), real("-0.0"), "f=-0.0");
  expect_different(real("nan"), real("nan(0x7ff8000000000001)"), "nan");
}

TEST(Equal, SubGraphsByContent) {
  std::string text =
      "graph @g(%p: bool[], %x: f32[4]) { %r = test.choose(%p, @yes, @no, [%x]) return %r }"
      "graph @yes(%x: f32[4]) { %y = test.relu(%x) return %y } graph @no(%x: f32[4]) { return %x }";
  std::string other = text;
  expect_same(text,
              "graph @g(%p: bool[], %x: f32[4]) { %r = test.choose(%p, @b, @a, [%x]) return %r }"
              "graph @a(%x: f32[4]) { return %x } graph @b(%x: f32[4]) { %y = test.relu(%x) return %y }");
  expect_different(text, other.replace(other.find("test.relu"), 9, "test.view"), "@yes: %y: f32[4] = test.relu(%x)");
}

TEST(Equal, ListsByContent) {
  auto a = read("graph @g(%x: f32[4]) { %a = test.kinds(%x, ss=[1, 2]) return %a }");
  auto b = a->clone();
  NodeId id = b->first();
  std::vector<Arg> args(b->node(id).arguments().begin(), b->node(id).arguments().end());
  Arg items[] = {Arg::of_int(1), Arg::of_int(2)};
  for (Arg& arg : args)
    if (arg.kind == ArgKind::int_list && arg.dim_list()[0].is(1)) arg = b->context().args(items);
  b->set_args(id, args);
  EXPECT_TRUE(structurally_equal(*a, *b));
  EXPECT_EQ(structural_hash(*a), structural_hash(*b));
}

}  // namespace
}  // namespace lenz
