// The command as a user runs it: LENZ_COMMAND is the executable of this build.
#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "compiler/base/json_schema.h"
#include "compiler/driver/command_testing.h"

namespace lenz {
namespace {
using namespace command_testing;

TEST(OpsCommand, JsonFitsItsSchema) {
  Ran ran = run("ops --json");
  ASSERT_EQ(ran.code, 0) << ran.out;
  auto rows = nlohmann::json::parse(ran.out);
  std::ifstream file(std::string(LENZ_SOURCE_DIR) + "/compiler/driver/ops.schema.json");
  auto violations = schema_violations(rows, nlohmann::json::parse(file));
  EXPECT_TRUE(violations.empty()) << violations[0];
  std::set<std::string> names;
  for (const auto& row : rows) EXPECT_TRUE(names.insert(row["name"]).second) << row["name"];
}

TEST(OpsCommand, FewOpsAreCore) {
  std::set<std::string> packets;
  for (const auto& row : nlohmann::json::parse(run("ops --json").out))
    if (row["core"] && row["scalar"].get<std::string>().empty()) packets.insert(row["packet"]);
  EXPECT_LE(packets.size(), 120u);
  EXPECT_GT(packets.size(), 60u);
  Ran ran = run("ops");
  EXPECT_NE(ran.out.find(", " + std::to_string(packets.size()) + " others"), std::string::npos);
}

TEST(OpsCommand, ANameShowsTheRowAndItsVariants) {
  Ran ran = run("ops mul.Tensor");
  ASSERT_EQ(ran.code, 0) << ran.out;
  for (const char* part : {"aten.mul.Tensor\n", "aten.mul_.Tensor\n", "aten.mul.out\n",
                           "aten::mul.Tensor(Tensor self, Tensor other) -> Tensor", "3 rows, 1 distinct packets"})
    EXPECT_NE(ran.out.find(part), std::string::npos) << part << "\n" << ran.out;
}

TEST(OpsCommand, APrimitiveIsAsAccurateAsItsTableSays) {
  const Ran ran = run("ops hypot");
  ASSERT_EQ(ran.code, 0) << ran.out;
  EXPECT_NE(ran.out.find("accuracy    ulp1\n"), std::string::npos) << ran.out;
}

TEST(OpsCommand, ClassesAreHeldAgainstAFileOfCalls) {
  std::string path = testing::TempDir() + "ops_command_calls_" + std::to_string(getpid()) + ".txt";
  std::ofstream(path) << "graph @c(%x: f32[2, 3]) {\n  %r = aten.neg(%x)\n  return %r\n}\n%%\n"
                      << "graph @c(%x: f32[1, 1, 1, 1, 1, 1, 2]) {\n  %r = aten.neg(%x)\n  return %r\n}\n%%\n"
                      << "graph @c(%x: f32[2]) {\n  %r = aten.neg(%y)\n  return %r\n}\n";
  Ran ran = run("ops --classes neg --calls 300 --json --against " + path);
  EXPECT_EQ(ran.code, 6) << ran.out;  // generators stop at rank 5
  auto report = nlohmann::json::parse(ran.out);
  EXPECT_EQ(report["gaps"], 1);
  EXPECT_EQ(report["unreadable"], 1);
  EXPECT_EQ(report["rows"][0]["gaps"][0], "rank:6+");
  EXPECT_EQ(run("ops --classes neg --against /no/such/file").code, 2);
}

TEST(OpsCommand, AMisspeltNameIsAnErrorWithTheNearestOne) {
  Ran ran = run("ops sigmiod");
  EXPECT_EQ(ran.code, 2);
  EXPECT_NE(ran.out.find("did you mean `sigmoid`"), std::string::npos) << ran.out;
  EXPECT_EQ(run("ops --no-such-option").code, 2);
  EXPECT_EQ(run("ops --help").code, 0);
}

}  // namespace
}  // namespace lenz
