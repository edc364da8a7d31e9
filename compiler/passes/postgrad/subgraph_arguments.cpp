#include <algorithm>
#include <map>
#include <optional>

#include "compiler/graph/alias.h"
#include "compiler/passes/pass.h"

namespace lenz {

namespace {

// The last operands of control flow are handed to each of its sub-graphs, as the last inputs: those of a branch, those
// that a loop only reads. One that no sub-graph uses need not be handed over, one that stands there twice only once.
class Trimmer {
 public:
  Trimmer(Graph& graph, PassContext& context) : graph_(graph), context_(context) {
    graph.for_each_node([&](NodeId id) {
      for (const Arg& a : graph.node(id).arguments())
        if (a.kind == ArgKind::graph) ++calls_[a.graph()];
    });
  }

  void run() {
    graph_.for_each_node([&](NodeId id) { visit(id); });
  }

 private:
  void visit(NodeId id) {
    const Node& node = graph_.node(id);
    std::vector<Graph*> callees;
    for (const Arg& a : node.arguments()) {
      if (a.kind != ArgKind::graph) continue;
      if (calls_[a.graph()] != 1) return;  // another node hands over what it has
      callees.push_back(graph_.subgraphs[a.graph()].get());
    }
    if (callees.empty() || effects(graph_, node).any() || node.arg_count == 0) return;
    const Arg& last = node.args[node.arg_count - 1];
    if (last.kind != ArgKind::value_list) return;
    std::vector<ValueId> operands(last.value_list().begin(), last.value_list().end());
    for (Graph* callee : callees)
      if (callee->inputs().size() < operands.size()) return;

    std::map<ValueId, size_t> first;
    size_t before = operands.size();
    for (size_t i = 0; i < operands.size();) {
      auto twin = first.find(operands[i]);
      bool simple = std::ranges::all_of(callees, [&](Graph* g) { return plain(*g, operands, i); });
      bool merged = simple && twin != first.end() && same_types(callees, operands.size(), i, twin->second) &&
                    context_.allow("twice");
      if (merged) {
        for (Graph* g : callees) {
          ValueId from = value(*g, operands.size(), i), to = value(*g, operands.size(), twin->second);
          if (from != to) g->replace_uses(from, to);
        }
      }
      bool used = !simple || std::ranges::any_of(callees, [&](Graph* g) {
        return !g->value(value(*g, operands.size(), i)).users.empty();
      });
      if (used || (!merged && !context_.allow("unused"))) {
        first.emplace(operands[i], i);
        ++i;
        continue;
      }
      for (Graph* g : callees) g->remove_input(input(*g, operands.size(), i));
      operands.erase(operands.begin() + static_cast<ptrdiff_t>(i));
    }
    if (operands.size() == before) return;
    SmallVec<Arg, 8> args(node.arguments());
    args[args.size() - 1] = graph_.context().values(operands);
    graph_.set_args(id, args);
  }

  static size_t input(const Graph& callee, size_t operands, size_t i) { return callee.inputs().size() - operands + i; }
  static ValueId value(const Graph& callee, size_t operands, size_t i) {
    return callee.inputs()[input(callee, operands, i)].value;
  }
  // A sub-graph may name sizes of one of the two by symbols of which the other's say nothing: types within are made of
  // them, so that neither stands for the other.
  static bool same_types(std::span<Graph* const> callees, size_t operands, size_t i, size_t twin) {
    return std::ranges::all_of(callees, [&](const Graph* g) {
      return &g->type(value(*g, operands, i)) == &g->type(value(*g, operands, twin));
    });
  }
  // An input that binds no symbol that the others do not bind to the same, shares no memory and is not written to.
  bool plain(const Graph& callee, std::span<const ValueId> operands, size_t i) const {
    const Input& in = callee.inputs()[input(callee, operands.size(), i)];
    bool bound = true;
    for_each_symbolic_dim(callee.type(in.value), [&](Dim d) {
      for_each_symbol(d, [&](const SymNode* symbol) { bound = bound && bound_beside(callee, operands, i, symbol); });
    });
    return bound && !in.mutated && !in.alias;
  }
  // The first input with a symbol for a size says what it stands for: if that is this one, the next has to say the
  // same, for the types of what the node gives are made of it.
  bool bound_beside(const Graph& callee, std::span<const ValueId> operands, size_t i, const SymNode* symbol) const {
    const size_t inputs = callee.inputs().size(), carried = inputs - operands.size(), own = carried + i;
    const auto stands_for = [&](size_t at, size_t dim) {
      return at < carried ? Dim(symbol) : graph_.type(operands[at - carried]).sizes()[dim];
    };
    std::optional<Dim> first;
    for (size_t k = 0; k < inputs; ++k) {
      const Type& type = callee.type(callee.inputs()[k].value);
      if (!type.is_tensor()) continue;
      for (size_t dim = 0; dim < type.rank(); ++dim) {
        if (type.sizes()[dim].is_constant() || !(type.sizes()[dim] == Dim(symbol))) continue;
        if (!first && k != own) return true;  // another one comes before it
        if (k != own) return stands_for(k, dim) == *first;
        if (!first) first = stands_for(k, dim);
      }
    }
    return false;
  }

  Graph& graph_;
  PassContext& context_;
  std::map<uint32_t, size_t> calls_;  // by sub-graph
};

void run(Graph& graph, PassContext& context) {
  if (!graph.subgraphs.empty()) Trimmer(graph, context).run();
}

}  // namespace

Pass subgraph_arguments() {
  return {.name = "subgraph_arguments",
          .contract =
              "Drops operands of control flow that no sub-graph uses, and hands over once what stands there twice.\n"
              "Asks who uses the sub-graphs' last inputs; only of sub-graphs that one node calls.\n"
              "Keeps what a loop carries, and inputs that bind symbols, share memory or are written to.",
          .levels = {Level::aten, Level::core},
          .idempotent = true,
          .never_grows = true,
          .run = run};
}

}  // namespace lenz
