#include "oracle/relayout.h"

#include <algorithm>

#include "compiler/graph/alias.h"
#include "compiler/graph/rebuild.h"
#include "compiler/ops/layouts.h"

namespace lenz::oracle {

namespace {
bool is_constant(const Type& t) {
  bool constant = t.is_tensor();
  for_each_symbolic_dim(t, [&](Dim) { constant = false; });
  return constant;
}

const Type* relaid(Context& context, const Type& type, LayoutClass layout, bool written, Chooser& choose) {
  SmallVec<int64_t, 6> sizes;
  for (Dim d : type.sizes()) sizes.push_back(d.constant());
  Strided s = draw_of_class(layout, sizes, written, choose);
  TensorType t = type.tensor();
  for (size_t d = 0; d < t.rank(); ++d) t.strides[d] = s.strides[d];
  t.offset = s.offset;
  return context.tensor(t);
}
}  // namespace

Relayout with_other_layouts(const Graph& graph, Chooser& choose) {
  AliasClasses classes(graph);
  std::vector<const Type*> types;
  for (const Input& input : graph.inputs()) types.push_back(&graph.type(input.value));
  Relayout result;
  for (size_t i = 0; i < types.size(); ++i) {
    const Input& input = graph.inputs()[i];
    const Type* own = types[i];
    auto layout = static_cast<LayoutClass>(choose.below(kLayoutClasses));
    if (input.alias || !is_constant(*own)) continue;
    bool written = input.mutated || classes.is_written(input.value);
    types[i] = relaid(graph.context(), *own, layout, written, choose);
    if (types[i] == own) continue;
    if (auto made = rebuilt(graph, {.inputs = types})) {
      result.graph = std::move(made);
      result.what +=
          (result.what.empty() ? "" : ", ") + graph.value_name(input.value) + " " + std::string(name(layout));
    } else {
      types[i] = own;
    }
  }
  return result;
}

}  // namespace lenz::oracle
