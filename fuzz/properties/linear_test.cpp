// Graphs that took quadratic time once, each by some other way to look through all of a program for each of its parts;
// and how the property makes the larger graph.
#include <gtest/gtest.h>

#include "fuzz/reduce.h"

namespace lenz::fuzz {
namespace {

std::optional<Failure> failure(const std::string& text) {
  return failure_alone(parse_case(text), std::vector{find_property("linear")});
}

// Whether axes may be one is proved of each nest by what was made of the whole program.
TEST(Linear, OpenSizes) {
  const auto wrong =
      failure("graph @g(%x: bool[s0, 1, s0]) where s0 in 2..64 {\n  %y = aten.clamp_max(%x, 0)\n  return %y\n}\n");
  EXPECT_FALSE(wrong) << wrong->detail;
}

// What is known of symbols was copied for each nest, with the symbols of all others.
TEST(Linear, ManyNestsOfOneOpenSize) {
  const auto wrong = failure(
      "graph @g(%a: f32[s0], %b: f32[s0], %c: f32[s0], %d: f32[s0]) {\n"
      "  %l = aten._foreach_addcmul([%a, %b], [%c, %d], [%d, %c], value=0.5)\n"
      "  %x = lenz.getitem(%l, 0)\n  %y = lenz.getitem(%l, 1)\n  return %x, %y\n}\n");
  EXPECT_FALSE(wrong) << wrong->detail;
}

// Tiles once looked for names among those of all tiles before.
TEST(Linear, Squares) {
  const auto wrong = failure(
      "# fuzz: values=ordinary seed=0 target=generic\n"
      "graph @g(%x: i64[11, 744] strides [1, 36] offset 1, %y: f32[11, 744]) {\n"
      "  %a = aten.special_spherical_bessel_j0(%x)\n  %b = aten.conj_physical(%y, out=%a)\n"
      "  %c = aten.tanh(%b)\n  return %b, %c\n}\n");
  EXPECT_FALSE(wrong) << wrong->detail;
}

// A graph beside itself has effects of both, in one order.
TEST(Linear, Effects) {
  const auto wrong = failure(
      "graph @g(%x: f32[1], %holds: f32[] init uniform(1.0, 4.0, seed=2)) {\n"
      "  %t = lenz.make_token()\n  %u = lenz.assert(%t, %holds, \"it holds\")\n"
      "  %y = aten.sin(%x)\n  %z = aten.cos(%x)\n  return %z\n}\n");
  EXPECT_FALSE(wrong) << wrong->detail;
}

// A node that takes long by itself: hundreds of it gave no answer.
TEST(Linear, FewOfWhatTakesLong) {
  const auto wrong = failure(
      "# fuzz: values=exact seed=2 sizes=s0=6,s1=4,s2=5,s3=9,s4=2,s5=3 target=avx2\n"
      "graph @g(%x: i32[2, s0, s0, s1, s2], %w: i32[s3, s4, s5, s5, 3]) where s0 in 0..64, s1 in 2..64, s2 in 2..64, "
      "s3 "
      "in 2..64, s4 in 0..64, s5 in 2..64 {\n"
      "  %y = aten.conv3d(%x, %w, padding=[s4, s4, s4], groups=s5)\n  %z = aten.neg(%y)\n  return %z\n}\n");
  EXPECT_FALSE(wrong) << wrong->detail;
}

}  // namespace
}  // namespace lenz::fuzz
