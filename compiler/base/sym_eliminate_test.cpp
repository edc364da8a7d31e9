#include "compiler/base/sym_eliminate.h"

#include "compiler/base/sym_facts_testing.h"

namespace lenz {
namespace {
using sym_testing::World;

// Whether the others' facts say so once `g` and `h` are forgotten. What they say is so of whatever numbers fit.
Truth left(std::initializer_list<const char*> given, const char* question) {
  World world(given);
  auto stays = [&](const SymNode* s) { return symbol_name(s) != "g" && symbol_name(s) != "h"; };
  const std::vector<Cond> said = said_of_others(world.facts, {}, stays);
  constexpr int64_t kNumbers = 9;
  for (int64_t at = 0; at < kNumbers * kNumbers * kNumbers * kNumbers; ++at) {
    const SymValues values = [&](const SymNode* s) -> std::optional<int64_t> {
      int64_t rest = at;
      for (const std::string_view name : {"a", "b", "g", "h"}) {
        if (name == symbol_name(s)) return rest % kNumbers;
        rest /= kNumbers;
      }
      return std::nullopt;
    };
    bool fits = true;
    for (const Cond& c : world.facts.conditions()) fits = fits && evaluate(c, values) == true;
    for (const auto& [symbol, range] : world.facts.ranges())
      fits = fits && range.low.value_or(0) <= *values(symbol) && *values(symbol) <= range.high.value_or(kNumbers);
    for (size_t i = 0; fits && i < said.size(); ++i) EXPECT_EQ(evaluate(said[i], values), true) << to_string(said[i]);
  }
  Facts kept;
  for (const Cond& c : said) {
    for (const Dim side : {c.lhs, c.rhs})
      for_each_symbol(side, [&](const SymNode* s) { EXPECT_TRUE(stays(s)) << to_string(c); });
    EXPECT_TRUE(kept.add(c)) << to_string(c);
  }
  return kept.prove(parse_cond(question, world.pool));
}

TEST(SymEliminate, PartsOfASum) {
  EXPECT_EQ(left({"a + g == 8"}, "a <= 8"), Truth::yes);
  EXPECT_EQ(left({"a + g == 8", "g in 3.."}, "a <= 5"), Truth::yes);
  EXPECT_EQ(left({"a + b + g == 8"}, "a + b <= 8"), Truth::yes);
  EXPECT_EQ(left({"a + b + g + h == 8"}, "a + b <= 8"), Truth::yes);
  EXPECT_EQ(left({"a + g == b"}, "a <= b"), Truth::yes);
}

TEST(SymEliminate, ChainsOfBounds) {
  EXPECT_EQ(left({"a <= g", "g <= h", "h <= b"}, "a <= b"), Truth::yes);
  EXPECT_EQ(left({"a < g", "g < b"}, "a + 2 <= b"), Truth::yes);
  EXPECT_EQ(left({"a <= g*2", "g*3 <= b"}, "a*3 <= b*2"), Truth::yes);
  EXPECT_EQ(left({"g in 5..", "g <= a"}, "5 <= a"), Truth::yes);
  EXPECT_EQ(left({"a <= g", "b <= g"}, "a <= b"), Truth::unknown);
}

TEST(SymEliminate, EquationsInProductsAndQuotients) {
  EXPECT_EQ(left({"g == a + 1", "g % 4 == 0"}, "(a + 1) % 4 == 0"), Truth::yes);
  EXPECT_EQ(left({"g == a + 1", "g*b <= 12"}, "(a + 1)*b <= 12"), Truth::yes);
  EXPECT_EQ(left({"g == a", "g != b"}, "a != b"), Truth::yes);
}

// Where no equation says what it is, ranges are left.
TEST(SymEliminate, ProductsLeaveRanges) {
  EXPECT_EQ(left({"a*g == 8"}, "a <= 8"), Truth::yes);
  EXPECT_EQ(left({"a*g == 8"}, "1 <= a"), Truth::yes);
}

}  // namespace
}  // namespace lenz
