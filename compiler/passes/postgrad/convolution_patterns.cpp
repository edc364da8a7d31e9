#include "compiler/passes/postgrad/convolution_patterns.h"

#include "compiler/graph/host_kernels.h"
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
                                           "%each, %pixels) " LENZ_AS_IMAGES
                                           // The gradient of such images: the same, with the weight turned.
                                           R"(
rule pointwise_turned {
  %r = aten.convolution(%x, %w, $none, $stride, $padding, _, true, $over, 1)
  where is_none($none), dtype(%r) in floats, contiguous(%x), contiguous(%w), numel(%r) > 0
  where all_equal($stride, 1), all_equal($padding, 0), all_equal($over, 0), one_tap(%w), long_rows(%x)
  replace %r {
    %m = aten.view(%w, one_matrix(%w))
    %turned = aten.permute(%m, [0, 2, 1])
    %each = aten.expand(%turned, turned_of_each(%x, %w))
    %pixels = aten.view(%x, rows(%x))
    %product = aten.bmm(%each, %pixels)
    %y = aten.view(%product, sizes(%r))
    return %y
  }
}
# And that of the weight: images in the place of channels, with weights that are images too. A product for each image,
# and their sum, which of half floats would be one of rounded numbers.
rule whole_images {
  %r = aten.convolution(%x, %w, $none, _, $padding, _, false, _, 1)
  where is_none($none), dtype(%r) in [f32, f64], numel(%r) > 0
  where all_equal($padding, 0), one_tap(%r), images_lie_apart(%x, %w)
  replace %r {
    %images = aten.permute(%x, channels_second(%x))
    %pixels = aten.view(%images, turned_rows(%x))
    %others = aten.permute(%w, channels_second(%w))
    %rows = aten.view(%others, turned_rows(%w))
    %columns = aten.permute(%rows, [0, 2, 1])
    %product = aten.bmm(%pixels, %columns)
    %sum = aten.sum(%product, [0], false)
    %y = aten.view(%sum, sizes(%r))
    return %y
  }
}
)";
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
std::optional<Arg> turned_of_each(const Graph& graph, Args args) {
  const auto images = sizes_of(graph, args), weight = sizes_of(graph, args, 1);
  if (images.empty() || weight.empty()) return std::nullopt;
  return graph.context().dims(DimVec{images[0], weight[1], weight[0]});
}
std::optional<Arg> channels_second(const Graph& graph, Args args) {
  const auto images = sizes_of(graph, args);
  if (images.empty()) return std::nullopt;
  DimVec order{Dim(1), Dim(0)};
  for (size_t d = 2; d < images.size(); ++d) order.push_back(Dim(static_cast<int64_t>(d)));
  return graph.context().dims(order);
}
std::optional<Arg> turned_rows(const Graph& graph, Args args) {
  const auto images = sizes_of(graph, args);
  if (images.empty()) return std::nullopt;
  return graph.context().dims(DimVec{images[1], images[0], pixels(images)});
}

// Whether two tensors are as many channels of the same images, image by image in memory, and their products small.
std::optional<Arg> images_lie_apart(const Graph& graph, Args args) {
  const auto one = sizes_of(graph, args), other = sizes_of(graph, args, 1);
  if (one.empty() || one.size() != other.size()) return std::nullopt;
  auto turned = [](std::span<const Dim> dims) {
    DimVec made(dims);
    std::swap(made[0], made[1]);
    return made;
  };
  auto lies_so = [&](const Type& type) { return contiguous_strides(turned(type.sizes())) == turned(type.strides()); };
  const bool same = std::ranges::equal(one.subspan(1), other.subspan(1));
  return Arg::of_bool(same && lies_so(graph.type(args[0].value())) && lies_so(graph.type(args[1].value())) &&
                      products_are_small(graph, pixels(one), one[0], other[0]));
}

std::optional<Arg> column(const Graph& graph, Args args) {
  if (args.size() != 1 || !args[0].is_value() || !graph.type(args[0].value()).is_tensor()) return std::nullopt;
  return graph.context().dims(DimVec{Dim(1), graph.type(args[0].value()).sizes()[0], Dim(1)});
}
}  // namespace

const RuleSet& convolution_patterns() {
  constexpr NamedFunction functions[] = {{"one_tap", one_tap},
                                         {"long_rows", long_rows},
                                         {"one_matrix", one_matrix},
                                         {"of_each", of_each},
                                         {"turned_of_each", turned_of_each},
                                         {"rows", rows},
                                         {"channels_second", channels_second},
                                         {"turned_rows", turned_rows},
                                         {"images_lie_apart", images_lie_apart},
                                         {"column", column}};
  static const RuleSet rules = RuleSet::parse(kRules, op_table(), "convolution_patterns", functions);
  return rules;
}

}  // namespace lenz
