#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <set>

#include "compiler/graph/text.h"
#include "compiler/ops/op_table.h"
#include "fuzz/case.h"
#include "fuzz/pattern_census.h"

namespace lenz::fuzz {
namespace {
const std::string kFolder = std::string(LENZ_SOURCE_DIR) + "/corpus/regressions/";

bool matches(const std::vector<BugPattern>& patterns, const std::string& number, const Case& c) {
  BugPatternMatcher matcher(*c.graph, c.setting);
  return std::ranges::any_of(
      patterns, [&](const BugPattern& p) { return std::stoi(p.number) == std::stoi(number) && matcher.matches(p); });
}

const std::vector<BugPattern>& upstream() {
  static const auto all = parse_bug_patterns(read_text(kFolder + "upstream.patterns", 1 << 20));
  return all;
}

// The graphs that show the bugs, by number.
std::map<std::string, Case> shown() {
  std::map<std::string, Case> all;
  for (const auto& file : std::filesystem::directory_iterator(kFolder)) {
    const std::string name = file.path().filename().string();
    if (name.ends_with(".lenz") && name.find_first_not_of("0123456789") == 6)
      all.emplace(name.substr(0, 6), read_case(file.path().string()));
  }
  return all;
}

bool matches(const std::string& pattern, const std::string& graph) {
  const auto patterns = parse_bug_patterns("[1] a test\n" + pattern);
  const Case c = parse_case(graph);
  BugPatternMatcher matcher(*c.graph, c.setting);
  return matcher.matches(patterns.at(0));
}

TEST(BugPattern, EachMatchesTheGraphThatShowsItsBug) {
  std::set<std::string> numbers, waiting;
  for (const BugPattern& p : upstream()) (p.waits_for.empty() ? numbers : waiting).insert(p.number);
  const auto graphs = shown();
  EXPECT_EQ(numbers.size(), graphs.size());
  EXPECT_EQ(numbers.size() + waiting.size(), 49u);
  for (const auto& [number, c] : graphs) EXPECT_TRUE(matches(upstream(), number, c)) << number;
}

TEST(BugPattern, NoneMatchesWhatHasNothingToDoWithIt) {
  const Case plain = parse_case(
      "graph @g(%x: f32[4, 5], %y: f32[4, 5]) {\n  %a = aten.sin(%x)\n  %b = aten.add(%a, %y)\n"
      "  %c = aten.relu(%b)\n  return %c\n}\n");
  BugPatternMatcher matcher(*plain.graph, plain.setting);
  for (const BugPattern& p : upstream()) EXPECT_FALSE(matcher.matches(p)) << p.number;
  // Nor most of the graphs that show other bugs: a pattern that takes them all says nothing.
  const auto graphs = shown();
  for (const BugPattern& p : upstream()) {
    size_t others = 0;
    for (const auto& [number, c] : graphs) others += BugPatternMatcher(*c.graph, c.setting).matches(p);
    EXPECT_LE(others, graphs.size() / 4) << p.number << " " << p.title;
  }
}

TEST(BugPattern, OperandsAreWrittenToReadOrSharedAsItSays) {
  const std::string graph =
      "graph @g(%x: f32[4] mut, %y: f32[4]) {\n  %v = aten.slice(%x, end=2)\n  %a = aten.sin(%v)\n"
      "  %w = aten.mul_(%x, %y)\n  %b = aten.neg(%a)\n  return %b\n}\n";
  EXPECT_TRUE(matches("v = view (x)\nr = any (~x)\nw = any (!x)", graph));
  EXPECT_TRUE(matches("v = view (x)\nw = any (!~v, y)", graph));
  EXPECT_FALSE(matches("v = view (x)\nw = any (!v)", graph));
  EXPECT_FALSE(matches("w = any (!x)\nr = any (x)", graph));
  EXPECT_TRUE(matches("v = view\nb = aten.neg (>v)", graph));
  EXPECT_FALSE(matches("w = aten.mul\nb = aten.neg (>w)", graph));
  EXPECT_TRUE(matches("v = view : v.elements < 4, v is f32, v not output, v is input", graph));
  EXPECT_TRUE(matches("x = input\ny = input : x apart y, x is mutated, y not mutated", graph));
}

TEST(BugPattern, WhatIsComputedMayGoThroughMemory) {
  const std::string graph =
      "graph @g(%x: f32[4]) {\n  %s = aten.sin(%x)\n  %e = aten.zeros([4])\n  %w = aten.copy_(%e, %s)\n"
      "  %r = aten.cos(%e)\n  return %r\n}\n";
  EXPECT_TRUE(matches("s = aten.sin\nr = aten.cos (>s)", graph));
  EXPECT_FALSE(matches("s = aten.sin\nr = aten.cos (s)", graph));
}

TEST(BugPattern, SaysWhatIsWrongWithAPattern) {
  for (const auto& [text, words] :
       std::map<std::string, std::string>{{"x = any", "begins with"},
                                          {"[1] a\n", "no steps"},
                                          {"[1] a\n x = aten.nothing", "there is no op"},
                                          {"[1] a\n x = any (>y)", "comes before"},
                                          {"[1] a\n x = any : y is f32", "nothing is called `y`"},
                                          {"[1] a\n x = any : x is blue", "there is no `blue`"},
                                          {"[1] a\n x = any : x.age > 2", "values have"},
                                          {"[1] a\n x = any\n x = any", "has a value already"},
                                          {"[1] a\n x = any\n values odd", "no such kind"},
                                          {"[1] a\n waits for it\n x = any", "no steps"}})
    try {
      parse_bug_patterns(text);
      ADD_FAILURE() << text;
    } catch (const UserError& error) {
      EXPECT_NE(std::string(error.what()).find(words), std::string::npos) << error.what();
    }
}

TEST(PatternCensus, CountsAndIsSureOfAsMuchAsItSaw) {
  EXPECT_EQ(confidence(0, 1000).low, 0);
  EXPECT_NEAR(confidence(0, 1000).high, 0.0038, 0.0002);
  EXPECT_NEAR(confidence(500, 1000).low, 0.469, 0.001);
  const auto patterns = parse_bug_patterns("[1] anything\n x = any\n[2] nothing\n x = any : x.rank > 99\n");
  const Census c = count_patterns(patterns, 3, 64, 2);
  EXPECT_GT(c.patterns[0].cases, 60u);
  EXPECT_EQ(c.patterns[1].cases, 0u);
  EXPECT_LT(c.patterns[0].grown, c.patterns[0].cases);
}

}  // namespace
}  // namespace lenz::fuzz
