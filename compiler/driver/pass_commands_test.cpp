// passes, opt and trace as a user runs them: LENZ_COMMAND is the executable of this build.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>

#include "compiler/base/json_schema.h"
#include "compiler/driver/command_testing.h"

namespace lenz {
namespace {
using namespace command_testing;

using testing::HasSubstr;
using testing::Not;

nlohmann::json schema(const std::string& path) {
  std::ifstream file(std::string(LENZ_SOURCE_DIR) + "/" + path);
  return nlohmann::json::parse(file);
}

constexpr const char* kGraph =
    "graph @g(%x: f32[4]) { %a = aten.sin(%x) %b = aten.sin(%x) %c = aten.mul(%a, %b) %d = aten.cos(%c) return %c }";

TEST(PassesCommand, JsonFitsItsSchema) {
  Ran ran = run("passes --json");
  ASSERT_EQ(ran.code, 0) << ran.out;
  EXPECT_EQ(schema_violations(nlohmann::json::parse(ran.out), schema("compiler/driver/passes.schema.json")),
            std::vector<std::string>());
}

TEST(CompileCommand, ATargetThatThereIsNotIsBadInputWhateverIsPrinted) {
  for (const char* stage : {"core", "plan", "asm"}) {
    const Ran ran = run(std::string("compile --target avx51 --emit ") + stage + " -", kGraph);
    EXPECT_EQ(ran.code, 2) << stage;
    EXPECT_THAT(ran.out, HasSubstr("avx51"));
  }
  EXPECT_EQ(run("compile --target generic -", kGraph).code, 0);
}

TEST(OptCommand, RunsThePassesThatAreNamed) {
  Ran ran = run("opt --verify-each --passes dead_code -", kGraph);
  EXPECT_EQ(ran.code, 0);
  EXPECT_THAT(ran.out, Not(HasSubstr("aten.cos")));
  EXPECT_THAT(ran.out, HasSubstr("%b = aten.sin"));
  ran = run("opt -", kGraph);
  EXPECT_THAT(ran.out, Not(HasSubstr("%b = aten.sin"))) << "the whole pipeline merges the two";
}

TEST(OptCommand, SelectsOneRewrite) {
  Ran ran = run("opt --select=-all -", kGraph);
  EXPECT_THAT(ran.out, HasSubstr("aten.cos"));
  ran = run("opt --select all:1 -", kGraph);
  EXPECT_THAT(ran.out, Not(HasSubstr("aten.cos")));
  EXPECT_THAT(ran.out, HasSubstr("%b = aten.sin"));
}

TEST(OptCommand, StatisticsFitTheirSchema) {
  Ran ran = run("opt --stats -", kGraph);
  ASSERT_EQ(ran.code, 0) << ran.out;
  EXPECT_EQ(schema_violations(nlohmann::json::parse(ran.out), schema("compiler/passes/pass_statistics.schema.json")),
            std::vector<std::string>());
}

TEST(OptCommand, MistakesAreBadInput) {
  EXPECT_EQ(run("opt --passes dead_coed -", kGraph).code, 2);
  for (const char* names : {"''", "dead_code,", ",dead_code", "dead_code,,dead_code"}) {
    EXPECT_EQ(run("opt --passes " + std::string(names) + " -", kGraph).code, 2) << names;
    EXPECT_THAT(run("trace --passes " + std::string(names) + " -", kGraph).out, HasSubstr("a pass without a name"));
  }
  EXPECT_THAT(run("opt --passes dead_coed -", kGraph).out, HasSubstr("did you mean `dead_code`?"));
  EXPECT_EQ(run("opt --select nonsense -", kGraph).code, 2);
  EXPECT_EQ(run("opt").code, 2);
}

TEST(TraceCommand, ShowsWhatChangedAndSaysWhatDidNot) {
  Ran ran = run("trace -", kGraph);
  EXPECT_EQ(ran.code, 0);
  EXPECT_THAT(ran.out, HasSubstr("== dead_code: 1 rewrite, 4 -> 3 nodes"));
  EXPECT_THAT(ran.out, HasSubstr("- %d = aten.cos(%c)"));
  EXPECT_THAT(ran.out, HasSubstr("== constant_folding: unchanged\n=="));
  EXPECT_THAT(ran.out, HasSubstr("== result"));
  ran = run("trace --text -", kGraph);
  EXPECT_THAT(ran.out, HasSubstr("3 nodes\n   node 1\ngraph @g"));
  EXPECT_THAT(ran.out, Not(HasSubstr("- %d")));
}

TEST(CompileCommand, TakesAGraphToAStage) {
  const char* graph = "graph @g(%x: f32[4] mut) { %w = aten.add_(%x, 1) %y = aten.silu(%w) return %y }";
  Ran ran = run("compile --emit=graph -", graph);
  EXPECT_EQ(ran.code, 0);
  EXPECT_THAT(ran.out, HasSubstr("aten.add_("));
  ran = run("compile --emit=functional -", graph);
  EXPECT_THAT(ran.out, HasSubstr("level aten"));
  EXPECT_THAT(ran.out, Not(HasSubstr("aten.add_(")));
  EXPECT_THAT(ran.out, HasSubstr("aten.copy_(%x, "));
  ran = run("compile -", graph);
  EXPECT_THAT(ran.out, HasSubstr("level core"));
  EXPECT_THAT(run("compile --emit=loops -", graph).out, HasSubstr("store %x[i0]"));
  EXPECT_EQ(run("compile --emit=nothing -", graph).code, 2);
}

TEST(CompileCommand, LeavesProductsToTheHost) {
  const char* graph = "graph @g(%x: f32[512, 512]) { %y = aten.mm(%x, %x) return %y }";
  EXPECT_THAT(run("compile --emit=plan -", graph).out, Not(HasSubstr("extern")));
  EXPECT_THAT(run("compile --emit=plan --products-outside -", graph).out, HasSubstr("extern %y = aten.mm"));
}

// Writes that stay are no values: nothing may be lowered from them.
TEST(CompileCommand, RefusesWhatKeepsItsWrites) {
  const char* graph =
      "graph @main(%p: bool[], %x: f32[4] mut) { %r = lenz.cond(%p, @a, @a, [%x]) return %r }\n"
      "graph @a(%x: f32[4] mut) { %n = aten.add_(%x, 1) %c = aten.clone(%x) return %c }";
  for (const char* stage : {"functional", "core", "loops"}) {
    Ran ran = run(std::string("compile --emit=") + stage + " -", graph);
    EXPECT_EQ(ran.code, 6) << stage;
    EXPECT_THAT(ran.out, HasSubstr("stays at level torch; not functional: lenz.cond")) << stage;
  }
}

}  // namespace
}  // namespace lenz
