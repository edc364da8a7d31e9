// Simplification and proofs under facts: each rule by example, with its facts in every order.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "compiler/base/sym_facts_testing.h"

namespace lenz {
namespace {
using namespace sym_testing;

struct Simplification {
  std::vector<const char*> facts;
  const char* from;
  const char* to;
};

const Simplification kSimplifications[] = {
    {{"b == 2*a"}, "b + a", "a*3"},
    {{"b == 2*a"}, "b", "b"},  // a*2 would be larger
    {{"a == 7"}, "a + b", "b + 7"},
    {{"a in 3..3"}, "a*b", "b*3"},
    {{"a in 0..7"}, "a // 8", "0"},
    {{"a in 8..15"}, "a // 8", "1"},
    {{"a in 0..7"}, "a % 8", "a"},
    {{"a in 8..15"}, "a % 8", "a - 8"},
    {{"a % 8 == 0"}, "a % 8", "0"},
    {{"a % 8 == 0"}, "a % 4", "0"},
    {{"a % 8 == 3"}, "a % 4", "3"},
    {{"a % 8 == 0"}, "(a // 8) * 8", "a"},
    {{"a % 8 == 0"}, "(a // 8) * 24 * b", "a*b*3"},
    {{"a % 8 == 0"}, "(a + 3) // 8", "a // 8"},
    {{"a % 8 == 0"}, "(a + 11) // 8", "a // 8 + 1"},
    {{"a % 8 == 3"}, "(a + 4) // 8", "a // 8"},
    {{"a % 8 == 3"}, "(a + 5) // 8", "a // 8 + 1"},
    {{"a % 8 == 0", "b in 0..7"}, "(a + b) // 8", "a // 8"},
    {{"a % 8 == 0", "b in 0..7"}, "(a + b) % 8", "b"},
    {{"a % 8 == 3", "b in 0..7"}, "(a + b) // 8", "(a + b) // 8"},
    {{"a % 8 == 0"}, "(a*b + c) % 8", "c % 8"},
    {{"a < b"}, "a // b", "0"},
    {{"a < b"}, "a % b", "a"},
    {{"a < b*c", "b >= 1", "c >= 1"}, "(a // b) % c", "a // b"},
    {{"a in 0..31"}, "(a // 4) % 8", "a // 4"},
    {{"c >= 1"}, "(a // b) // c", "a // (b*c)"},
    {{"c >= 1", "b >= 1"}, "(a // b) // c", "a // (b*c)"},
    {{"a <= b"}, "min(a, b)", "a"},
    {{"a <= b"}, "max(a, b)", "b"},
    {{"a in 1..4", "b in 4..9"}, "min(a, b)", "a"},
    {{"a in 1..4", "b in 4..9"}, "max(a, b, c)", "max(b, c)"},
    {{"a >= 1"}, "max(a, 1)", "a"},
    {{}, "max(a, 0)", "a"},
    {{}, "min(a, a*2)", "a"},
    {{}, "a % 4 + 4*(a // 4)", "a"},
    {{}, "2*(a % b) + 2*b*(a // b)", "a*2"},
    {{"a*b == 12"}, "a*b + c", "c + 12"},
    {{"a % b == 0"}, "a % b + c", "c"},
    {{"(a + b) % 4 == 0"}, "(a + b + 1) % 4", "1"},
    {{"(a*b) % 4 == 0"}, "(a*b) % 4 + a", "a"},
    {{"a // 2 == b"}, "a // 2 - b", "0"},
    {{"a <= b", "b <= a"}, "a - b", "0"},
    {{"max(a, b) == b"}, "max(a, b)", "b"},
};

TEST(SymProofs, Simplifications) {
  for (const Simplification& s : kSimplifications) {
    World w;
    for (const char* f : s.facts) EXPECT_TRUE(w.learn(f)) << f;
    EXPECT_EQ(to_string(w.facts.simplify(w.dim(s.from))), to_string(w.dim(s.to)))
        << s.from << (s.facts.empty() ? "" : s.facts[0]);
  }
}

struct Proof {
  std::vector<const char*> facts;
  const char* cond;
  Truth truth;
};

const Proof kProofs[] = {
    {{}, "a >= 0", Truth::yes},
    {{"a < b // 2", "c in 0..1", "b >= 2"}, "2*a + c < b", Truth::yes},
    {{"a < (b - 2) // 2 + 1", "c in 0..1", "b >= 2"}, "2*a + c < b", Truth::yes},
    {{"a < (b - 3) // 2 + 1", "c in 0..2", "b >= 3"}, "2*a + c < b", Truth::yes},
    {{"a < b // 2", "b >= 2"}, "2*a + 1 < b", Truth::yes},
    {{"d == (a - 3) // 2", "b % 2 == 1", "b >= 1", "b < a", "b - 1 < a - 4", "a in 5..64"},
     "(b - 1) // 2 < d",
     Truth::yes},
    {{"a // 3 == (a + 1) // 3"}, "a <= (a // 3)*3 + 1", Truth::yes},
    {{"a // 3 == (a + 1) // 3"}, "a % 3 <= 1", Truth::yes},
    {{"(a + 2) // 5 == a // 5 + 1"}, "a % 5 >= 3", Truth::yes},
    {{"(a + 2) // 5 == a // 5 + 1"}, "a % 5 >= 4", Truth::unknown},
    {{"b == a // 3 - 1", "b == (a + 1) // 3 - 1", "c + 5 <= a"}, "c // 3 < b", Truth::yes},
    {{"b == a // 3 - 1", "b == (a + 1) // 3 - 1", "c + 4 <= a"}, "c // 3 < b", Truth::unknown},
    {{}, "a >= 1", Truth::unknown},
    {{}, "a < 0", Truth::no},
    {{}, "a == -1", Truth::no},
    {{}, "a + b + 1 != 0", Truth::yes},
    {{"a*b == 20", "a*c == 20", "a >= 1"}, "b == c", Truth::yes},
    {{"a*b == 0", "a*c == 0", "a >= 0"}, "b == c", Truth::unknown},
    {{"a in -5..5"}, "a >= -5", Truth::yes},
    {{"a in -5..5"}, "a >= 0", Truth::unknown},
    {{}, "a <= a*2", Truth::yes},
    {{"b >= 1"}, "a <= a*b", Truth::yes},
    {{"b >= 2", "a >= 1"}, "a < a*b", Truth::yes},
    {{}, "a <= a*b", Truth::unknown},
    {{"a in 2..", "b in 3.."}, "a*b >= 6", Truth::yes},
    {{"a in 2..", "b in 3.."}, "a*b == 5", Truth::no},
    {{"a <= b", "b <= c"}, "a <= c", Truth::yes},
    {{"a <= b"}, "a <= b + c", Truth::yes},
    {{"a <= b"}, "a < b + 1", Truth::yes},
    {{"a <= b"}, "b < a", Truth::no},
    {{"a != b"}, "a == b", Truth::no},
    {{"a != b"}, "b == a", Truth::no},
    {{"a + b == c"}, "a <= c", Truth::yes},
    {{"a + b == c"}, "c == b + a", Truth::yes},
    {{"2*a == 3*b"}, "2*a == 3*b", Truth::yes},
    {{"2*a == 3*b"}, "a % 3 == 0", Truth::yes},
    {{"2*a == 3*b"}, "b % 2 == 0", Truth::yes},
    {{"a*b == c*d"}, "a*b == c*d", Truth::yes},
    {{"a % 8 == 0"}, "a % 4 == 0", Truth::yes},
    {{"a % 8 == 0"}, "a == 12", Truth::no},
    {{"a % 8 == 0"}, "a*3 + 2 == 7", Truth::no},
    {{"a % 4 == 0", "a % 6 == 0"}, "a % 12 == 0", Truth::yes},
    {{"a % 2 != 0"}, "a % 2 == 1", Truth::yes},
    {{"(a + b) % 4 == 0"}, "(a + b) % 4 == 0", Truth::yes},
    {{"(a + b) % 4 == 0", "b % 4 == 1"}, "a % 4 == 3", Truth::yes},
    {{"a >= 1"}, "b % a < a", Truth::yes},
    {{"a >= 1"}, "b % a <= b", Truth::yes},
    {{"a >= 1"}, "b // a <= b", Truth::yes},
    {{"b < a"}, "c % (a - b) >= 0", Truth::yes},
    {{"b < a"}, "c % (a - b) < a - b", Truth::yes},
    {{"b < a"}, "c % (b - a) <= 0", Truth::yes},
    {{"b < a"}, "c % (b - a) > b - a", Truth::yes},
    {{"b < a"}, "c % (b - a) >= -c", Truth::unknown},
    {{"b < a"}, "(-c) % (b - a) >= -c", Truth::yes},
    {{"a - b*c + b >= 1"}, "d % (a - b*c + b) >= 0", Truth::yes},
    {{"a in ..-1"}, "c % (-a) < -a", Truth::yes},
    {{}, "(a + 7) // 8 * 8 >= a", Truth::yes},
    {{}, "a // 8 * 8 <= a", Truth::yes},
    {{}, "a // 8 * 8 > a - 8", Truth::yes},
    {{}, "min(a, b) <= a", Truth::yes},
    {{}, "max(a, b) >= b", Truth::yes},
    {{}, "max(a, b) <= a + b", Truth::yes},
    {{}, "min(a, b) <= a + b", Truth::yes},
    {{"a <= c", "b <= c"}, "max(a, b) <= c", Truth::yes},
    {{"d >= c*8"}, "min(8, d - c*8)*(2*(a//b) + 3) <= (d - c*8)*(2*(a//b) + 3)", Truth::yes},
    {{"c < a"}, "max(a, b)*(a - c) >= b*(a - c)", Truth::yes},
    {{"c < a"}, "min(a, b)*(c - a) >= b*(c - a)", Truth::yes},
    {{}, "max(a, b)*(a - c) >= b*(a - c)", Truth::unknown},
    {{"a < b*c", "b >= 1"}, "a // b < c", Truth::yes},
    {{"a in 1..8", "b == 2*a + 1"}, "b in 3..17", Truth::yes},
    {{"a + b <= 10"}, "a <= 10", Truth::yes},
    {{"a + b <= 10", "b >= 4"}, "a <= 6", Truth::yes},
    {{"a <= b", "b <= a"}, "a == b", Truth::yes},
    {{"a >= 5", "a <= 5"}, "a == 5", Truth::yes},
    {{"a == b", "b == c"}, "a == c", Truth::yes},
    {{"a == 2*b", "b == 2*c"}, "a % 4 == 0", Truth::yes},
    {{"a != 1", "a != 0"}, "a >= 2", Truth::yes},
    {{"max(1, a) > 1", "a >= 1"}, "max(1, a) > 1", Truth::yes},
    {{"a != 1", "1 < max(1, a)", "a != 0"}, "1 < max(1, a)", Truth::yes},
    {{"a in 0..", "b in 0..", "c % 8 == 3", "c == a + b"}, "(a + b) % 4 == 3", Truth::yes},
    {{"c % 4 == 2", "6*a + 4*b == 9*c"}, "a % 2 == 1", Truth::yes},
    {{"c % 4 == 2", "6*a + 4*b == 9*c"}, "a % 4 == 1", Truth::unknown},
    {{"c % 4 == 2", "6*a + 4*b == 9*c"}, "a % 4 == 3", Truth::unknown},
    {{"a // c <= b", "c >= 2", "c <= 2"}, "a // 2 <= b", Truth::yes},
    {{"a >= 0", "b == 2*a", "b in 0..10"}, "a <= 5", Truth::yes},
    {{"a >= 1"}, "(b // a) * 3 >= (b // (a*3)) * 8 + (b // (a*9)) * 3", Truth::yes},
    {{"a >= 1"}, "(b // a) * 3 - (b // (a*3)) * 8 - (b // (a*9)) * 3 < 9", Truth::yes},
    {{"a >= 1"}, "(b // a) * 3 - (b // (a*3)) * 8 - (b // (a*9)) * 3 < 8", Truth::unknown},
    {{"a in -9..-1"}, "b // a <= (b // (a*4)) * 4 + 3", Truth::yes},
    {{"a >= 3", "a*b - a*c*5 == 8"}, "d // (b*4 - c*20) <= d", Truth::yes},
    {{"a in -9..9", "a*b - a*c*5 == 8"}, "d // (b*4 - c*20) <= d", Truth::unknown},
    {{"a in 2..7", "b >= 3", "b*a*a*a - b*a*a*9 + b*a*4 + b*32 == 72", "c in 0..287"},
     "c // (8 - a) < b*a*4 - b*a*a*4 + b*16",
     Truth::yes},
    {{"a in 2..7", "b >= 3", "b*a*a*a - b*a*a*9 + b*a*4 + b*32 == 72", "c in 0..288"},
     "c // (8 - a) < b*a*4 - b*a*a*4 + b*16",
     Truth::unknown},
    {{"a in 2..7", "b >= 3", "b*a*a*a - b*a*a*9 + b*a*4 + b*32 == 72", "c in 0..287", "a*a - a <= 3"},
     "(c // (8 - a)) // (a - a*a + 4) < b*4",
     Truth::yes},
    {{"b >= 1", "c < (a + b - 1) // b"}, "c*b < a", Truth::yes},
    {{"b in 0..5", "c < (a + b - 1) // b"}, "c*b < a", Truth::unknown},
    {{"a in 1..64", "b in 1..64", "c < -((1 - a) // b)"}, "c*b + min(1, a) < a", Truth::yes},
    {{"a in 1..50000", "b < (a*3 + 4095) // 4096", "b in 0..", "c in 0..4095", "c < a*3 - b*4096"},
     "b*1365 + (c + b) // 3 < a",
     Truth::yes},
    {{"b*c == a", "a == 8"}, "b*b*c*d == 8*b*d", Truth::yes},
    {{"b*c == a", "a == 8"}, "d // a == d // 8", Truth::yes},
    {{"b*c == a", "a == 8"}, "a <= 8", Truth::yes},
    {{"a in 2..", "a*a*b*c == d*a*a", "d == 8"}, "b*b*c*e == 8*b*e", Truth::yes},
    {{"b*c >= a", "b*c == 8"}, "a <= 8", Truth::yes},
    {{"b*c != a", "b*c == 8"}, "a != 8", Truth::yes},
    {{"a*b*d == a*c", "a >= 1"}, "b*d == c", Truth::yes},
    {{"a*b*c == d + 1", "b*c == 8"}, "d % 8 == 7", Truth::yes},
    {{"(b*c) % 4 == e", "b*c == 6"}, "e == 2", Truth::yes},
    {{"min(b*c, d) == e", "b*c == 6", "d >= 7"}, "e == 6", Truth::yes},
    {{"b // a == c", "a*d == 12", "d == 3"}, "c <= b", Truth::yes},
    {{"a*b == c*d", "a >= 1", "b >= 1"}, "e // d <= e", Truth::yes},
    {{"a*b == c*d", "a >= 1"}, "e // d <= e", Truth::unknown},
    {{"a*b == c*d", "a >= 1", "b >= 1"}, "d >= 1", Truth::yes},
    {{"a*b == c*d", "a >= 1"}, "d >= 1", Truth::unknown},
    {{"max(1, a) <= 1"}, "a <= 1", Truth::yes},
    {{"max(1, a) <= 1", "a != 1"}, "a == 0", Truth::yes},
    {{"max(1, a) <= 1", "a != 1", "b <= c*a"}, "b == 0", Truth::yes},
    {{"max(a, b) <= c"}, "b <= c", Truth::yes},
    {{"max(a, b)*2 == c"}, "a*2 <= c", Truth::yes},
    {{"c <= min(a, b) + d"}, "c <= a + d", Truth::yes},
    {{"c <= max(a, b)"}, "c <= a", Truth::unknown},
    {{"b >= 1"}, "b*(a // b) <= a", Truth::yes},
    {{"b >= 1"}, "a - b < b*(a // b)", Truth::yes},
    {{"b >= 1"}, "b*c*(a // b) <= a*c", Truth::yes},
    {{"b >= 1"}, "a <= b*(a // b)", Truth::unknown},
    {{"b >= 1", "(a*15) % b == 0"}, "a*15 <= b*((a*15) // b)", Truth::yes},
    {{"b in 1..64", "(a*15) % b == 0"}, "b*((a*15) // b) == a*15", Truth::yes},
    {{"b in -9..9"}, "b*(a // b) <= a", Truth::unknown},
    {{"a >= 2", "2*b*((a - 1) // 2) - 2*b*b + 4*b == a"}, "(a - 1) // 2 - b + 2 >= 1", Truth::yes},
    {{"a in 2..64", "b in 1..64", "c*b*((a - 1) // c) - c*b*b + c*b*2 == a", "c == 2"},
     "d // ((a - 1) // c - b + 2) <= d",
     Truth::yes},
    {{"a in 0..", "2*b*((a - 1) // 2) - 2*b*b + 4*b == a"}, "(a - 1) // 2 - b + 2 >= 1", Truth::unknown},
    {{"a == b - 12", "d < a*b*c"}, "c >= 1", Truth::yes},  // as b*b*c - 12*b*c
    {{"a == b - 12", "d < a*b*c"}, "d % c < c", Truth::yes},
    {{"a == b - 12", "d <= a*b*c"}, "c >= 1", Truth::unknown},
    {{"c in -5..5", "a == b - 12", "d < a*b*c"}, "c >= 1", Truth::unknown},
    // Factors that no sum shows any more once a symbol is replaced by what it equals.
    {{"b - 1 == a", "a >= 1", "a*b*c == 10*a"}, "b*c == 10", Truth::yes},
    {{"b - 1 == a", "a*b*c == 10*a"}, "b*c == 10", Truth::unknown},
    {{"b - 1 == a", "a >= 1", "a*b*c <= 10*a"}, "b*c <= 10", Truth::yes},
    {{"b - d == a", "a >= 1", "a*b*c <= 10*a"}, "b*c <= 10", Truth::yes},
    {{"b - d == a", "a*b*c <= 10*a"}, "b*c <= 10", Truth::unknown},
    {{"a == b - 1", "a >= 1", "a*c != 10*a"}, "c != 10", Truth::yes},
    {{"a == b + 7", "a*b*b != 0"}, "b >= 1", Truth::yes},
    {{"a == b + 7", "0 < a*b*b"}, "b >= 1", Truth::yes},
    {{"a == b + 7", "a*b*b != 1"}, "b >= 1", Truth::unknown},
    {{"a in -5.."}, "a*a >= 0", Truth::yes},
    {{"a in -5.."}, "a*a*a >= 0", Truth::unknown},
};

TEST(SymProofs, Proofs) {
  for (const Proof& p : kProofs) {
    World w;
    std::string given;
    for (const char* f : p.facts) {
      EXPECT_TRUE(w.learn(f)) << f;
      given += std::string(f) + ", ";
    }
    std::string_view text = p.cond;
    if (size_t in = text.find(" in "); in != std::string_view::npos) {
      size_t dots = text.find("..");
      Range r = w.facts.range(w.facts.simplify(w.dim(text.substr(0, in))));
      EXPECT_EQ(r.low, w.dim(text.substr(in + 4, dots - in - 4)).constant()) << p.cond;
      EXPECT_EQ(r.high, w.dim(text.substr(dots + 2)).constant()) << p.cond;
      continue;
    }
    EXPECT_EQ(static_cast<int>(w.prove(p.cond)), static_cast<int>(p.truth)) << given << " |- " << p.cond;
  }
}

// What `ask` says of worlds that learn the facts in every order. Ranges below 0 come first: what comes without one is a
// size.
void in_every_order(std::vector<std::string> facts, const std::function<void(World&, const std::string&)>& ask) {
  auto rest = std::ranges::stable_partition(facts, [](const std::string& f) { return f.find(" in -") != f.npos; });
  std::ranges::sort(rest);
  do {
    World w;
    std::string given;
    for (const std::string& f : facts) {
      EXPECT_TRUE(w.learn(f)) << given << f;
      given += f + ", ";
    }
    ask(w, given);
  } while (std::ranges::next_permutation(rest).found);
}

TEST(SymProofs, InEveryOrderFactsProveTheSame) {
  for (const Proof& p : kProofs) {
    if (std::string_view(p.cond).find(" in ") != std::string_view::npos) continue;
    in_every_order({p.facts.begin(), p.facts.end()}, [&](World& w, const std::string& given) {
      EXPECT_EQ(static_cast<int>(w.prove(p.cond)), static_cast<int>(p.truth)) << given << " |- " << p.cond;
    });
  }
  for (const Simplification& s : kSimplifications)
    in_every_order({s.facts.begin(), s.facts.end()}, [&](World& w, const std::string& given) {
      EXPECT_EQ(to_string(w.facts.simplify(w.dim(s.from))), to_string(w.dim(s.to))) << given << s.from;
    });
}

// Of sizes whose ranges are known first, as those of a graph are.
TEST(SymProofs, SumsThatBothSidesHaveAsAFactorGo) {
  for (const bool sum_first : {false, true}) {
    World w;
    EXPECT_TRUE(w.learn("b >= 2"));
    EXPECT_TRUE(w.learn(sum_first ? "a == b + 1" : "a*b*c == a*b*b*4"));
    EXPECT_TRUE(w.learn(sum_first ? "a*b*c == a*b*b*4" : "a == b + 1"));
    EXPECT_EQ(w.prove("c == b*4"), Truth::yes) << sum_first;
  }
  World open;  // b may be -1
  EXPECT_TRUE(open.learn("b in -5..5") && open.learn("c in -99..99") && open.learn("(b + 1)*c == (b + 1)*b*4"));
  EXPECT_EQ(open.prove("c == b*4"), Truth::unknown);
}

// Sizes, products of them and what is said of both, of a random model: each fact is known afterwards, and what products
// and remainders it fixes, whatever came first.
TEST(SymProofs, InEveryOrderRandomFactsFixTheSame) {
  const Grammar g;
  for (uint64_t seed = 0; seed < 80; ++seed) {
    RandomChooser choose(seed);
    const Values values = random_values(choose, g, 2, 7);
    auto number = [&](const std::string& text) { return std::to_string(*compute(text, values)); };
    std::vector<std::string> facts, asked;
    const std::string fixed = choose.pick(g.names);
    facts.push_back(fixed + " == " + number(fixed));
    for (int i = 0; i < 3; ++i) {
      const std::string product = choose.pick(g.names) + "*" + choose.pick(g.names);
      switch (choose.below(4)) {
        case 0: facts.push_back(product + " == " + number(product)); break;
        case 1: facts.push_back(product + " == e" + std::to_string(i)); break;
        case 2: facts.push_back("f*" + product + " == f*" + number(product)); break;
        default: facts.push_back(product + " % 4 == " + number(product + " % 4")); break;
      }
    }
    facts.push_back("f >= 1");
    for (const std::string& x : g.names)
      for (const std::string& y : g.names) {
        asked.push_back(x + "*" + y + " == " + number(x + "*" + y));
        asked.push_back("h*" + x + "*" + y + " == h*" + number(x + "*" + y));
        asked.push_back("h // (" + x + "*" + y + ") == h // " + number(x + "*" + y));
      }
    std::string first;
    in_every_order(facts, [&](World& w, const std::string& given) {
      for (const std::string& f : facts) EXPECT_EQ(w.prove(f), Truth::yes) << given << " |- " << f;
      std::string proved;
      for (const std::string& cond : asked)
        if (w.prove(cond) == Truth::yes) proved += cond + "; ";
      if (first.empty()) first = proved;
      EXPECT_EQ(proved, first) << given << "seed " << seed;
    });
  }
}

// Bounds that speak of the same sizes are tried first, and lead nowhere.
TEST(SymProofs, AShortOneBesideManyBounds) {
  World w{"s in 1..40", "(s*s) % 2 == 0", "(s*s + 4)//6 != 0", "(s*s + 4)//6 != 1", "i >= 0", "i < (s*s + 4)//6"};
  EXPECT_EQ(w.prove("(s*s)//2 - ((s*s + 4)//6)*3 + 2 >= 0"), Truth::yes);
  EXPECT_EQ(w.prove("(s*s)//2 - ((s*s + 4)//6)*3 + 1 >= 0"), Truth::unknown);
}

}  // namespace
}  // namespace lenz
