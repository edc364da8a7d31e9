#include "compiler/passes/storages.h"

namespace lenz {

bool looks_at_storage(const OpDef& op) { return op.schema.find("stride") >= 0; }

Storages::Storages(const Graph& graph)
    : graph_(graph), links_(graph.value_count()), storage_(graph.value_count(), kNoStorage) {
  std::unordered_map<NameId, uint32_t> shared;
  for (const Input& input : graph.inputs()) {
    if (!graph.type(input.value).is_tensor()) continue;
    if (!input.alias) {
      storage_[input.value] = count_++;
      continue;
    }
    auto [at, fresh] = shared.emplace(*input.alias, count_);
    if (fresh) ++count_;
    storage_[input.value] = at->second;
  }
  graph.for_each_node([&](NodeId id) {
    const Node& node = graph.node(id);
    if (node.op->has(Trait::structural) && node.op->has(Trait::view)) return element(node);
    for (uint16_t i = 0; i < node.result_count; ++i) result(node, i);
  });
}

void Storages::result(const Node& node, uint16_t index) {
  ValueId v = node.result(index);
  const Type& type = graph_.type(v);
  if (!type.is_tensor() && type.kind != TypeKind::list) return;
  if (graph_.storage(v) == v) {
    if (type.is_tensor()) storage_[v] = count_++;
    return;
  }
  const Schema& schema = node.op->schema;
  char letter = index < schema.returns.size() ? schema.returns[index].alias : '\0';
  ValueId of = kNone;
  bool written = false, listed = false;
  for (size_t i = 0; i < node.arg_count; ++i) {
    ValueId operand = kNone;
    for_each_value(node.args[i], [&](ValueId each) {
      if (operand == kNone && graph_.storage(each) == graph_.storage(v)) operand = each;
    });
    if (operand == kNone) continue;
    bool named = letter && schema.params[i].alias == letter;
    if (of != kNone && !named) continue;
    of = operand;
    written = schema.params[i].writes;
    listed = !node.args[i].is_value();
    if (named) break;
  }
  LENZ_CHECK(of != kNone, node.op->full_name + " shares the storage of none of its operands");
  // One of a list that is handed on is that element.
  bool same = (written || listed) && &graph_.type(of) == &type;
  storage_[v] = storage_[of];
  if (written && !same) return;  // resized: what it was has no meaning any more
  links_[v] = {of, same ? kNone : graph_.value(v).producer, -1};
}

void Storages::element(const Node& node) {
  ValueId v = node.result();
  int64_t index = node.args[1].dim().constant();
  if (!node.args[0].is_value()) {
    auto list = node.args[0].value_list();
    ValueId of = list[static_cast<size_t>(index < 0 ? index + static_cast<int64_t>(list.size()) : index)];
    links_[v] = {of, kNone, -1};
    storage_[v] = storage_[of];
    return;
  }
  ValueId list = node.args[0].value();
  if (index < 0) index += static_cast<int64_t>(graph_.type(list).elements().size());
  if (!links_[list].first()) {  // an element of views is a view
    links_[v] = {links_[list].of, links_[list].by, index};
    storage_[v] = storage_[list];
    return;
  }
  auto [at, fresh] = elements_.emplace(uint64_t{list} << 32 | static_cast<uint64_t>(index), v);
  if (fresh) {
    storage_[v] = count_++;
  } else {
    links_[v] = {at->second, kNone, -1};
    storage_[v] = storage_[at->second];
  }
}

}  // namespace lenz
