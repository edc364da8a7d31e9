// What facts tell of sizes that a run is yet to make.
#include "compiler/loops/symbols.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <utility>

#include "compiler/loops/text.h"
#include "compiler/ops/op_table.h"

namespace lenz::loops {
namespace {

class World {
 public:
  explicit World(const std::string& facts)
      : program_(parse_program("loops @f where a in 0..99, b in 0..99, c in 0..99" + facts +
                                   " {\n  input %n: i64[] placed\n  return %n\n}\n",
                               op_table())),
        symbols_(program_.assumptions) {}

  void make(std::string_view name, int64_t value) { symbols_.take_made(dim(name), value, this); }
  std::optional<int64_t> value(std::string_view text) { return symbols_.try_value(dim(text)); }

 private:
  Dim dim(std::string_view text) { return parse_dim(text, program_.context->syms); }

  Program program_;
  Symbols symbols_;
};

TEST(Symbols, FactsTellWhatEqualsWhatIsMade) {
  World w(", a == 2*b + 1");
  w.make("b", 4);
  EXPECT_EQ(w.value("a"), 9);
  EXPECT_EQ(w.value("c"), std::nullopt);
  w.make("b", 5);  // a loop's next round
  EXPECT_EQ(w.value("a"), 11);
  EXPECT_NO_THROW(w.make("a", 11));
  EXPECT_THROW(w.make("a", 12), UserError);
}

TEST(Symbols, FactsTellByWhatFactsTold) {
  for (const char* facts : {", a == b, b == c", ", b == c, a == b", ", a + 1 == b + 1, c - b == 0"}) {
    World w(facts);
    w.make("c", 7);
    EXPECT_EQ(w.value("a"), 7) << facts;
    w.make("c", 3);
    EXPECT_EQ(w.value("a"), 3) << facts;
  }
}

// Which of the numbers with that remainder it is, nobody knows: what is said in it is no less open.
TEST(Symbols, RemaindersTellNothing) {
  const std::pair<const char*, int64_t> cases[] = {
      {", a % 2 == 0, b <= a", 8}, {", a % 4 == 1, b <= a", 9}, {", min(a, 5) == 5, b <= a", 6}};
  for (const auto& [facts, made] : cases) {
    World w(facts);
    w.make("c", 1);
    EXPECT_EQ(w.value("a"), std::nullopt) << facts;
    EXPECT_NO_THROW(w.make("b", 5)) << facts;
    EXPECT_NO_THROW(w.make("a", made)) << facts;
  }
}

// Facts about what is told are asked when it is made: where it never is, nobody says so.
TEST(Symbols, WhatIsToldIsNotAskedFor) {
  World w(", a == 2*b, c <= a");
  w.make("b", 1);
  EXPECT_NO_THROW(w.make("c", 5));
  EXPECT_THROW(w.make("a", 2), UserError);
}

}  // namespace
}  // namespace lenz::loops
