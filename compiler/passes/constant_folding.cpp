#include <unordered_set>

#include "compiler/graph/alias.h"
#include "compiler/passes/pass.h"

namespace lenz {

namespace {

// The symbols that the graph's callers bind: those of its inputs' types. Others exist only where a node makes them.
class KnownSymbols {
 public:
  explicit KnownSymbols(const Graph& graph) {
    for (const Input& input : graph.inputs()) add(graph.type(input.value));
  }
  bool cover(Dim d) const {
    bool all = true;
    for_each_symbol(d, [&](const SymNode* s) { all &= symbols_.contains(s); });
    return all;
  }

 private:
  void add(const Type& t) {
    if (t.kind == TypeKind::list)
      for (const Type* e : t.elements()) add(*e);
    if (t.kind == TypeKind::sym_int) add(t.offset);
    if (!t.is_tensor()) return;
    for (Dim d : t.sizes()) add(d);
    for (Dim d : t.strides()) add(d);
    add(t.offset);
  }
  void add(Dim d) {
    for_each_symbol(d, [&](const SymNode* s) { symbols_.insert(s); });
  }
  std::unordered_set<const SymNode*> symbols_;
};

class Folder {
 public:
  Folder(Graph& graph, PassContext& context) : graph_(graph), context_(context), known_(graph) {}

  void run() {
    graph_.for_each_node([&](NodeId id) { fold_arguments(id); });
    std::vector<Arg> outputs(graph_.outputs().begin(), graph_.outputs().end());
    bool changed = false;
    for (Arg& a : outputs) changed |= fold(a);
    if (changed) graph_.set_outputs(outputs);
  }

 private:
  void fold_arguments(NodeId id) {
    const Node& node = graph_.node(id);
    bool scalars = false;
    for (const Arg& a : node.arguments())
      for_each_value(a, [&](ValueId v) { scalars |= graph_.type(v).kind == TypeKind::sym_int; });
    if (!scalars) return;
    SmallVec<Arg, 12> args(node.arguments());
    bool changed = false;
    for (size_t i = 0; i < args.size(); ++i)
      if (takes_literal(node.op->schema.params[i])) changed |= fold(args[i]);
    if (changed) graph_.set_args(id, args);
  }

  static bool takes_literal(const Param& p) {
    switch (p.type.kind) {
      case ParamKind::integer:
      case ParamKind::sym_int:
      case ParamKind::scalar: return true;
      case ParamKind::any: return p.type.list;  // operands of control flow
      default: return false;
    }
  }

  std::optional<Dim> folded(ValueId v) {
    const Type& t = graph_.type(v);
    if (t.kind != TypeKind::sym_int || !known_.cover(t.offset)) return std::nullopt;
    return t.offset;
  }

  // An argument without the values that are known; whether that changed it.
  bool fold(Arg& a) {
    if (a.is_value()) {
      auto d = folded(a.value());
      if (!d || !context_.allow("integer")) return false;
      a = Arg::of_dim(*d);
      return true;
    }
    if (a.kind != ArgKind::arg_list && a.kind != ArgKind::value_list) return false;
    SmallVec<Arg, 8> items;
    if (a.kind == ArgKind::arg_list) {
      items = SmallVec<Arg, 8>(a.arg_list());
    } else {
      for (ValueId v : a.value_list()) items.push_back(v == kNone ? Arg::none() : Arg::of_value(v));
    }
    bool changed = false, integers = true;
    DimVec dims;
    for (Arg& e : items) {
      if (e.is_value()) changed |= fold(e);
      integers &= e.kind == ArgKind::integer;
      if (e.kind == ArgKind::integer) dims.push_back(e.dim());
    }
    if (changed) a = integers ? graph_.context().dims(dims) : graph_.context().args(items);
    return changed;
  }

  Graph& graph_;
  PassContext& context_;
  KnownSymbols known_;
};

void run(Graph& graph, PassContext& context) { Folder(graph, context).run(); }

}  // namespace

Pass constant_folding() {
  return {.name = "constant_folding",
          .contract =
              "Writes integers that are known, as numbers or as expressions over the inputs' sizes, where a node\n"
              "would compute them. Asks types: a symbolic integer's type says its value. Tensors are not folded.\n"
              "Keeps sizes that only the run knows where they are made.",
          .levels = kEveryLevel,
          .idempotent = true,
          .never_grows = true,
          .run = run};
}

}  // namespace lenz
