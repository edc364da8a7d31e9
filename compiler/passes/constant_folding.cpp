#include <unordered_set>

#include "compiler/graph/alias.h"
#include "compiler/passes/pass.h"
#include "compiler/scalar/scalar.h"

namespace lenz {

namespace {

// The symbols that the graph's callers bind: those of its inputs' types. Others exist only where a node makes them.
class KnownSymbols {
 public:
  explicit KnownSymbols(const Graph& graph) {
    for (const Input& input : graph.inputs())
      for_each_symbolic_dim(graph.type(input.value),
                            [&](Dim d) { for_each_symbol(d, [&](const SymNode* s) { symbols_.insert(s); }); });
  }
  bool cover(Dim d) const {
    bool all = true;
    for_each_symbol(d, [&](const SymNode* s) { all &= symbols_.contains(s); });
    return all;
  }

 private:
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
    for (const Arg& a : node.arguments()) for_each_value(a, [&](ValueId v) { scalars |= is_scalar(graph_.type(v)); });
    if (!scalars) return;
    SmallVec<Arg, 12> args(node.arguments());
    bool changed = false;
    for (size_t i = 0; i < args.size(); ++i)
      if (const Param& param = node.op->schema.params[i]; takes_literal(param))
        changed |= fold(args[i], param.type.kind == ParamKind::any ? Literals::integers : Literals::all);
    if (changed) graph_.set_args(id, args);
  }

  static bool is_scalar(const Type& t) { return t.kind == TypeKind::sym_int || t.kind == TypeKind::sym_bool; }

  static bool takes_literal(const Param& p) {
    switch (p.type.kind) {
      case ParamKind::boolean:
      case ParamKind::integer:
      case ParamKind::sym_int:
      case ParamKind::scalar: return true;
      case ParamKind::any: return p.type.list;  // operands of control flow
      default: return false;
    }
  }

  // What a scalar value is known to be: an integer by its type, others by their row's primitive.
  std::optional<Arg> known_value(ValueId v) {
    const Type& t = graph_.type(v);
    if (t.kind == TypeKind::sym_int)
      return known_.cover(t.offset) ? std::optional(Arg::of_dim(t.offset)) : std::nullopt;
    NodeId producer = graph_.value(v).producer;
    return t.kind == TypeKind::sym_bool && producer != kNone ? computed(graph_.node(producer)) : std::nullopt;
  }

  // A primitive of integers that are numbers, computed by its row in the scalar table.
  static std::optional<Arg> computed(const Node& node) {
    const ScalarRow* row = node.op->scalar.empty() ? nullptr : find_scalar(node.op->scalar);
    if (!row || row->arity != node.arg_count || row->result != ResultRule::boolean) return std::nullopt;
    SmallVec<ScalarValue, 3> operands;
    for (const Arg& a : node.arguments()) {
      if (a.kind != ArgKind::integer || a.symbolic) return std::nullopt;
      operands.push_back(ScalarValue(a.i));
    }
    return Arg::of_bool(evaluate(*row, Dtype::i64, operands).integer() != 0);
  }

  enum class Literals : uint8_t { all, integers };  // operands of control flow are values and integers

  // An argument without the values that are known; whether that changed it.
  bool fold(Arg& a, Literals literals = Literals::all) {
    if (a.is_value()) {
      auto known = known_value(a.value());
      if (known && literals == Literals::integers && known->kind != ArgKind::integer) return false;
      if (!known || !context_.allow("scalar")) return false;
      a = *known;
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
      if (e.is_value()) changed |= fold(e, literals);
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
