#include "fuzz/properties/texts.h"

#include <gtest/gtest.h>

#include <set>

#include "compiler/base/source.h"
#include "compiler/ops/op_table.h"
#include "fuzz/names.h"

namespace lenz::fuzz {
namespace {

const std::string kText =
    "graph @g(%x: f32[4], %y: f32[4]) {\n  %0 = aten.add(%x, %y)\n  %1 = aten.full([3], 1.5e-7)\n  return %0, %1\n}\n";

TEST(Texts, BrokenOnesAreToldRightly) {
  std::set<std::string> changes;
  for (uint64_t seed = 0; seed < 300; ++seed) {
    RandomChooser choose(seed);
    const BrokenText broken = break_text(kText, choose);
    if (broken.text.empty()) continue;
    changes.insert(broken.change);
    EXPECT_EQ(told_wrongly(broken), "") << broken.text;
  }
  EXPECT_GT(changes.size(), 60u);
}

TEST(Texts, AnotherPlaceOrOtherWordsAreNoticed) {
  const size_t at = kText.find("%y)");
  BrokenText broken{.text = kText, .change = "", .at = at, .length = 4, .words = "there is no value"};
  broken.text.replace(at, 2, "%no2");
  EXPECT_EQ(told_wrongly(broken), "");
  broken.at += 1;
  EXPECT_NE(told_wrongly(broken).find("the place is <text>:2:22"), std::string::npos) << told_wrongly(broken);
  broken.at -= 1;
  broken.length = 3;
  EXPECT_NE(told_wrongly(broken).find("it underlines 4"), std::string::npos) << told_wrongly(broken);
  broken.length = 4;
  broken.words = "there is no op";
  EXPECT_NE(told_wrongly(broken).find("it does not say"), std::string::npos);
  EXPECT_EQ(told_wrongly({kText, {}, 0, 0, {}}), "it is read");
}

TEST(Texts, LinesAreQuotedAsTheyStand) {
  const std::string start = "graph @g(", name(90, 'a'), text = start + name + " \t %" + name + "\n";
  const size_t at = start.size() + name.size() + 3;
  const UserError right = Source(text, "<text>").error(at, at + 5, "no");
  EXPECT_EQ(misquoted(right, text, 5), "") << right.what();
  EXPECT_NE(misquoted(right, text, 4), "");
  auto said = [&](const std::string& quote, const std::string& under, const std::string& where = "<text>:1:103") {
    return misquoted(UserError("no\n  1 | " + quote + "\n    | " + under, where), text, 0);
  };
  const std::string before = std::string(70, 'a').substr(3) + "   ", behind = "%" + std::string(39, 'a');
  EXPECT_EQ(said("..." + before + behind + "...", std::string(3 + before.size(), ' ') + "^"), "");
  EXPECT_NE(said("..." + before + behind + "...", std::string(2 + before.size(), ' ') + "^"), "");  // beside it
  EXPECT_NE(said("..." + before + "...", std::string(3 + before.size(), ' ') + "^"), "");           // nothing behind
  EXPECT_NE(said("...   " + behind + "...", std::string(6, ' ') + "^"), "");                        // or before it
  std::string odd = before;
  odd[odd.size() - 2] = '?';
  EXPECT_NE(said("..." + odd + behind + "...", std::string(3 + before.size(), ' ') + "^"), "");
  EXPECT_NE(said("..." + before + behind + "...", std::string(3 + before.size(), ' ')), "");
  EXPECT_NE(said("..." + before + behind + "...", std::string(3 + before.size(), ' ') + "^", "<text>:2:103"), "");
}

TEST(Texts, NamesOfAllKindsSurvive) {
  bool dotted = false, quoted = false;
  for (uint64_t seed = 0; seed < 40; ++seed) {
    RandomChooser choose(seed);
    const auto graph = parse_graph(kText, op_table());
    give_names(*graph, choose);
    EXPECT_EQ(lost_in_text(*graph, {}), "");
    const std::string text = print(*graph);
    dotted = dotted || text.find("%layers.0.weight") != std::string::npos;
    quoted = quoted || text.find("%\"say \\\"no\\\"") != std::string::npos;
  }
  EXPECT_TRUE(dotted && quoted);
}

}  // namespace
}  // namespace lenz::fuzz
