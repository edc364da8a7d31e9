// The fuzzer's own formats, which only a build with libtorch reads: damaged texts give a UserError, or what they say.
#include <gtest/gtest.h>

#include "compiler/graph/mutate.h"
#include "compiler/graph/text.h"
#include "compiler/ops/op_table.h"
#include "fuzz/bug_pattern.h"
#include "fuzz/durations.h"

namespace lenz::fuzz {
namespace {

template <class F>
int refused(const std::vector<std::string>& texts, int times, F&& read) {
  int refused = 0;
  RandomChooser choose(7);
  for (int i = 0; i < times; ++i) {
    const std::string text = mutate(choose.pick(texts), texts, choose);
    try {
      read(text);
    } catch (const UserError&) {
      ++refused;
    }
  }
  return refused;
}

TEST(Hostile, SettingLines) {
  const int count = refused({"values=special seed=7", "values=ties seed=99 sizes=s0=4,s1=2 target=avx2",
                             "values=nan seed=1 passes=-dead_code,all:3"},
                            4000, [](const std::string& text) { Setting::parse(Setting::parse(text).text()); });
  EXPECT_GT(count, 400);
  EXPECT_LT(count, 4000);
}

TEST(Hostile, Durations) {
  EXPECT_GT(refused({"30s", "10m", "8h", "1.5m"}, 5000, [](const std::string& text) { parse_duration(text); }), 1000);
}

TEST(Hostile, BugPatterns) {
  const std::string all = read_text(std::string(LENZ_SOURCE_DIR) + "/corpus/regressions/upstream.patterns", 1 << 20);
  std::vector<std::string> texts;  // one each
  for (size_t at = all.find("\n["); at != std::string::npos;) {
    const size_t next = all.find("\n[", at + 1);
    texts.push_back(all.substr(at + 1, next - at));
    at = next;
  }
  const auto graph = parse_graph(
      "graph @g(%x: f32[4, 3] mut) { %v = aten.t(%x) %w = aten.mul_(%v, 2) %r = aten.sum(%x) return %r }", op_table());
  const Setting setting;
  BugPatternMatcher matcher(*graph, setting);
  const int count = refused(texts, 20000, [&](const std::string& text) {
    for (const BugPattern& p : parse_bug_patterns(text)) matcher.matches(p);
  });
  EXPECT_GT(count, 2000);
  EXPECT_LT(count, 20000);
}

}  // namespace
}  // namespace lenz::fuzz
