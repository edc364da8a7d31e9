#include "compiler/graph/diff.h"

#include <gtest/gtest.h>

#include "compiler/graph/test_ops.h"
#include "compiler/graph/text.h"

namespace lenz {
namespace {

std::string diff_of(std::string_view a, std::string_view b) {
  return diff(*parse_graph(a, test::table()), *parse_graph(b, test::table()));
}

constexpr std::string_view kBefore = R"(
graph @g(%x: f32[4], %y: f32[4]) {
  %a = test.relu(%x)
  %b = test.relu(%a)
  %c = test.add(%b, %y)
  %d = test.kinds(%c, b=true, t="a, (b")
  %e = test.relu(%d)
  %f = test.relu(%e)
  %h = test.relu(%f)
  return %h
})";

TEST(Diff, LongListsByThePlacesWhereTheyDiffer) {
  auto graph = [](std::string_view at_7, std::string_view at_9) {
    std::string text = "graph @g(%x: f32[4]) {\n  %c = lenz.constant(f32[20] [";
    for (int i = 0; i < 20; ++i)
      text += (i ? ", " : "") + (i == 7 ? std::string(at_7) : i == 9 ? std::string(at_9) : std::to_string(i) + ".0");
    return text + "])\n  return %c\n}";
  };
  const std::string apart = diff_of(graph("7.0", "9.0"), graph("8.5", "0.5"));
  EXPECT_NE(apart.find("lenz.constant(f32[20] [7: [-7.0-]{+8.5+}, 9: [-9.0-]{+0.5+}; 2 of 20 elements])"),
            std::string::npos)
      << apart;
}

TEST(Diff, NothingForEqualGraphs) { EXPECT_EQ(diff_of(kBefore, kBefore), ""); }

TEST(Diff, ChangedArgumentsStandInTheLine) {
  std::string after(kBefore);
  after.replace(after.find("b=true"), 6, "f=1.5");
  EXPECT_EQ(diff_of(kBefore, after),
            "@g\n"
            "    ... 4 unchanged\n"
            "    %b = test.relu(%a)\n"
            "    %c = test.add(%b, %y)\n"
            "  ~ %d = test.kinds(%c, [-b=true-]{+f=1.5+}, t=\"a, (b\")\n"
            "    %e = test.relu(%d)\n"
            "    %f = test.relu(%e)\n"
            "    ... 2 unchanged\n");
}

TEST(Diff, RemovedAndAddedNodes) {
  EXPECT_EQ(diff_of(kBefore, R"(
graph @g(%x: f32[4], %y: f32[4]) {
  %a = test.relu(%x)
  %c = test.add(%a, %y)
  %d = test.kinds(%c, b=true, t="a, (b")
  %new = test.view(%d)
  %e = test.relu(%new)
  %f = test.relu(%e)
  %h = test.relu(%f)
  return %h
})"),
            "@g\n"
            "    ... 2 unchanged\n"
            "    level torch\n"
            "    %a = test.relu(%x)\n"
            "  - %b = test.relu(%a)\n"
            "  ~ %c = test.add([-%b-]{+%a+}, %y)\n"
            "    %d = test.kinds(%c, b=true, t=\"a, (b\")\n"
            "  + %new = test.view(%d)\n"
            "  ~ %e = test.relu([-%d-]{+%new+})\n"
            "    %f = test.relu(%e)\n"
            "    %h = test.relu(%f)\n"
            "    ... 1 unchanged\n");
}

TEST(Diff, HeadersOutputsAndSubGraphs) {
  EXPECT_EQ(diff_of("graph @main(%p: bool[], %x: f32[s0]) { %r = test.choose(%p, @yes, @no, [%x]) return %r }"
                    "graph @yes(%x: f32[s0]) { %y = test.relu(%x) return %y } graph @no(%x: f32[s0]) { return %x }",
                    "graph @main(%p: bool[], %x: f32[s0] mut) where s0 in 2.. {"
                    "  %r = test.choose(%p, @yes, @no, [%x]) return %r, %x }"
                    "graph @yes(%x: f32[s0]) { %y = test.view(%x) return %y } graph @no(%x: f32[s0]) { return %x }"),
            "@main\n"
            "    %p: bool[]\n"
            "  - %x: f32[s0]\n"
            "  + %x: f32[s0] mut\n"
            "    level torch\n"
            "  + where s0 in 2..\n"
            "    %r = test.choose(%p, @yes, @no, [%x])\n"
            "  - return %r\n"
            "  + return %r, %x\n"
            "@yes\n"
            "    %x: f32[s0]\n"
            "    level torch\n"
            "  - %y = test.relu(%x)\n"
            "  + %y = test.view(%x)\n"
            "    return %y\n");
}

TEST(Diff, LargeGraphs) {
  std::string text = "graph @g(%x: f32[4]) {\n  %v0 = test.relu(%x)\n";
  for (int i = 1; i < 20'000; ++i)
    text += "  %v" + std::to_string(i) + " = test.relu(%v" + std::to_string(i - 1) + ")\n";
  text += "  return %v19999\n}\n";
  std::string after = text;
  after.replace(after.find("%v10000 = test.relu"), 19, "%v10000 = test.view");
  std::string out = diff_of(text, after);
  EXPECT_NE(out.find("  + %v10000 = test.view(%v9999)\n"), std::string::npos) << out.substr(0, 2000);
  EXPECT_LT(out.size(), 1000u) << out.substr(0, 2000);
}

}  // namespace
}  // namespace lenz
