#include "bench/share.h"

#include "compiler/lower/lower.h"

namespace lenz::bench {

namespace {
double of(double ours, double others) { return ours + others > 0 ? ours / (ours + others) : 1; }

// An op that has loops and is left to the host all the same is a product.
Part& part_of(Share& share, const loops::Extern& call) {
  if (lowers_to_loops(*call.op)) return share.products;
  share.without_loops.insert(call.op->full_name);
  return share.others;
}
}  // namespace

double Share::nodes() const { return of(static_cast<double>(ours.nodes), static_cast<double>(others.nodes)); }
double Share::bytes() const { return of(ours.bytes, others.bytes); }
double Share::time() const { return of(ours.seconds, others.seconds); }

Share share_of(const loops::Program& before_fusion, const SymValues& symbols,
               const std::vector<runtime::StepTime>& times) {
  Share share;
  auto bytes = [&](loops::BufferId id) {
    const TensorType& type = before_fusion.buffers[id].type;
    double size = item_size(type.dtype);
    for (Dim d : type.sizes) size *= static_cast<double>(evaluate(d, symbols).value_or(0));
    return size;
  };
  loops::for_each_node(before_fusion.body, [&](const loops::Node& node) {
    if (const auto* call = std::get_if<loops::Extern>(&node.is)) {
      Part& part = part_of(share, *call);
      ++part.nodes;
      for (loops::BufferId id : call->results)
        if (id != kNone) part.bytes += bytes(id);
    } else if (const auto* nest = std::get_if<loops::Nest>(&node.is)) {
      ++share.ours.nodes;
      std::set<loops::BufferId> written;
      for (const loops::Store& s : nest->stores) written.insert(s.buffer);
      for (loops::BufferId id : written) share.ours.bytes += bytes(id);
    }
  });
  for (const runtime::StepTime& t : times) {
    if (t.calls == 0 || t.node == nullptr) continue;
    const auto* call = std::get_if<loops::Extern>(&t.node->is);
    (call ? part_of(share, *call) : share.ours).seconds += t.best;
  }
  return share;
}

}  // namespace lenz::bench
