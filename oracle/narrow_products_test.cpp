// Products of narrow floats in f32: where libtorch has loops alone for them, whatever this machine is.
#include "oracle/narrow_products.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <array>

#include "compiler/graph/text.h"
#include "compiler/ops/eager_processor.h"
#include "compiler/ops/op_table.h"
#include "oracle/aten.h"
#include "oracle/graph_check.h"

namespace lenz::oracle {
namespace {

class NarrowProducts : public ::testing::Test {
 protected:
  // The dtype that the last call of a graph takes its factors from f32 for, of operands in this order.
  static std::optional<Dtype> factors(const std::string& call, const std::vector<at::Tensor>& operands) {
    std::string text = "graph @g(";
    std::vector<RunValue> values;
    for (const at::Tensor& t : operands) {
      text += (values.empty() ? "%" : ", %") + std::string(1, static_cast<char>('a' + values.size())) + ": " +
              std::string(name(*from_aten(t.scalar_type()))) + "[";
      for (int64_t d = 0; d < t.dim(); ++d) text += (d ? ", " : "") + std::to_string(t.size(d));
      text += "]";
      values.push_back(hold(t));
    }
    const auto graph =
        parse_graph(text + ") { %r" + (call.starts_with(",") ? "" : " = ") + call + " return %r }", op_table());
    const Node& node = graph->node(graph->first());
    return narrow_factors(*node.op, node.arguments(), values);
  }
  static at::Tensor of(at::IntArrayRef sizes, at::ScalarType dtype = at::kBFloat16) { return at::ones(sizes, dtype); }
};

TEST_F(NarrowProducts, AreTakenInF32WhereLoopsTakeLonger) {
  const InPlaceOfEagersProcessor none({.computes_in_half = false, .computes_in_bf16 = false});
  EXPECT_EQ(factors("aten.mm(%a, %b)", {of({64, 64}), of({64, 64})}), Dtype::bf16);
  EXPECT_EQ(factors("aten.mm(%a, %b)", {of({64, 64}, at::kHalf), of({64, 64}, at::kHalf)}), Dtype::f16);
  EXPECT_EQ(factors("aten.addmm(%c, %a, %b)", {of({64, 64}), of({64, 64}), of({64})}), Dtype::bf16);
  EXPECT_EQ(factors("aten.bmm(%a, %b)", {of({8, 64, 64}), of({8, 64, 64})}), Dtype::bf16);
  EXPECT_EQ(factors("aten.convolution(%a, %b, none, [1], [0], [1], false, [0], 1)", {of({2, 16, 64}), of({16, 16, 3})}),
            Dtype::bf16);
  for (const at::ScalarType dtype : {at::kBFloat16, at::kHalf}) {  // one op for bf16 widens by itself
    const at::Tensor heads = of({1, 4, 64, 32}, dtype);
    EXPECT_EQ(factors("aten.scaled_dot_product_attention(%a, %b, %c)", {heads, heads, heads}),
              dtype == at::kHalf ? std::optional(Dtype::f16) : std::nullopt);
  }
  // Of few rows along what is summed there is a fast loop; small ones are not worth three calls.
  EXPECT_EQ(factors("aten.mm(%a, %b)", {of({2, 512}), of({512, 512}).t()}), std::nullopt);
  EXPECT_EQ(factors("aten.mm(%a, %b)", {of({256, 512}), of({512, 512}).t()}), Dtype::bf16);
  EXPECT_EQ(factors("aten.mm(%a, %b)", {of({8, 8}), of({8, 8})}), std::nullopt);
  EXPECT_EQ(factors("aten.mm(%a, %b)", {of({0, 8}), of({8, 8})}), std::nullopt);
  EXPECT_EQ(factors("aten.mm(%a, %b)", {of({64, 64}, at::kFloat), of({64, 64}, at::kFloat)}), std::nullopt);
  EXPECT_EQ(factors("aten.exp(%a)", {of({512, 512})}), std::nullopt);
}

// Where it may die of them.
TEST_F(NarrowProducts, AreTakenInF32WhereTilesReadBeyondAnImage) {
  const auto gradient = [](const char* mask) {
    return ", %s, %t = aten.convolution_backward(%a, %b, %c, none, [1, 1, 1], [1, 0, 1], [1, 1, 1], false, [0], 1, " +
           std::string(mask) + ")";
  };
  const std::string forward = "aten.convolution(%a, %b, none, [1, 1, 1], [1, 0, 1], [1, 1, 1], false, [0], 1)";
  const at::Tensor thin = of({1, 3, 1, 2, 2}), thick = of({1, 3, 2, 2, 2}), kernel = of({3, 3, 2, 1, 2});
  for (const bool tiles : {true, false}) {
    const InPlaceOfEagersProcessor one({.computes_in_half = true, .computes_in_bf16 = true, .has_tiles = tiles});
    const std::optional<Dtype> wide = tiles ? std::optional(Dtype::bf16) : std::nullopt;
    EXPECT_EQ(factors(forward, {thin, kernel}), wide);
    EXPECT_EQ(factors(gradient("[true, true, false]"), {of({1, 3, 2, 2, 3}), thin, kernel}), wide);
    EXPECT_EQ(factors(forward, {thick, kernel}), std::nullopt);
    EXPECT_EQ(factors(forward, {thin, of({3, 3, 1, 1, 2})}), std::nullopt);
    EXPECT_EQ(factors(forward, {of({1, 3, 1, 2, 2}, at::kHalf), of({3, 3, 2, 1, 2}, at::kHalf)}), std::nullopt);
  }
}

TEST_F(NarrowProducts, AreLibtorchsWhereItHasKernels) {
  const InPlaceOfEagersProcessor all({.computes_in_half = true, .computes_in_bf16 = true});
  for (const at::ScalarType dtype : {at::kBFloat16, at::kHalf})
    EXPECT_EQ(factors("aten.mm(%a, %b)", {of({64, 64}, dtype), of({64, 64}, dtype)}), std::nullopt);
}

// Kernels on such a processor beside the bounds of the reference, layouts in turns; the same graphs where it has them.
TEST_F(NarrowProducts, LieWithinBounds) {
  constexpr std::array kGraphs = {
      "graph @g(%x: D[33, 70], %y: D[70, 65], %b: D[65]) {\n  %a = aten.mm(%x, %y)\n"
      "  %c = aten.addmm(%b, %x, %y, beta=0.5, alpha=2)\n  return %a, %c\n}\n",
      "graph @g(%x: D[5, 33, 40], %y: D[5, 40, 31], %b: D[5, 1, 31]) {\n  %a = aten.bmm(%x, %y)\n"
      "  %c = aten.baddbmm(%b, %x, %y)\n  return %a, %c\n}\n",
      "graph @g(%x: D[2, 6, 13, 11], %w: D[8, 3, 3, 3], %b: D[8], %t: D[6, 4, 3, 2]) {\n"
      "  %a = aten.conv2d(%x, %w, %b, stride=[2, 1], padding=[1, 0], groups=2)\n"
      "  %c = aten.conv_transpose2d.input(%x, %t, groups=2)\n  return %a, %c\n}\n",
      "graph @g(%g: D[2, 8, 11, 9], %x: D[2, 6, 13, 11], %w: D[8, 6, 3, 3]) {\n"
      "  %a, %b, %c = aten.convolution_backward(%g, %x, %w, [8], [1, 1], [0, 0], [1, 1], false, [0, 0], 1, "
      "[true, true, true])\n  return %a, %b, %c\n}\n",
      "graph @g(%q: D[2, 3, 70, 32], %k: D[2, 3, 50, 32], %v: D[2, 3, 50, 32]) {\n"
      "  %a = aten.scaled_dot_product_attention(%q, %k, %v)\n  return %a\n}\n"};
  for (const bool has : {false, true}) {
    const InPlaceOfEagersProcessor processor({.computes_in_half = has, .computes_in_bf16 = has});
    for (std::string text : kGraphs)
      for (const std::string_view dtype : {"bf16", "f16"}) {
        std::string given = text;
        for (size_t at = given.find("D["); at != std::string::npos; at = given.find("D[")) given.replace(at, 1, dtype);
        GraphCheckOptions options;
        options.seeds = 3;
        options.layouts = true;
        const GraphReport r = check_graph(*parse_graph(given, op_table()), options);
        EXPECT_TRUE(r.findings.empty()) << given << r.findings.front().mismatch.summary();
        EXPECT_GT(r.runs, 0u);
      }
  }
}

}  // namespace
}  // namespace lenz::oracle
