// What is known of eager's own faults is said of the calls that have them, and of no others.
#include "oracle/known_faults.h"

#include <gtest/gtest.h>

#include "compiler/graph/text.h"
#include "compiler/ops/op_table.h"

namespace lenz::oracle {
namespace {

bool is_known(const std::string& weight, const std::string& groups) {
  auto graph = parse_graph("graph @g(%x: f32[1, 6, 4, 5], %w: f32" + weight +
                               ") {\n  %y = aten.conv2d(%x, %w, groups=" + groups + ")\n  return %y\n}",
                           op_table());
  return known_in(known_faults(), *graph, {}, [](const Leeway&) { return false; });
}

TEST(KnownFaults, GroupsOfAWeightWhoseSizesOfOneLieElsewhere) {
  EXPECT_TRUE(is_known("[6, 2, 3, 1] strides [6, 1, 2, 72]", "3"));
  EXPECT_FALSE(is_known("[6, 6, 3, 1] strides [18, 1, 6, 72]", "1"));  // one group
  EXPECT_FALSE(is_known("[6, 2, 3, 2] strides [12, 1, 4, 2]", "3"));   // no size of one
  EXPECT_FALSE(is_known("[6, 2, 3, 1]", "3"));                         // contiguous
}

// Of one channel that is the last in memory, where results are one pixel wide.
TEST(KnownFaults, ColumnsOfOneChannelInWiderSteps) {
  const auto is_open = [](const std::string& image, const std::string& weight, const std::string& steps) {
    auto graph = parse_graph("graph @g(%x: f32" + image + ", %w: f32" + weight +
                                 ") {\n  %y = aten.conv2d(%x, %w, none, " + steps + ")\n  return %y\n}",
                             op_table());
    return known_in(known_faults(), *graph, {}, [](const Leeway&) { return false; });
  };
  EXPECT_TRUE(is_open("[1, 1, 9, 3]", "[2, 1, 3, 3] strides [9, 1, 3, 1]", "[1, 2]"));
  EXPECT_TRUE(is_open("[1, 1, 9, 3] strides [27, 1, 3, 1]", "[2, 1, 3, 3]", "[1, 2]"));
  EXPECT_FALSE(is_open("[1, 1, 9, 3]", "[2, 1, 3, 3]", "[1, 2]"));
  EXPECT_FALSE(is_open("[1, 1, 9, 3]", "[2, 1, 3, 3] strides [9, 1, 3, 1]", "[2, 1]"));
  EXPECT_FALSE(is_open("[1, 1, 9, 9]", "[2, 1, 3, 3] strides [9, 1, 3, 1]", "[1, 2]"));
}

// Of bf16, where its kernels for images that are one element deep read beyond them.
TEST(KnownFaults, ImagesOneElementDeep) {
  auto is_open = [](const std::string& image, const std::string& weight) {
    auto graph = parse_graph("graph @g(%x: bf16" + image + ", %w: bf16" + weight +
                                 ") {\n  %y = aten.conv3d(%x, %w, padding=[1, 1, 1])\n  return %y\n}",
                             op_table());
    return known_in(known_faults(), *graph, {}, [](const Leeway&) { return false; });
  };
  EXPECT_TRUE(is_open("[1, 3, 1, 2, 2]", "[3, 3, 2, 1, 2]"));
  EXPECT_FALSE(is_open("[1, 3, 2, 2, 2]", "[3, 3, 2, 1, 2]"));
  EXPECT_FALSE(is_open("[1, 3, 1, 2, 2]", "[3, 3, 1, 1, 2]"));
}

// Eager forgets how deep an element of a volume lies, where none is above the least number.
TEST(KnownFaults, IndicesOfVolumesInChannelsLast) {
  auto open_at = [](const std::string& type) {
    auto graph = parse_graph(
        "graph @g(%x: " + type + ") {\n  %y, %i = aten.max_pool3d_with_indices(%x, [1, 2, 1])\n  return %i\n}",
        op_table());
    return known_in(known_openings(), *graph, {}, {}, false) != nullptr;
  };
  auto open = [&](const std::string& strides) { return open_at("f32[2, 2, 3, 6, 3]" + strides); };
  EXPECT_TRUE(open(" strides [108, 1, 36, 6, 2]"));
  EXPECT_TRUE(open_at("f32[2, 1, 3, 6, 3] strides [54, 1, 18, 3, 1]"));  // of one channel its stride alone says so
  EXPECT_FALSE(open(""));
}

// Where what is written grows, and is an operand, eager reads what it has written.
TEST(KnownFaults, OperandsThatGrowAsTheyAreWritten) {
  auto is_open = [](const std::string& rows, const std::string& out) {
    auto graph = parse_graph("graph @g(%x: f32[" + rows +
                                 "] mut, %o: f32[1] mut, %v: f32[2]) {\n  %y = aten.addr(%x, "
                                 "%v, %v, out=" +
                                 out + ")\n  return %y\n}",
                             op_table());
    return known_in(known_faults(), *graph, {}, [](const Leeway&) { return false; }) != nullptr;
  };
  EXPECT_TRUE(is_open("2, 1", "%x"));
  EXPECT_FALSE(is_open("2, 2", "%x"));  // it has that size
  EXPECT_FALSE(is_open("2, 1", "%o"));  // it is no operand
}

// Eager keeps the loss of each element where their sum belongs: with no room there it writes to what lies behind it.
TEST(KnownFaults, LossesOfEachElementWhereTheirSumBelongs) {
  const auto is_known = [](const std::string& rows, const std::string& out) {
    const auto graph = parse_graph("graph @g(%x: f32[" + rows +
                                       ", 1], %b: f32[4] mut, %o: f32[] mut) {\n  %p = aten.select(%b, 0, 1)\n"
                                       "  %y = aten.soft_margin_loss(%x, %x, out=" +
                                       out + ")\n  return %y\n}\n",
                                   op_table());
    return known_in(known_faults(), *graph, {}, [](const Leeway&) { return false; }) != nullptr;
  };
  EXPECT_TRUE(is_known("3", "%p"));
  EXPECT_FALSE(is_known("3", "%o"));  // memory of its own grows
  EXPECT_FALSE(is_known("1", "%p"));  // there is room for one
}

// A variance that is rounded to bf16 keeps little of what a number below zero leaves of it.
TEST(KnownFaults, VariancesThatCancel) {
  const auto is_known = [](const std::string& type, const std::string& eps) {
    const auto graph =
        parse_graph("graph @g(%x: " + type +
                        "[4, 3, 5]) {\n  %y, %m, %r = aten.native_batch_norm(%x, none, none, none, none, "
                        "true, 0.1, " +
                        eps + ")\n  return %y\n}\n",
                    op_table());
    return known_in(known_faults(), *graph, {}, [](const Leeway& by) { return by.as_eager; }) != nullptr;
  };
  EXPECT_TRUE(is_known("bf16", "-1.25"));
  EXPECT_FALSE(is_known("bf16", "1e-5"));
  EXPECT_FALSE(is_known("f32", "-1.25"));
}

}  // namespace
}  // namespace lenz::oracle
