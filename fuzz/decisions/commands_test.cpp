#include "fuzz/decisions/commands.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "compiler/driver/compile.h"
#include "compiler/graph/text.h"
#include "compiler/ops/op_table.h"
#include "fuzz/decisions/broken.h"

namespace lenz::fuzz {
namespace {

using testing::HasSubstr;

TEST(Commands, AreRead) {
  const auto all =
      parse_commands("words\n# ---- a\nfmt -\ndiff - {*3 n m*}\n# ====\none\n# ++++\ntwo\n# ---- b\n--help\n");
  ASSERT_EQ(all.size(), 3u);
  EXPECT_EQ(all[0].name, "command/a/fmt -");
  EXPECT_EQ(all[0].arguments, (std::vector<std::string>{"fmt", "-"}));
  EXPECT_EQ(all[1].text, "one\n");
  EXPECT_EQ(all[1].other, "two\n");
  EXPECT_EQ(all[1].arguments.back(), "mmm");
  EXPECT_EQ(all[2].text, "");
}

TEST(Commands, WhatTheySayIsTold) {
  auto of = [](std::string_view text) {
    return facts_of_command({.name = "a", .arguments = {"fmt", "-"}, .text = text, .other = {}});
  };
  const Facts fine = of("graph @g(%x: f32[2]) {\n  return %x\n}\n"), wrong = of("graph @g(%x: f32[2]) {\n}\n");
  EXPECT_EQ(fine.at("command/ends"), 0);
  EXPECT_EQ(wrong.at("command/ends"), 2);
  EXPECT_NE(fine.at("command/says #"), wrong.at("command/says #"));
  EXPECT_EQ(fine, of("graph @g(%x: f32[2]) {\n  return %x\n}\n"));
}

TEST(Commands, InputsThatDoNotFitAreRefused) {
  const auto program = to_loops(*parse_graph(
      "graph @g(%x: f32[s0, 3], %y: f32[s0]) where s0 in 2..4 {\n  %a = aten.exp(%x)\n  return %a\n}\n", op_table()));
  const SymValues three = [](const SymNode*) { return std::optional<int64_t>(3); };
  std::string said;
  for (uint64_t seed = 0; seed < 20; ++seed) {
    RandomChooser choose(seed);
    said += said_of_inputs(program, three, choose);
  }
  for (const char* words : {"taken", "is of dtype", "is no tensor", "dims", "the size of dim 1", "inputs, 1 are given",
                            "the fact s0 <= 4 does not hold: it is 6 against 4"})
    EXPECT_THAT(said, HasSubstr(words));
}

}  // namespace
}  // namespace lenz::fuzz
