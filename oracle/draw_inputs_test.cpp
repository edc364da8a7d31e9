#include "oracle/draw_inputs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <set>

#include "compiler/graph/text.h"
#include "compiler/ops/call_maker.h"
#include "compiler/ops/op_table.h"
#include "compiler/ops/wants.h"
#include "compiler/scalar/rounding.h"
#include "oracle/demands.h"
#include "oracle/execute.h"
#include "oracle/tensors.h"

namespace lenz::oracle {
namespace {

std::vector<double> numbers(const RunValue& tensor) {
  Seen seen = look(tensor);
  std::vector<std::byte> bytes = elements_of(tensor);
  auto size = static_cast<size_t>(item_size(seen.dtype));
  std::vector<double> list;
  for (size_t at = 0; at < bytes.size(); at += size) {
    ScalarBits bits{};
    std::memcpy(bits.data(), bytes.data() + at, size);
    ScalarValue v = from_bits(seen.dtype, bits);
    list.push_back(v.kind() == ScalarKind::integer   ? static_cast<double>(v.integer())
                   : v.kind() == ScalarKind::complex ? std::abs(v.complex())
                                                     : v.real());
  }
  return list;
}

std::vector<std::vector<double>> drawn(std::string_view text, Values values = Values::ordinary, uint64_t seed = 0) {
  auto graph = parse_graph(text, op_table());
  Boxed boxed(DeviceKind::cpu);
  Binding binding;
  complete(binding, *graph);
  std::vector<std::vector<double>> lists;
  for (const RunValue& v : draw_inputs(*graph, boxed, binding, values, seed)) lists.push_back(numbers(v));
  return lists;
}

void expect_within(const std::vector<double>& list, double low, double high) {
  for (double v : list) {
    EXPECT_GE(v, low);
    EXPECT_LE(v, high);
  }
}

bool has_nan(const RunValue& value) {
  Seen seen = look(value);
  if (seen.kind == TypeKind::list) {
    for (size_t i = 0; i < seen.elements.size(); ++i)
      if (has_nan(element(value, static_cast<int64_t>(i)))) return true;
    return false;
  }
  if (seen.kind != TypeKind::tensor) return false;
  return std::ranges::any_of(numbers(value), [](double v) { return std::isnan(v); });
}

TEST(DrawInputs, IndicesStayInTheDimThatTheyIndex) {
  auto lists = drawn(R"(graph @g(%x: f32[3, 40], %i: i64[50], %j: i64[2, 6], %k: i64[9]) {
    %v = aten.view(%j, [12])
    %w = aten.add(%k, 1)
    %a = aten.index_select(%x, 1, %i)
    %b = aten.index_select(%x, 0, %v)
    %c = aten.index(%x, [none, %w])
    return %a, %b, %c
  })");
  expect_within(lists[1], 0, 39);
  EXPECT_GT(std::set<double>(lists[1].begin(), lists[1].end()).size(), 15u);
  expect_within(lists[2], 0, 2);
  expect_within(lists[3], 0, 38);
}

// An order that is an index too: whoever counts up to it would not get to where it raises.
TEST(DrawInputs, WhatIsCountedPointsBeyondByLittle) {
  const auto counted = drawn(R"(graph @g(%x: f32[64], %n: i64[64]) {
  %y = aten.special_laguerre_polynomial_l(%x, %n)
  %z = aten.index_select(%x, 0, %n)
  return %y, %z
})",
                             Values::beyond);
  expect_within(counted[1], -1024, 1024);
  EXPECT_TRUE(std::ranges::any_of(counted[1], [](double v) { return v < 0 || v > 63; }));
}

TEST(DrawInputs, IndicesPointBeyondWhereThatIsAskedFor) {
  std::string text =
      "graph @g(%x: f32[5], %i: i64[512], %j: u8[512], %n: i64[512]) {\n"
      "  %a = aten.index_select(%x, 0, %i) %k = aten.to(%j, i32) %b = aten.index_select(%x, 0, %k)\n"
      "  %m = aten.neg(%n) return %a, %b, %m }";
  const auto ordinary = drawn(text), beyond = drawn(text, Values::beyond);
  std::set<double> found;
  for (double v : beyond[1])
    if (v < 0 || v > 4) found.insert(v);
  EXPECT_TRUE(found.contains(5));
  EXPECT_TRUE(found.contains(-1));
  EXPECT_TRUE(std::ranges::any_of(found, [](double v) { return std::fabs(v) > 1e18; }));
  EXPECT_LT(std::ranges::count_if(beyond[1], [](double v) { return v < 0 || v > 4; }), 256);
  expect_within(beyond[2], 0, 255);
  EXPECT_TRUE(std::ranges::any_of(beyond[2], [](double v) { return v > 4; }));
  EXPECT_EQ(beyond[0], ordinary[0]);
  EXPECT_EQ(beyond[3], ordinary[3]) << "nothing is indexed by it";
}

// What sub-graphs ask of what they are handed: a table, its slices, a number of steps of a polynomial.
TEST(DrawInputs, SubgraphsAskOfWhatTheyAreHanded) {
  constexpr std::string_view kText = R"(
graph @g(%c: f32[3, 9], %i: i64[5, 4], %n: i32[4], %p: bool[], %j: i64[6]) {
  %r, %s = lenz.scan(@step, [%c], [%i], additional=[%n])
  %t = lenz.cond(%p, @yes, @no, [%c, %j])
  return %r, %s, %t
}
graph @step(%c: f32[s0, s1], %i: i64[4], %n: i32[4]) where s0 in 2..8, s1 in 2..9 {
  %a = aten.index_select(%c, 1, %i)
  %l = aten.special_laguerre_polynomial_l(3, %n)
  %d = aten.clone(%c)
  return %d, %l
}
graph @yes(%c: f32[3, 9], %j: i64[6]) {
  %a = aten.index_select(%c, 0, %j)
  return %a
}
graph @no(%c: f32[3, 9], %j: i64[6]) {
  %a = aten.index_select(%c, 0, %j)
  %b = aten.neg(%a)
  return %b
})";
  for (const Values values : {Values::ordinary, Values::special, Values::sorted}) {
    const auto lists = drawn(kText, values);
    expect_within(lists[1], 0, 8);
    expect_within(lists[2], -64, 64);
    expect_within(lists[4], 0, 2);
  }
}

TEST(DrawInputs, ValuesLieWhereTheirReadersAreDefined) {
  auto lists = drawn(R"(graph @g(%x: f32[64], %y: f32[64], %p: f64[64], %d: f32[8, 8], %n: i32[64], %s: f32[64]) {
    %l = aten.log(%x)
    %a = aten.mul(%y, 2.0)
    %b = aten.sqrt(%a)
    %q = aten.to(%p, dtype=f32)
    %c = aten.acosh(%q)
    %t = aten.transpose(%d, 0, 1)
    %e = aten.reciprocal(%t)
    %f = aten.remainder(%n, %n)
    %n1 = aten.mean(%s)
    %m = aten.rsqrt(%n1)
    return %l, %b, %c, %e, %f, %m
  })");
  expect_within(lists[0], 1e-3, 4);
  expect_within(lists[1], 0, 4);
  expect_within(lists[2], 1, 9);
  for (double v : lists[3]) EXPECT_GE(std::abs(v), 0.0625);
  for (double v : lists[4]) EXPECT_NE(v, 0);
  expect_within(lists[5], 0, 4);
}

TEST(DrawInputs, WhatNobodyRestrictsIsOfBothSigns) {
  for (std::string_view op : {"aten.layer_norm(%x, [8])", "aten.softmax(%x, -1)", "aten.gelu(%x)", "aten.var(%x)"}) {
    auto lists = drawn("graph @g(%x: f32[8, 8]) {\n  %r = " + std::string(op) + "\n  return %r\n}\n");
    EXPECT_LT(*std::ranges::min_element(lists[0]), -1) << op;
    EXPECT_GT(*std::ranges::max_element(lists[0]), 1) << op;
  }
}

TEST(DrawInputs, SpecialValuesAreAmongOrdinaryOnes) {
  constexpr std::string_view kText = "graph @g(%x: bf16[500], %n: i8[500]) {\n  return %x, %n\n}\n";
  auto lists = drawn(kText, Values::special);
  auto count = [&](auto&& is) { return std::ranges::count_if(lists[0], is); };
  EXPECT_GT(count([](double v) { return std::isnan(v); }), 5);
  EXPECT_GT(count([](double v) { return std::isinf(v) && v < 0; }), 3);
  EXPECT_GT(count([](double v) { return v == 0 && std::signbit(v); }), 3);
  EXPECT_GT(count([](double v) { return v != 0 && std::abs(v) < smallest_normal(Dtype::bf16); }), 3);
  EXPECT_GT(count([](double v) { return std::abs(v) == largest_finite(Dtype::bf16); }), 3);
  EXPECT_GT(count([](double v) { return std::abs(v) > 0.1 && std::abs(v) <= 4; }), 200);
  EXPECT_GT(count([](double v) { return std::abs(v) > 64 && std::abs(v) < 0x1p21; }), 10);
  EXPECT_GT(count([](double v) { return std::abs(v) < 0x1p-6 && std::abs(v) >= 0x1p-20; }), 10);
  EXPECT_THAT(lists[1], testing::Contains(-128));
  EXPECT_THAT(lists[1], testing::Contains(127));
}

TEST(DrawInputs, SpecialValuesSpareWhatStopsOrKillsEager) {
  auto lists = drawn(R"(graph @g(%x: f32[9], %i: i64[400], %n: i32[400], %m: i32[400], %h: f32[400]) {
    %a = aten.index_select(%x, 0, %i)
    %b = aten.floor_divide(%n, %m)
    %g = aten.to(%h, dtype=i64)
    %c = aten.index_select(%x, 0, %g)
    return %a, %b, %c
  })",
                     Values::special);
  expect_within(lists[1], 0, 8);
  EXPECT_THAT(lists[1], testing::Contains(0));
  EXPECT_THAT(lists[1], testing::Contains(8));
  EXPECT_THAT(lists[2], testing::Contains(-2147483648.0));
  for (double v : lists[3]) EXPECT_TRUE(v != 0 && v != -1);
  expect_within(lists[4], 0, 8.999);
}

TEST(DrawInputs, TheOtherModes) {
  constexpr std::string_view kText = "graph @g(%x: f32[4, 30], %n: i64[90]) {\n  return %x, %n\n}\n";
  for (const auto& list : drawn(kText, Values::ties)) EXPECT_LE(std::set<double>(list.begin(), list.end()).size(), 3u);
  for (const auto& list : drawn(kText, Values::constant))
    EXPECT_EQ(std::set<double>(list.begin(), list.end()).size(), 1u);
  EXPECT_TRUE(std::ranges::all_of(drawn(kText, Values::nan)[0], [](double v) { return std::isnan(v); }));
  EXPECT_TRUE(std::ranges::is_sorted(drawn(kText, Values::sorted)[1]));
}

// Where a step has its end, values lie on it.
TEST(DrawInputs, NumbersOfTheGraphAreAmongThem) {
  constexpr std::string_view kText =
      "graph @g(%x: f32[90]) {\n  %y = aten.threshold(%x, 0.3125, 7.5)\n  return %y\n}\n";
  for (const Values values : {Values::ties, Values::special}) {
    const std::vector<double> list = drawn(kText, values, 3)[0];
    EXPECT_TRUE(std::ranges::count(list, 0.3125) + std::ranges::count(list, 7.5) > 0) << name(values);
  }
}

TEST(DrawInputs, ASeedIsOneSetOfValues) {
  constexpr std::string_view kText = "graph @g(%x: f32[2, 3] strides [1, 2], %y: f32[7]) {\n  return %x, %y\n}\n";
  for (size_t mode = 0; mode < kValueModes; ++mode) {
    auto values = static_cast<Values>(mode);
    if (values == Values::nan) continue;  // they are all alike
    auto text = [&](uint64_t seed) { return testing::PrintToString(drawn(kText, values, seed)); };
    EXPECT_EQ(text(3), text(3));
    EXPECT_NE(text(3), text(4));
    EXPECT_EQ(parse_values(name(values)), values);
  }
}

TEST(DrawInputs, DeclaredValuesStay) {
  auto lists = drawn("graph @g(%x: f32[50] init uniform(10, 11), %n: i64[50] init integers(5, 6)) { return %x, %n }",
                     Values::special);
  expect_within(lists[1], 5, 6);
  EXPECT_GT(std::ranges::count_if(lists[0], [](double v) { return v >= 10 && v <= 11; }), 20);
}

// Calls of every row whose inputs say nothing of their values: what is drawn is as good as what the row's own
// generator draws, which knows the call.
TEST(DrawInputs, EveryRowGetsValuesThatItIsDefinedFor) {
  Boxed boxed(DeviceKind::cpu);
  size_t calls = 0, with_nan = 0, raised = 0;
  for (const auto& op : op_table().rows()) {
    if (!op->generate || op->has(Trait::structural) || op->variant != VariantKind::functional) continue;
    for (uint64_t i = 0; i < 4; ++i) {
      RandomChooser choose(i);
      auto graph = generate_call(*op, op_table(), choose);
      if (!graph) continue;
      auto run = [&](const std::vector<RunValue>& inputs) { return Executor(boxed).run(*graph, inputs); };
      Execution given = run(initial_inputs(*graph, boxed, {}));
      if (given.ending != Ending::finished || std::ranges::any_of(given.outputs, has_nan)) continue;
      for (size_t k = 0; k < graph->inputs().size(); ++k) graph->input(k).init = {};
      Execution got = run(draw_inputs(*graph, boxed, {}, Values::ordinary, i));
      ++calls;
      raised += got.ending != Ending::finished;
      with_nan += std::ranges::any_of(got.outputs, has_nan);
    }
  }
  EXPECT_GT(calls, 2500u);
  EXPECT_LE(raised * 1000, calls);   // counts of repeats that must add up
  EXPECT_LE(with_nan * 500, calls);  // no class is left, memory that nobody wrote
}

TEST(DrawInputs, ExactValuesReachWhatOnlyAnAliasShows) {
  auto graph = parse_graph(
      "graph @g(%a: f32[3, 4] alias m, %b: f32[3, 4] offset 6 alias m) { %s = aten.sum(%b) return %s }", op_table());
  Boxed boxed(DeviceKind::cpu);
  const RunValue b = draw_inputs(*graph, boxed, {}, Values::exact, 2)[1];
  const std::vector<std::byte> bytes = elements_of(b);
  std::vector<float> numbers(12);
  std::memcpy(numbers.data(), bytes.data(), bytes.size());
  for (float x : numbers) EXPECT_EQ(x, std::floor(x));
}

// What the graph itself gives as indices serves some sizes and not others.
TEST(DrawInputs, WhereNothingIsExactNumbersAreWholeIfTheirReadersTakeSeveral) {
  auto graph = parse_graph(R"(graph @g(
    %x: f32[40], %target: f32[40] init uniform(-0.5, 3.5, seed=1), %p: f32[40],
    %q: f32[40] init uniform(0.25, 0.75, seed=2)) {
  %0 = aten.poisson_nll_loss(%x, %target, true, true, 1e-08, 0)
  %1 = aten.logit(%p)
  %2 = aten.exp(%q)
  return %0, %1, %2
})",
                           op_table());
  Boxed boxed(DeviceKind::cpu);
  const std::vector<RunValue> made = InputSource(*graph, {}, Values::exact, 3).make(boxed);
  for (const size_t i : {0U, 1U}) {
    const std::vector<double> list = numbers(made[i]);
    EXPECT_TRUE(std::ranges::all_of(list, [](double x) { return x == std::floor(x); })) << i;
    EXPECT_GT(std::set<double>(list.begin(), list.end()).size(), 3U) << i;
  }
  expect_within(numbers(made[1]), 0, 3);
  for (const size_t i : {2U, 3U}) {
    const std::vector<double> list = numbers(made[i]);
    EXPECT_TRUE(std::ranges::none_of(list, [](double x) { return x == std::floor(x); })) << i;
  }
  expect_within(numbers(made[3]), 0.25, 0.75);
}

TEST(DrawInputs, IndicesThatTheGraphGivesMayPointBeyond) {
  auto beyond = [](std::string_view text, std::string_view sizes) {
    auto graph = parse_graph(text, op_table());
    return says_indices_beyond(*graph, parse_binding(std::string(sizes), *graph).lookup());
  };
  constexpr std::string_view kDeclared =
      "graph @g(%x: f32[s0, 3], %i: i64[5] init integers(0, 4)) { %y = aten.index_select(%x, 0, %i) return %y }";
  EXPECT_FALSE(beyond(kDeclared, "s0=5"));
  EXPECT_TRUE(beyond(kDeclared, "s0=4"));
  constexpr std::string_view kConstant =
      "graph @g(%x: f32[s0, 3]) { %i = lenz.constant(i64[3] [4, -1, 0]) %j = aten.reshape(%i, [3]) "
      "%y = aten.index_select(%x, 0, %j) return %y }";
  EXPECT_FALSE(beyond(kConstant, "s0=5"));
  EXPECT_TRUE(beyond(kConstant, "s0=2"));
}

}  // namespace
}  // namespace lenz::oracle
