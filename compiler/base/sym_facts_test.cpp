// Facts: contradictions, records and hints, then soundness over random facts that a random model satisfies.
#include <gtest/gtest.h>

#include "compiler/base/sym_facts_testing.h"

namespace lenz {
namespace {
using namespace sym_testing;

TEST(SymFacts, ContradictionsAreRefusedAndChangeNothing) {
  const std::pair<std::vector<const char*>, const char*> cases[] = {
      {{"a in 1..8"}, "a == 9"},
      {{"a in 1..8"}, "a > 8"},
      {{"a % 8 == 0"}, "a == 12"},
      {{"a % 8 == 0"}, "a % 4 == 1"},
      {{"a % 8 == 0", "a in 1..15"}, "a != 8"},
      {{"a == b"}, "a != b"},
      {{"a == b"}, "a < b"},
      {{"a < b"}, "b <= a"},
      {{"a + b == 10"}, "a == 11"},
      {{"a == 2*b", "b == c"}, "a == 2*c + 1"},
      {{"a <= b", "b <= c"}, "c < a"},
      {{"a < b", "b < c", "c <= 4"}, "a >= 3"},
      {{"2*a == 4*b + 2*c"}, "a == 2*b + c + 1"},
      {{"a*b == 12"}, "a*b == 13"},
      {{"a in 4..", "b in 4.."}, "a*b == 15"},
      // Found only while learning, after ranges were tightened and a symbol was replaced.
      {{"a < b", "b < c", "c < d", "d < e", "e < f", "f < g", "g < h", "h in 0..90"}, "h <= a"},
      {{"a < b", "b < c", "c < d", "d < e", "e < f", "f < g", "g < h", "h in 0..90"}, "h == a"},
      {{"a < b", "b < c", "c < d", "d < e", "e < f", "f < g", "g < h", "h in 0..90", "d % 2 == 0"}, "h == a"},
      {{}, "a*a == 2"},
      {{}, "a*a*a + 2*a == 13"},
      {{"a in 3.."}, "a*a + a <= 11"},
      {{"a*a <= 8"}, "a == 3"},
      {{"a*a >= 10"}, "a == 3"},
      {{}, "2*a == 2*b + 1"},
      {{}, "a % 4 == 5"},
      {{}, "a + b < 0"},
      {{}, "1 == 2"},
  };
  for (const auto& [given, refused] : cases) {
    World w;
    for (const char* f : given) EXPECT_TRUE(w.learn(f)) << f;
    auto look = [&] {
      std::string seen;
      for (const char* t : {"a", "b", "c", "d", "h", "h - a", "a + b", "a % 4", "2*a - 2*b", "max(a, b)"}) {
        Range r = w.facts.range(w.dim(t));
        seen += to_string(w.facts.simplify(w.dim(t))) + " " + std::to_string(r.low.value_or(-99)) + " " +
                std::to_string(r.high.value_or(-99)) + " " + std::to_string(w.facts.divisor(w.dim(t))) + "; ";
      }
      for (const char* t : {"a < b", "a == b", "a <= c", "a % 2 == 0", "g < h", "h <= a", "a == h"})
        seen += std::to_string(static_cast<int>(w.prove(t)));
      return seen + std::to_string(w.facts.conditions().size()) + std::to_string(w.facts.ranges().size());
    };
    std::string before = look();
    auto hint = w.facts.hint(w.dim("a"));
    EXPECT_FALSE(w.learn(refused)) << refused;
    EXPECT_EQ(w.facts.hint(w.dim("a")), hint);
    EXPECT_EQ(look(), before) << refused;
  }
}

TEST(SymFacts, PowersOfOneSymbolAreRangesOfIt) {
  World w{"a*a == 49", "b*b*b + b <= 30", "b*b >= 5", "c*c*c >= 4611686018427387904"};
  EXPECT_EQ(w.facts.simplify(w.dim("a")), Dim(7));
  EXPECT_EQ(w.facts.simplify(w.dim("b")), Dim(3));
  EXPECT_EQ(w.facts.range(w.dim("c")).low, 1664511);
}

// What is rounded stays the same for some steps: the range goes to the last of them.
TEST(SymFacts, RoundedMultiplesOfOneSymbolAreRangesOfIt) {
  const std::pair<const char*, Range> cases[] = {{"floor(2.0*a) <= 4096", {2, 2048}}, {"floor(0.5*a) <= 7", {2, 15}},
                                                 {"floor(0.5*a) >= 7", {14, {}}},     {"ceil(0.5*a) + a <= 10", {2, 9}},
                                                 {"9 >= round(2.3*a)", {2, 4}},       {"floor(0.5*a) >= 0", {2, {}}}};
  for (const auto& [given, wanted] : cases) {
    World w;
    ASSERT_TRUE(w.learn("a in 2.."));
    EXPECT_TRUE(w.learn(given)) << given;
    EXPECT_EQ(w.facts.range(w.dim("a")), wanted) << given;
    EXPECT_EQ(w.prove(given), Truth::yes) << given;
  }
  World w;
  ASSERT_TRUE(w.learn("a in 2.."));
  EXPECT_FALSE(w.learn("floor(2.0*a) <= 3"));
  EXPECT_TRUE(w.learn("floor(0.5*a) == 7"));
  EXPECT_NE(w.prove("a == 15"), Truth::no);
  World later;  // whatever is learnt first
  ASSERT_TRUE(later.learn("0 < floor(0.3*a)"));
  ASSERT_TRUE(later.learn("a in 1.."));
  EXPECT_EQ(later.prove("a != 1"), Truth::yes);
}

TEST(SymFacts, RangesAndConditionsAreOnRecordAsAdded) {
  World w{"a in 2..64", "b % 8 == 0", "a <= 32", "c < a", "c < a", "b >= 16"};
  ASSERT_EQ(w.facts.ranges().size(), 2u);
  EXPECT_EQ(w.facts.ranges()[0].range, (Range{2, 32}));
  EXPECT_EQ(w.facts.ranges()[1].range, (Range{16, std::nullopt}));
  ASSERT_EQ(w.facts.conditions().size(), 2u);
  EXPECT_EQ(to_string(w.facts.conditions()[0]), "b % 8 == 0");
  EXPECT_EQ(to_string(w.facts.conditions()[1]), "c < a");
  EXPECT_THROW(w.learn("a in 40..50"), UserError);
  EXPECT_THROW(w.learn("d in 5..4"), UserError);
  EXPECT_EQ(w.facts.ranges().size(), 2u);
  EXPECT_EQ(w.facts.range(w.dim("c")), (Range{0, 31}));
  w.learn("c in -8..20");  // a condition took it for a size before
  EXPECT_EQ(w.facts.ranges()[2].range, (Range{0, 20}));
  w.learn("e in -8..20");
  EXPECT_EQ(w.facts.ranges()[3].range, (Range{-8, 20}));
  EXPECT_EQ(w.facts.range(w.dim("e")), (Range{-8, 20}));
}

TEST(SymFacts, DivisorAndCongruence) {
  World w{"a % 8 == 0", "b % 6 == 4"};
  auto divisor = [&](const char* t) { return w.facts.divisor(w.dim(t)); };
  EXPECT_EQ(divisor("a"), 8);
  EXPECT_EQ(divisor("a*3"), 24);
  EXPECT_EQ(divisor("a*c"), 8);
  EXPECT_EQ(divisor("a + 4"), 4);
  EXPECT_EQ(divisor("b"), 2);
  EXPECT_EQ(divisor("a*b"), 16);
  EXPECT_EQ(divisor("a // 4"), 2);
  EXPECT_EQ(divisor("min(a, 16)"), 8);
  EXPECT_EQ(divisor("a % 12"), 4);
  EXPECT_EQ(divisor("0"), 0);
  EXPECT_EQ(divisor("-12"), 12);
  EXPECT_EQ(w.facts.congruence(w.dim("b*2 + 1")), (Congruence{12, 9}));
}

// Whatever the signs that a divisor is written with: what facts say of its own sign is what is proved with it.
TEST(SymFacts, DivisorsKeepTheSignThatFactsKnow) {
  Grammar g;
  for (uint64_t seed = 0; seed < 2000; ++seed) {
    RandomChooser choose(seed);
    World w;
    auto term = [&] {
      std::string out = std::to_string(choose.between(1, 3)) + "*" + choose.pick(g.names);
      return choose.flip() ? out : out + "*" + choose.pick(g.names);
    };
    std::string by = term() + " - " + term() + choose.any_of({" + ", " - "}) + term();
    bool positive = choose.flip();
    try {
      if (!w.learn(by + (positive ? " >= 1" : " <= -1"))) continue;
    } catch (const UserError&) {
      continue;
    }
    std::string rest = "e % (" + by + ")";
    EXPECT_EQ(w.prove(rest + (positive ? " >= 0" : " <= 0")), Truth::yes) << rest << ", seed " << seed;
    EXPECT_EQ(w.prove(rest + (positive ? " < " : " > ") + by), Truth::yes) << rest << ", seed " << seed;
    EXPECT_EQ(w.prove("e // (" + by + ")" + (positive ? " >= 0" : " <= 0")), Truth::yes) << by << ", seed " << seed;
  }
}

// Random facts that hold in a random model; a few more models found by chance.
struct RandomWorld {
  World world;
  std::vector<Values> models;
  std::string given;
};

std::string random_condition(Chooser& choose, const Grammar& g, const Values& model) {
  if (choose.chance(1, 4)) {
    const std::string& name = choose.pick(g.names);
    int64_t k = choose.pick(g.divisors);
    return name + " % " + std::to_string(k) + " == " + std::to_string(mod(model.at(name), k).constant());
  }
  std::string lhs = random_dim(choose, g, static_cast<int>(choose.between(0, 2)));
  std::string rhs = random_dim(choose, g, static_cast<int>(choose.between(0, 1)));
  if (choose.chance(1, 3)) lhs = "(" + lhs + ") % " + std::to_string(choose.between(2, 8));
  auto l = compute(lhs, model), r = compute(rhs, model);
  if (!l || !r) return "";
  if (choose.chance(1, 3)) rhs = std::to_string(*(r = l));
  if (*l == *r) return lhs + choose.any_of({" == ", " == ", " <= ", " >= "}) + rhs;
  return lhs + (choose.chance(1, 3) ? " != " : *l < *r ? " < " : " > ") + rhs;
}

void build_random_world(Chooser& choose, const Grammar& g, RandomWorld& out) {
  Values model = random_values(choose, g, 0, 12);
  for (const std::string& name : g.names) {
    if (choose.chance(1, 3)) {
      if (choose.chance(1, 4)) model[name] = choose.between(-9, -1);
    } else if (!choose.chance(1, 3)) {
      continue;
    }
    int64_t v = model[name];
    std::string range = name + " in " + std::to_string(v - choose.between(0, 6)) + "..";
    if (!choose.flip()) range += std::to_string(v + choose.between(0, 6));
    out.given += range + ", ";
    ASSERT_TRUE(out.world.learn(range)) << out.given;
  }
  for (const auto& [name, value] : model)
    if (value < 0 && out.given.find(name + " in") == std::string::npos) model[name] = -value;
  int64_t count = choose.between(0, 5);
  for (int64_t i = 0; i < count; ++i) {
    std::string cond = random_condition(choose, g, model);
    if (cond.empty()) continue;
    out.given += cond + ", ";
    try {
      ASSERT_TRUE(out.world.learn(cond)) << out.given;
    } catch (const UserError&) {
      ADD_FAILURE() << out.given;
    }
  }
  out.models.push_back(model);
  for (int i = 0; i < 40 && out.models.size() < 6; ++i) {
    Values other = model;
    for (auto& [name, value] : other)
      if (choose.flip()) value = choose.between(-9, 20);
    bool holds = true;
    for (const auto& [name, value] : other)
      if (out.given.find(name + " in") == std::string::npos && value < 0) holds = false;
    for (const Cond& c : out.world.facts.conditions()) holds = holds && evaluate(c, lookup(other)).value_or(false);
    for (const auto& [s, r] : out.world.facts.ranges()) {
      int64_t v = other[std::string(symbol_name(s))];
      holds = holds && (!r.low || v >= *r.low) && (!r.high || v <= *r.high);
    }
    if (holds) out.models.push_back(other);
  }
}

void check_answers(Chooser& choose, const Grammar& g, RandomWorld& w) {
  Facts& facts = w.world.facts;
  std::string text = random_dim(choose, g), other = random_dim(choose, g, 1);
  std::optional<Dim> dim, with;
  try {
    dim = w.world.dim(text);
    with = w.world.dim(other);
  } catch (const UserError&) {
    return;
  }
  Dim simple = facts.simplify(*dim);
  EXPECT_LE(size_of(simple), size_of(*dim)) << w.given << " |- " << text;
  EXPECT_EQ(facts.simplify(simple), simple)
      << w.given << " |- " << text << " gives " << to_string(simple) << " gives " << to_string(facts.simplify(simple));
  Range range = facts.range(*dim);
  Congruence c = facts.congruence(*dim);
  int64_t divisor = facts.divisor(*dim);
  for (const Values& model : w.models) {
    auto value = evaluate(*dim, lookup(model));
    if (!value) continue;
    EXPECT_EQ(evaluate(simple, lookup(model)), value) << w.given << " |- " << text << " gives " << to_string(simple);
    EXPECT_TRUE((!range.low || *range.low <= *value) && (!range.high || *value <= *range.high))
        << w.given << " |- " << text << " is " << *value << " not in " << range.low.value_or(-999) << ".."
        << range.high.value_or(999);
    EXPECT_TRUE(c.modulus == 0 ? *value == c.residue : (*value - c.residue) % c.modulus == 0)
        << w.given << " |- " << text << " is " << *value << " not " << c.residue << " mod " << c.modulus;
    EXPECT_TRUE(divisor == 0 ? *value == 0 : *value % divisor == 0) << w.given << " |- " << text;
    for (const Cond& q : {eq(*dim, *with), ne(*dim, *with), lt(*dim, *with), le(*dim, *with)}) {
      auto truth = evaluate(q, lookup(model));
      if (!truth) continue;
      EXPECT_NE(static_cast<int>(facts.prove(q)), static_cast<int>(*truth ? Truth::no : Truth::yes))
          << w.given << " |- " << to_string(q);
    }
  }
}

TEST(SymFacts, AnswersAreTrueInEveryModel) {
  size_t models = 0, cases = 0;
  for (uint64_t seed = 0; seed < 1500 && !testing::Test::HasFailure(); ++seed) {
    RandomChooser choose(seed);
    Grammar g;
    g.calls = seed % 4 == 0;
    if (seed % 2 == 0) g.divisors = {2, 4, 8};
    RandomWorld w;
    build_random_world(choose, g, w);
    models += w.models.size();
    for (int i = 0; i < 5 && !testing::Test::HasFailure(); ++i, ++cases) check_answers(choose, g, w);
    if (testing::Test::HasFailure()) ADD_FAILURE() << "seed " << seed;
  }
  EXPECT_GT(models, 2500u);
}

// What the other factors leave of a product: a range for each, and one value where that is all.
TEST(SymFacts, RangesOfProductsTightenTheirFactors) {
  auto range = [](const std::vector<const char*>& facts, const char* of) {
    World w;
    for (const char* fact : facts) w.learn(fact);
    return w.facts.range(w.dim(of));
  };
  EXPECT_EQ(range({"a in 2..", "b in 3..", "a*b <= 12"}, "a"), (Range{2, 4}));
  EXPECT_EQ(range({"a in 2..", "b in 3..", "a*b <= 12"}, "b"), (Range{3, 6}));
  EXPECT_EQ(range({"a in 1..2", "b in 1..", "a*b >= 11"}, "b"), (Range{6, std::nullopt}));
  EXPECT_EQ(range({"a in 1..", "b in 1..", "a*b >= 11"}, "b"), (Range{1, std::nullopt}));
  EXPECT_EQ(range({"a in 0..", "b in 3..", "a*b <= 12"}, "a").low, 0);
  EXPECT_EQ(range({"a in 1..", "b in 2..", "a*b == 6", "a - 1 == b"}, "a"), (Range{3, 3}));
}

TEST(SymFacts, HintsSatisfyTheFacts) {
  size_t worlds = 0, missed = 0;
  for (uint64_t seed = 0; seed < 3000; ++seed) {
    RandomChooser choose(seed);
    Grammar g;
    g.calls = g.symbolic_divisors = false;
    RandomWorld w;
    build_random_world(choose, g, w);
    ++worlds;
    Values hints;
    for (const std::string& name : g.names) hints[name] = w.world.facts.hint(w.world.pool.symbol(name).node());
    bool fits = true;
    for (const Cond& c : w.world.facts.conditions()) fits = fits && evaluate(c, lookup(hints)).value_or(false);
    for (const auto& [s, r] : w.world.facts.ranges()) {
      int64_t v = hints[std::string(symbol_name(s))];
      fits = fits && (!r.low || v >= *r.low) && (!r.high || v <= *r.high);
    }
    missed += !fits;
  }
  // Products and remainders of several symbols can defeat the search; conditions that type rules make do not.
  EXPECT_LE(missed, worlds / 300) << "hints miss " << missed << " of " << worlds;
}

TEST(SymFacts, HintsAreDistinctTypicalAndStay) {
  World w{"a in 1..4096", "b in 1..8", "c in 1..8", "d % 8 == 0", "e in 0..1", "f == 2*a", "g in 1000..", "h in 5..5"};
  std::map<int64_t, std::string> seen;
  for (const char* name : {"a", "b", "c", "d", "e", "f", "g", "h", "unknown1", "unknown2"}) {
    int64_t v = w.facts.hint(w.pool.symbol(name).node());
    EXPECT_TRUE(seen.emplace(v, name).second) << name << " and " << seen[v] << " are both " << v;
    if (name[0] != 'e') {
      EXPECT_GT(v, 1) << name;
    }
  }
  int64_t a = w.facts.hint(w.pool.symbol("a").node()), b = w.facts.hint(w.pool.symbol("b").node());
  EXPECT_EQ(w.facts.hint(w.dim("f")), 2 * a);
  EXPECT_TRUE(w.facts.add(ne(w.dim("a"), w.dim("b"))));
  EXPECT_TRUE(w.learn("a > b"));
  EXPECT_EQ(w.facts.hint(w.dim("a")), a);
  EXPECT_EQ(w.facts.hint(w.dim("b")), b);
}

// The sizes of a convolution's result, of which the number of elements is known: one pair of sizes alone will do, and a
// guard that is decided by another one is a guard that no sizes keep.
TEST(SymFacts, HintsSolveEquationsOfFewValues) {
  World w{"a in 1..64",
          "b in 0..64",
          "c in 2..64",
          "c == a*3",
          "3 <= b",
          "a <= b",
          "b <= c",
          "a*b - a*4 + 1 <= b",
          "a < b",
          "a*b*b*2 - a*a*b*2 - a*b*c*2 + a*a*8 - a*b*8 + a*c*8 - b*b*2 + b*c*2 + a*8 + b*2 == 24",
          "a*4 - a*b + b != 1"};
  EXPECT_EQ(w.facts.hint(w.dim("a")), 2);
  EXPECT_EQ(w.facts.hint(w.dim("b")), 5);
}

// What mends one fact breaks another, which a second size mends alone.
TEST(SymFacts, HintsTryTheSizesThatAreTiedToThoseOfABrokenFact) {
  World w{"a in 0..80", "b in 0..48", "c in 16..24", "c - max(a, 8) == -13", "b % 6 == 1", "a <= b*2 - 6"};
  const int64_t a = *w.facts.hint(w.dim("a")), b = *w.facts.hint(w.dim("b")), c = *w.facts.hint(w.dim("c"));
  EXPECT_EQ(c, std::max<int64_t>(a, 8) - 13);
  EXPECT_TRUE(c >= 16 && c <= 24 && b % 6 == 1 && a <= 2 * b - 6) << a << ", " << b << ", " << c;
}

// A product of unknowns: once the first of them has its value, the equation says the other, of however many it may be.
TEST(SymFacts, HintsTakeTheOtherSideOfAProductApart) {
  World w{"a in 0..80",        "b in 8..80",     "c in 12..80",     "d in 0..56",
          "b*d == a//3 + 526", "2*a <= a + 3*d", "d//3 + 1 <= b*d", "2*d <= 3*c"};
  const int64_t a = *w.facts.hint(w.dim("a")), b = *w.facts.hint(w.dim("b")), d = *w.facts.hint(w.dim("d"));
  EXPECT_EQ(b * d, a / 3 + 526);
  World bounded{"a in 11..68",
                "c in 14..80",
                "d in 0..56",
                "min(d, a) % 7 == 2",
                "a*d >= 525",
                "a*d <= 528",
                "c*(a*d - 520)//2 == 116",
                "c + a*d - 520 <= 2*d + 5",
                "2*d <= a"};
  EXPECT_EQ(*bounded.facts.hint(bounded.dim("a")), 33);
  EXPECT_EQ(*bounded.facts.hint(bounded.dim("c")), 29);
  World wide{"a in 2..100", "b in 1..1000000000", "a*b == 67*999983"};
  EXPECT_EQ(*wide.facts.hint(wide.dim("a*b")), 67 * 999983);
}

// What is fixed on the way to a contradiction may be what something known divides by.
TEST(SymFacts, WhatMakesAKnownDivisorZeroContradicts) {
  World w{"a in 0..80", "b in 8..80", "d in 0..56", "b*d == a//3 + 526"};
  EXPECT_FALSE(w.learn("a == 1//(-d % 3)"));
}

TEST(SymFacts, LongChainsNeedNoStackAndLittleTime) {
  SymPool pool;
  Facts facts;
  auto s = [&](int i) { return pool.symbol("s" + std::to_string(i)); };
  constexpr int kCount = 2000;
  for (int i = 0; i + 1 < kCount; ++i) ASSERT_TRUE(facts.add(le(s(i + 1), s(i))));
  ASSERT_TRUE(facts.add(le(s(0), 0)));
  EXPECT_EQ(facts.simplify(s(10)), Dim(0));
  Facts equal;
  for (int i = 0; i + 1 < kCount; ++i) ASSERT_TRUE(equal.add(eq(s(i + 1), s(i))));
  EXPECT_TRUE(equal.proves(eq(s(0), s(kCount - 1))));
}

// Asked after every fact, as type rules ask: the hints that stand are kept, and only what is new is looked at.
TEST(SymFacts, HintsOfLongChainsTakeLittleTime) {
  SymPool pool;
  Facts facts;
  auto s = [&](int i) { return pool.symbol("s" + std::to_string(i)); };
  constexpr int kCount = 4000;
  std::vector<int64_t> given;
  for (int i = 0; i < kCount; ++i) {
    ASSERT_TRUE(facts.add(le(s(i), s(i + 1))));
    given.push_back(*facts.hint(s(i)));
  }
  for (int i = 0; i < kCount; ++i) ASSERT_EQ(facts.hint(s(i)), given[static_cast<size_t>(i)]);
  EXPECT_TRUE(std::is_sorted(given.begin(), given.end()));
}

// As those of a number that a tensor holds.
TEST(SymFacts, AnyNumberMayEqualASum) {
  for (int64_t low : {INT64_MIN, INT64_MIN + 1}) {
    SymPool pool;
    Facts facts;
    Dim s = pool.symbol("s"), n = pool.symbol("n"), m = pool.symbol("m");
    for (Dim d : {n, m}) facts.set_range(d.node(), {low, std::nullopt});
    EXPECT_TRUE(facts.add(eq(s, n + m + 5)));
    EXPECT_TRUE(facts.proves(le(0, n + m + 5)));
    EXPECT_TRUE(facts.add(eq(n, m)));
  }
}

// What a bound says of the quotient in it ends, where factors of that are sums.
TEST(SymFacts, QuotientsInProductsOfThemselves) {
  World w{"s in 2..64", "(4//(s - 1))*(s - 1) == 4"};
  EXPECT_EQ(w.prove("s*(4//(s - 1)) == 4//(s - 1) + 4"), Truth::yes);
}

// Where a size turns out to be 0 that something is divided by, nothing simplifies what stands for that.
TEST(SymFacts, DivisionsByWhatIsZeroAreLearntOnce) {
  World w{"a in 0..80", "b in 0..22"};
  EXPECT_TRUE(w.learn("b*2 < (a % 2) % (7//b)"));
  EXPECT_EQ(w.facts.simplify(w.dim("b")), Dim(0));
}

// Multiplied out (b - 1)*(c - b) is a sum that shows no factor.
TEST(SymFacts, FactorsOfANumberAreNoneOfThemZero) {
  World one{"a in 2..64", "b in 1..64", "b <= c", "a*b*c - a*b*b + a*b - a*c == a"};
  EXPECT_EQ(one.facts.simplify(one.dim("b")), Dim(2));
  EXPECT_EQ(one.facts.simplify(one.dim("c")), Dim(3));
  World six{"b in 1..64", "c in 1..64", "b*c - b*b + b - c == 6", "b <= c"};
  EXPECT_EQ(six.facts.range(six.dim("b")), (Range{2, 7}));
  EXPECT_EQ(six.prove("b < c"), Truth::yes);
  EXPECT_EQ(six.prove("b + 6 < c"), Truth::no);
  EXPECT_EQ(six.prove("c - b == 6"), Truth::unknown);
  World below{"b in 1..64", "c in 1..64", "b*c - b*b + b - c == -2"};
  EXPECT_EQ(below.prove("c < b"), Truth::yes);
}

// Of a difference that bounds keep from below 0, whichever is learnt first, and inside of a smallest operand too.
TEST(SymFacts, WhatIsOfOneSignAndNotZeroIsOneAtLeast) {
  for (auto [first, second] : {std::pair("a <= b", "b - a != 0"), std::pair("b - a != 0", "a <= b"),
                               std::pair("b >= a", "a - b != 0"), std::pair("a - b != 0", "b >= a")}) {
    World w{"a in 1..64", "b in 2..64", first, second};
    EXPECT_EQ(w.prove("0 <= min(0, b - a - 1)"), Truth::yes) << first << ", " << second;
    EXPECT_EQ(w.prove("0 <= min(0, b - a - 2)"), Truth::unknown) << first << ", " << second;
  }
}

TEST(Facts, ConstantsAreComparedEvenIfTheirDifferenceOverflows) {
  Facts facts;
  EXPECT_EQ(facts.prove(lt(INT64_MIN, 0)), Truth::yes);
  EXPECT_EQ(facts.prove(le(INT64_MAX, INT64_MIN)), Truth::no);
  EXPECT_EQ(facts.prove(eq(INT64_MIN, INT64_MAX)), Truth::no);
}

}  // namespace
}  // namespace lenz
