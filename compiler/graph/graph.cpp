#include "compiler/graph/graph.h"

#include "compiler/graph/divisors.h"
#include "compiler/graph/print_literal.h"
#include "compiler/graph/renumber.h"
#include "compiler/graph/tried.h"

#include <algorithm>

namespace lenz {

namespace {
constexpr size_t kLong = 64;  // lists beyond it are not walked from their beginning each time
}  // namespace

std::string_view name(Level level) {
  constexpr std::string_view names[] = {"torch", "aten", "core"};
  return names[static_cast<size_t>(level)];
}

Graph::Graph(std::shared_ptr<Context> context, const OpTable& ops, std::string graph_name)
    : name(std::move(graph_name)), context_(std::move(context)), ops_(&ops) {}

ValueId Graph::add_input(std::string_view input_name, const Type* type) {
  auto id = static_cast<ValueId>(values_.size());
  Value value;
  value.index = static_cast<uint32_t>(inputs_.size());
  value.name = input_name.empty() ? kNone : context_->intern(input_name);
  values_.push_back(std::move(value));
  types_.push_back(type);
  storage_.push_back(id);
  Input input;
  input.value = id;
  inputs_.push_back(input);
  return id;
}

void Graph::remove_input(size_t i) {
  LENZ_CHECK(values_[inputs_[i].value].users.empty(), "removing an input that has users");
  inputs_.erase(inputs_.begin() + static_cast<ptrdiff_t>(i));
  for (size_t k = i; k < inputs_.size(); ++k) values_[inputs_[k].value].index = static_cast<uint32_t>(k);
}

namespace {
// A copy that shares no list of values: what a node mentions is its own memory, to be patched in place.
Arg owned(Context& context, const Arg& arg) {
  if (arg.kind == ArgKind::value_list) return context.values(arg.value_list());
  if (arg.kind != ArgKind::arg_list) return arg;
  std::vector<Arg> items;
  for (const Arg& a : arg.arg_list()) items.push_back(owned(context, a));
  return context.args(items);
}
const Arg* owned(Context& context, std::span<const Arg> args) {
  Arg* own = context.copy(args);
  for (size_t i = 0; i < args.size(); ++i) own[i] = owned(context, args[i]);
  return own;
}
}  // namespace

void Graph::set_outputs(std::span<const Arg> outputs) {
  std::vector<Arg> fresh;  // `outputs` may be a view of our own
  for (const Arg& a : outputs) fresh.push_back(owned(*context_, a));
  guard_divisors(*this, fresh, {});
  remove_users(kOutputs, outputs_);
  outputs_ = std::move(fresh);
  add_users(kOutputs, outputs_);
}

void Graph::add_users(NodeId user, std::span<const Arg> args) {
  for (const Arg& a : args) for_each_value(a, [&](ValueId v) { values_[v].users.push_back(user); });
}

void Graph::remove_users(NodeId user, std::span<const Arg> args) {
  for (const Arg& a : args)
    for_each_value(a, [&](ValueId v) {
      auto& users = values_[v].users;
      const size_t count = users.size();
      const size_t start = count > kLong && last_user_.list == v ? std::min<size_t>(last_user_.place, count - 1) : 0;
      for (size_t i = 0; i < count; ++i) {  // from there both ways, and from the end: what goes was often just added
        size_t at = count - 1 - i;
        if (users[at] != user) at = start + i < count ? start + i : start + i - count;
        if (users[at] != user) at = start >= i ? start - i : start + count - i;
        if (users[at] != user) continue;
        if (count <= kLong) return users.erase(at);
        users[at] = users.back();  // their order is worth less than moving all that stand behind
        users.pop_back();
        last_user_ = {v, static_cast<uint32_t>(at)};
        return;
      }
    });
}

void Graph::link(NodeId id, NodeId before) {
  Node& n = nodes_[id];
  n.next = before;
  NodeId previous = before == kNone ? last_ : previous_[before];
  previous_[id] = previous;
  (previous == kNone ? first_ : nodes_[previous].next) = id;
  (before == kNone ? last_ : previous_[before]) = id;
}

void Graph::unlink(NodeId id) {
  NodeId previous = previous_[id], next = nodes_[id].next;
  (previous == kNone ? first_ : nodes_[previous].next) = next;
  (next == kNone ? last_ : previous_[next]) = previous;
}

namespace {
// What an op without a rule brings along, and no input says, only the run knows.
void open_symbols(Graph& graph, std::span<const Type* const> results) {
  std::vector<const SymNode*> fresh;
  for (const Type* t : results)
    for_each_symbolic_dim(*t, [&](Dim d) { for_each_symbol(d, [&](const SymNode* s) { fresh.push_back(s); }); });
  if (fresh.empty()) return;
  for (const Input& input : graph.inputs())
    for_each_symbolic_dim(graph.type(input.value),
                          [&](Dim d) { for_each_symbol(d, [&](const SymNode* s) { std::erase(fresh, s); }); });
  for (const SymNode* s : fresh) graph.assumptions.open(s);
}
}  // namespace

namespace {
SmallVec<Arg, 12> with_defaults(Context& context, const OpDef& op, std::span<const Arg> args) {
  SmallVec<Arg, 12> full(args);
  LENZ_CHECK(args.size() <= op.schema.params.size(), "more arguments than " + op.full_name + " has parameters");
  for (size_t i = args.size(); i < op.schema.params.size(); ++i)
    full.push_back(default_arg(context, op.schema.params[i]));
  return full;
}
}  // namespace

namespace {
// As whoever reads the graph's text infers them, where the guards that the rule came to rely on stand before all nodes.
SmallVec<InferredResult, 4> results_by_all(Graph& graph, const Infer& first, std::span<const Arg> args,
                                           std::span<const Type* const> annotated, bool more_is_known) {
  if (!more_is_known || !first.unbacked_symbols.empty()) return SmallVec<InferredResult, 4>(first.results());
  Infer again(graph.shared_context(), graph.ops(), first.op(), args, graph.types(), graph.assumptions);
  again.owner = &graph;
  again.run_as(annotated);
  return SmallVec<InferredResult, 4>(again.results());
}
}  // namespace

NodeId Graph::insert(NodeId before, const OpDef& op, std::span<const Arg> args, uint32_t origin,
                     std::span<const Type* const> annotated) {
  const SmallVec<Arg, 12> full = with_defaults(*context_, op, args);
  SmallVec<InferredResult, 4> results;
  if (op.infer) {
    Infer infer(context_, *ops_, op, full, types_, assumptions);
    infer.owner = this;
    infer.unbacked_prefix = "u" + std::to_string(values_.size()) + "_";
    const size_t guards = assumptions.guards().size();
    infer.run_as(annotated);
    results = results_by_all(*this, infer, full, annotated, assumptions.guards().size() > guards);
  } else {
    if (annotated.size() != op.schema.returns.size())
      throw UserError(op.full_name + " has no type rule: its results need type annotations", {},
                      "write `%r: f32[2, 3] = " + op.full_name + "(...)`");
    open_symbols(*this, annotated);
    for (size_t i = 0; i < annotated.size(); ++i) {  // the schema says what shares memory with what
      ValueId alias = kNone;
      for (size_t k = 0; k < full.size() && op.schema.returns[i].alias; ++k)
        if (op.schema.params[k].alias == op.schema.returns[i].alias && full[k].is_value()) alias = full[k].value();
      results.push_back({annotated[i], alias});
    }
  }
  return insert_made(before, op, full, origin, results);
}

std::optional<NodeId> Graph::try_append(const OpDef& op, std::span<const Arg> args) {
  if (!op.infer) return insert(kNone, op, args);
  const SmallVec<Arg, 12> full = with_defaults(*context_, op, args);
  Infer infer(context_, *ops_, op, full, types_, assumptions);
  infer.owner = this;
  infer.unbacked_prefix = "u" + std::to_string(values_.size()) + "_";
  Tried tried(assumptions);
  if (infer.refusal()) return std::nullopt;
  tried.stays();
  return insert_made(kNone, op, full, 0, results_by_all(*this, infer, full, {}, tried.more_is_known()));
}

NodeId Graph::insert_made(NodeId before, const OpDef& op, std::span<const Arg> full, uint32_t origin,
                          std::span<const InferredResult> results) {
  guard_divisors(*this, full, op.full_name);
  for (const InferredResult& r : results) guard_divisors(*this, *r.type, op.full_name);

  auto id = static_cast<NodeId>(nodes_.size());
  Node n;
  n.op = &op;
  n.args = owned(*context_, full);
  n.arg_count = static_cast<uint16_t>(full.size());
  n.result_count = static_cast<uint16_t>(results.size());
  n.first_result = static_cast<ValueId>(values_.size());
  n.origin = origin;
  nodes_.push_back(n);
  previous_.push_back(kNone);
  for (uint32_t i = 0; i < results.size(); ++i) {
    Value value;
    value.producer = id;
    value.index = i;
    values_.push_back(std::move(value));
    types_.push_back(results[i].type);
    storage_.push_back(results[i].alias_of == kNone ? n.first_result + i : storage_[results[i].alias_of]);
  }
  link(id, before);
  ++live_;
  add_users(id, full);
  return id;
}

void Graph::erase(NodeId id) {
  Node& n = nodes_[id];
  LENZ_CHECK(!n.erased, "erasing a node twice");
  for (uint16_t i = 0; i < n.result_count; ++i)
    LENZ_CHECK(values_[n.result(i)].users.empty(), "erasing a node whose results are used");
  remove_users(id, n.arguments());
  unlink(id);
  n.erased = true;
  --live_;
}

void Graph::erase_all(std::span<const NodeId> ids) {
  std::vector<bool> erased(nodes_.size());  // small enough for a cache, where the nodes of a large graph are not
  for (NodeId id : ids) {
    LENZ_CHECK(!erased[id] && !nodes_[id].erased, "erasing a node twice");
    erased[id] = true;
  }
  auto gone = [&](NodeId user) { return user != kOutputs && erased[user]; };
  auto forget = [&](ValueId v) {  // drops every user that is gone
    auto& users = values_[v].users;
    auto kept = std::remove_if(users.begin(), users.end(), gone);
    users.resize(static_cast<size_t>(kept - users.begin()));
  };
  auto drop = [&](NodeId id) {
    nodes_[id].erased = true;
    unlink(id);
    --live_;
  };
  auto check_unused = [&](ValueId v) { LENZ_CHECK(values_[v].users.empty(), "erasing a node whose results are used"); };
  if (ids.size() * 16 < values_.size()) {
    std::vector<bool> done(values_.size());
    for (NodeId id : ids) {
      for (const Arg& a : nodes_[id].arguments())
        for_each_value(a, [&](ValueId v) {
          if (!done[v]) forget(v);
          done[v] = true;
        });
      drop(id);
    }
    for (NodeId id : ids)
      for (uint16_t i = 0; i < nodes_[id].result_count; ++i) check_unused(nodes_[id].result(i));
    return;
  }
  // A good part of the graph: a walk over all values, one after another in memory, misses the cache less often than
  // one from node to operand.
  for (NodeId id : ids) drop(id);
  for (ValueId v = 0; v < values_.size(); ++v) {
    if (values_[v].users.empty()) continue;
    forget(v);
    if (NodeId producer = values_[v].producer; producer != kNone && erased[producer]) check_unused(v);
  }
}

void Graph::move_before(NodeId id, NodeId before) {
  if (id == before) return;
  unlink(id);
  link(id, before);
}

void Graph::set_args(NodeId id, std::span<const Arg> args) {
  Node& n = nodes_[id];
  LENZ_CHECK(args.size() == n.arg_count, "set_args changes the number of arguments");
  const Arg* fresh = owned(*context_, args);
  for (size_t i = 0; i < args.size(); ++i) {  // what stays is not touched: a value may have very many users
    if (n.args[i] == fresh[i]) continue;
    remove_users(id, {n.args + i, 1});
    add_users(id, {fresh + i, 1});
  }
  n.args = fresh;
}

std::string Graph::spelled_name() const {
  std::string text;
  append_name(text, '@', name);
  return text;
}

std::string Graph::value_name(ValueId v) const {
  const Value& value = values_[v];
  return value.name == kNone ? "%#" + std::to_string(v) : "%" + std::string(context_->name(value.name));
}

namespace {
// The place of x in a list, sought from a place on, around the end; the list's size if it is not there.
size_t place_of(std::span<const uint32_t> list, uint32_t x, size_t from) {
  from = std::min(from, list.size());
  auto middle = list.begin() + static_cast<ptrdiff_t>(from);
  auto at = std::find(middle, list.end(), x);
  if (at == list.end()) at = std::find(list.begin(), middle, x), at = at == middle ? list.end() : at;
  return static_cast<size_t>(at - list.begin());
}

// Where an argument mentions one value first it mentions another now; false if it doesn't mention it.
bool patch(Arg& arg, ValueId from, ValueId to, uint32_t& place) {
  if (arg.kind == ArgKind::value) {
    if (arg.value() != from) return false;
    arg = Arg::of_value(to);
    return true;
  }
  if (arg.kind == ArgKind::value_list) {
    const std::span<const ValueId> items = arg.value_list();
    const size_t at = place_of(items, from, place);
    if (at == items.size()) return false;
    const_cast<ValueId&>(items[at]) = to;
    place = static_cast<uint32_t>(at + 1);
    return true;
  }
  if (arg.kind == ArgKind::arg_list)
    for (Arg& a : std::span(const_cast<Arg*>(arg.args), arg.count))
      if (patch(a, from, to, place)) return true;
  return false;
}
}  // namespace

// One mention of a value in a user.
void Graph::patch_user(NodeId user, ValueId from, ValueId to) {
  std::span<Arg> args = user == kOutputs ? std::span<Arg>(outputs_)
                                         : std::span<Arg>(const_cast<Arg*>(nodes_[user].args), nodes_[user].arg_count);
  uint32_t place = last_operand_.list == user ? last_operand_.place : 0;
  const size_t count = args.size(), start = count > kLong ? place : 0;  // of outputs there may be many
  for (size_t i = 0; i < count; ++i) {
    const size_t at = (start + i) % count;
    if (!patch(args[at], from, to, place)) continue;
    if (count > kLong) place = static_cast<uint32_t>(at + 1);
    if (place > kLong) last_operand_ = {user, place};
    return;
  }
}

namespace {
// Whether a result may be made in this operand's storage: schemas say of views which operand that is. An operand beside
// it may lie in the same storage, and give nothing but its sizes.
bool may_view(const Node& node, uint16_t result, ValueId operand) {
  const Schema& schema = node.op->schema;
  if (result >= schema.returns.size() || !schema.returns[result].alias) return true;
  bool said = false;  // `lenz.getitem` names a set that none of its parameters has
  for (size_t k = 0; k < node.arg_count; ++k) {
    if (schema.params[k].alias != schema.returns[result].alias) continue;
    bool there = false;
    for_each_value(node.args[k], [&](ValueId v) { there |= v == operand; });
    if (there) return true;
    said = true;
  }
  return !said;
}
}  // namespace

// What was made from `from` in its storage lies in that of `to` from now on.
void Graph::move_storage(ValueId from, ValueId to) {
  ValueId old = storage_[from];
  SmallVec<ValueId, 8> queue{from};
  while (!queue.empty()) {
    ValueId v = queue.back();
    queue.pop_back();
    for (NodeId user : values_[v].users) {
      if (user == kOutputs) continue;
      for (uint16_t i = 0; i < nodes_[user].result_count; ++i) {
        ValueId r = nodes_[user].result(i);
        if (storage_[r] != old || r == old || !may_view(nodes_[user], i, v)) continue;
        storage_[r] = storage_[to];
        queue.push_back(r);
      }
    }
  }
}

// Patches the users' arguments in place and hands the list of users over, so that a value with many users, or a list of
// many values, costs no more than their number.
void Graph::replace_uses(ValueId from, ValueId to) {
  if (from == to) return;
  if (storage_[from] != storage_[to]) move_storage(from, to);
  for (NodeId user : values_[from].users) patch_user(user, from, to);  // it stands there once for each mention
  auto& moved = values_[from].users;
  values_[to].users.append(moved.begin(), moved.end());
  moved = {};
  NodeId source = values_[from].producer, target = values_[to].producer;
  if (source != kNone && target != kNone) {
    uint32_t origin = context_->merge_origins(nodes_[target].origin, nodes_[source].origin);
    if (values_[from].name != kNone)
      origin = context_->merge_origins(origin, context_->origin({&values_[from].name, 1}));
    nodes_[target].origin = origin;
  }
}

Arg renumbered(Context& context, const Arg& arg, std::span<const ValueId> ids) {
  if (arg.kind == ArgKind::value) return Arg::of_value(ids[arg.value()]);
  if (arg.kind == ArgKind::value_list) {
    SmallVec<ValueId, 8> items(arg.value_list());
    for (ValueId& v : items)
      if (v != kNone) v = ids[v];
    return context.values(items);
  }
  if (arg.kind == ArgKind::arg_list) {
    SmallVec<Arg, 8> items(arg.arg_list());
    for (Arg& a : items) a = renumbered(context, a, ids);
    return context.args(items);
  }
  return arg;
}

std::unique_ptr<Graph> Graph::clone() const {
  auto copy = std::make_unique<Graph>(context_, *ops_, name);
  copy->level = level;
  copy->assumptions = assumptions;
  for (const auto& sub : subgraphs) copy->subgraphs.push_back(sub->clone());
  std::vector<ValueId> ids(values_.size(), kNone);
  auto copy_value = [&](ValueId v) {
    ids[v] = static_cast<ValueId>(copy->values_.size());
    Value value;
    value.producer = values_[v].producer;
    value.index = values_[v].index;
    value.name = values_[v].name;
    copy->values_.push_back(std::move(value));
    copy->types_.push_back(types_[v]);
    copy->storage_.push_back(ids[storage_[v]]);
  };
  for (const Input& input : inputs_) {
    copy_value(input.value);
    copy->inputs_.push_back(input);
    copy->inputs_.back().value = ids[input.value];
  }
  for_each_node([&](NodeId at) {
    const Node& from = nodes_[at];
    auto id = static_cast<NodeId>(copy->nodes_.size());
    Node n = from;
    n.first_result = static_cast<ValueId>(copy->values_.size());
    SmallVec<Arg, 12> args(from.arguments());
    for (Arg& a : args) a = renumbered(*context_, a, ids);
    n.args = context_->copy(args);
    copy->nodes_.push_back(n);
    copy->previous_.push_back(kNone);
    for (uint16_t i = 0; i < from.result_count; ++i) {
      copy_value(from.result(i));
      copy->values_.back().producer = id;
    }
    copy->link(id, kNone);
    ++copy->live_;
    copy->add_users(id, args);
  });
  std::vector<Arg> outputs;
  for (const Arg& a : outputs_) outputs.push_back(renumbered(*context_, a, ids));
  copy->set_outputs(outputs);
  return copy;
}

const Graph& Infer::subgraph(std::string_view param) const {
  const Arg& a = arg(param);
  if (a.kind != ArgKind::graph || !owner || a.graph() >= owner->subgraphs.size())
    raise("`" + std::string(param) + "` must name a sub-graph");
  return *owner->subgraphs[a.graph()];
}

size_t Graph::memory_bytes() const {
  size_t heap = nodes_.capacity() * (sizeof(Node) + sizeof(NodeId)) + values_.capacity() * sizeof(Value) +
                types_.capacity() * (sizeof(types_[0]) + sizeof(ValueId)) + context_->bytes_used();
  for (const Value& v : values_)
    if (v.users.size() > 2) heap += v.users.size() * sizeof(NodeId);
  return heap;
}

}  // namespace lenz
