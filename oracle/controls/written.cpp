#include "oracle/controls/written.h"

#include <algorithm>
#include <limits>
#include <unordered_map>
#include <vector>

#include "compiler/ops/op_table.h"

namespace lenz::oracle::controls {

namespace {

// Joining is the one movement that is commonly written as copies into parts.
constexpr std::string_view kJoin = "aten.cat";                // op name: what is taken apart
constexpr std::string_view kWhole = "aten.empty";             // op name: what it becomes
constexpr std::string_view kPart = "aten.slice";              // op name: what it becomes
constexpr std::string_view kCopy = "aten.copy_";              // op name: what it becomes
constexpr size_t kRead = std::numeric_limits<size_t>::max();  // by the caller

// The variant of a row that writes to its first operand what the row gives; null: there is none.
const OpDef* in_place_of(const OpDef* row) {
  static const auto twins = [] {
    std::unordered_map<const OpDef*, const OpDef*> found;
    for (const auto& op : op_table().rows())
      if (op->variant == VariantKind::in_place && op->base->variants.in_place_value.empty()) found[op->base] = op.get();
    return found;
  }();
  const auto at = twins.find(row);
  return at == twins.end() ? nullptr : at->second;
}

class Writer {
 public:
  explicit Writer(const Graph& graph) : graph_(graph.clone()) {}

  std::unique_ptr<Graph> take() {
    graph_->for_each_node([&](NodeId id) {
      if (graph_->node(id).op->full_name == kJoin) join(id);
    });
    read_last();
    size_t at = 0;
    graph_->for_each_node([&](NodeId id) { overwrite(id, at++); });
    return writes_ ? std::move(graph_) : nullptr;
  }

 private:
  Context& context() { return graph_->context(); }
  ValueId append(NodeId before, std::string_view op, std::initializer_list<Arg> positional,
                 std::initializer_list<Keyword> keywords = {}) {
    const Resolved r =
        resolve(*graph_, op, {positional.begin(), positional.size()}, {keywords.begin(), keywords.size()});
    return graph_->node(graph_->insert(before, *r.op, r.args)).result();
  }
  void replace(NodeId node, ValueId by) {
    graph_->replace_uses(graph_->node(node).result(), by);
    graph_->erase(node);
    ++writes_;
  }

  void join(NodeId id) {
    const Type& type = graph_->type(graph_->node(id).result());
    std::vector<ValueId> parts;
    for_each_value(graph_->node(id).args[0], [&](ValueId v) { parts.push_back(v); });
    const auto alike = [&](ValueId v) { return graph_->type(v).dtype == type.dtype; };
    if (!std::ranges::all_of(parts, alike)) return;
    const int64_t dim = graph_->node(id).args[1].i;
    const ValueId whole = append(id, kWhole, {context().dims(type.sizes())}, {{"dtype", Arg::of_dtype(type.dtype)}});
    int64_t from = 0;
    for (ValueId part : parts) {
      const int64_t to = from + graph_->type(part).sizes()[static_cast<size_t>(dim)].constant();
      const ValueId place =
          append(id, kPart, {Arg::of_value(whole), Arg::of_int(dim), Arg::of_int(from), Arg::of_int(to)});
      append(id, kCopy, {Arg::of_value(place), Arg::of_value(part)});
      from = to;
    }
    replace(id, whole);
  }

  // By storage, the place of the last node that mentions any value of it.
  void read_last() {
    last_read_.assign(graph_->value_count(), 0);
    size_t at = 0;
    graph_->for_each_node([&](NodeId id) {
      for (const Arg& a : graph_->node(id).arguments())
        for_each_value(a, [&](ValueId v) { last_read_[graph_->storage(v)] = at; });
      ++at;
    });
    for (const Arg& a : graph_->outputs())
      for_each_value(a, [&](ValueId v) { last_read_[graph_->storage(v)] = kRead; });
  }

  void overwrite(NodeId id, size_t at) {
    const Node& node = graph_->node(id);
    const OpDef* twin = in_place_of(node.op);
    if (!twin || node.result_count != 1 || node.arg_count == 0 || !node.args[0].is_value()) return;
    const ValueId result = node.result(), target = node.args[0].value(), owner = graph_->storage(target);
    if (graph_->value(owner).producer == kNone || last_read_[owner] != at) return;
    if (&graph_->type(target) != &graph_->type(result)) return;
    // Nothing else of the memory may be read by the call itself.
    size_t mentions = 0;
    for (const Arg& a : node.arguments())
      for_each_value(a, [&](ValueId v) { mentions += graph_->storage(v) == owner ? 1 : 0; });
    if (mentions != 1) return;
    last_read_[owner] = last_read_[result];
    const std::vector<Arg> args(node.arguments().begin(), node.arguments().end());
    const NodeId written = graph_->insert(id, *twin, args);
    replace(id, graph_->node(written).result());
  }

  std::unique_ptr<Graph> graph_;
  std::vector<size_t> last_read_;
  size_t writes_ = 0;
};

}  // namespace

std::unique_ptr<Graph> with_writes(const Graph& graph) { return Writer(graph).take(); }

}  // namespace lenz::oracle::controls
