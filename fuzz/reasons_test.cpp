#include "fuzz/reasons.h"

#include <gtest/gtest.h>

namespace lenz::fuzz {
namespace {

TEST(Reasons, WhatIsKnownIsAndNothingElse) {
  for (const KnownReason& known : known_reasons()) {
    std::string text(known.text);
    for (size_t at = 0; (at = text.find('*', at)) != std::string::npos;) text.replace(at, 1, "aten.add: x");
    EXPECT_NE(known_reason(text), nullptr) << text;
    EXPECT_FALSE(known.why.empty()) << known.text;
  }
  EXPECT_NE(known_reason("@g stays at level torch; not functional: lenz.cond"), nullptr);
  EXPECT_NE(known_reason("a loop that carries a size\nand another line"), nullptr);
  // What bodies, branches and primitives without code, and proofs that are not found, say.
  for (const char* text : {"no code for nest 'aten.sin'", "no code for kernel 'k0'",
                           "no code for kernel k0: no code for scalar primitive 'eq' in c64", "aten.sin has no loops",
                           "nothing proves that the loops of @g keep the rules of programs: x", "a loop", ""})
    EXPECT_EQ(known_reason(text), nullptr) << text;
}

TEST(Reasons, MoreThanTheirShareIsTold) {
  const std::string stays = "@g stays at level torch";
  EXPECT_TRUE(beyond_their_share({{"realised: " + stays, 9}, {"fused: " + stays, 9}}, 1000).empty());
  EXPECT_TRUE(beyond_their_share({{"realised: " + stays, 8}}, 16).empty());  // which may come together
  const auto beyond = beyond_their_share({{"realised: " + stays, 30}, {"realised: " + stays + "; more", 30}}, 1000);
  ASSERT_EQ(beyond.size(), 1u);
  EXPECT_EQ(beyond[0].find("60 of 1000 cases"), 0u) << beyond[0];
}

}  // namespace
}  // namespace lenz::fuzz
