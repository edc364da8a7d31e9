// What hosts convolve lies with channels last: the pass does nothing where loops convolve, so golden tests don't see
// it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "compiler/driver/compile.h"
#include "compiler/graph/text.h"
#include "compiler/ops/op_table.h"

namespace lenz {
namespace {

// The strides of the images that its convolutions take, and the number of copies that lay something out.
struct Taken {
  std::vector<std::string> images;
  size_t copies = 0;
};
Taken taken(const std::string& inputs, const std::string& body) {
  const auto given = parse_graph("graph @g(" + inputs + ") {" + body + "}", op_table());
  Taken made;
  const auto graph = to_level(*given, Level::core);
  graph->for_each_node([&](NodeId id) {
    const Node& node = graph->node(id);
    made.copies += node.op->full_name == "aten.clone";
    if (node.op->full_name != "aten.convolution") return;
    std::string strides;
    for (Dim d : graph->type(node.args[0].value()).strides()) strides += to_string(d) + " ";
    made.images.push_back(strides);
  });
  return made;
}

const std::string kInputs = "%x: f32[2, 8, 16, 16], %w: f32[8, 8, 3, 3], %v: f32[8, 8, 3, 3]";
const std::string kFirst = "%y = aten.conv2d(%x, %w, padding=[1, 1]) ";
const std::string kLast = "2048 1 128 8 ", kPlain = "2048 256 16 1 ";

TEST(ChannelsLast, OfImagesAndWeights) {
  const std::string body = kFirst + "%r = aten.relu(%y) %z = aten.conv2d(%r, %v, padding=[1, 1]) return %z";
  const Taken with = taken(kInputs, body);
  EXPECT_THAT(with.images, testing::ElementsAre(kLast, kLast));
  EXPECT_EQ(with.copies, 4u) << "two images, two weights";
}

TEST(ChannelsLast, AConvolutionTakesWhatAnotherGives) {
  const Taken with = taken(kInputs, kFirst + "%z = aten.conv2d(%y, %v, padding=[1, 1]) return %z");
  EXPECT_THAT(with.images, testing::ElementsAre(kLast, kLast));
  EXPECT_EQ(with.copies, 3u);
}

// Loops store it as rows, whatever its type says: the next convolution would be given those.
TEST(ChannelsLast, WhereTheProgramHasItSo) {
  const std::string inputs =
      "%x: f32[2, 8, 16, 16] strides [2048, 1, 128, 8], %w: f32[8, 8, 3, 3] strides [72, 1, 24, 8], %v: f32[8, 8, 3, "
      "3] "
      "strides [72, 1, 24, 8]";
  const Taken with = taken(inputs, kFirst + "%r = aten.relu(%y) %z = aten.conv2d(%r, %v, padding=[1, 1]) return %z");
  EXPECT_THAT(with.images, testing::ElementsAre(kLast, kLast));
  EXPECT_EQ(with.copies, 1u);
}

// Eager's kernel that writes volumes with channels last takes several at a time.
TEST(ChannelsLast, OfVolumes) {
  const std::string body = "%y = aten.conv3d(%x, %w, padding=[1, 1, 1]) %r = aten.relu(%y) return %r";
  EXPECT_THAT(taken("%x: f32[2, 8, 6, 7, 9], %w: f32[8, 8, 3, 3, 3]", body).images,
              testing::ElementsAre("3024 1 504 72 8 "));
  EXPECT_THAT(taken("%x: f32[1, 8, 6, 7, 9], %w: f32[8, 8, 3, 3, 3]", body).images,
              testing::ElementsAre("3024 378 63 9 1 "));
}

TEST(ChannelsLast, OfOpenSizesThatAreTypicallyLarge) {
  const std::string body = "%y = aten.conv2d(%x, %w, padding=[1, 1]) %r = aten.relu(%y) return %r";
  auto strides = [&](const std::string& images, const std::string& rows) {
    const std::string inputs = "%x: f32[s0, 8, s1, s1], %w: f32[8, 8, 3, 3]";
    const std::string where = "where s0 in " + images + ", s1 in " + rows;
    const auto given = parse_graph("graph @g(" + inputs + ") " + where + " {" + body + "}", op_table());
    std::vector<std::string> made;
    const auto graph = to_level(*given, Level::core);
    graph->for_each_node([&](NodeId id) {
      if (graph->node(id).op->full_name == "aten.convolution")
        made.push_back(to_string(graph->type(graph->node(id).args[0].value()).strides()[1]));
    });
    return made;
  };
  EXPECT_THAT(strides("2..64", "8..400"), testing::ElementsAre("1"));
  EXPECT_THAT(strides("2..3", "2..5"), testing::ElementsAre(testing::Ne("1")));
}

TEST(ChannelsLast, NotWhereItGainsNothing) {
  EXPECT_THAT(taken(kInputs, kFirst + "%a = aten.abs(%y) %s = aten.sum(%a, [0, 2, 3]) return %s").images,
              testing::ElementsAre(kPlain))
      << "statistics over all images";
  EXPECT_THAT(taken("%x: f32[2, 32, 4, 4], %w: f32[64, 32, 3, 3]", kFirst + "return %y").images,
              testing::ElementsAre("512 16 4 1 "))
      << "weights larger than images";
  EXPECT_THAT(taken("%x: f64[2, 8, 16, 16], %w: f64[8, 8, 3, 3]", kFirst + "return %y").images,
              testing::ElementsAre(kPlain));
}

TEST(ChannelsLast, OneChannelIsLastAsItIs) {
  const Taken with = taken("%x: f32[2, 1, 64, 64], %w: f32[8, 1, 3, 3]", kFirst + "return %y");
  EXPECT_EQ(with.copies, 1u) << "the weights";
  const Taken apart = taken("%x: f32[2, 8, 16, 16], %w: f32[8, 1, 3, 3]",
                            "%y = aten.conv2d(%x, %w, padding=[1, 1], groups=8) return %y");
  EXPECT_EQ(apart.copies, 1u) << "the images";
}

// oneDNN takes wrong pixels of such.
TEST(ChannelsLast, NotColumnsOfOneChannelInWiderSteps) {
  const auto copies = [](const std::string& inputs, const std::string& groups) {
    return taken(inputs, "%y = aten.conv2d(%x, %w, none, [1, 2], groups=" + groups + ") return %y").copies;
  };
  EXPECT_EQ(copies("%x: f32[2, 1, 999, 3], %w: f32[8, 1, 3, 3]", "1"), 0u);
  EXPECT_EQ(copies("%x: f32[2, 4, 999, 3], %w: f32[8, 1, 3, 3]", "4"), 0u);
  EXPECT_GT(copies("%x: f32[2, 4, 999, 3], %w: f32[4, 1, 3, 3]", "4"), 0u);
  EXPECT_GT(copies("%x: f32[2, 1, 999, 5], %w: f32[8, 1, 3, 3]", "1"), 0u);
}

}  // namespace
}  // namespace lenz
