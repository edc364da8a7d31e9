#include "compiler/base/error.h"

#include <gtest/gtest.h>

namespace lenz {
namespace {

TEST(Error, SaysWhatWhereAndHowToMendIt) {
  UserError full("bad dim", "a.lenz:3:7", "write a number");
  EXPECT_STREQ(full.what(), "a.lenz:3:7: bad dim\n  help: write a number");
  EXPECT_EQ(full.message(), "bad dim");
  EXPECT_EQ(full.where(), "a.lenz:3:7");
  EXPECT_EQ(full.remedy(), "write a number");
  EXPECT_STREQ(UserError("bad dim").what(), "bad dim");
}

TEST(Error, TypeDecidesTheExitCode) {
  EXPECT_EQ(UserError("x").exit_code(), ExitCode::bad_input);
  EXPECT_EQ(Unsupported("x").exit_code(), ExitCode::not_covered);
  EXPECT_EQ(InternalError("x").exit_code(), ExitCode::our_fault);
}

TEST(Error, ChecksNameTheirPlace) {
  EXPECT_NO_THROW(LENZ_CHECK(1 + 1 == 2, "arithmetic"));
  try {
    LENZ_CHECK(1 + 1 == 3, "arithmetic");
    FAIL();
  } catch (const InternalError& e) {
    EXPECT_NE(std::string(e.what()).find("internal error: arithmetic"), std::string::npos);
    EXPECT_NE(std::string(e.what()).find("error_test.cpp:"), std::string::npos);
  }
}

}  // namespace
}  // namespace lenz
