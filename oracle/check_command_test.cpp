#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>

#include "compiler/base/json_schema.h"
#include "oracle/commands.h"

namespace lenz::oracle {
namespace {

struct Ran {
  ExitCode code;
  std::string out;
};

Ran run(std::vector<std::string> args) {
  testing::internal::CaptureStdout();
  try {
    ExitCode code = ops_check_command(args);
    return {code, testing::internal::GetCapturedStdout()};
  } catch (...) {
    testing::internal::GetCapturedStdout();
    throw;
  }
}

TEST(CheckCommand, JsonFitsItsSchema) {
  Ran ran = run({"--json", "--calls", "20", "sin", "mul", "sum", "cond"});
  auto report = nlohmann::json::parse(ran.out);
  std::ifstream file(std::string(LENZ_SOURCE_DIR) + "/oracle/ops_check.schema.json");
  auto violations = schema_violations(report, nlohmann::json::parse(file));
  EXPECT_TRUE(violations.empty()) << violations[0];
  EXPECT_EQ(report["totals"]["calls"], 20 * report["totals"]["checked"].get<int>());
}

TEST(CheckCommand, TheExitCodeSaysWhatWasFound) {
  EXPECT_EQ(run({"--calls", "20", "sin"}).code, ExitCode::fine);
  EXPECT_EQ(run({"*cond*"}).code, ExitCode::not_covered);  // structural: nothing to hold against libtorch
  EXPECT_THROW(run({"no_such_row"}), UserError);
  EXPECT_THROW(run({"--calls", "-1"}), UserError);
  EXPECT_THROW(run({"--device", "tpu"}), UserError);
}

TEST(CheckCommand, ChecksGivenCalls) {
  std::string path = testing::TempDir() + "check_command_calls_" + std::to_string(getpid()) + ".txt";
  std::ofstream(path) << "graph @c(%x: f32[2, 3] strides [1, 2]) {\n  %r = aten.sin(%x)\n  return %r\n}\n%%\n"
                      << "graph @c(%x: i64[4]) {\n  %r = aten.sin(%x)\n  return %r\n}\n";
  Ran ran = run({"--from", path});
  EXPECT_EQ(ran.code, ExitCode::fine);
  EXPECT_NE(ran.out.find("2 calls: 2 on meta"), std::string::npos) << ran.out;
  // To refuse what eager refuses is to agree, of whatever overload the arguments are.
  std::ofstream(path) << "graph @c(%x: f32[2], %y: f32[3]) {\n  %r = aten.mul.Tensor(%x, %y)\n  return %r\n}\n%%\n"
                      << "graph @c(%x: f16[4, 2]) {\n  %r = aten.trace(%x)\n  return %r\n}\n%%\n"
                      << "graph @c(%x: bool[4, 2]) {\n  %v, %i = aten.kthvalue(%x, 1)\n  return %v, %i\n}\n%%\n"
                      << "graph @c(%x: f32[4, 2]) {\n  %r = aten.sum(%x, [7])\n  return %r\n}\n";
  ran = run({"--from", path});
  EXPECT_EQ(ran.code, ExitCode::fine) << ran.out;
  EXPECT_NE(ran.out.find("4 given calls are refused by row and eager alike"), std::string::npos) << ran.out;
  std::ofstream(path) << "graph @c(%x: f32[2]) {\n  %r = aten.no_such_op(%x)\n  return %r\n}\n";
  EXPECT_THROW(run({"--from", path}), UserError);
}

TEST(CheckCommand, OneSeedIsOneReport) {
  auto once = run({"--calls", "30", "--jobs", "1", "--json", "s*"}).out;
  EXPECT_EQ(once, run({"--calls", "30", "--jobs", "3", "--json", "s*"}).out);
  EXPECT_NE(once, run({"--calls", "30", "--jobs", "3", "--json", "--seed", "1", "s*"}).out);
}

}  // namespace
}  // namespace lenz::oracle
