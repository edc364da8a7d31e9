#include "compiler/graph/text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "compiler/graph/test_ops.h"
#include "compiler/graph/verify.h"
#include "compiler/ops/op_table.h"

namespace lenz {
namespace {

std::string round(std::string_view text, const PrintOptions& options = {}) {
  return print(*parse_graph(text, test::table()), options);
}

// Texts in canonical spelling print as they are.
void expect_canonical(std::string_view text) { EXPECT_EQ(round(text), text); }

std::string body(std::string_view inputs, std::string_view statements) {
  return "graph @g(" + std::string(inputs) + ") {\n" + std::string(statements) + "}\n";
}

TEST(Text, Statements) {
  expect_canonical(
      "graph @g(%x: f32[2, 3], %y: f32[2, 3]) {\n"
      "  %a = test.add(%x, %y, alpha=2)\n"
      "  %b = test.add(%a, 1.0)\n"
      "  %v, %i = test.max(%b, 1, keepdim=true)\n"
      "  %m = test.max(%v)\n"
      "  %n = test.max(%v, %y)\n"
      "  %c = test.relu_(%n)\n"
      "  test.check(%c)\n"
      "  return %m, %n, none, 3\n"
      "}\n");
}

TEST(Text, EveryKindOfArgument) {
  std::string text = body(
      "%x: f32[s0], %n: int k",
      "  %1 = test.kinds(%x, %x, s=complex(1.0, -0.0), i=-3, dims=[s0*2 + 1, 4], f=inf, b=true, t=\"a\\\"\\n\\x01\","
      " d=bf16, dev=cuda:1, layout=sparse_coo, m=channels_last, g=seed(18446744073709551615), fs=[1.0, -0.0, nan],"
      " bs=[true, false, true], ss=[1, 2.5, true, complex(0.0, 1.0)], n=s0)\n"
      "  %0 = test.kinds(%x, s=nan(0xfff8000000000000), dims=[%n, 4], f=-inf, n=%n)\n"
      "  return %0, %1, [%x, none], \"text\", f32\n");
  std::string once = round(text);
  EXPECT_EQ(round(once), once);
  EXPECT_NE(once.find("fs=[1.0, -0.0, nan], bs=[true, false, true], ss=[1, 2.5, true, complex(0.0, 1.0)], n=s0"),
            std::string::npos)
      << once;
  EXPECT_NE(once.find("%1 = test.kinds(%x, s=nan(0xfff8000000000000), dims=[%n, 4], f=-inf, n=%n)"), std::string::npos)
      << once;
}

TEST(Text, Types) {
  expect_canonical(
      "graph @g(\n"
      "    %a: f32[4, 4] strides [1, 4] offset 3 on cuda:0,\n"
      "    %b: bool[],\n"
      "    %c: c64[s0, s1*2],\n"
      "    %n: int n,\n"
      "    %m: int n*2 + 1,\n"
      "    %f: float,\n"
      "    %t: bool,\n"
      "    %o: none,\n"
      "    %e: token,\n"
      "    %l: [f32[2], [f8e4m3[3], i8[0]], []]\n"
      ") {\n"
      "  return %a\n"
      "}\n");
}

TEST(Text, Inputs) {
  expect_canonical(
      "graph @g(\n"
      "    %x: f32[8] alias a mut requires_grad init normal(0.0, 0.02, seed=3),\n"
      "    %y: f32[8] alias a,\n"
      "    %i: i64[8] init integers(-1, 7, seed=1, sorted=true),\n"
      "    %p: i64[8] init permutation(seed=2),\n"
      "    %u: f32[8] init uniform(-1.0, 1.0, seed=0),\n"
      "    %z: f32[8] init zeros,\n"
      "    %o: f32[8] init ones\n"
      ") level aten {\n"
      "  return %x\n"
      "}\n");
}

TEST(Text, Facts) {
  std::string text = round(
      "graph @g(%x: f32[s0, s1]) where s0 in 1..4096, s1 in 2.., s0 %8 == 0, s1 <= 2*s0 assuming s1 != 7 { return %x "
      "}");
  EXPECT_EQ(text,
            "graph @g(%x: f32[s0, s1]) where s0 in 1..4096, s1 in 2.., s0 % 8 == 0, s1 <= s0*2 assuming s1 != 7 {\n"
            "  return %x\n}\n");
  EXPECT_EQ(round(text), text);
}

TEST(Text, Names) {
  expect_canonical(
      "graph @\"two words\"(%layer.0.weight: f32[2], %\"1\": f32[2], %\"\\x01\": f32[2], %0: f32[2]) {\n"
      "  %1 = test.add(%0, %\"1\")\n"
      "  return %1, %\"\\x01\"\n"
      "}\n");
  auto graph = parse_graph("graph @g(%x: f32[2]) { %a = test.relu(%x) return %a }", test::table());
  graph->set_name(graph->node(graph->first()).result(), graph->context().intern("x"));
  EXPECT_EQ(print(*graph), "graph @g(%x: f32[2]) {\n  %x_1 = test.relu(%x)\n  return %x_1\n}\n");
}

TEST(Text, Constants) {
  expect_canonical(
      "graph @g() {\n"
      "  %a = lenz.constant(f32[2, 2] [1.0, 2.5, nan, -inf])\n"
      "  %b = lenz.constant(f32[1000] \"weights.npz\":\"w\")\n"
      "  %c = lenz.constant(c64[1] [complex(0.1, nan(0x7fc00001))])\n"
      "  %d = lenz.constant(bool[2] [true, false])\n"
      "  %e = lenz.constant(i8[2] [-128, 127])\n"
      "  %f = lenz.constant(u8[0] [])\n"
      "  return %a, %b, %c, %d, %e, %f\n"
      "}\n");
}

// As for PyTorch's users, where the schema says how long the list is.
TEST(Text, OneIntegerStandsForAListOfFixedLength) {
  auto body = [](std::string_view inputs, std::string_view call) {
    return print(
        *parse_graph("graph @g(" + std::string(inputs) + ") { %y = " + std::string(call) + " return %y }", op_table()));
  };
  constexpr std::string_view kPlane = "%x: f32[1, 3, 9, 9], %w: f32[4, 3, 3, 3], %n: int 2";
  EXPECT_THAT(body(kPlane, "aten.conv2d(%x, %w, stride=2)"), testing::HasSubstr("aten.conv2d(%x, %w, stride=[2, 2])"));
  EXPECT_THAT(body(kPlane, "aten.conv2d(%x, %w, stride=%n)"),
              testing::HasSubstr("aten.conv2d(%x, %w, stride=[%n, %n])"));
  EXPECT_THAT(body(kPlane, "aten.adaptive_avg_pool2d(%x, 3)"),
              testing::HasSubstr("aten.adaptive_avg_pool2d(%x, [3, 3])"));
  EXPECT_THAT(body(kPlane, "aten.upsample_nearest2d(%x, 18)"),
              testing::HasSubstr("aten.upsample_nearest2d(%x, [18, 18])"));
  EXPECT_THAT(body("%x: f32[1, 3, 9], %w: f32[4, 3, 3]", "aten.conv1d(%x, %w, padding=1)"),
              testing::HasSubstr("aten.conv1d(%x, %w, padding=[1])"));
  EXPECT_THAT(body("%x: f32[1, 3, 9, 9, 9], %w: f32[4, 3, 3, 3, 3]", "aten.conv3d(%x, %w, dilation=2)"),
              testing::HasSubstr("dilation=[2, 2, 2]"));
  EXPECT_THAT(body("%x: f32[1, 3, 9, 9], %w: f32[3, 4, 3, 3]", "aten.conv_transpose2d(%x, %w, stride=2)"),
              testing::HasSubstr("stride=[2, 2]"));
  // How long a padding is, no schema says.
  EXPECT_THROW(body(kPlane, "aten.pad(%x, 1)"), UserError);
}

// A value that is none is none where a parameter may be; one integer stands for a list of them as a value too.
TEST(Text, ValuesThatStandForLiterals) {
  auto ops = [](std::string_view body) { return print(*parse_graph(body, op_table())); };
  EXPECT_THAT(ops("graph @g(%x: f32[2, 3], %w: f32[4, 3], %q: none) { %y = aten.linear(%x, %w, %q) return %y }"),
              testing::HasSubstr("%y = aten.linear(%x, %w)\n"));
  EXPECT_THAT(ops("graph @g(%x: f32[3], %i: i64[2], %q: none) { %y = aten.index(%x, [%i]) return %y, %q }"),
              testing::HasSubstr("return %y, %q"));
  EXPECT_THAT(ops("graph @g(%x: f32[3], %n: int) { %y = aten.roll(%x, %n) return %y }"),
              testing::HasSubstr("%y = aten.roll(%x, [%n])\n"));
  constexpr std::string_view kStrings = R"(extern "my::op(Tensor x, str[] names=[]) -> Tensor"
graph @g(%x: f32[2]) {
  %y: f32[2] = my.op(%x, names=["a", "b"])
  %z: f32[2] = my.op(%y)
  return %z
}
)";
  EXPECT_EQ(ops(kStrings), kStrings);
}

TEST(Text, AnExternMayBeAnotherOverloadOfWhatHasRows) {
  constexpr std::string_view kText = R"text(extern "aten::sin.twice(Tensor self, *, int times) -> Tensor"
graph @g(%x: f32[3]) {
  %a: f32[3] = aten.sin(%x, times=2)
  %b = aten.sin(%a)
  return %b
}
)text";
  EXPECT_EQ(print(*parse_graph(kText, op_table())), kText);
}

TEST(Text, AnExternInPlaceBringsTheOpThatGivesWhatItWrites) {
  constexpr std::string_view kWrites = R"text(extern "my::renew_.by(Tensor(a!) self, Tensor x) -> Tensor(a!)"
graph @g(%x: f32[3] mut) {
  %a: f32[3] = my.renew_(%x, %x)
  return %a
}
)text";
  auto graph = parse_graph(kWrites, op_table());
  EXPECT_EQ(print(*graph), kWrites);
  const OpDef& op = *graph->node(graph->first()).op;
  ASSERT_TRUE(op.base);
  EXPECT_EQ(to_string(op.base->schema), "my::renew.by(Tensor self, Tensor x) -> Tensor");
  constexpr std::string_view kBoth = R"text(extern "my::renew(Tensor self) -> Tensor"
extern "my::renew_(Tensor(a!) self) -> Tensor(a!)"
graph @g(%x: f32[3] mut) {
  %a: f32[3] = my.renew_(%x)
  %b: f32[3] = my.renew(%a)
  return %b
}
)text";
  EXPECT_EQ(print(*parse_graph(kBoth, op_table())), kBoth);
  std::string turned(kBoth);
  turned = turned.substr(turned.find('\n') + 1, turned.find("graph") - turned.find('\n') - 1) +
           turned.substr(0, turned.find('\n') + 1) + turned.substr(turned.find("graph"));
  EXPECT_EQ(print(*parse_graph(turned, op_table())), kBoth);
  for (const char* other : {"my::renew_(Tensor(a!) self, Tensor(b!) x) -> Tensor(a!)",
                            "my::renew_(Tensor(a!) self) -> ()", "my::renew(Tensor(a!) self) -> Tensor(a!)"}) {
    auto made = parse_graph("extern \"" + std::string(other) + "\"\ngraph @g() { return }", op_table());
    for (const auto& row : made->context().externs.rows()) EXPECT_FALSE(row->base) << other;
  }
}

TEST(Text, SubGraphs) {
  expect_canonical(
      "graph @main(%p: bool[], %x: f32[4]) {\n"
      "  %r = test.choose(%p, @yes, @no, [%x])\n"
      "  %s = test.choose(%p, @yes, @no, [%r])\n"
      "  return %r, %s\n"
      "}\n"
      "\n"
      "graph @yes(%x: f32[4]) {\n"
      "  %q = lenz.constant(bool[] [true])\n"
      "  %y = test.choose(%q, @inner, @other, [%x])\n"
      "  return %y\n"
      "}\n"
      "\n"
      "graph @no(%x: f32[4]) {\n"
      "  return %x\n"
      "}\n"
      "\n"
      "graph @inner(%x: f32[4]) {\n"
      "  return %x\n"
      "}\n"
      "\n"
      "graph @other(%x: f32[4]) {\n"
      "  return %x\n"
      "}\n");
}

TEST(Text, Externs) {
  expect_canonical(
      "extern \"myns::custom(Tensor x, str mode=\\\"a\\\", int[] n=[1, 2]) -> Tensor\"\n"
      "graph @g(%x: f32[4]) {\n"
      "  %y: f32[4] = myns.custom(%x, n=[3])\n"
      "  return %y\n"
      "}\n");
}

TEST(Text, DataDependentResultsKeepTheirSymbols) {
  std::string text =
      round("graph @g(%x: f32[4]) { %i: i64[count, 1] = test.nonzero(%x) %j = test.nonzero(%x) return %i, %j }");
  EXPECT_NE(text.find("%i: i64[count, 1] = test.nonzero(%x)"), std::string::npos) << text;
  EXPECT_EQ(round(text), text);
}

TEST(Text, Provenance) {
  PrintOptions options;
  options.provenance = true;
  std::string text = "graph @g(%x: f32[4]) {\n  %y = test.relu(%x) from %a, %\"b c\"\n  return %y\n}\n";
  EXPECT_EQ(round(text, options), text);
}

TEST(Text, OverloadsAreNamedWhereTheyMustBe) {
  // max(Tensor) comes behind max.dim in the table, and max.default says so where the call alone would not.
  expect_canonical(body("%x: f32[4]", "  %y = test.max(%x)\n  return %y\n"));
  EXPECT_EQ(round(body("%x: f32[4]", "  %y = test.max.default(%x)\n  return %y\n")),
            body("%x: f32[4]", "  %y = test.max(%x)\n  return %y\n"));
  EXPECT_EQ(round(body("%x: f32[4]", "  %y = test.add.Scalar(%x, 2)\n  return %y\n")),
            body("%x: f32[4]", "  %y = test.add(%x, 2)\n  return %y\n"));
}

TEST(Text, CommentsStayWhereTheyWere) {
  constexpr std::string_view text =
      "# what it is for\n"
      "graph @g(%p: bool[], %x: f32[4]) {  # the header\n"
      "  # above\n"
      "  # a statement\n"
      "  %r = test.choose(%p, @yes, @no, [%x])  # behind it\n"
      "  %s = test.relu(%r)\n"
      "  # above the outputs\n"
      "  return %s  # and behind\n"
      "}\n"
      "\n"
      "# of @yes\n"
      "graph @yes(%x: f32[4]) {\n"
      "  # inside\n"
      "  return %x\n"
      "}\n"
      "\n"
      "# of @no\n"
      "graph @no(%x: f32[4]) {\n"
      "  return %x\n"
      "}\n"
      "# the end\n";
  Comments comments;
  ParseOptions options;
  options.comments = &comments;
  auto graph = parse_graph(text, test::table(), options);
  PrintOptions print_options;
  print_options.comments = &comments;
  EXPECT_EQ(print(*graph, print_options), text);
}

TEST(Text, EveryExampleOfTheGrammarParses) {
  std::string page = read_text(std::string(LENZ_SOURCE_DIR) + "/compiler/graph/GRAMMAR.md", 1 << 20);
  size_t count = 0, at = 0;
  bool open = false;
  for (size_t end; (end = page.find("```", at)) != std::string::npos; at = page.find('\n', end) + 1) {
    if (open && (page.compare(at, 5, "graph") == 0 || page.compare(at, 6, "extern") == 0)) {
      std::string text = page.substr(at, end - at);
      EXPECT_TRUE(verify(*parse_graph(text, op_table())).empty()) << text;
      ++count;
    }
    open = !open;
  }
  EXPECT_EQ(count, 7u);
}

}  // namespace
}  // namespace lenz
