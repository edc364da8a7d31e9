// Where no proof is found, what users get in its place is judged; where one is to be found, that it is missing.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "compiler/graph/text.h"
#include "compiler/loops/clone.h"
#include "compiler/loops/text.h"
#include "compiler/ops/op_table.h"
#include "fuzz/case.h"

namespace lenz::fuzz {
namespace {

using testing::HasSubstr;

// Twice a product is at most the sum of the squares, which nothing proves.
const std::string kGraph =
    "graph @g(%a: f32[s0], %b: f32[s1], %x: f32[s0*s0 + s1*s1]) where s0 in 1..64, s1 in 1..64 {\n"
    "  %s = aten.slice(%x, dim=0, start=0, end=s0*s1*2)\n  %y = aten.neg(%s)\n  return %y\n}\n";

const std::string kSizes = "s0 in 1..64, s1 in 1..64";
loops::Program program(const std::string& primitive, const std::string& extent = "s0*s1*2",
                       const std::string& where = kSizes, const std::string& size = "s0*s0 + s1*s1") {
  return loops::parse_program("loops @g where " + where +
                                  " {\n  input %a: f32[s0]\n  input %b: f32[s1]\n  input %x: f32[" + size +
                                  "]\n  temp %y: f32[" + extent + "] placed\n  for i0 < " + extent +
                                  " \"aten.neg\" {\n    %0 = load %x[i0]\n    %1 = " + primitive +
                                  ".f32 %0\n    store %y[i0] = %1\n  }\n  return %y\n}\n",
                              op_table());
}

CaseResult result(std::optional<Failure> (*holds)(Subject&)) {
  const Property property{.name = "property", .contract = "", .holds = holds};
  const auto graph = parse_graph(kGraph, op_table());
  return CaseRunner({&property}, {}).run(*graph, Setting::parse("values=ordinary seed=3 sizes=s0=2,s1=3"));
}

// A case of which these are the loops, and what users get in their place.
std::optional<Failure> holds(Subject& subject, const loops::Program& made,
                             const std::function<loops::Program()>& users) {
  return failure_of(subject, {[&] { return loops::clone(made); }, "a test", users},
                    [&](const loops::Program& p) -> std::optional<Failure> {
                      oracle::Trial& trial = subject.trial();
                      if (auto mismatch = wrong(trial, p, trial.on_loops(p)))
                        return subject.failed("property", *mismatch);
                      return std::nullopt;
                    });
}

TEST(MissingProofs, OfProductsAreCounted) {
  const CaseResult r = result([](Subject& s) { return holds(s, program("neg"), [] { return program("neg"); }); });
  EXPECT_FALSE(r.failure) << r.failure->detail;
  EXPECT_EQ(r.end, CaseEnd::not_covered);
  EXPECT_EQ(r.not_covered, (std::map<std::string, uint64_t>{{std::string(kLacksProofs), 1}}));
}

TEST(MissingProofs, WhatUsersGetIsJudged) {
  const CaseResult r = result([](Subject& s) { return holds(s, program("neg"), [] { return program("abs"); }); });
  ASSERT_TRUE(r.failure);
  EXPECT_EQ(r.failure->property, "property");
  EXPECT_EQ(r.end, CaseEnd::found);
}

TEST(MissingProofs, WhatNothingProvesIsJudgedToo) {
  const CaseResult r = result([](Subject& s) { return holds(s, program("abs"), [] { return program("neg"); }); });
  EXPECT_TRUE(r.failure);
}

TEST(MissingProofs, OfLinearSizesAreFindings) {
  const CaseResult r =
      result([](Subject& s) { return holds(s, program("neg", "s0", kSizes, "s1"), [] { return program("neg"); }); });
  ASSERT_TRUE(r.failure);
  EXPECT_THAT(r.failure->symptom, HasSubstr("internal error"));
  EXPECT_THAT(r.failure->detail, HasSubstr("nothing proves 0 <= i0 < s1"));
}

TEST(MissingProofs, WhatIsProvedIsJudgedAlone) {
  const CaseResult r = result([](Subject& s) {
    return holds(s, program("neg", "s0*s1*2", kSizes + ", s0*s1*2 <= s0*s0 + s1*s1"),
                 []() -> loops::Program { throw InternalError("nobody asks for it"); });
  });
  EXPECT_FALSE(r.failure) << r.failure->detail;
  EXPECT_EQ(r.end, CaseEnd::held);
  EXPECT_TRUE(r.not_covered.empty());
}

}  // namespace
}  // namespace lenz::fuzz
