// What files of results say of memory: who shares it, how it lies, and how it is read.
#include "oracle/judge_results_test.h"

namespace lenz::oracle {
namespace {

using JudgeMemory = JudgeResults;

TEST_F(JudgeMemory, NoMemoryIsTakenForALayoutThatIsWrongAnyway) {
  const Arrays right = arrays_;
  for (const auto& [field, value] : std::vector<std::pair<const char*, nlohmann::json>>{
           {"offset", int64_t{1} << 55}, {"strides", {int64_t{1} << 50, 1}}, {"offset", 1'000'000'000}}) {
    arrays_ = right;
    nlohmann::json j = told(arrays_);
    j["out0"][field] = value;
    tell(arrays_, j);
    expect_wrong(Rung::metadata, "output 0");
    arrays_ = right;
    j = told(arrays_);
    j["s"][field] = field == std::string("offset") ? value : nlohmann::json{int64_t{1} << 50};
    tell(arrays_, j);
    expect_wrong(Rung::metadata, "input %s afterwards");
  }
}

TEST_F(JudgeMemory, WhatIsSaidOfAnInputsMemoryIsJudged) {
  const Arrays right = arrays_;
  const auto with = [&](const char* key, const char* field, const nlohmann::json& value) {
    arrays_ = right;
    nlohmann::json j = told(arrays_);
    j[key][field] = value;
    tell(arrays_, j);
  };
  with("s", "shares", "out0");
  expect_wrong(Rung::aliasing, "output 3");
  with("s", "shares", "x");
  expect_wrong(Rung::aliasing, "afterwards");
  with("s", "strides", {7});
  nlohmann::json j = told(arrays_);
  j["out3"]["strides"] = {7};
  tell(arrays_, j);
  expect_wrong(Rung::metadata, "output 3");
  j["out3"]["strides"] = {1};
  j["out3"].erase("shares");
  tell(arrays_, j);
  expect_wrong(Rung::metadata, "input %s afterwards");
  with("s", "sizes", {1, 5});
  EXPECT_THAT(refusal(), testing::HasSubstr("array s has another shape than the entry `lenz` says"));
  for (const char* key : {"s", "out0"}) {
    with(key, "strdies", {1});
    EXPECT_THAT(refusal(), testing::AllOf(testing::HasSubstr(std::string(key) + " has an unknown field strdies"),
                                          testing::HasSubstr("did you mean strides")));
    with(key, "shares", "nobody");
    EXPECT_THAT(refusal(), testing::HasSubstr("shares memory with nobody, which is no other tensor of the run"));
  }
  arrays_ = right;
  j = told(arrays_);
  j["out1"] = 5;
  tell(arrays_, j);
  EXPECT_THAT(refusal(), testing::HasSubstr("the entry `lenz`: out1 is no object"));
}

TEST_F(JudgeMemory, WrongElementsWhereSharingIsAssumedAreWrong) {
  graph_ = parse_graph(R"(graph @g(%x: f32[8]) {
    %b = aten.add(%x, 1.0) %c = aten.slice(%b, 0, 0, 4) %e = aten.expand(%b, [2, 8])
    return %b, %c, %e
  })",
                       op_table());
  computed_by_eager();
  drop(arrays_, "lenz");
  const Arrays right = arrays_;
  EXPECT_EQ(judged().code, ExitCode::fine);
  number("out1", 2) += 1;
  expect_wrong(Rung::bound, "output 1");
  arrays_ = right;
  number("out2", 9) += 1;
  expect_wrong(Rung::metadata, "output 2");
}

// Views that conjugate or negate when they are read, of an input and of what is computed, in memory that others read
// as it is.
TEST_F(JudgeMemory, LazyViewsHoldInMemoryWhatTheyAreReadFrom) {
  graph_ = parse_graph(R"(graph @g(%x: c64[2, 3] mut) {
    %w = aten.mul_(%x, 2.0) %y = aten.mul(%x, 3.0) %c = aten.conj(%x) %a = aten.adjoint(%y) %i = aten.imag(%c)
    return %c, %x, %a, %y, %i
  })",
                       op_table());
  computed_by_eager();
  ResultsVerdict own = judged();
  EXPECT_EQ(own.code, ExitCode::fine) << (own.mismatch ? own.mismatch->summary() : own.why);
  const Arrays right = arrays_;
  number("out2", 1) *= -1;  // read as it lies in memory
  EXPECT_THAT(refusal(), testing::HasSubstr("contradicts"));
  arrays_ = right;
  nlohmann::json j = told(arrays_);
  j["out4"]["lazy"] = {"conjugate"};
  tell(arrays_, j);
  EXPECT_THAT(refusal(), testing::HasSubstr("not read so lazily"));
  j["out4"]["lazy"] = "negate";
  tell(arrays_, j);
  EXPECT_THAT(refusal(), testing::HasSubstr("no list"));
  arrays_ = right;
  drop(arrays_, "lenz");  // of whoever says nothing
  EXPECT_EQ(judged().code, ExitCode::fine);
}

// Whoever asks for the memory would get other numbers.
TEST_F(JudgeMemory, WhatIsReadLazilyIsWhatEagerReadsSo) {
  graph_ =
      parse_graph("graph @g(%x: c64[3] init uniform(1, 2)) { %y = aten.mul(%x, 2.0) %c = aten.conj(%x) return %y, %c }",
                  op_table());
  computed_by_eager();
  ASSERT_EQ(judged().code, ExitCode::fine);
  const Arrays right = arrays_;
  nlohmann::json j = told(arrays_);
  j["out0"]["lazy"] = {"negate"};
  tell(arrays_, j);
  ResultsVerdict verdict = judged();
  ASSERT_TRUE(verdict.mismatch);
  EXPECT_EQ(verdict.mismatch->rung, Rung::metadata);
  EXPECT_THAT(verdict.mismatch->summary(), testing::HasSubstr("read lazily negated"));
  j["out0"]["lazy"] = {"negate", "negate"};
  tell(arrays_, j);
  EXPECT_THAT(refusal(), testing::HasSubstr("no list"));
  arrays_ = right;
  j = told(arrays_);
  j["out1"].erase("lazy");
  j["out1"].erase("shares");
  tell(arrays_, j);
  verdict = judged();
  ASSERT_TRUE(verdict.mismatch);
  EXPECT_EQ(verdict.mismatch->rung, Rung::metadata);
}

// An element that is written several times is what the last write made, and which one that is nobody says.
TEST_F(JudgeMemory, WritesToElementsThatShareMemoryHangOnTheirOrder) {
  graph_ = parse_graph(
      "graph @g(%x: f64[3, 7] strides [1, 2] mut init uniform(2, 4, seed=1)) { %y = aten.acosh(%x, out=%x) return %y }",
      op_table());
  computed_by_eager();
  for (const char* key : {"x", "out0"}) {
    auto* numbers = reinterpret_cast<double*>(array(arrays_, key).bytes.data());
    for (size_t i = 0; i < 21; ++i) numbers[i] = 0.25;
  }
  const ResultsVerdict other = judged();
  EXPECT_EQ(other.code, ExitCode::not_covered);
  EXPECT_THAT(other.why, testing::HasSubstr("share places: aten.acosh.out"));
}

}  // namespace
}  // namespace lenz::oracle
