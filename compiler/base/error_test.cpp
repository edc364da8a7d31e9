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

TEST(Error, WhatAUserWroteIsNotRepeatedAtAnyLength) {
  UserError error("not \"" + std::string(1'000'000, 't') + "\"", "a.lenz:1:1", "leave it out");
  EXPECT_LT(std::string_view(error.what()).size(), 4200u);
  EXPECT_TRUE(std::string_view(error.what()).starts_with("a.lenz:1:1: not \"tt"));
  EXPECT_TRUE(error.message().ends_with("tt\""));
  EXPECT_NE(error.message().find(" [996006 characters] "), std::string::npos) << error.message();
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
