// Dims: construction, text, evaluation, limits.
#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <limits>

#include "compiler/base/sym_testing.h"

namespace lenz {
namespace {
using namespace sym_testing;

std::string printed(std::string_view text) {
  SymPool pool;
  return to_string(parse_dim(text, pool));
}

TEST(Sym, ConstantsNeedNoPool) {
  EXPECT_EQ(Dim(3) + Dim(4), Dim(7));
  EXPECT_EQ(Dim(3) - Dim(4), Dim(-1));
  EXPECT_EQ(Dim(3) * Dim(4), Dim(12));
  EXPECT_EQ(ceil_div(7, 2), Dim(4));
  EXPECT_EQ(min(3, 4), Dim(3));
  EXPECT_EQ(max(3, 4), Dim(4));
  Dim total = 1;
  total += 2;
  total *= 5;
  EXPECT_TRUE(total.is(15));
  EXPECT_TRUE(Dim().is(0));
}

TEST(Sym, DivisionOfConstantsIsPythons) {
  for (int64_t a = -20; a <= 20; ++a)
    for (int64_t b = -7; b <= 7; ++b) {
      if (b == 0) continue;
      int64_t q = floor_div(a, b).constant(), r = mod(a, b).constant();
      EXPECT_EQ(q * b + r, a);
      EXPECT_TRUE(b > 0 ? 0 <= r && r < b : b < r && r <= 0) << a << " % " << b;
    }
  EXPECT_EQ(floor_div(INT64_MIN, 1), Dim(INT64_MIN));
  EXPECT_EQ(mod(INT64_MIN, -1), Dim(0));
}

TEST(Sym, OverflowAndDivisionByZeroAreUserErrors) {
  SymPool pool;
  Dim s = pool.symbol("s");
  Dim big = INT64_MAX;
  EXPECT_THROW(big + 1, UserError);
  EXPECT_THROW(-big - 2, UserError);
  EXPECT_THROW(big * 2, UserError);
  EXPECT_THROW(-Dim(INT64_MIN), UserError);
  EXPECT_THROW(floor_div(INT64_MIN, -1), UserError);
  EXPECT_THROW(floor_div(1, 0), UserError);
  EXPECT_THROW(mod(s, 0), UserError);
  EXPECT_THROW(s * big * 2, UserError);
  EXPECT_THROW(s * big + s, UserError);
  EXPECT_THROW(call(SymFn::floor_scale, 1, 1e300), UserError);
  EXPECT_THROW(call(SymFn::floor_scale, s, std::numeric_limits<double>::infinity()), UserError);
  EXPECT_EQ(evaluate(floor_div(s, big) + s * big, lookup({{"s", 2}})), std::nullopt);
  EXPECT_EQ(evaluate(floor_div(1, s), lookup({{"s", 0}})), std::nullopt);
  EXPECT_EQ(evaluate(s * big - s * (INT64_MAX - 1) - s, lookup({{"s", 3}})), 0);
  EXPECT_EQ(evaluate(s, lookup({})), std::nullopt);
}

TEST(Sym, EqualDimsAreOneNode) {
  SymPool pool;
  Dim a = pool.symbol("a"), b = pool.symbol("b");
  EXPECT_EQ(pool.symbol("a"), a);
  EXPECT_EQ(pool.find_symbol("a"), a);
  EXPECT_EQ(pool.find_symbol("none"), std::nullopt);
  EXPECT_EQ((a + b) * (a - b), a * a - b * b);
  EXPECT_EQ(((a + b) * 2).hash(), (b * 2 + a * 2).hash());
  size_t count = pool.node_count();
  (void)((a + b) * (a - b));
  EXPECT_EQ(pool.node_count(), count);
  EXPECT_EQ(symbol_name(b.node()), "b");
  EXPECT_EQ(symbol_id(a.node()), 0u);
  EXPECT_EQ(symbol_id(b.node()), 1u);
  EXPECT_EQ(kind_of(a * b + 1), SymKind::sum);
  Dim parts[] = {a, b, 3, a, -b};
  EXPECT_EQ(sum(parts), a * 2 + 3);
  EXPECT_EQ(sum({}), Dim(0));
  Dim four[] = {a, 7, b, 3};
  EXPECT_EQ(min(four), min(min(a, 3), b));
  EXPECT_EQ(max(four), max(max(7, b), a));
}

TEST(Sym, PoolsDoNotMix) {
  SymPool one, two;
  EXPECT_THROW(one.symbol("a") + two.symbol("a"), InternalError);
}

TEST(Sym, Prints) {
  EXPECT_EQ(printed("8*s0 + 4"), "s0*8 + 4");
  EXPECT_EQ(printed("(s0 + 1)//2"), "(s0 + 1)//2");
  EXPECT_EQ(printed("min(s1, s0)"), "min(s0, s1)");
  EXPECT_EQ(printed("floor(1.5*s0)"), "floor(1.5*s0)");
  EXPECT_EQ(printed("round(2*(s0 + 1))"), "round(2.0*(s0 + 1))");
  EXPECT_EQ(printed("s10 + s9 + s2*s3"), "s2*s3 + s9 + s10");
  EXPECT_EQ(printed("s0 + s1*s2"), "s1*s2 + s0");
  EXPECT_EQ(printed("(7*s0 + 9) % 8"), "(1 - s0) % 8");
  EXPECT_EQ(printed("(s0*s1 + s2)//(s0*s0)"), "(s0*s1 + s2)//(s0*s0)");
  EXPECT_EQ(printed("s1 - s0"), "s1 - s0");
  EXPECT_EQ(printed("4 - s0"), "4 - s0");
  EXPECT_EQ(printed("0 - s0 - 4"), "-s0 - 4");
  EXPECT_EQ(printed("-(s0 // 2)"), "-(s0//2)");
  EXPECT_EQ(printed("-(s0 // 2) * 3 + s0 % 4"), "s0 % 4 - (s0//2)*3");
  EXPECT_EQ(printed("(s0 % 4)*s1"), "s1*(s0 % 4)");
  EXPECT_EQ(printed("s0*s0*s1"), "s0*s0*s1");
  EXPECT_EQ(printed("(s0*2)//(s1*3)"), "(s0*2)//(s1*3)");
  EXPECT_EQ(printed("5//s0"), "5//s0");
  EXPECT_EQ(printed("(-5)//s0"), "(-5)//s0");
  EXPECT_EQ(printed("-3"), "-3");
  SymPool pool;
  for (const char* text : {"s0 % 8 == 0", "s0 != s1 + 1", "s0 < 4", "s0 <= s1"})
    EXPECT_EQ(to_string(parse_cond(text, pool)), text);
  EXPECT_EQ(to_string(parse_cond("s0 >= 4", pool)), "4 <= s0");
  EXPECT_EQ(to_string(negate(parse_cond("s0 > 4", pool))), "s0 <= 4");
}

TEST(Sym, TextErrorsNameTheColumn) {
  const std::pair<const char*, const char*> kCases[] = {
      {"", "column 1"},
      {"s0 +", "column 5"},
      {"(s0", "column 4"},
      {"s0 s1", "column 4"},
      {"99999999999999999999", "column 1"},
      {"9223372036854775808", "column 1"},
      {"foo(s0)", "column 5"},
      {"floor(s0)", "column 7"},
      {"min(s0", "column 7"},
      {"s0 $", "column 4"},
      {"2.5*s0", "column 2"},
  };
  for (const auto& [text, where] : kCases) {
    SymPool pool;
    try {
      parse_dim(text, pool);
      ADD_FAILURE() << text;
    } catch (const UserError& e) {
      EXPECT_TRUE(e.where().starts_with(where)) << text << ": " << e.what();
    }
  }
  SymPool pool;
  EXPECT_THROW(parse_cond("s0", pool), UserError);
  EXPECT_EQ(parse_dim("-9223372036854775808", pool), Dim(INT64_MIN));
  EXPECT_EQ(parse_dim("--3", pool), Dim(3));
}

TEST(Sym, Conditions) {
  SymPool pool;
  Values at{{"a", 3}, {"b", 4}};
  const std::pair<const char*, bool> kCases[] = {{"a == b", false},    {"a != b", true}, {"a < b", true},
                                                 {"a <= b", true},     {"a > b", false}, {"a >= b", false},
                                                 {"a + 1 == b", true}, {"a <= 3", true}, {"a < 3", false}};
  for (const auto& [text, truth] : kCases) {
    Cond cond = parse_cond(text, pool);
    EXPECT_EQ(evaluate(cond, lookup(at)), truth) << text;
    EXPECT_EQ(evaluate(negate(cond), lookup(at)), !truth) << text;
    EXPECT_EQ(negate(negate(cond)), cond);
  }
  EXPECT_EQ(evaluate(parse_cond("c < a", pool), lookup(at)), std::nullopt);
  EXPECT_EQ(to_string(divisible(pool.symbol("a"), 8)), "a % 8 == 0");
}

TEST(Sym, RoundingCalls) {
  SymPool pool;
  Dim s = pool.symbol("s");
  for (int64_t v = -9; v <= 9; ++v)
    for (double f : {1.5, 0.5, -0.25, 2.0}) {
      Values values{{"s", v}};
      double x = static_cast<double>(v) * f;
      EXPECT_EQ(evaluate(call(SymFn::floor_scale, s, f), lookup(values)), static_cast<int64_t>(std::floor(x)));
      EXPECT_EQ(evaluate(call(SymFn::ceil_scale, s, f), lookup(values)), static_cast<int64_t>(std::ceil(x)));
      EXPECT_EQ(evaluate(call(SymFn::round_scale, s, f), lookup(values)), static_cast<int64_t>(std::nearbyint(x)));
      EXPECT_EQ(call(SymFn::round_scale, v, f), Dim(static_cast<int64_t>(std::nearbyint(x))));
    }
}

TEST(Sym, SubstituteAndVisit) {
  SymPool pool, other;
  Dim d = parse_dim("b*2 + a//4 + min(a, c) + b*b", pool);
  std::string order;
  for_each_symbol(d, [&](const SymNode* s) { order += symbol_name(s); });
  EXPECT_EQ(order, "bac");
  auto with = [&](const SymNode* s) -> std::optional<Dim> {
    if (symbol_name(s) == "a") return Dim(8);
    if (symbol_name(s) == "b") return pool.symbol("a") - 1;
    return std::nullopt;
  };
  EXPECT_EQ(substitute(d, pool, with), parse_dim("a*a + 1 + min(8, c)", pool));
  Dim moved = substitute(d, other, [](const SymNode*) { return std::nullopt; });
  EXPECT_EQ(moved, parse_dim(to_string(d), other));
}

TEST(Sym, OrderIsTotalAndOfStructure) {
  SymPool pool;
  std::vector<Dim> dims;
  for (const char* t :
       {"0",           "5",           "-1",   "a",    "b",    "a2",    "a10",       "a*2",       "a + 1",
        "a*b",         "a*a",         "a//2", "a//3", "b//2", "a % 2", "min(a, b)", "max(a, b)", "floor(1.5*a)",
        "ceil(1.5*a)", "floor(2.5*a)"})
    dims.push_back(parse_dim(t, pool));
  for (Dim a : dims)
    for (Dim b : dims) {
      EXPECT_EQ(compare(a, b), -compare(b, a));
      EXPECT_EQ(compare(a, b) == 0, a == b) << to_string(a) << " and " << to_string(b);
      for (Dim c : dims)
        if (compare(a, b) < 0 && compare(b, c) < 0) {
          EXPECT_LT(compare(a, c), 0);
        }
    }
}

// A rule that would overflow on the way is left out: the dim itself is fine.
TEST(Sym, RulesDoNotRefuseWhatTheDimAllows) {
  SymPool pool;
  for (const char* text : {"(a//4611686018427387904)//4", "(a*4611686018427387904 + a//9)//4611686018427387905",
                           "(a//(b*4611686018427387904))//4", "(a*b*4611686018427387904)//(b*3 + 1)",
                           "((a % b)*4611686018427387904 + a*4611686018427387904) % b"}) {
    Dim d;
    EXPECT_NO_THROW(d = parse_dim(text, pool)) << text;
    EXPECT_EQ(parse_dim(to_string(d), pool), d) << text;
  }
  Dim many = 0;
  for (int i = 0; i < 100; ++i) many += pool.symbol("m" + std::to_string(i)) * pool.symbol("x");
  EXPECT_NO_THROW(floor_div(many, pool.symbol("x") + pool.symbol("y") + 1));
}

// What hostile text can do: be refused.
TEST(Sym, DeepOrLargeExpressionsAreRefused) {
  SymPool pool;
  Dim s = pool.symbol("s");
  auto deepen = [&](auto step) {
    Dim d = s;
    for (int i = 0; i < 10000; ++i) d = step(d, i);
  };
  EXPECT_THROW(deepen([&](Dim d, int) { return max(floor_div(d, s), 1) + 1; }), UserError);
  EXPECT_THROW(deepen([&](Dim d, int) { return mod(d, s + 1) * d; }), UserError);
  EXPECT_THROW(deepen([&](Dim d, int) { return d * d; }), UserError);
  EXPECT_THROW(deepen([&](Dim d, int) { return (d + 1) * (d + s); }), UserError);
  EXPECT_THROW(deepen([&](Dim d, int) { return call(SymFn::floor_scale, d, 1.5); }), UserError);
  EXPECT_THROW(deepen([&](Dim d, int i) { return d + pool.symbol("t" + std::to_string(i)); }), UserError);
  EXPECT_THROW(deepen([&](Dim d, int i) { return d * pool.symbol("t" + std::to_string(i)); }), UserError);
  EXPECT_THROW(deepen([&](Dim d, int i) { return min(d, pool.symbol("t" + std::to_string(i))); }), UserError);
  EXPECT_THROW(parse_dim(std::string(100000, '('), pool), UserError);
  EXPECT_THROW(parse_dim(std::string(100000, '-'), pool), UserError);
  std::string nested = "s";
  for (int i = 0; i < 1000; ++i) nested = "min(" + nested + "//s, 3)";
  EXPECT_THROW(parse_dim(nested, pool), UserError);
}

TEST(Sym, LargeProductsStayProducts) {
  SymPool pool;
  Dim a = 0, b = 0;
  for (int i = 0; i < 8; ++i) {
    a += pool.symbol("a" + std::to_string(i));
    b += pool.symbol("b" + std::to_string(i));
  }
  Dim product = a * b;
  EXPECT_EQ(kind_of(product), SymKind::product);
  EXPECT_EQ(product, b * a);
  EXPECT_EQ(parse_dim(to_string(product), pool), product);
  EXPECT_EQ(floor_div(product, b), a);
  EXPECT_EQ(product - product, Dim(0));
  Values ones;
  for (int i = 0; i < 8; ++i) ones["a" + std::to_string(i)] = ones["b" + std::to_string(i)] = i;
  EXPECT_EQ(evaluate(product, lookup(ones)), 28 * 28);
}

// Read from the left a sum would be multiplied out with what stands before it.
TEST(Sym, ProductsOfLargeSumsReadBackAsTheyAre) {
  SymPool pool;
  std::vector<Dim> sums(4, Dim(0));
  for (size_t k = 0; k < sums.size(); ++k)
    for (int i = 0; i < 8; ++i) sums[k] += pool.symbol(std::string(1, static_cast<char>('a' + k)) + std::to_string(i));
  const Dim s = pool.symbol("s"), two = sums[0] * sums[1], four = two * (sums[2] * sums[3]);
  for (const Dim d : {two * s, two * s * 3 + s, two * two, four, four * s, two * s * s - 1}) {
    EXPECT_EQ(parse_dim(to_string(d), pool), d) << to_string(d);
    EXPECT_EQ(parse_dim(to_string(s * d), pool), s * d) << to_string(s * d);
  }
}

// Broadcasting of static shapes must cost nothing to speak of: a generous bound that a pool lookup would break.
TEST(Sym, ConstantsAreFast) {
  auto start = std::chrono::steady_clock::now();
  int64_t n = 2000000;
  Dim d = 1;
  for (int64_t i = 0; i < n; ++i) d = max(d, Dim(i)) + Dim(i) * 3 - floor_div(d, 3);
  auto spent = std::chrono::steady_clock::now() - start;
  EXPECT_TRUE(d.is_constant());
  EXPECT_LT(std::chrono::duration<double>(spent).count(), 1.0);
}

}  // namespace
}  // namespace lenz
