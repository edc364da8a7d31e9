#include "compiler/base/suggest.h"

#include <gtest/gtest.h>

#include <array>

namespace lenz {
namespace {

constexpr std::array<std::string_view, 4> kNames = {"fmt", "verify", "passes", "ops"};

TEST(Suggest, FindsTheSlip) {
  EXPECT_EQ(nearest_name("verfy", kNames), "verify");
  EXPECT_EQ(nearest_name("fmtt", kNames), "fmt");
  EXPECT_EQ(nearest_name("op", kNames), "ops");
  EXPECT_EQ(nearest_name("passse", kNames), "passes");
}

TEST(Suggest, SwappedLettersAreOneSlip) {
  constexpr std::array<std::string_view, 3> kOps = {"aten.le", "aten.elu", "aten.relu"};
  EXPECT_EQ(nearest_name("aten.rleu", kOps), "aten.relu");
}

TEST(Suggest, StaysSilentWhenNothingIsNear) {
  EXPECT_EQ(nearest_name("benchmark", kNames), "");
  EXPECT_EQ(nearest_name("xyz", kNames), "");
  EXPECT_EQ(nearest_name("fmt", {}), "");
  EXPECT_EQ(nearest_name(std::string(100000, 'f'), kNames), "");
}

}  // namespace
}  // namespace lenz
