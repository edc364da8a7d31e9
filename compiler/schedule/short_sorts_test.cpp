#include "compiler/schedule/short_sorts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "compiler/loops/interpret.h"
#include "compiler/loops/text.h"
#include "compiler/loops/verify.h"
#include "compiler/ops/op_table.h"

namespace lenz::schedule {
namespace {

// `shown`: besides the greatest three of each row.
std::string greatest(std::string_view shown) {
  return "loops @greatest {\n  input %x: f32[5, 40] placed\n  temp %v: f32[5, 40]\n  temp %i: i64[5, 40]\n"
         "  temp %y: f32[5, 3] placed\n  temp %z: i64[5, 3] placed\n  sort %v, %i = %x dim 1 descending stable\n"
         "  for i0 < 5, i1 < 3 {\n    %0 = load %v[i0, i1]\n    %1 = load %i[i0, i1]\n    store %y[i0, i1] = %0\n"
         "    store %z[i0, i1] = %1\n  }\n  return %y, %z" +
         std::string(shown) + "\n}\n";
}

TEST(ShortSorts, KeepWhatIsRead) {
  loops::Program program = loops::parse_program(greatest(""), op_table());
  loops::Tensor x(Dtype::f32, {5, 40});
  for (int64_t i = 0; i < x.numel(); ++i) x.put(i, ScalarValue(static_cast<double>(i * 37 % 23)));
  const std::vector<loops::InputValue> inputs{x};
  const loops::Results before = loops::interpret(program, inputs);
  shorten_sorts(program);
  EXPECT_THAT(loops::print(program),
              testing::AllOf(testing::HasSubstr("%v: f32[5, 3]"), testing::HasSubstr("%i: i64[5, 3]")));
  loops::require_valid(program, "the test");
  const loops::Results after = loops::interpret(program, inputs);
  for (int64_t i = 0; i < 15; ++i) {
    EXPECT_EQ(before.outputs[0].tensor.at(i).real(), after.outputs[0].tensor.at(i).real());
    EXPECT_EQ(before.outputs[1].tensor.at(i).integer(), after.outputs[1].tensor.at(i).integer());
  }
}

// As many may be all there are.
TEST(ShortSorts, KeepWhatIsReadOfOpenRows) {
  std::string text = greatest("");
  for (size_t at = 0; (at = text.find("40", at)) != std::string::npos;) text.replace(at, 2, "s0");
  text.replace(text.find(" {"), 2, " where s0 in 3.. {");
  loops::Program program = loops::parse_program(text, op_table());
  shorten_sorts(program);
  EXPECT_THAT(loops::print(program), testing::HasSubstr("%v: f32[5, 3]"));
  loops::require_valid(program, "the test");
}

TEST(ShortSorts, OfWhichNothingIsReadKeepNothing) {
  std::string text = greatest("");
  for (std::string_view three : {"5, 3]", "i1 < 3"})
    for (size_t at = 0; (at = text.find(three, at)) != std::string::npos;) text[at + three.find('3')] = '0';
  loops::Program program = loops::parse_program(text, op_table());
  shorten_sorts(program);
  EXPECT_THAT(loops::print(program), testing::HasSubstr("%v: f32[5, 0]"));
  loops::require_valid(program, "the test");
}

TEST(ShortSorts, LeaveWhatOthersSee) {
  loops::Program program = loops::parse_program(greatest(", %v"), op_table());
  shorten_sorts(program);
  EXPECT_THAT(loops::print(program),
              testing::AllOf(testing::HasSubstr("%v: f32[5, 40]"), testing::HasSubstr("%i: i64[5, 3]")));
}

// `size` open or not: the last of each column and the one in the middle, and where it was.
std::string middle(const std::string& size, const std::string& shown) {
  return "loops @middle where s0 in 9..99 {\n  input %n: int s0\n  input %x: f32[" + size +
         ", 3] placed\n  temp %v: f32[" + size + ", 3]\n  temp %i: i64[" + size +
         ", 3]\n  temp %y: f32[3] placed\n  temp %z: i64[3] placed\n  sort %v, %i = %x dim 0 stable\n"
         "  for i0 < 3 {\n    %0 = load %v[" +
         size + " - 1, i0]\n    %1 = load %v[" + size + "//2, i0]\n    %2 = add.f32 %0, %1\n    %3 = load %i[" + size +
         "//2, i0]\n    store %y[i0] = %2\n    store %z[i0] = %3\n  }\n  return %y, %z" + shown + "\n}\n";
}

TEST(ShortSorts, GiveWhatIsReadAtPlaces) {
  for (const std::string size : {"40", "s0"})
    for (const std::string shown : {"", ", %v: f32[1, 3]", ", %i: i64[3]"}) {
      loops::Program program = loops::parse_program(middle(size, shown), op_table());
      loops::Tensor x(Dtype::f32, {40, 3});
      for (int64_t i = 0; i < x.numel(); ++i) x.put(i, ScalarValue(static_cast<double>(i * 37 % 23)));
      const std::vector<loops::InputValue> inputs{int64_t{40}, x};
      const loops::Results before = loops::interpret(program, inputs);
      shorten_sorts(program);
      const std::string text = loops::print(program);
      EXPECT_THAT(text, testing::HasSubstr(shown.empty() ? " stable at " : " stable at 0, "));
      EXPECT_THAT(text, testing::HasSubstr(shown.empty() ? "%v: f32[2, 3]" : "%v: f32[3, 3]"));
      EXPECT_EQ(loops::print(loops::parse_program(text, op_table())), text);
      loops::require_valid(program, "the test");
      const loops::Results after = loops::interpret(program, inputs);
      for (size_t output = 0; output < after.outputs.size(); ++output)
        for (int64_t i = 0; i < 3; ++i) {
          const ScalarValue a = before.outputs[output].tensor.at(i), b = after.outputs[output].tensor.at(i);
          EXPECT_EQ(a.kind() == ScalarKind::integer ? static_cast<double>(a.integer()) : a.real(),
                    b.kind() == ScalarKind::integer ? static_cast<double>(b.integer()) : b.real())
              << output << " at " << i;
        }
    }
}

TEST(ShortSorts, LeaveWhatAnOutputShowsMoreOf) {
  loops::Program program = loops::parse_program(middle("40", ", %v: f32[2, 3]"), op_table());
  shorten_sorts(program);
  EXPECT_THAT(loops::print(program), testing::Not(testing::HasSubstr(" at ")));
}

// Of lengths that may be few, too: the last of each column and the one in the middle may be one.
TEST(ShortSorts, GiveWhatIsReadAtPlacesOfAnyLength) {
  std::string text = middle("s0", "");
  text.replace(text.find("9..99"), 5, "1..99");
  for (int64_t n : {1, 2, 7}) {
    loops::Program program = loops::parse_program(text, op_table());
    loops::Tensor x(Dtype::f32, {n, 3});
    for (int64_t i = 0; i < x.numel(); ++i) x.put(i, ScalarValue(static_cast<double>(i * 37 % 23)));
    const std::vector<loops::InputValue> inputs{n, x};
    const loops::Results before = loops::interpret(program, inputs);
    shorten_sorts(program);
    EXPECT_THAT(loops::print(program), testing::HasSubstr("%v: f32[2, 3]"));
    loops::require_valid(program, "the test");
    const loops::Results after = loops::interpret(program, inputs);
    for (int64_t i = 0; i < 3; ++i) {
      EXPECT_EQ(before.outputs[0].tensor.at(i).real(), after.outputs[0].tensor.at(i).real());
      EXPECT_EQ(before.outputs[1].tensor.at(i).integer(), after.outputs[1].tensor.at(i).integer());
    }
  }
}

// A place that only the run knows does, if it is known before anything is sorted.
TEST(ShortSorts, GiveWhatIsReadAtAPlaceThatTheRunTells) {
  const std::string bind = "  bind u0 = %n\n", sort = "  sort %v, none = %x dim 0 stable\n";
  for (const bool before : {true, false}) {
    loops::Program program = loops::parse_program(
        "loops @g where u0 in -40..39 {\n  input %x: f32[40] placed\n  input %n: i64[] placed\n  temp %v: f32[40]\n"
        "  temp %y: f32[] placed\n" +
            (before ? bind + sort : sort + bind) +
            "  for {\n    %0 = load %v[u0 % 40]\n    store %y[] = %0\n  }\n  return %y\n}\n",
        op_table());
    loops::require_valid(program, "the test");
    shorten_sorts(program);
    loops::require_valid(program, "the test");
    EXPECT_EQ(loops::print(program).find("stable at u0 % 40") != std::string::npos, before) << loops::print(program);
    loops::Tensor x(Dtype::f32, {40}), n(Dtype::i64, loops::Ints{});
    for (int64_t i = 0; i < x.numel(); ++i) x.put(i, ScalarValue(static_cast<double>(i * 37 % 40)));
    for (const int64_t place : {0, 17, 39, -1}) {
      n.put(0, ScalarValue(place));
      const std::vector<loops::InputValue> inputs{x, n};
      EXPECT_EQ(loops::interpret(program, inputs).outputs[0].tensor.at(0).real(), place < 0 ? 39 : place);
    }
  }
}

// A place that may not be there is no place of a sort's.
TEST(ShortSorts, HavePlacesInsideTheKeys) {
  const std::string text =
      "loops @g {\n  input %x: f32[5] placed\n  temp %v: f32[1] placed\n  sort %v, none = %x dim 0 stable at 5\n"
      "  return %v\n}\n";
  EXPECT_THAT([&] { loops::require_valid(loops::parse_program(text, op_table()), "the test"); },
              testing::ThrowsMessage<InternalError>(testing::HasSubstr("no place 5 among the keys")));
}

}  // namespace
}  // namespace lenz::schedule
