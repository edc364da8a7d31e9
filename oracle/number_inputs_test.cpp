// Inputs that are numbers, in files.
#include <cmath>

#include "oracle/judge_results_test.h"
#include "oracle/tensors.h"

namespace lenz::oracle {
namespace {

constexpr std::string_view kNumbers =
    "graph @g(%x: f32[s0], %n: int s1, %m: int s0 + s1, %f: float, %b: bool) where s1 in 2..9 {\n"
    "  %e = aten.expand(%x, [%n, s0])\n  %y = aten.mul(%e, %f)\n  return %y, %n, %f, %b\n}\n";

template <class T>
NpyArray number_of_dtype(Dtype dtype, T value, int raw_bits = 0) {
  NpyArray array{dtype, raw_bits, {}, std::vector<std::byte>(sizeof value)};
  std::memcpy(array.bytes.data(), &value, sizeof value);
  return array;
}

class NumberInputs : public testing::Test {
 protected:
  void SetUp() override {
    path_ = testing::TempDir() + "number_inputs_" + std::to_string(getpid()) + ".npz";
    graph_ = parse_graph(std::string(kNumbers), op_table());
    arrays_ = {{"x", NpyArray{Dtype::f32, 0, {2}, std::vector<std::byte>(8)}},
               {"n", number_of_dtype(Dtype::i64, int64_t{5})},
               {"m", number_of_dtype(Dtype::i64, int64_t{7})},
               {"f", number_of_dtype(Dtype::f64, 2.5)},
               {"b", number_of_dtype(Dtype::b8, uint8_t{1})}};
  }

  std::vector<RunValue> read(const std::string& bind = "", bool all = true, std::vector<std::string>* drawn = nullptr) {
    write_npz(path_, arrays_);
    Binding binding = parse_binding(bind, *graph_);
    return read_inputs(path_, *graph_, boxed_, binding, 0, all, drawn);
  }
  std::string refusal(const std::string& bind = "", bool all = true) {
    try {
      read(bind, all);
    } catch (const UserError& error) {
      EXPECT_EQ(error.where(), path_);
      return error.message() + "; " + error.remedy();
    }
    return "accepted";
  }

  std::string path_;
  std::unique_ptr<Graph> graph_;
  Boxed boxed_{DeviceKind::cpu};
  Arrays arrays_;
};

TEST_F(NumberInputs, AreWhatTheFileSays) {
  const std::vector<RunValue> inputs = read();
  EXPECT_EQ(look(inputs[1]).integer, 5);
  EXPECT_EQ(look(inputs[2]).integer, 7);
  EXPECT_EQ(look(inputs[3]).number, 2.5);
  EXPECT_EQ(look(inputs[3]).kind, TypeKind::sym_float);
  EXPECT_TRUE(truth_of(inputs[4]));
  EXPECT_EQ(look(inputs[4]).kind, TypeKind::sym_bool);
  array(arrays_, "b") = number_of_dtype(Dtype::b8, uint8_t{0});
  EXPECT_FALSE(truth_of(read()[4]));
}

TEST_F(NumberInputs, OfEveryIntegerDtype) {
  for (const NpyArray& five : {number_of_dtype(Dtype::i8, int8_t{5}), number_of_dtype(Dtype::u8, uint8_t{5}),
                               number_of_dtype(Dtype::i32, int32_t{5}), number_of_dtype(Dtype::u8, uint16_t{5}, 16)}) {
    array(arrays_, "n") = five;
    EXPECT_EQ(look(read()[1]).integer, 5);
  }
  array(arrays_, "f") = number_of_dtype(Dtype::f32, 0.5F);
  EXPECT_EQ(look(read()[3]).number, 0.5);
}

TEST_F(NumberInputs, WrittenAndReadAgain) {
  const std::vector<RunValue> inputs = read();
  write_inputs(path_, *graph_, inputs);
  Binding binding;
  const std::vector<RunValue> again = read_inputs(path_, *graph_, boxed_, binding, 0, true);
  for (size_t i = 1; i < inputs.size(); ++i) {
    EXPECT_EQ(look(again[i]).kind, look(inputs[i]).kind);
    EXPECT_EQ(look(again[i]).integer, look(inputs[i]).integer);
    EXPECT_EQ(look(again[i]).number, look(inputs[i]).number);
  }
}

TEST_F(NumberInputs, OfAnotherDtypeOrShape) {
  array(arrays_, "n") = number_of_dtype(Dtype::f64, 5.0);
  EXPECT_EQ(refusal(),
            "array n holds f64, the graph's input is a number: int s1; save an array without dims of an "
            "integer dtype: numpy.array(3)");
  array(arrays_, "n") = number_of_dtype(Dtype::b8, uint8_t{1});
  EXPECT_THAT(refusal(), testing::HasSubstr("array n holds bool, the graph's input is a number"));
  array(arrays_, "n") = NpyArray{Dtype::i64, 0, {1}, std::vector<std::byte>(8)};
  EXPECT_THAT(refusal(), testing::HasSubstr("array n holds i64 and has rank 1, the graph's input is a number"));
  SetUp();
  array(arrays_, "f") = number_of_dtype(Dtype::i64, int64_t{2});
  EXPECT_THAT(refusal(), testing::HasSubstr("of a float dtype: numpy.array(0.5)"));
  SetUp();
  array(arrays_, "b") = number_of_dtype(Dtype::b8, uint8_t{2});
  EXPECT_THAT(refusal(), testing::HasSubstr("array b holds a bool that is neither 0 nor 1"));
  array(arrays_, "b") = number_of_dtype(Dtype::u8, uint8_t{1});
  EXPECT_THAT(refusal(), testing::HasSubstr("of the dtype bool: numpy.array(True)"));
}

TEST_F(NumberInputs, ContradictedByWhatElseIsSaid) {
  EXPECT_EQ(refusal("s1=4"), "array n says that %n is 5, --bind that s1 is 4; correct one of both");
  EXPECT_EQ(refusal("s1=5"), "accepted");
  array(arrays_, "m") = number_of_dtype(Dtype::i64, int64_t{8});
  EXPECT_EQ(refusal(), "array m says that %m is 8, what the others are that s0 + s1 is 7; correct one of both");
  graph_ = parse_graph("graph @g(%n: int 3) {\n  return %n\n}\n", op_table());
  arrays_ = {{"n", number_of_dtype(Dtype::i64, int64_t{4})}};
  EXPECT_EQ(refusal(), "array n says that %n is 4, the graph's input is int 3; it can be no other number");
}

// The size of one that the file has hangs on a number that it has not.
TEST_F(NumberInputs, SizesByANumberThatIsMade) {
  graph_ = parse_graph("graph @g(%x: f32[s0*2], %n: int s0) where s0 in 1..64 {\n  return %x\n}\n", op_table());
  arrays_ = {{"x", NpyArray{Dtype::f32, 0, {34}, std::vector<std::byte>(136)}}};
  EXPECT_EQ(refusal("", false), "dim 0 of array x is 34, the graph's input is f32[s0*2]; ");
  EXPECT_EQ(look(read("s0=17")[0]).sizes[0], 34);
}

TEST_F(NumberInputs, ThatNobodySays) {
  for (const char* key : {"n", "f", "b"}) {
    SetUp();
    drop(arrays_, key);
    drop(arrays_, "m");
    EXPECT_THAT(refusal(), testing::HasSubstr(std::string("the file lacks the input ") + key));
    std::vector<std::string> drawn;
    read("", false, &drawn);
    EXPECT_EQ(drawn[0], key);
  }
  SetUp();
  drop(arrays_, "n");
  drop(arrays_, "m");
  std::vector<std::string> drawn;
  EXPECT_EQ(look(read("s1=6", true, &drawn)[2]).integer, 8);  // and so %m
  EXPECT_THAT(drawn, testing::IsEmpty());
  EXPECT_TRUE(std::isfinite(look(initial_inputs(*graph_, boxed_, parse_binding("s0=2,s1=3", *graph_))[3]).number));
}

// The same sum of another number of rows is another result.
TEST_F(JudgeResults, OnTheNumberThatTheFileSays) {
  graph_ = parse_graph(
      "graph @g(%x: f32[2], %n: int s0) where s0 in 1..9 {\n  %y = aten.mul(%x, %n)\n  return %y, %n\n}\n", op_table());
  const std::string inputs = folder_ + "numbers.npz";
  Boxed boxed(DeviceKind::cpu);
  const Binding five = parse_binding("s0=5", *graph_);
  const std::vector<RunValue> values = draw_inputs(*graph_, boxed, five, Values::ordinary, options_.seed);
  write_inputs(inputs, *graph_, values);
  write_results(options_.results, *graph_, Executor(boxed).run(*graph_, values, five));
  NpzReader reader(options_.results);
  arrays_.clear();
  for (const std::string& key : reader.keys()) arrays_.emplace_back(key, reader.read(key));
  options_.inputs = inputs;
  ASSERT_EQ(judged().code, ExitCode::fine);
  // Beside results the number may stand again.
  arrays_.emplace_back("n", number_of_dtype(Dtype::i64, int64_t{5}));
  EXPECT_EQ(judged().code, ExitCode::fine);
  array(arrays_, "n") = number_of_dtype(Dtype::i64, int64_t{4});
  EXPECT_THAT(refusal(), testing::HasSubstr("array n says another number than the run began with: 5"));
  drop(arrays_, "n");
  array(arrays_, "out1") = number_of_dtype(Dtype::i64, int64_t{4});
  expect_wrong(Rung::bitwise, "output 1");
  write_npz(inputs, Arrays{{"x", to_npy(values[0])}});
  EXPECT_THAT(refusal(), testing::HasSubstr("the file lacks the input n"));
}

}  // namespace
}  // namespace lenz::oracle
