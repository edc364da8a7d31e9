// Numbers that eager refuses to convert: what a row says of them, its rule and its definition keep to.
#include "compiler/graph/number_fits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

#include "compiler/graph/text.h"
#include "compiler/ops/op_table.h"

namespace lenz {
namespace {

using testing::HasSubstr;

// What the rule says of a call on %u u8, %s i8, %h f16, %f f32, %b bool and %i i64; empty: it takes it.
std::string refusal(const std::string& call) {
  try {
    parse_graph("graph @g(%u: u8[4], %s: i8[4], %h: f16[4], %f: f32[4], %b: bool[4], %i: i64[4], %n: i64[0]) { %y = " +
                    call + " return %y }",
                op_table());
    return {};
  } catch (const UserError& error) {
    return error.message();
  }
}

TEST(NumberFits, WhatADtypeHolds) {
  const double inf = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_TRUE(representable(Arg::of_int(-255), Dtype::u8));
  EXPECT_FALSE(representable(Arg::of_int(-256), Dtype::u8));
  EXPECT_FALSE(representable(Arg::of_real(-1), Dtype::u8));
  EXPECT_FALSE(representable(Arg::of_int(128), Dtype::i8));
  EXPECT_TRUE(representable(Arg::of_real(65504), Dtype::f16));
  EXPECT_FALSE(representable(Arg::of_real(65505), Dtype::f16));
  EXPECT_TRUE(representable(Arg::of_real(inf), Dtype::f16));
  EXPECT_FALSE(representable(Arg::of_real(inf), Dtype::f8e4m3));
  EXPECT_FALSE(representable(Arg::of_real(nan), Dtype::i64));
  EXPECT_TRUE(representable(Arg::of_int(300), Dtype::b8));
  Context context;
  EXPECT_FALSE(representable(context.complex({1, 1}), Dtype::f32));
  EXPECT_TRUE(representable(context.complex({1e6, 0}), Dtype::f32));
  EXPECT_FALSE(representable(context.complex({0, 1e39}), Dtype::c64));
}

// The guards of a call on the number %m, of which the sizes tell that it is s0 - 3.
std::vector<std::string> guards_of(const std::string& call, const std::string& sizes) {
  const auto graph =
      parse_graph("graph @g(%x: f32[s0], %s: i8[4], %h: f16[4], %i: i64[4], %o: f16[1]) where s0 in " + sizes +
                      " { %n = aten.sym_size(%x, 0) %m = lenz.sym_add(%n, -3) %y = " + call + " return %y }",
                  op_table());
  std::vector<std::string> texts;
  for (const Cond& guard : graph->assumptions.guards()) texts.push_back(to_string(guard));
  return texts;
}

TEST(NumberFits, ComputedNumbersThatSomeSizesMakeTooLargeAreGuarded) {
  using testing::ElementsAre;
  EXPECT_THAT(guards_of("aten.pow(%i, %m)", "0..99"), ElementsAre("0 <= s0 - 3"));
  EXPECT_THAT(guards_of("aten.pow(%i, %m)", "3..99"), ElementsAre());
  EXPECT_THAT(guards_of("aten.pow(%h, %m)", "0..99"), ElementsAre());
  EXPECT_THAT(guards_of("aten.fill(%s, %m)", "0..999"), ElementsAre("s0 - 3 <= 127"));
  EXPECT_THAT(guards_of("aten.fill(%s, s0 - 3)", "0..999"), ElementsAre("s0 - 3 <= 127"));
  EXPECT_THAT(guards_of("aten.fill(%s, %m)", "0..130"), ElementsAre());
  EXPECT_THAT(guards_of("aten.fill(%h, %m)", "0..99999"), ElementsAre("s0 - 3 <= 65504"));
  EXPECT_THAT(guards_of("aten.fill(%o, %m)", "0..99999"), ElementsAre());
  EXPECT_THAT(guards_of("aten.fill(%i, %m)", "0..99999"), ElementsAre());
  EXPECT_THROW(guards_of("aten.pow(%i, %m)", "0..2"), UserError);
}

TEST(NumberFits, RowsRefuseWhatTheirResultsDtypeCannotHold) {
  for (const char* call : {"aten.clamp_max(%s, 300)",
                           "aten.clamp(%u, -5, 300)",
                           "aten.clip(%u, 0, 300)",
                           "aten.clamp(%h, -1e6, 1e6)",
                           "aten._foreach_clamp_max([%s], 300)",
                           "aten._foreach_clamp_max([%s], [300])",
                           "aten.hardtanh(%h, -1e6, 1e6)",
                           "aten.constant_pad_nd(%u, [1, 1], 300)",
                           "aten.threshold(%u, 300, -1)",
                           "aten.linspace(0, 300, 4, dtype=u8)",
                           "aten.logspace(0, 300, 3, dtype=i8)",
                           "aten.pow(%s, 300)",
                           "aten.pow(%h, 1e6)",
                           "aten.add(%u, %u, alpha=300)",
                           "aten.sub(%u, %u, alpha=-300)",
                           "aten.rsub(%s, %s, alpha=300)",
                           "aten.sub(%s, %s, alpha=-128)",
                           "aten.add(%h, 1.0, 1e6)",
                           "aten.addcmul(%s, %s, %s, value=300)",
                           "aten.scatter(%s, 0, %i, 300)",
                           "aten.scatter(%s, 0, %i, 300, reduce=\"add\")",
                           "aten.where(%b, %s, 300)",
                           "aten.where(%b, 300, %s)",
                           "aten.hardshrink(%h, 1e6)",
                           "aten.logit(%h, 1e6)",
                           "aten.masked_fill(%u, %b, 300)",
                           "aten.full([2], 1e6, dtype=f16)",
                           "aten.index_fill(%s, 0, %i, 300)",
                           "aten.full([2], 300, dtype=u8)",
                           "aten.leaky_relu(%f, 1e39)",
                           "aten.addcmul(%h, %h, %h, value=1e39)",
                           "aten.celu(%f, 1e-39)",
                           "aten.rrelu(%f, -1e39, 0)",
                           "aten.histc(%h, 4, 0, 1e6)",
                           "aten.pad(%u, [1, 1], \"constant\", 300.0)"})
    EXPECT_THAT(refusal(call), HasSubstr("a number out of the range of")) << call;
  EXPECT_THAT(refusal("aten.softshrink(%h, 1e6)"), HasSubstr("lambd must be"));
}

TEST(NumberFits, RowsTakeWhatEagerConvertsWithoutALook) {
  for (const char* call : {"aten.mul(%s, 300)",
                           "aten.add(%s, 300)",
                           "aten.clamp_max(%s, 300.5)",
                           "aten.where(%b, %h, 1e6)",
                           "aten.addcmul(%h, %h, %h, value=1e6)",
                           "aten.leaky_relu(%h, 1e6)",
                           "aten.pow(%f, 1e39)",
                           "aten.norm(%h, 1e6)",
                           "aten.dist(%h, %h, 1e6)",
                           "aten.constant_pad_nd(%u, [0, -1], 300)",
                           "aten.scatter(%s, 0, %n, 300)",
                           "aten.linspace(0, 300, 1, dtype=u8)",
                           "aten.scalar_tensor(1e6, dtype=f16)",
                           "aten.full([1], 1e6, dtype=f16)",
                           "aten.hardtanh(%s, -128.5, 127.5)",
                           "aten.threshold(%h, 1e6, 1)",
                           "aten.add(%u, %u, alpha=-255)",
                           "aten.sub(%u, %f, alpha=300)",
                           "aten.sub(%s, %s, alpha=128)",
                           "aten.sub(%u, %u, alpha=255)"})
    EXPECT_EQ(refusal(call), "") << call;
}

TEST(NumberFits, WhetherANumberMattersMayHangOnASymbol) {
  EXPECT_NO_THROW(parse_graph(
      "graph @g(%x: i8[4], %i: i64[n]) where n == 0 { %y = aten.scatter(%x, 0, %i, 300) return %y }", op_table()));
  EXPECT_THAT(
      [] {
        parse_graph("graph @g(%x: i8[4], %i: i64[n]) where n in 1..4 { %y = aten.scatter(%x, 0, %i, 300) return %y }",
                    op_table());
      },
      testing::ThrowsMessage<UserError>(HasSubstr("`value`: a number out of the range of i8")));
  EXPECT_THAT(
      [] {
        parse_graph("graph @g(%x: i8[n]) where n in 129..1000 { %y = aten.sub(%x, %x, alpha=n) return %y }",
                    op_table());
      },
      testing::ThrowsMessage<UserError>(HasSubstr("its negative has to be in")));
  EXPECT_NO_THROW(
      parse_graph("graph @g(%x: i8[n]) where n in 2..128 { %y = aten.sub(%x, %x, alpha=n) return %y }", op_table()));
}

}  // namespace
}  // namespace lenz
