// Files of results: right ones, wrong ones, and files that are no results.
#include "oracle/judge_results_test.h"

#include <functional>

#include "compiler/base/json_schema.h"
#include "oracle/commands.h"
#include "oracle/element_compare.h"
#include "oracle/tensors.h"

namespace lenz::oracle {
namespace {

TEST_F(JudgeResults, RightOnesAgree) {
  ResultsVerdict v = judged();
  EXPECT_EQ(v.code, ExitCode::fine) << v.why << (v.mismatch ? v.mismatch->summary() : "");
  EXPECT_TRUE(v.untold.empty());
  EXPECT_GT(v.shares.strong * 10, v.shares.elements * 9);
}

TEST_F(JudgeResults, ARoundingIsRightAndAWrongElementIsNot) {
  number("out0", 7) = std::nextafter(number("out0", 7), 100.0F);
  EXPECT_EQ(judged().code, ExitCode::fine);
  number("out0", 7) += 0.01F;
  expect_wrong(Rung::bound, "output 0");
}

TEST_F(JudgeResults, EveryRungIsAsked) {
  Arrays right = arrays_;
  number("out0", 2) = NAN;
  expect_wrong(Rung::special, "output 0");
  arrays_ = right;
  number("s", 1) += 1, number("out3", 1) += 1;  // the same memory
  expect_wrong(Rung::bound, "output 3");
  arrays_ = right;
  nlohmann::json j = told(arrays_);
  j["out0"]["strides"] = {3, 1};
  tell(arrays_, j);
  expect_wrong(Rung::metadata, "output 0");
  arrays_ = right;
  j = told(arrays_);
  j["out3"].erase("shares");
  tell(arrays_, j);
  expect_wrong(Rung::aliasing, "input %s afterwards");
  arrays_ = right;
  tell(arrays_, {{"ending", "raised"}});
  expect_wrong(Rung::ending, "the run");
  EXPECT_EQ(judged().mismatch->got, "raised");
  arrays_ = right;
  drop(arrays_, "lenz");
  array(arrays_, "s").shape = {1, 5};
  expect_wrong(Rung::metadata, "input %s afterwards");
}

TEST_F(JudgeResults, WhatTheFileDoesNotSayIsNotJudged) {
  drop(arrays_, "lenz");
  ResultsVerdict v = judged();
  EXPECT_EQ(v.code, ExitCode::fine) << (v.mismatch ? v.mismatch->summary() : "");
  EXPECT_THAT(v.untold, testing::Contains("the layout of out0"));
  EXPECT_EQ(v.untold_together, "the layouts of out0 to out3; who shares memory");
}

TEST_F(JudgeResults, BitsAreTakenForTheDtypesThatNumpyLacks) {
  constexpr std::string_view kNarrow = R"(graph @g(%x: f32[32] init normal(0, 1, seed=1)) {
    %e = aten.to(%x, dtype=f8e4m3) %b = aten.to(%x, dtype=bf16)
    return %e, %b
  })";
  graph_ = parse_graph(kNarrow, op_table());
  computed_by_eager();
  drop(arrays_, "lenz");
  for (const Dtype of_numpy : {Dtype::u8, Dtype::i8}) {
    array(arrays_, "out0").raw_bits = 0;
    array(arrays_, "out0").dtype = of_numpy;
    EXPECT_EQ(judged().code, ExitCode::fine) << name(of_numpy);
  }
  array(arrays_, "out1").raw_bits = 0;
  array(arrays_, "out1").dtype = Dtype::i16;
  EXPECT_EQ(judged().code, ExitCode::fine);
  array(arrays_, "out1").dtype = Dtype::f16;
  expect_wrong(Rung::metadata, "output 1");
  array(arrays_, "out1").dtype = Dtype::i16;
  array(arrays_, "out0").bytes[3] ^= std::byte{1};
  expect_wrong(Rung::bitwise, "output 0");
}

TEST_F(JudgeResults, FilesThatAreNoResultsAreRefused) {
  Arrays right = arrays_;
  nlohmann::json description = told(arrays_);
  description["ending"] = "foo";
  tell(arrays_, description);
  EXPECT_THAT(refusal(), testing::HasSubstr("ending is neither"));
  description["ending"] = "finished";
  description["out9"] = {{"dtype", "f32"}};
  tell(arrays_, description);
  EXPECT_THAT(refusal(), testing::HasSubstr("speaks of out9, of which the file has no array"));
  description.erase("out9");
  description["out0"]["strides"] = {int64_t{1} << 61, int64_t{1} << 61};
  tell(arrays_, description);
  EXPECT_THAT(refusal(), testing::HasSubstr("of out0 it claims a tensor of more bytes than there are numbers for"));
  arrays_ = right;
  drop(arrays_, "out1");
  EXPECT_THAT(refusal(), testing::HasSubstr("it lacks out1, which the graph returns: bf16[3, 5]"));
  arrays_ = right;
  drop(arrays_, "s");
  EXPECT_THAT(refusal(), testing::HasSubstr("it lacks s, an input that the graph writes to"));
  arrays_ = right;
  arrays_.emplace_back("out9", array(arrays_, "out0"));
  EXPECT_THAT(refusal(), testing::HasSubstr("no output or input out9"));
  arrays_ = right;
  array(arrays_, "out0").dtype = Dtype::f64;
  array(arrays_, "out0").bytes.resize(5 * 3 * 8);
  EXPECT_THAT(refusal(), testing::HasSubstr("array out0 does not hold what the entry `lenz` says"));
  arrays_ = right;
  number("s", 0) += 1;
  EXPECT_THAT(refusal(), testing::HasSubstr("contradicts"));
  for (const char* field : {"strides", "sizes", "offset", "shares", "dtype"}) {
    arrays_ = right;
    nlohmann::json j = told(arrays_);
    j["out0"][field] = -1;
    tell(arrays_, j);
    EXPECT_THAT(refusal(), testing::HasSubstr(field));
  }
}

TEST_F(JudgeResults, TheCommandSaysItInItsExitCode) {
  auto code = [&](const std::string& results) {
    std::vector<std::string> args = {folder_ + "g.lenz", "--seed", "3", "--against", results, "--json"};
    testing::internal::CaptureStdout();
    ExitCode code = ExitCode::our_fault;
    try {
      code = graph_check_command(args);
    } catch (const Error& error) {
      code = error.exit_code();
    }
    std::string text = testing::internal::GetCapturedStdout();
    if (!text.empty()) {
      std::ifstream file(std::string(LENZ_SOURCE_DIR) + "/oracle/judge_results.schema.json");
      auto violations = schema_violations(nlohmann::json::parse(text), nlohmann::json::parse(file));
      EXPECT_TRUE(violations.empty()) << violations[0];
    }
    return code;
  };
  EXPECT_EQ(code(options_.results), ExitCode::fine);
  number("out0", 0) += 1;
  write_npz(options_.results, arrays_);
  EXPECT_EQ(code(options_.results), ExitCode::wrong);
  EXPECT_EQ(code("/no/such/file.npz"), ExitCode::bad_input);
  std::ifstream whole(options_.results, std::ios::binary);
  std::string bytes((std::istreambuf_iterator<char>(whole)), {});
  std::ofstream(folder_ + "cut.npz", std::ios::binary) << bytes.substr(0, bytes.size() / 2);
  EXPECT_EQ(code(folder_ + "cut.npz"), ExitCode::bad_input);
}

TEST_F(JudgeResults, OpenSizesAreNobodysFault) {
  // Of numbers that are one but for their last places two may come out; of certain ones not.
  auto code_of_two = [&](const std::string& op) {
    graph_ =
        parse_graph("graph @g(%x: f32[1] init uniform(1, 2, seed=1)) {\n  %e = aten.expand(%x, [8])\n  %a = " + op +
                        "(%e)\n  %u: f32[u0], %i: i64[0], %c: i64[0] = aten._unique2(%a)\n  return %u\n}\n",
                    op_table());
    computed_by_eager();
    drop(arrays_, "lenz");
    NpyArray& found = array(arrays_, "out0");
    EXPECT_FALSE(judged().mismatch);
    found.shape = {2};
    found.bytes.resize(8);
    const float next = std::nextafter(number("out0", 0), 100.0F);
    std::memcpy(found.bytes.data() + 4, &next, sizeof next);
    return judged().code;
  };
  EXPECT_EQ(code_of_two("aten.neg"), ExitCode::wrong);
  EXPECT_EQ(code_of_two("aten.exp"), ExitCode::not_covered);
}

TEST_F(JudgeResults, AnOpenTruthIsZeroOrOne) {
  graph_ = parse_graph(R"(graph @g(%x: f32[1000], %y: f32[100]) {
    %s = aten.sum(%x) %t = aten.flip(%x, [0]) %u = aten.sum(%t)
    %d = aten.gt(%s, %u) %e = aten.neg(%y) %f = aten.gt(%e, %y) %p = aten.expand(%d, [4]) %c = aten.cat([%p, %f])
    return %c
  })",
                       op_table());
  computed_by_eager();
  auto& first = array(arrays_, "out0").bytes[0];
  first ^= std::byte{1};
  EXPECT_EQ(judged().code, ExitCode::fine);
  first = std::byte{3};
  expect_wrong(Rung::bitwise, "output 0");
}

TEST_F(JudgeResults, WhatCannotBeJudgedIsSixAndSaidInWords) {
  // Whether the inverse of a root of 1 is greater is open, and so is every element that hangs on it.
  constexpr std::string_view kOpen = R"(graph @g(%x: f32[40] init ones) {
    %e = aten.rsqrt(%x) %c = aten.gt(%e, 1.0) %w = aten.where(%c, %e, 5.0)
    return %w
  })";
  std::ofstream(folder_ + "open.lenz") << kOpen;
  auto graph = parse_graph(kOpen, op_table());
  Boxed boxed(DeviceKind::cpu);
  Execution run = Executor(boxed).run(*graph, draw_inputs(*graph, boxed, {}, Values::ordinary, 0));
  write_results(folder_ + "open.npz", *graph, run);
  auto said = [&](std::vector<std::string> args) {
    testing::internal::CaptureStdout();
    EXPECT_EQ(graph_check_command(args), ExitCode::not_covered);
    return testing::internal::GetCapturedStdout();
  };
  EXPECT_EQ(static_cast<int>(ExitCode::not_covered), 6);
  EXPECT_THAT(said({folder_ + "open.lenz", "--against", folder_ + "open.npz"}),
              testing::AllOf(testing::HasSubstr("not covered"), testing::HasSubstr("weak: 40 of 40")));
  EXPECT_THAT(said({folder_ + "g.lenz", "--seed", "3", "--against", options_.results, "--mem-limit", "64"}),
              testing::AllOf(testing::HasSubstr("not covered"), testing::HasSubstr("memory")));
}

TEST_F(JudgeResults, NaNInEveryInputIsExpectedInEveryResult) {
  constexpr std::string_view kText =
      "graph @g(%x: f32[4], %y: f32[4]) { %s = aten.add(%x, %y) %m = aten.amax(%s) return %s, %m }";
  std::ofstream(folder_ + "nan.lenz") << kText;
  const std::vector<std::byte> nans(16, std::byte{0xFF});
  Arrays arrays;
  for (const char* name : {"x", "y"}) arrays.emplace_back(name, NpyArray{Dtype::f32, 0, {4}, nans});
  write_npz(folder_ + "nan_in.npz", arrays);
  auto graph = parse_graph(kText, op_table());
  Boxed boxed(DeviceKind::cpu);
  std::vector<RunValue> inputs = draw_inputs(*graph, boxed, {}, Values::ordinary, 0);
  const std::vector<RunValue> numbers = draw_inputs(*graph, boxed, {}, Values::ordinary, 0);
  for (RunValue& v : inputs) set_elements(v, nans);
  auto judged = [&](std::span<const RunValue> given) {
    write_results(folder_ + "nan_out.npz", *graph, Executor(boxed).run(*graph, given));
    std::vector<std::string> args{folder_ + "nan.lenz", "--inputs", folder_ + "nan_in.npz", "--against",
                                  folder_ + "nan_out.npz"};
    testing::internal::CaptureStdout();
    const ExitCode code = graph_check_command(args);
    testing::internal::GetCapturedStdout();
    return code;
  };
  EXPECT_EQ(judged(inputs), ExitCode::fine);
  EXPECT_EQ(judged(numbers), ExitCode::wrong);
}

TEST_F(JudgeResults, InputsMayHaveTheNamesOfResults) {
  graph_ = parse_graph(R"(graph @g(%out1: f32[3], %out0: f32[3] mut, %lenz: f32[3] mut) {
    %a = aten.add_(%out0, %out1) %b = aten.neg(%lenz) %c = aten.add_(%lenz, 1.0)
    return %b, %a
  })",
                       op_table());
  Boxed boxed(DeviceKind::cpu);
  const std::vector<RunValue> inputs = draw_inputs(*graph_, boxed, {}, Values::ordinary, 3);
  Arrays given;
  for (size_t i = 0; i < 3; ++i)
    given.emplace_back(graph_->value_name(graph_->inputs()[i].value).substr(1), to_npy(inputs[i]));
  write_npz(folder_ + "x.npz", given);  // plain names are read
  options_.inputs = folder_ + "x.npz";
  write_results(options_.results, *graph_, Executor(boxed).run(*graph_, inputs));
  NpzReader reader(options_.results);
  EXPECT_THAT(reader.keys(), testing::UnorderedElementsAre("%lenz", "%out0", "lenz", "out0", "out1"));
  arrays_.clear();
  for (const std::string& key : reader.keys()) arrays_.emplace_back(key, reader.read(key));
  ResultsVerdict v = judged();
  EXPECT_EQ(v.code, ExitCode::fine) << v.why << (v.mismatch ? v.mismatch->summary() : "");
  EXPECT_TRUE(v.untold.empty());
  number("%lenz", 1) += 1;
  expect_wrong(Rung::bound, "input %lenz afterwards");
  // As inputs, results are no outputs: what a run left in %out0.
  Binding binding;
  const std::vector<RunValue> after = read_inputs(options_.results, *graph_, boxed, binding, 3);
  EXPECT_EQ(elements_of(after[1]), array(arrays_, "%out0").bytes);
  EXPECT_EQ(elements_of(after[0]), array(given, "out1").bytes);
}

// Where eager is known to be off its own elements are known for it; others are no better for that.
TEST_F(JudgeResults, WhatEagerIsKnownForIsNobodyElses) {
  graph_ = parse_graph(
      "graph @g(%a: f32[30, 3] init normal(0, 1, seed=1), %b: f32[40, 3] init normal(0, 1, seed=2)) { "
      "%z = aten._cdist_forward(%a, %b, 2.0, none) return %z }",
      op_table());
  computed_by_eager();
  ResultsVerdict own = judged();
  EXPECT_EQ(own.code, ExitCode::fine);
  EXPECT_NE(own.known, "");
  number("out0", 17) *= 1.001F;
  expect_wrong(Rung::bound, "output 0");
  for (size_t i = 0; i < 1200; ++i) number("out0", i) = 0;
  expect_wrong(Rung::bound, "output 0");
}

// In which order elements come whose order nobody asked for is nobody's fault, and nobody's merit.
TEST_F(JudgeResults, AnOrderThatIsLeftOpenIsNotJudged) {
  graph_ = parse_graph("graph @g(%x: f32[40]) { %a, %i = aten.topk(%x, 5, 0, true, false) return %a, %i }", op_table());
  computed_by_eager();
  EXPECT_EQ(judged().code, ExitCode::fine);
  std::swap(number("out0", 0), number("out0", 4));
  const ResultsVerdict other = judged();
  EXPECT_EQ(other.code, ExitCode::not_covered);
  EXPECT_NE(other.why.find("leaves that open"), std::string::npos) << other.why;
}

// A kernel beside which eager's others differ by much opens no element.
TEST_F(JudgeResults, SmallResultsOfUncertainOperandsAreNumbersToo) {
  graph_ = parse_graph(
      "graph @g(%x: bf16[64] init uniform(-14, -12, seed=1)) { %y = aten.mul(%x, 1.013) %z = aten.sigmoid(%y) "
      "%p = aten.pow.Tensor_Scalar(%z, 2.5) return %z, %p }",
      op_table());
  computed_by_eager();
  EXPECT_EQ(judged().code, ExitCode::fine);
  for (const char* key : {"out0", "out1"}) {
    const Arrays right = arrays_;
    auto& bits = reinterpret_cast<uint16_t*>(array(arrays_, key).bytes.data())[7];
    bits = 0x3f80;  // 1
    EXPECT_EQ(judged().code, ExitCode::wrong) << key;
    arrays_ = right;
  }
}

TEST_F(JudgeResults, ABoolIsZeroOrOne) {
  graph_ = parse_graph(R"(graph @g(%b: bool[2, 3] init ones) {
    %n = aten.logical_and(%b, %b) %t = aten.transpose(%n, 0, 1)
    return %t
  })",
                       op_table());
  Boxed boxed(DeviceKind::cpu);
  const std::vector<RunValue> inputs = draw_inputs(*graph_, boxed, {}, Values::ordinary, 3);
  Execution run = Executor(boxed).run(*graph_, inputs);
  write_results(options_.results, *graph_, run);
  NpzReader reader(options_.results);
  arrays_.clear();
  for (const std::string& key : reader.keys()) arrays_.emplace_back(key, reader.read(key));
  EXPECT_EQ(judged().code, ExitCode::fine);
  for (int byte : {2, 255}) {
    array(arrays_, "out0").bytes[1] = static_cast<std::byte>(byte);
    expect_wrong(Rung::bitwise, "output 0");
    EXPECT_EQ(judged().mismatch->got, std::to_string(byte));
  }
  // In other comparisons too, and in no order of memory.
  Execution spoilt = Executor(boxed).run(*graph_, inputs);
  set_elements(spoilt.outputs[0], std::vector<std::byte>(6, std::byte{255}));
  std::optional<Mismatch> m = compare_runs(*graph_, run, spoilt);
  ASSERT_TRUE(m);
  EXPECT_EQ(m->wrong, 6U);
  EXPECT_EQ(m->got, "255");
  EXPECT_TRUE(first_apart(run.outputs[0], spoilt.outputs[0], {}));
  write_npz(folder_ + "x.npz", Arrays{{"b", NpyArray{Dtype::b8, 0, {2, 3}, std::vector<std::byte>(6, std::byte{2})}}});
  Binding binding;
  EXPECT_THROW(read_inputs(folder_ + "x.npz", *graph_, boxed, binding, 3), UserError);
}

TEST_F(JudgeResults, NumbersAreJudged) {
  graph_ = parse_graph(R"(graph @g(%i: i64[], %x: f32[2], %b: bool[1]) {
    %u: int u0 = aten._local_scalar_dense(%i)
    %y = aten.neg(%x)
    %s = aten.sum(%y)
    %f: float = aten._local_scalar_dense(%s)
    %t: bool = aten._local_scalar_dense(%b)
    return %u, %y, %f, %t
  })",
                       op_table());
  computed_by_eager();
  const Arrays right = arrays_;
  ResultsVerdict v = judged();
  EXPECT_EQ(v.code, ExitCode::fine) << v.why << (v.mismatch ? v.mismatch->summary() : "");
  EXPECT_TRUE(v.untold.empty());
  EXPECT_EQ(v.shares.elements, 5U);
  array(arrays_, "out0").bytes[0] ^= std::byte{1};
  expect_wrong(Rung::bitwise, "output 0");
  arrays_ = right;
  array(arrays_, "out2").bytes[7] ^= std::byte{0x80};
  expect_wrong(Rung::bound, "output 2");
  arrays_ = right;
  array(arrays_, "out3").bytes[0] ^= std::byte{1};
  expect_wrong(Rung::bitwise, "output 3");
  array(arrays_, "out3").bytes[0] = std::byte{255};
  expect_wrong(Rung::metadata, "output 3");
  arrays_ = right;
  array(arrays_, "out0") = array(arrays_, "out2");
  expect_wrong(Rung::metadata, "output 0");
  array(arrays_, "out0").shape = {1};
  EXPECT_THAT(refusal(), testing::HasSubstr("array out0 is no number"));
  arrays_ = right;
  for (const char* key : {"out0", "out2", "out3"}) drop(arrays_, key);
  v = judged();
  EXPECT_EQ(v.code, ExitCode::fine);
  EXPECT_EQ(v.shares.elements, 2U);
  EXPECT_THAT(v.untold, testing::ElementsAre("the number out0", "the number out2", "the number out3"));
  EXPECT_EQ(v.untold_together, "the numbers out0, out2, out3");
}

TEST_F(JudgeResults, InputsMustAllBeThere) {
  Arrays inputs;
  inputs.emplace_back("x", NpyArray{Dtype::f32, 0, {3, 4}, std::vector<std::byte>(48)});
  write_npz(folder_ + "x.npz", inputs);
  options_.inputs = folder_ + "x.npz";
  EXPECT_THAT(refusal(), testing::HasSubstr("the file lacks the input w"));
}

}  // namespace
}  // namespace lenz::oracle
