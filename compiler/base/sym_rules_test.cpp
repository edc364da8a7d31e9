// The simplifications of the pool. Each rule is a row: both sides as text over metavariables (x, y, z: any dim; K, D,
// G: positive constants; C: any constant). Both sides must be the same dim with symbols for x, y, z (the rule fires),
// and the left side must keep its value with anything for them.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "compiler/base/sym_testing.h"

namespace lenz {
namespace {
using namespace sym_testing;

struct Rule {
  const char* lhs;
  const char* rhs;
};

constexpr Rule kSums[] = {
    {"x + y", "y + x"},         {"x + (y + z)", "(x + y) + z"},
    {"x + x", "2*x"},           {"x - x", "0"},
    {"K*x + D*x", "(K + D)*x"}, {"x + 0", "x"},
    {"C - (x - C)", "2*C - x"}, {"-(x - y)", "y - x"},
};
constexpr Rule kProducts[] = {
    {"x * y", "y * x"},
    {"x * (y * z)", "(x * y) * z"},
    {"x * (y + z)", "x*y + x*z"},
    {"(x + C) * (x - C)", "x*x - C*C"},
    {"x * 0", "0"},
    {"x * 1", "x"},
    {"(x + y) * (x + y)", "x*x + 2*x*y + y*y"},
};
constexpr Rule kDivisions[] = {
    {"x // 1", "x"},
    {"x // -1", "-x"},
    {"0 // x", "0"},
    {"x // x", "1"},
    {"(x*y) // x", "y"},
    {"x // -K", "(-x) // K"},
    {"x // (-y)", "(-x) // y"},
    {"x // (-y - z)", "(-x) // (y + z)"},
    {"x // (-y - K)", "(-x) // (y + K)"},
    {"(G*x) // (G*K)", "x // K"},
    {"(G*x) // (G*y)", "x // y"},
    {"(z*x) // (z*y)", "x // y"},
    {"(z*x + z*y) // (z*x)", "1 + y // x"},
    {"(G*x + C) // (G*K)", "(x + C // G) // K"},
    {"(K*x + y) // K", "x + y // K"},
    {"(K*x + C) // K", "x + C // K"},
    {"(x*y + z) // y", "x + z // y"},
    {"(x*y + z) // (x*x)", "(y*x + z) // (x*x)"},  // nothing to split
    {"(x*(y + 1) + 3) // (y + 1)", "x + 3 // (y + 1)"},
    {"((x + 1)*(y + 2)) // (y + 2)", "x + 1"},
    {"(C - x) // K", "-((x + K - 1 - C) // K)"},
    {"(x // D) // K", "x // (D*K)"},
    {"(x // y) // K", "x // (K*y)"},
    {"(x + y // D) // K", "(D*x + y) // (D*K)"},
    {"(x // D + C) // K", "(x + D*C) // (D*K)"},
    {"(x % K) // K", "0"},
    {"(x % K) // (K + D)", "0"},
    {"(x % K + K) // K", "1"},
};
constexpr Rule kRemainders[] = {
    {"x % 1", "0"},
    {"((x % 7500) // 50) % 50", "(x // 50) % 50"},
    {"(((x*2500 + y) % 7500) // 50) % 50", "(y // 50) % 50"},
    {"((x % 12) // 3) % 8", "((x % 12) // 3) % 8"},
    {"0 % x", "0"},
    {"x % x", "0"},
    {"(x*y) % x", "0"},
    {"x % -K", "-((-x) % K)"},
    {"x % (-y)", "-((-x) % y)"},
    {"x % (-y - z)", "-((-x) % (y + z))"},
    {"(G*x) % (G*K)", "G*(x % K)"},
    {"(G*x) % (G*y)", "G*(x % y)"},
    {"(z*x) % (z*y)", "z*(x % y)"},
    {"(G*x + C) % (G*K)", "G*((x + C // G) % K) + C % G"},
    {"(K*x + y) % K", "y % K"},
    {"(x + K*C) % K", "x % K"},
    {"(x*y + z) % y", "z % y"},
    {"(x*(y + 1) + 3) % (y + 1)", "3 % (y + 1)"},
    {"(x % K) % K", "x % K"},
    {"(x % (K*D)) % K", "x % K"},
    {"(x % K + y) % K", "(x + y) % K"},
    {"(D*(x % K) + y) % (D*K)", "(D*x + y) % (D*K)"},
    {"(x % y) % y", "x % y"},
    {"(C*(x % y) + z) % y", "(C*x + z) % y"},
    {"(x % K) % (K + D)", "x % K"},
};
constexpr Rule kExtremes[] = {
    {"min(x, y)", "min(y, x)"},
    {"max(x, y)", "max(y, x)"},
    {"min(min(x, y), z)", "min(x, min(y, z))"},
    {"max(max(x, y), z)", "max(x, max(y, z))"},
    {"min(x, x)", "x"},
    {"max(x, x)", "x"},
    {"min(x, C, C + K)", "min(x, C)"},
    {"max(x, C, C + K)", "max(x, C + K)"},
    {"min(x, x + K)", "x"},
    {"max(x, x + K)", "x + K"},
    {"min(x + C, x + C + K)", "x + C"},
    {"min(x, max(x, y))", "x"},
    {"max(x, min(x, y))", "x"},
    {"min(x % K, K)", "x % K"},
    {"max(x % K, 0)", "x % K"},
    {"max(min(x, C), C)", "C"},
    {"min(max(x, C + K), C)", "C"},
    {"min(x, y, x + K, y + D)", "min(x, y)"},
};

std::map<std::string, std::string, std::less<>> constants(Chooser& choose) {
  std::map<std::string, std::string, std::less<>> out;
  for (const char* name : {"K", "D", "G"}) out[name] = std::to_string(choose.between(2, 9));
  out["C"] = std::to_string(choose.between(-20, 20));
  return out;
}

void check_rule(const Rule& rule, Chooser& choose) {
  SymPool pool;
  auto with = constants(choose);
  std::string lhs = replace_names(rule.lhs, with), rhs = replace_names(rule.rhs, with);
  ASSERT_EQ(parse_dim(lhs, pool), parse_dim(rhs, pool)) << lhs << " gives " << to_string(parse_dim(lhs, pool)) << "\n"
                                                        << rhs << " gives " << to_string(parse_dim(rhs, pool));
  Grammar g;
  g.depth = 2;
  for (const char* name : {"x", "y", "z"}) with[name] = random_dim(choose, g);
  lhs = replace_names(rule.lhs, with);
  std::optional<Dim> built;
  try {
    built = parse_dim(lhs, pool);
  } catch (const UserError&) {
    return;  // a constant divisor is zero
  }
  for (int i = 0; i < 8; ++i) {
    Values values = random_values(choose, g, -12, 12);
    if (auto expected = compute(lhs, values)) {
      ASSERT_EQ(evaluate(*built, lookup(values)), expected) << lhs << " gives " << to_string(*built);
    }
  }
}

void check_rules(std::span<const Rule> rules) {
  for (const Rule& rule : rules) {
    for (uint64_t seed = 0; seed < 200; ++seed) {
      RandomChooser choose(seed);
      check_rule(rule, choose);
      if (testing::Test::HasFatalFailure()) {
        ADD_FAILURE() << "rule " << rule.lhs << " = " << rule.rhs << ", seed " << seed;
        break;
      }
    }
  }
}

TEST(SymRules, Sums) { check_rules(kSums); }
TEST(SymRules, Products) { check_rules(kProducts); }
TEST(SymRules, Divisions) { check_rules(kDivisions); }
TEST(SymRules, Remainders) { check_rules(kRemainders); }
TEST(SymRules, Extremes) { check_rules(kExtremes); }

// Any dim keeps its value, prints as text that reads back as the same dim, and is what rebuilding it gives.
void check_any(Chooser& choose, const Grammar& g) {
  SymPool pool;
  std::string text = random_dim(choose, g);
  std::optional<Dim> dim;
  try {
    dim = parse_dim(text, pool);
  } catch (const UserError&) {
    return;
  }
  ASSERT_EQ(parse_dim(to_string(*dim), pool), *dim) << text << " prints as " << to_string(*dim);
  ASSERT_EQ(substitute(*dim, pool, [](const SymNode*) { return std::nullopt; }), *dim)
      << text << " gives " << to_string(*dim);
  SymPool other;  // with its symbols in another order: the text does not depend on it
  for (auto name = g.names.rbegin(); name != g.names.rend(); ++name) other.symbol(*name);
  ASSERT_EQ(to_string(parse_dim(text, other)), to_string(*dim));
  for (int64_t reach : {3, 20, 1000}) {
    Values values = random_values(choose, g, -reach, reach);
    auto expected = compute(text, values);
    if (expected) {
      ASSERT_EQ(evaluate(*dim, lookup(values)), expected) << text << " gives " << to_string(*dim);
    }
  }
}

TEST(SymRules, AnyDimKeepsItsValue) {
  for (uint64_t seed = 0; seed < 20000 && !testing::Test::HasFatalFailure(); ++seed) {
    RandomChooser choose(seed);
    Grammar g;
    g.depth = 1 + static_cast<int>(seed % 5);
    check_any(choose, g);
  }
}

RC_GTEST_PROP(SymRulesProperty, AnyDimKeepsItsValue, (const std::vector<uint8_t>& bytes)) {
  BytesChooser choose(bytes);
  check_any(choose, {});
  RC_ASSERT(!testing::Test::HasFatalFailure());
}

// Sums, products, minima and maxima of the same parts are the same dim, however they are put together.
Dim fold_randomly(Chooser& choose, std::vector<Dim> parts, Dim (*join)(Dim, Dim)) {
  while (parts.size() > 1) {
    size_t i = choose.below(parts.size());
    std::swap(parts[i], parts.back());
    Dim last = parts.back();
    parts.pop_back();
    size_t j = choose.below(parts.size());
    parts[j] = choose.flip() ? join(parts[j], last) : join(last, parts[j]);
  }
  return parts[0];
}

TEST(SymRules, OrderOfConstructionDoesNotMatter) {
  Dim (*joins[])(Dim, Dim) = {[](Dim a, Dim b) { return a + b; }, [](Dim a, Dim b) { return a * b; },
                              [](Dim a, Dim b) { return min(a, b); }, [](Dim a, Dim b) { return max(a, b); }};
  for (uint64_t seed = 0; seed < 4000; ++seed) {
    RandomChooser choose(seed);
    auto join = joins[seed % 4];
    SymPool pool;
    Grammar g;
    g.depth = join == joins[1] ? 1 : 2;
    std::vector<Dim> parts;
    size_t count = static_cast<size_t>(choose.between(2, join == joins[1] ? 4 : 6));
    while (parts.size() < count) try {
        parts.push_back(parse_dim(random_dim(choose, g), pool));
      } catch (const UserError&) {
      }
    Dim first = fold_randomly(choose, parts, join), second = fold_randomly(choose, parts, join);
    std::string all;
    for (Dim d : parts) all += to_string(d) + "; ";
    ASSERT_EQ(first, second) << all << "\n" << to_string(first) << "\n" << to_string(second) << "\nseed " << seed;
  }
}

}  // namespace
}  // namespace lenz
