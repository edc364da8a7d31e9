#include "oracle/parting.h"

#include <algorithm>
#include <limits>

#include "compiler/graph/alias.h"
#include "compiler/graph/symbol_makers.h"

namespace lenz::oracle {

namespace {
constexpr size_t kGiven = std::numeric_limits<size_t>::max();  // to the graph, not made by a node
}

Parting::Parting(const Graph& graph) : graph_(graph.clone()) {
  number_.resize(graph_->node_capacity());
  graph_->for_each_node([&](NodeId id) {
    number_[id] = nodes_.size();
    nodes_.push_back(id);
  });
  made_at_.assign(graph_->value_count(), kGiven);
  last_read_.assign(graph_->value_count(), 0);
  for (size_t at = 0; at < nodes_.size(); ++at) {
    const Node& node = graph_->node(nodes_[at]);
    for (uint16_t i = 0; i < node.result_count; ++i) made_at_[node.result(i)] = at;
    for (const Arg& a : node.arguments()) for_each_value(a, [&](ValueId v) { last_read_[v] = at; });
  }
  for (const Arg& a : graph_->outputs()) for_each_value(a, [&](ValueId v) { last_read_[v] = nodes_.size(); });
  find_cuts();
}

// Such nodes are made again in whatever part asks for them.
bool Parting::only_sizes(NodeId id) const {
  const Node& node = graph_->node(id);
  if (node.op->has(Trait::data_dependent) || effects(*graph_, node).any()) return false;
  for (uint16_t i = 0; i < node.result_count; ++i) {
    const TypeKind kind = graph_->type(node.result(i)).kind;
    if (kind != TypeKind::sym_int && kind != TypeKind::sym_float && kind != TypeKind::sym_bool) return false;
  }
  return node.result_count > 0;
}

// What nodes before the cut make and others read behind it, through nodes of sizes that are made again there.
std::vector<ValueId> Parting::alive_at(size_t at) const {
  std::vector<ValueId> alive;
  std::vector<bool> seen(graph_->value_count());
  std::vector<ValueId> ask;
  for (ValueId v = 0; v < graph_->value_count(); ++v)
    if (made_at_[v] != kGiven && made_at_[v] < at && last_read_[v] >= at) ask.push_back(v);
  while (!ask.empty()) {
    const ValueId v = ask.back();
    ask.pop_back();
    if (seen[v] || made_at_[v] == kGiven) continue;
    seen[v] = true;
    const NodeId maker = nodes_[made_at_[v]];
    if (!only_sizes(maker)) {
      alive.push_back(v);
      continue;
    }
    for (const Arg& a : graph_->node(maker).arguments()) for_each_value(a, [&](ValueId u) { ask.push_back(u); });
  }
  std::ranges::sort(alive);
  return alive;
}

// Its own; of one that has none, one that nobody has.
std::string Parting::name_of(ValueId v) const {
  if (graph_->value(v).name != kNone) return graph_->value_name(v).substr(1);
  std::string name = "part" + std::to_string(v);
  const auto taken = [&] {
    for (ValueId other = 0; other < graph_->value_count(); ++other)
      if (graph_->value(other).name != kNone && graph_->value_name(other).substr(1) == name) return true;
    return false;
  };
  while (taken()) name += "_";
  return name;
}

void Parting::find_cuts() {
  cuts_.assign(nodes_.size() + 1, true);
  // By storage, the last node that writes to it.
  std::vector<size_t> written(graph_->value_count(), 0);
  bool symbols_of_nodes = false;
  for (size_t at = 0; at < nodes_.size(); ++at) {
    const Node& node = graph_->node(nodes_[at]);
    symbols_of_nodes = symbols_of_nodes || node.op->has(Trait::data_dependent);
    if (symbols_of_nodes) cuts_[at + 1] = false;
    for_each_written(*graph_, node, [&](ValueId v) { written[graph_->storage(v)] = at + 1; });
  }
  for (size_t at = 1; at < nodes_.size(); ++at) {
    if (!cuts_[at]) continue;
    std::vector<ValueId> storages;
    for (ValueId v : alive_at(at)) {
      if (!graph_->type(v).is_tensor()) cuts_[at] = false;
      storages.push_back(graph_->storage(v));
    }
    for (const Input& input : graph_->inputs()) storages.push_back(graph_->storage(input.value));
    std::ranges::sort(storages);
    for (size_t i = 1; i < storages.size(); ++i)
      if (storages[i] == storages[i - 1] && written[storages[i]] > at) cuts_[at] = false;
  }
  cuts_[0] = cuts_[nodes_.size()] = true;
}

std::vector<ValueId> Parting::caller_reads() const {
  std::vector<ValueId> found;
  for (const Arg& a : graph_->outputs())
    for_each_value(a, [&](ValueId v) {
      if (std::ranges::find(found, v) == found.end()) found.push_back(v);
    });
  return found;
}

std::vector<ValueId> Parting::given(size_t first, size_t last) const {
  std::vector<ValueId> found;
  for (ValueId v : last < nodes_.size() ? alive_at(last) : caller_reads())
    if (made_at_[v] != kGiven && made_at_[v] >= first && made_at_[v] < last && graph_->type(v).is_tensor())
      found.push_back(v);
  return found;
}

Part Parting::part(size_t first, size_t last) const {
  Part p;
  p.graph = graph_->clone();
  const std::vector<ValueId> before = alive_at(first);
  p.given = given(first, last);
  std::vector<Arg> outputs;
  for (ValueId v : p.given) outputs.push_back(Arg::of_value(v));
  p.graph->set_outputs(outputs);

  for (ValueId v : before) {
    const ValueId input = p.graph->add_input(name_of(v), &graph_->type(v));
    p.graph->replace_uses(v, input);
    p.taken.push_back(v);
  }
  // From the last on, so that none has users left: what is outside, and sizes that nobody asks for.
  for (size_t at = nodes_.size(); at-- > 0;) {
    const Node& node = p.graph->node(nodes_[at]);
    const bool inside = at >= first && at < last;
    bool asked = false;
    for (uint16_t i = 0; i < node.result_count; ++i) asked = asked || !p.graph->value(node.result(i)).users.empty();
    if (inside || (at < first && asked)) {
      p.nodes.push_back(nodes_[at]);
    } else {
      p.graph->erase(nodes_[at]);
    }
  }
  std::ranges::reverse(p.nodes);
  for (size_t i = p.taken.size(); i-- > 0;) {  // what others alone read
    const size_t at = graph_->inputs().size() + i;
    if (!p.graph->value(p.graph->inputs()[at].value).users.empty()) continue;
    p.graph->remove_input(at);
    p.taken.erase(p.taken.begin() + static_cast<ptrdiff_t>(i));
  }
  // What comes in is the part's own: it may write to it.
  p.graph->for_each_node([&](NodeId id) {
    for_each_written(*p.graph, p.graph->node(id), [&](ValueId v) {
      for (size_t i = graph_->inputs().size(); i < p.graph->inputs().size(); ++i)
        if (p.graph->storage(v) == p.graph->inputs()[i].value) p.graph->input(i).mutated = true;
    });
  });
  forget_unmade_symbols(*p.graph);
  p.graph = p.graph->clone();  // values numbered densely, inputs first
  return p;
}

}  // namespace lenz::oracle
