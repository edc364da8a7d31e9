#include <algorithm>
#include <map>

#include "compiler/graph/alias.h"
#include "compiler/graph/pattern_functions.h"
#include "compiler/graph/rewrite.h"
#include "compiler/graph/try_infer.h"
#include "compiler/passes/pass.h"
#include "compiler/passes/postgrad/extreme_patterns.h"

namespace lenz {

namespace {

// Below this many elements it is not worth a second look at any.
constexpr int64_t kWorthwhile = 4096;

class Sharing {
 public:
  Sharing(Graph& graph, PassContext& context) : graph_(graph), context_(context), aliases_(graph) {}

  void run() {
    uint32_t place = 0;
    graph_.for_each_node([&](NodeId id) { collect(id, place++); });
    for (auto& [key, group] : groups_) {
      const Reduction* part = most_of_the_way(group.parts);
      if (!part) continue;
      for (const Reduction& whole : group.wholes) share(whole, *part);
    }
    graph_.erase_all(dead_);
  }

 private:
  struct Reduction {
    NodeId node;
    uint32_t place;
    size_t dims;
  };
  struct Group {
    std::vector<Reduction> parts, wholes;
  };

  // How many dims a reduction takes: all, if it has no parameter that says which.
  static std::optional<size_t> dims_of(const Node& node, size_t rank) {
    const int dim = node.op->schema.find("dim");
    if (dim < 0) return rank;
    const Arg& a = node.args[dim];
    if (a.is_none()) return rank;
    if (a.kind == ArgKind::integer) return 1;
    if (a.kind != ArgKind::int_list) return std::nullopt;
    return a.dim_list().empty() && !node.op->has(Trait::empty_dims_keep) ? rank : a.dim_list().size();
  }

  void collect(NodeId id, uint32_t place) {
    const Node& node = graph_.node(id);
    if (node.result_count != 1 || node.arg_count == 0 || !node.args[0].is_value()) return;
    const auto families = extreme_families();
    for (size_t f = 0; f < families.size(); ++f) {
      if (std::ranges::find(families[f].ops, node.op->full_name) == families[f].ops.end()) continue;
      const Type& from = graph_.type(node.args[0].value());
      if (!from.is_tensor() || graph_.assumptions.prove(lt(numel(from.sizes()), kWorthwhile)) == Truth::yes) return;
      const auto dims = dims_of(node, from.rank());
      if (!dims || *dims == 0) return;
      Group& group = groups_[{node.args[0].value(), f}];
      (*dims < from.rank() ? group.parts : group.wholes).push_back({id, place, *dims});
    }
  }

  static const Reduction* most_of_the_way(const std::vector<Reduction>& parts) {
    const auto best = std::ranges::max_element(parts, {}, &Reduction::dims);
    return best == parts.end() ? nullptr : &*best;
  }

  void share(const Reduction& whole, const Reduction& part) {
    const Node node = graph_.node(whole.node), partial = graph_.node(part.node);  // no references: nodes move
    ValueId from = moved_.contains(part.node) ? moved_.at(part.node) : partial.result();
    SmallVec<Arg, 4> args(node.arguments());
    args[0] = Arg::of_value(from);
    if (const int dim = node.op->schema.find("dim"); dim >= 0)
      args[static_cast<size_t>(dim)] = default_arg(graph_.context(), node.op->schema.params[static_cast<size_t>(dim)]);
    auto made = try_infer(graph_, *node.op, args);
    if (!made || (*made)[0].type != &graph_.type(node.result()) || !context_.allow("extreme of extremes")) return;
    if (part.place > whole.place && !moved_.contains(part.node)) {
      const NodeId before = graph_.insert(whole.node, *partial.op, partial.arguments(), provenance(graph_, part.node));
      from = graph_.node(before).result();
      moved_[part.node] = from;
      replace_value(graph_, aliases_, partial.result(), from);
      dead_.push_back(part.node);
      args[0] = Arg::of_value(from);
    }
    graph_.set_args(whole.node, args);
  }

  Graph& graph_;
  PassContext& context_;
  AliasClasses aliases_;
  std::map<std::pair<ValueId, size_t>, Group> groups_;
  std::map<NodeId, ValueId> moved_;
  std::vector<NodeId> dead_;
};

void run(Graph& graph, PassContext& context) { Sharing(graph, context).run(); }

}  // namespace

Pass partial_extremes() {
  return {.name = "partial_extremes",
          .contract =
              "Takes the extreme of a whole tensor from its extremes along some dims, where these are there anyway.\n"
              "Asks which reductions are extremes (extreme_patterns.cpp), and sizes for tensors of 4096 elements.\n"
              "Keeps values, NaN among them, but for the sign of a zero beside one of the other sign.",
          .levels = {Level::core},
          .idempotent = true,
          .never_grows = true,
          .rounds = true,
          .run = run};
}

}  // namespace lenz
