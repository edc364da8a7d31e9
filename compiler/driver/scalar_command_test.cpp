// The command as a user runs it: LENZ_COMMAND is the executable of this build.
#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>

#include "compiler/base/json_schema.h"
#include "compiler/driver/command_testing.h"

namespace lenz {
namespace {
using namespace command_testing;

TEST(ScalarCommand, JsonFitsItsSchema) {
  Ran ran = run("scalar --json");
  ASSERT_EQ(ran.code, 0) << ran.out;
  auto rows = nlohmann::json::parse(ran.out);
  std::ifstream file(std::string(LENZ_SOURCE_DIR) + "/compiler/driver/scalar.schema.json");
  auto violations = schema_violations(rows, nlohmann::json::parse(file));
  EXPECT_TRUE(violations.empty()) << violations[0];
  EXPECT_GT(rows.size(), 130u);
}

TEST(ScalarCommand, ShowsARow) {
  Ran ran = run("scalar floor_divide");
  EXPECT_EQ(ran.code, 0);
  EXPECT_NE(ran.out.find("floor(a / b) as Python's //"), std::string::npos) << ran.out;
  ran = run("scalar flor");
  EXPECT_EQ(ran.code, 2);
  EXPECT_NE(ran.out.find("did you mean `floor`"), std::string::npos) << ran.out;
}

TEST(ScalarCommand, EvaluatesBits) {
  Ran ran = run("scalar --eval",
                "add i8 7f 01\n\nfloor_divide i32 7 0\nexp f64 3ff0000000000000\nto_dtype f32:i32 7fc00000\n"
                "add c128 3ff0000000000000 00000000000000003ff0000000000000\n");
  EXPECT_EQ(ran.code, 0);
  EXPECT_EQ(ran.out,
            "80 0x0p+0 0x0p+0 defined\n"
            "raises integer division by zero\n"
            "4005bf0a8b145769 0x1.5bf0a8b145769p+1 0x1.4d57ee2b1013ap-53 defined\n"
            "0 0x0p+0 0x0p+0 undefined\n"
            "00000000000000004000000000000000 0x1p+1 0x0p+0 defined\n");
}

TEST(ScalarCommand, RefusesWhatIsNoRequest) {
  for (const char* line :
       {"nothing f32 0", "add f33 0 0", "add f32", "add f32 0", "add f32 0 0 0", "add f32 xyz 0", "add",
        "to_dtype f32 0", "bitcast f32:f64 0", "add f32:f99 0 0", "exp f64 123456789012345678901234567890123",
        "add i8 fff 1", "add f32 100000000 0", "logical_not bool 2", "exp f64 13ff0000000000000"}) {
    Ran ran = run("scalar --eval", line);
    EXPECT_EQ(ran.code, 2) << line << "\n" << ran.out;
    EXPECT_NE(ran.out.find("line 1"), std::string::npos) << line << "\n" << ran.out;
  }
  Ran endless = run("scalar --eval", "special_legendre_polynomial_p f32 3f000000 4f000000");  // of degree 2^31
  EXPECT_EQ(endless.code, 6);
  EXPECT_NE(endless.out.find("as many steps"), std::string::npos) << endless.out;
  EXPECT_EQ(run("scalar --eval", "exp i32 0").code, 6);  // no such dtype of a row: not supported
}

}  // namespace
}  // namespace lenz
