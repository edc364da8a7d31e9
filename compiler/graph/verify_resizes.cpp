// The rule about out= tensors that an op resizes: whatever was their value, or a view of it, has a type no more.
#include <unordered_map>

#include "compiler/graph/verifier.h"

namespace lenz {

void Verifier::resizes() {
  auto may_resize = [](const Node& n) { return n.op->variant == VariantKind::out || gives_a_size(n); };
  bool any = false;
  graph_.for_each_node([&](NodeId id) { any = any || may_resize(graph_.node(id)); });
  if (!any) return;
  std::unordered_map<ValueId, std::vector<ValueId>> of_storage;  // the values so far that share one, by its owner
  std::unordered_map<ValueId, std::string> stale;                // and what resized them
  auto define = [&](ValueId v) { of_storage[graph_.storage(v)].push_back(v); };
  auto use = [&](NodeId id, ValueId v) {
    auto at = stale.find(v);
    if (at != stale.end()) report(506, id, name(v) + " was resized by " + at->second + " and is used again");
  };
  auto resize = [&](const Node& n) {
    const bool last = n.op->variant == VariantKind::out;
    size_t first = last ? n.arg_count - std::min<size_t>(n.arg_count, n.result_count) : 0;
    for (uint16_t k = 0; k < n.result_count && first + k < n.arg_count; ++k) {
      const Arg& out = n.args[first + k];
      if (!out.is_value() || !graph_.type(out.value()).is_tensor() || !graph_.type(n.result(k)).is_tensor()) continue;
      if (&graph_.type(out.value()) == &graph_.type(n.result(k))) continue;
      std::vector<ValueId>& old = of_storage[graph_.storage(out.value())];
      for (ValueId v : old) stale.emplace(v, n.op->full_name);
      old.clear();
    }
  };
  for (const Input& i : graph_.inputs()) define(i.value);
  graph_.for_each_node([&](NodeId id) {
    const Node& n = graph_.node(id);
    if (!stale.empty())
      for (const Arg& a : n.arguments()) for_each_value(a, [&](ValueId v) { use(id, v); });
    if (may_resize(n)) resize(n);
    for (uint16_t k = 0; k < n.result_count; ++k) define(n.result(k));
  });
  for (const Arg& a : graph_.outputs()) for_each_value(a, [&](ValueId v) { use(kNone, v); });
}

}  // namespace lenz
