#include "compiler/graph/host_kernels.h"

#include <algorithm>
#include <array>

#include "compiler/graph/drawing.h"

namespace lenz {

bool may_have_host_kernel(const OpDef& op) {
  static constexpr std::array<std::string_view, 3> kAttention{
      "lenz.attention",                                    // op name: of attention, what hosts have whole
      "aten.scaled_dot_product_attention",                 // op name: as above
      "aten._scaled_dot_product_flash_attention_for_cpu",  // op name: as above
  };
  return std::ranges::find(kAttention, op.full_name) != kAttention.end();
}

bool has_host_kernel(const Graph& graph, const Node& node) {
  if (!may_have_host_kernel(*node.op)) return false;
  const Type &query = graph.type(node.args[0].value()), &key = graph.type(node.args[1].value()),
             &value = graph.type(node.args[2].value());
  auto holds = [&](const Cond& cond) { return graph.assumptions.prove(cond) == Truth::yes; };
  if (holds(ne(query.sizes().back(), value.sizes().back())) || holds(eq(key.sizes()[key.rank() - 2], 0))) return false;
  return !draws_numbers(*node.op, node.arguments());
}

bool has_no_share(const Node& node) {
  const int alpha = node.op->schema.find("alpha");
  if (alpha < 0) return false;
  const Arg& share = node.args[static_cast<size_t>(alpha)];
  return (share.kind == ArgKind::integer && share.dim().is(0)) || (share.kind == ArgKind::real && share.real() == 0);
}

}  // namespace lenz
