#include "compiler/passes/postgrad/convolution_patterns.h"

#include "compiler/ops/op_table.h"

namespace lenz {

namespace {
#define LENZ_POINTWISE(bias)                                                  \
  "%r = aten.convolution(%x, %w, " bias                                       \
  ", $stride, $padding, _, false, _, 1) "                                     \
  "where dtype(%r) in floats, contiguous(%x), contiguous(%w), numel(%r) > 0 " \
  "where all_equal($stride, 1), all_equal($padding, 0), one_tap(%w), long_rows(%x) "
#define LENZ_OPERANDS                         \
  "replace %r { "                             \
  "%m = aten.view(%w, one_matrix(%w)) "       \
  "%each = aten.expand(%m, of_each(%x, %w)) " \
  "%pixels = aten.view(%x, rows(%x)) "
#define LENZ_PRODUCT LENZ_OPERANDS "%product = aten.bmm(%each, %pixels) "
#define LENZ_AS_IMAGES "%y = aten.view(%sum, sizes(%r)) return %y } } "

// With a kernel of one tap each pixel's channels are a matrix times what they were: one product for each image. A bias
// is added behind, pointwise; of half floats that would round the product, so they have it in the product's own sum.
constexpr std::string_view kRules =  //
    "rule pointwise { " LENZ_POINTWISE(
        "$none") "where is_none($none) " LENZ_PRODUCT
                 "%y = aten.view(%product, sizes(%r)) return %y } } "
                 "rule pointwise_with_bias { " LENZ_POINTWISE(
                     "%bias") "where not dtype(%r) in [f16, bf16] " LENZ_PRODUCT
                              "%column = aten.view(%bias, column(%bias)) %sum = aten.add(%product, "
                              "%column) " LENZ_AS_IMAGES "rule pointwise_of_halves_with_bias { " LENZ_POINTWISE(
                                  "%bias") "where dtype(%r) in [f16, bf16] " LENZ_OPERANDS
                                           "%column = aten.view(%bias, column(%bias)) %sum = aten.baddbmm(%column, "
                                           "%each, %pixels) " LENZ_AS_IMAGES;
#undef LENZ_AS_IMAGES
#undef LENZ_PRODUCT
#undef LENZ_OPERANDS
#undef LENZ_POINTWISE

// Images that have fewer pixels than this share a weight better as one product with all of their pixels, which is what
// kernels of convolutions do.
constexpr int64_t kLongRow = 128;

using Args = std::span<const Arg>;

std::span<const Dim> sizes_of(const Graph& graph, Args args, size_t i = 0) {
  if (args.size() <= i || !args[i].is_value()) return {};
  const Type& type = graph.type(args[i].value());
  return type.is_tensor() && type.rank() > 2 ? std::span<const Dim>(type.sizes()) : std::span<const Dim>();
}
Dim pixels(std::span<const Dim> sizes) {
  Dim all(1);
  for (Dim d : sizes.subspan(2)) all = all * d;
  return all;
}

std::optional<Arg> one_tap(const Graph& graph, Args args) {
  const auto sizes = sizes_of(graph, args);
  if (sizes.empty()) return std::nullopt;
  return Arg::of_bool(graph.assumptions.prove(eq(pixels(sizes), 1)) == Truth::yes);
}
// Of sizes that nobody knows yet: taken to be so.
std::optional<Arg> long_rows(const Graph& graph, Args args) {
  const auto sizes = sizes_of(graph, args);
  if (sizes.empty()) return std::nullopt;
  const bool one_image = graph.assumptions.prove(eq(sizes[0], 1)) == Truth::yes;
  return Arg::of_bool(one_image || graph.assumptions.prove(lt(pixels(sizes), kLongRow)) != Truth::yes);
}

std::optional<Arg> one_matrix(const Graph& graph, Args args) {
  const auto weight = sizes_of(graph, args);
  if (weight.empty()) return std::nullopt;
  return graph.context().dims(DimVec{Dim(1), weight[0], weight[1]});
}
std::optional<Arg> of_each(const Graph& graph, Args args) {
  const auto images = sizes_of(graph, args), weight = sizes_of(graph, args, 1);
  if (images.empty() || weight.empty()) return std::nullopt;
  return graph.context().dims(DimVec{images[0], weight[0], weight[1]});
}
std::optional<Arg> rows(const Graph& graph, Args args) {
  const auto images = sizes_of(graph, args);
  if (images.empty()) return std::nullopt;
  return graph.context().dims(DimVec{images[0], images[1], pixels(images)});
}
std::optional<Arg> column(const Graph& graph, Args args) {
  if (args.size() != 1 || !args[0].is_value() || !graph.type(args[0].value()).is_tensor()) return std::nullopt;
  return graph.context().dims(DimVec{Dim(1), graph.type(args[0].value()).sizes()[0], Dim(1)});
}
}  // namespace

const RuleSet& convolution_patterns() {
  constexpr NamedFunction functions[] = {{"one_tap", one_tap}, {"long_rows", long_rows}, {"one_matrix", one_matrix},
                                         {"of_each", of_each}, {"rows", rows},           {"column", column}};
  static const RuleSet rules = RuleSet::parse(kRules, op_table(), "convolution_patterns", functions);
  return rules;
}

}  // namespace lenz
