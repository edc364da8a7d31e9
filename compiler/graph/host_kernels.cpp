#include "compiler/graph/host_kernels.h"

#include <algorithm>
#include <array>

#include "compiler/graph/drawing.h"
#include "compiler/graph/pattern_functions.h"

namespace lenz {

namespace {
// Its definition makes a weight of a whole image for it, which hosts' convolutions are slow at.
bool is_convolution_backward(const OpDef& op) {
  return op.full_name == "aten.convolution_backward";  // op name: whose kernels hosts have beside convolutions'
}

Dim product(std::span<const Dim> sizes) {
  Dim all(1);
  for (Dim d : sizes) all = all * d;
  return all;
}

// Whether its convolution sees each pixel by itself.
bool is_pointwise(const Graph& graph, const Node& node) {
  auto all = [&](std::string_view name, int64_t value) {
    return std::ranges::all_of(node.args[static_cast<size_t>(node.op->schema.find(name))].dim_list(),
                               [&](Dim d) { return d.is(value); });
  };
  const auto weight = graph.type(node.args[2].value()).sizes();
  return all("stride", 1) && all("padding", 0) && product(weight.subspan(2)).is(1);
}

bool has_kernel_for_gradients(const Graph& graph, const Node& node) {
  const Schema& schema = node.op->schema;
  auto arg = [&](std::string_view name) { return node.args[static_cast<size_t>(schema.find(name))]; };
  const Type &gradient = graph.type(node.args[0].value()), &image = graph.type(node.args[1].value());
  // Its f16 dies of some images.
  if (arg("transposed").boolean() || !arg("output_mask").bool_list()[1] || image.dtype == Dtype::f16) return false;
  if (is_reduced_float(image.dtype) || !arg("groups").dim().is(1) || !is_pointwise(graph, node)) return true;
  return !products_are_small(graph, product(image.sizes().subspan(2)), image.sizes()[1], gradient.sizes()[1]);
}

bool is_written_out(const OpDef& op) {
  return op.full_name == "lenz.attention";  // op name: what a graph's own steps became
}
}  // namespace

bool is_attention(const OpDef& op) {
  static constexpr std::array<std::string_view, 2> kAttention{
      "aten.scaled_dot_product_attention",                 // op name: of attention, what hosts have whole
      "aten._scaled_dot_product_flash_attention_for_cpu",  // op name: as above
  };
  return is_written_out(op) || std::ranges::find(kAttention, op.full_name) != kAttention.end();
}

bool may_have_host_kernel(const OpDef& op) { return is_attention(op) || is_convolution_backward(op); }

bool products_are_small(const Graph& graph, Dim pixels, Dim channels, Dim of_weights) {
  return graph.assumptions.prove(gt(channels * of_weights, pixels * (channels + of_weights))) != Truth::yes;
}

bool has_host_kernel(const Graph& graph, const Node& node) {
  if (is_convolution_backward(*node.op)) return has_kernel_for_gradients(graph, node);
  if (!is_attention(*node.op)) return false;
  const Type &query = graph.type(node.args[0].value()), &key = graph.type(node.args[1].value()),
             &value = graph.type(node.args[2].value());
  auto holds = [&](const Cond& cond) { return graph.assumptions.prove(cond) == Truth::yes; };
  if (holds(ne(query.sizes().back(), value.sizes().back())) || holds(eq(key.sizes()[key.rank() - 2], 0))) return false;
  if (query.sizes()[query.rank() - 2].is(1)) return false;
  return !draws_numbers(*node.op, node.arguments());
}

bool suits_steps(const Graph& graph, const Node& node, bool quick_products, int64_t few) {
  constexpr int64_t kMostBytes = 20 << 20;
  if (!is_attention(*node.op)) return false;
  const Type &query = graph.type(node.args[0].value()), &key = graph.type(node.args[1].value());
  if (query.dtype != Dtype::f32 || query.rank() != key.rank()) return false;
  // Keys that several queries share would be copied for each.
  if (!std::ranges::equal(query.sizes().first(query.rank() - 2), key.sizes().first(key.rank() - 2))) return false;
  const Dim scores = product(query.sizes().first(query.rank() - 1)) * key.sizes()[key.rank() - 2];
  if (!scores.is_constant()) return quick_products && is_written_out(*node.op);
  const int64_t bytes = scores.constant() * item_size(query.dtype);
  if (bytes <= few) return true;
  const int i = node.op->schema.find("is_causal");
  const bool causal = i >= 0 && node.args[static_cast<size_t>(i)].boolean();
  return quick_products && bytes <= kMostBytes && !causal;
}

bool narrow_scores_are_quicker(int64_t bytes) { return bytes >= 256 << 10 && bytes <= 16 << 20; }

bool has_no_share(const Node& node) {
  auto is_taken = [&](std::string_view name, double times) {
    const int i = node.op->schema.find(name);
    if (i < 0) return false;
    return number_of(node.args[static_cast<size_t>(i)]) == times;
  };
  return is_taken("alpha", 0) && node.op->schema.find("beta") >= 0 && !is_taken("beta", 1);
}

}  // namespace lenz
