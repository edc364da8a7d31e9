// Every file of corpus/errors/loops breaks one thing and says in its first line which, as those of graphs do
// (compiler/graph/corpus_errors_test.cpp). What no text can break is broken here.
#include "compiler/loops/verify.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "compiler/graph/error_files_test.h"
#include "compiler/ops/op_table.h"

namespace lenz::loops {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> files(std::string_view prefix) { return error_files("corpus/errors/loops", prefix); }

TEST(ProgramErrors, TextsThatDoNotParse) {
  auto found = files("parse_");
  EXPECT_GE(found.size(), 13u);
  for (const fs::path& path : found) {
    std::string text = read_text(path, 1 << 20);
    try {
      parse_program(text, op_table(), {"f", {}, nullptr, nullptr});
      ADD_FAILURE() << path << " parses";
    } catch (const UserError& e) {
      EXPECT_THAT(e.what(), testing::StartsWith("f:" + expected_error(text))) << path;
    }
  }
}

// Rules that may lack a proof only.
bool only_unproved(int rule) { return rule == 406; }

TEST(ProgramErrors, ProgramsThatBreakJustOneRule) {
  std::set<int> covered;
  for (const fs::path& path : files("L")) {
    std::string text = read_text(path, 1 << 20);
    Program program = parse_program(text, op_table(), {path, {}, nullptr, nullptr});
    ProgramVerdict verdict = verify(program);
    int number = std::stoi(path.filename().string().substr(1));
    EXPECT_EQ(path.filename(), "L" + std::to_string(number) + "_" + std::string(program_rule(number).name) + ".loops");
    covered.insert(number);
    auto& broken = only_unproved(number) ? verdict.unproved : verdict.violations;
    auto& other = only_unproved(number) ? verdict.violations : verdict.unproved;
    ASSERT_FALSE(broken.empty()) << path;
    for (const ProgramFinding& f : broken) EXPECT_EQ(f.rule, number) << path << ": " << to_string(f);
    for (const ProgramFinding& f : other) ADD_FAILURE() << path << ": " << to_string(f);
    EXPECT_THAT("L" + std::to_string(broken[0].rule) + ": " + broken[0].message,
                testing::StartsWith(expected_error(text)))
        << path;
    VerifiedText told = verify_text(text, op_table(), "f");
    EXPECT_EQ(told.violations.size(), verdict.violations.size());
    for (const UserError& e : told.violations) EXPECT_THAT(e.what(), testing::StartsWith("f:"));
  }
  for (const ProgramRule& rule : program_rules())
    EXPECT_EQ(!rule.remedy.empty(), covered.contains(rule.number)) << "L" << rule.number << " " << rule.name;
}

Program parse(std::string_view text) { return parse_program(text, op_table()); }

std::vector<int> broken_rules(const Program& program) {
  std::vector<int> rules;
  for (const ProgramFinding& f : verify(program).violations) rules.push_back(f.rule);
  return rules;
}

constexpr std::string_view kCopy =
    "loops @p {\n  input %x: f32[8] placed\n  temp %y: f32[8]\n  for i0 < 8 {\n    %0 = load %x[i0]\n"
    "    %1 = neg.f32 %0\n    store %y[i0] = %1\n  }\n  return %y\n}\n";

TEST(ProgramErrors, WhatNoTextCanBreak) {
  auto broken = [](auto&& change) {
    Program p = parse(kCopy);
    change(p, std::get<Nest>(p.body.nodes[0].is));
    return broken_rules(p);
  };
  using testing::ElementsAre;
  EXPECT_THAT(broken([](Program&, Nest&) {}), ElementsAre());
  EXPECT_THAT(broken([](Program&, Nest& n) { n.body[0].buffer = 9; }), ElementsAre(101));
  EXPECT_THAT(broken([](Program&, Nest& n) { n.body[1].operands[0] = 1; }), ElementsAre(102));
  EXPECT_THAT(broken([](Program&, Nest& n) { n.stores[0].value = 7; }), ElementsAre(102));
  EXPECT_THAT(broken([](Program&, Nest& n) { n.body[1].operands.push_back(0); }), ElementsAre(103));
  EXPECT_THAT(broken([](Program&, Nest& n) { n.body[1].row = nullptr; }), ElementsAre(103));
  EXPECT_THAT(broken([](Program& p, Nest&) { p.inputs.clear(); }), ElementsAre(107));
  EXPECT_THAT(broken([](Program& p, Nest&) { p.body.nodes[0].is = If{0, nullptr, nullptr}; }), ElementsAre(103));
  EXPECT_THAT(broken([](Program& p, Nest&) { p.outputs[0].buffer = 5; }), ElementsAre(101));
  Program p = parse(kCopy);
  p.outputs[0].buffer = 7;
  EXPECT_THROW(require_valid(p, "a test"), InternalError);
  EXPECT_NO_THROW(require_valid(parse(kCopy), "a test"));
}

// --- what is proved, and what is not

struct Case {
  std::string_view declarations, nodes;
  std::vector<int> violations, unproved;
};

void expect_verdicts(std::span<const Case> cases) {
  for (const Case& c : cases) {
    std::string text =
        "loops @p where s0 in 2..64, s1 in 1..64 {\n  input %x: f32[s0, s1] placed\n"
        "  input %i: i64[s0] placed\n" +
        std::string(c.declarations) + std::string(c.nodes) + "}\n";
    ProgramVerdict verdict = verify(parse(text));
    std::vector<int> violations, unproved;
    std::string told;
    for (const ProgramFinding& f : verdict.violations) violations.push_back(f.rule), told += to_string(f) + "\n";
    for (const ProgramFinding& f : verdict.unproved) unproved.push_back(f.rule), told += to_string(f) + "\n";
    EXPECT_EQ(violations, c.violations) << text << told;
    EXPECT_EQ(unproved, c.unproved) << text << told;
  }
}

TEST(ProgramVerifier, Masks) {
  const std::string_view y = "  temp %y: f32[s0]\n";
  auto masked = [](std::string_view mask) {
    return "  for i0 < s0 {\n    %a = index[i0]\n    %b = index[s0 - 1]\n    %c = i64 1\n" + std::string(mask) +
           "    %v = load %x[i0 + 1, 0] if %m\n    store %y[i0] = %v\n  }\n  return %y\n";
  };
  std::string direct = masked("    %m = lt.i64 %a, %b\n");
  std::string negated = masked("    %n = ge.i64 %a, %b\n    %m = logical_not.bool %n\n");
  std::string both = masked(
      "    %n = ge.i64 %a, %c\n    %k = ne.i64 %a, %c\n    %j = gt.i64 %b, %a\n"
      "    %l = logical_and.bool %n, %j\n    %m = logical_and.bool %k, %l\n");
  std::string wrong = masked("    %m = le.i64 %a, %b\n");
  std::string either = masked("    %n = lt.i64 %a, %b\n    %k = lt.i64 %a, %c\n    %m = logical_or.bool %n, %k\n");
  std::string never = masked("    %m = bool false\n");
  const Case cases[] = {{y, direct, {}, {}},   {y, negated, {}, {}},   {y, both, {}, {}},
                        {y, wrong, {301}, {}}, {y, either, {301}, {}}, {y, never, {}, {}}};
  expect_verdicts(cases);
}

TEST(ProgramVerifier, Positions) {
  const std::string_view y = "  temp %y: f32[s0]\n";
  auto gather = [](std::string_view position, std::string_view mask) {
    return "  for i0 < s0 {\n    %a = load %i[i0]\n    %z = i64 0\n    %m = ge.i64 %a, %z\n    %p = position %a " +
           std::string(position) + "\n    %v = load %x[p0, 0]" + std::string(mask) +
           "\n    store %y[i0] = %v\n  }\n  return %y\n";
  };
  std::string checked = gather("< s0 as p0 wraps", ""), larger = gather("< s0 + 1 as p0", "");
  std::string same_mask = gather("< s0 as p0 if %m", " if %m"), no_mask = gather("< s0 as p0 if %m", "");
  // s0 may be what the position knows nothing of where its mask does not hold; 0 is inside as s0 is 2 at least.
  std::string scatter =
      "  for i0 < s0 {\n    %v = f32 0.0\n    store %y[i0] = %v\n  }\n"
      "  for i0 < s0 {\n    %a = load %i[i0]\n    %p = position %a < s0 as p0\n    %v = f32 1.0\n";
  std::string assign = scatter + "    store %y[p0] = %v\n  }\n  return %y\n";
  std::string distinct = scatter + "    store distinct %y[p0] = %v\n  }\n  return %y\n";
  std::string last = scatter + "    store scatter %y[p0] = %v\n  }\n  return %y\n";
  std::string add = scatter + "    store add %y[p0] = %v\n  }\n  return %y\n";
  const Case cases[] = {{y, checked, {}, {}},   {y, larger, {301}, {}}, {y, same_mask, {}, {}}, {y, no_mask, {}, {}},
                        {y, assign, {401}, {}}, {y, distinct, {}, {}},  {y, last, {}, {}},      {y, add, {}, {}}};
  expect_verdicts(cases);
}

TEST(ProgramVerifier, NothingHasToBeProvedOfStepsThatAreNeverTaken) {
  auto steps = [](std::string_view known) {
    return parse("loops @p where s0 in 0..64, s1 in 0..64, s1 == 1" + std::string(known) +
                 " {\n  input %x: f32[s0, s1]\n  input %i: f32[2]\n  temp %y: f32[s1]\n"
                 "  for i0 < s1 {\n    %v = f32 1.0\n    store %y[i0] = %v\n  }\n"
                 "  repeat t < s0 {\n    for i0 < s1 {\n      %v = load %i[t]\n      store %y[i0] = %v\n    }\n  }\n"
                 "  return %y\n}\n");
  };
  EXPECT_THAT(broken_rules(steps("")), testing::ElementsAre(301));
  EXPECT_THAT(broken_rules(steps(", s0 < s1")), testing::IsEmpty());
}

TEST(ProgramVerifier, Coverage) {
  const std::string_view flat = "  temp %y: f32[s0*s1]\n", cat = "  temp %y: f32[s0 + s1]\n",
                         stack = "  temp %y: f32[s0, s1]\n";
  auto fill = [](std::string_view axes, std::string_view index) {
    return "  for " + std::string(axes) + " {\n    %v = f32 1.0\n    store %y[" + std::string(index) + "] = %v\n  }\n";
  };
  const std::string done = "  return %y\n";
  std::string reshaped = fill("i0 < s0, i1 < s1", "i0*s1 + i1") + done;
  std::string holes = fill("i0 < s0, i1 < s1 - 1", "i0*s1 + i1") + done;
  std::string joined = fill("i0 < s0", "i0") + fill("i0 < s1", "i0 + s0") + done;
  std::string gap = fill("i0 < s0 - 1", "i0") + fill("i0 < s1", "i0 + s0") + done;
  std::string turned = fill("i0 < s1, i1 < s0", "s0 - 1 - i1, i0") + done;
  std::string rows = "  repeat t < s0 {\n" + fill("i0 < s1", "t, i0") + "  }\n" + done;
  std::string same_row = "  repeat t < s0 {\n" + fill("i0 < s1", "0, i0") + "  }\n" + done;
  std::string split = fill("i0 < s0*s1", "i0//s1, i0%s1") + done;
  std::string one_way = "  if %c {\n" + fill("i0 < s0, i1 < s1", "i0, i1") + "  }\n" + done;
  std::string both_ways = "  if %c {\n" + fill("i0 < s0, i1 < s1", "i0, i1") + "  } else {\n" +
                          fill("i0 < s1, i1 < s0", "i1, i0") + "  }\n" + done;
  std::string scattered = "  for i0 < s0, i1 < s1 {\n    %v = f32 1.0\n    store scatter %y[i0, i1] = %v\n  }\n" + done;
  std::string c = "  constant %c = bool[] [true]\n" + std::string(stack);
  const Case cases[] = {{flat, reshaped, {}, {}},     {flat, holes, {}, {406}},  {cat, joined, {}, {}},
                        {cat, gap, {}, {406}},        {stack, turned, {}, {}},   {stack, rows, {}, {}},
                        {stack, same_row, {}, {406}}, {stack, split, {}, {}},    {c, one_way, {}, {406}},
                        {c, both_ways, {}, {}},       {stack, scattered, {}, {}}};
  expect_verdicts(cases);
}

// What one phase of a kernel's point writes, another reads, and counts in another way: row by row, or as one row.
TEST(ProgramVerifier, PointsThatStayInTheirTiles) {
  const std::string_view y = "  temp %y: f32[64, 3]\n  temp %z: f32[64, 3]\n";
  auto phases = [](std::string_view read, std::string_view kernel = "t0 < 16", std::string_view row = "i0 + t0*4") {
    return "  kernel " + std::string(kernel) + " {\n    for i0 < 4, i1 < 3 {\n      %v = f32 1.0\n      store %y[" +
           std::string(row) + ", i1] = %v\n    }\n    for i2 < 12 {\n      %v = load %y[" + std::string(read) +
           "]\n      store %z[t0*4 + i2//3, i2 % 3] = %v\n    }\n  }\n  return %z\n";
  };
  const std::string own = phases("t0*4 + i2//3, i2 % 3"), turned = phases("t0*4 + i2 % 4, i2//4"),
                    next = phases("min(t0*4 + i2//3 + 1, 63), i2 % 3"), smaller = phases("t0*2 + i2//3, i2 % 3"),
                    wider = phases("t0*4 + i2//2, i2 % 2", "t0 < 15");
  const Case cases[] = {{y, own, {}, {}},
                        {y, turned, {}, {}},
                        {y, next, {407}, {}},
                        {y, smaller, {407}, {}},
                        {y, wider, {407}, {406, 406}}};
  expect_verdicts(cases);
}

// Other coordinates are no other places where elements share them: which one is written last is a matter of order.
TEST(ProgramVerifier, ElementsThatSharePlaces) {
  const std::string_view shared = "  temp %y: f32[4, 2] strides [1, 1] placed\n",
                         apart = "  temp %y: f32[4, 2] placed\n";
  const std::string store = "      %v = f32 1.0\n      store scatter %y[k0, k1] = %v\n    }\n", done = "  return %y\n";
  const std::string ordered = "    for k0 < 4, k1 < 2 {\n" + store + done,
                    lanes = "    for k0 < 4 lanes 4, k1 < 2 {\n" + store + done,
                    points = "  kernel k0 < 4 {\n    for k1 < 2 {\n" + store + "  }\n" + done;
  const Case cases[] = {{shared, ordered, {}, {}},
                        {apart, lanes, {}, {}},
                        {apart, points, {}, {}},
                        {shared, lanes, {408}, {}},
                        {shared, points, {407}, {}}};
  expect_verdicts(cases);
}

TEST(ProgramVerifier, ChecksAreFacts) {
  const std::string_view y = "  temp %y: f32[4]\n";
  std::string load = "  for i0 < 4 {\n    %v = load %x[i0, 0]\n    store %y[i0] = %v\n  }\n  return %y\n";
  std::string checked = "  check s0 >= 4 \"too few rows\"\n" + load;
  const Case cases[] = {{y, load, {301}, {}}, {y, checked, {}, {}}};
  expect_verdicts(cases);
}

}  // namespace
}  // namespace lenz::loops
