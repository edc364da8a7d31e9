#include "compiler/graph/alias.h"
#include "compiler/graph/try_infer.h"
#include "compiler/graph/whole_numbers.h"
#include "compiler/passes/pass.h"

namespace lenz {

namespace {

// One spelling for each call, so that equal calls are equal text: what common_subexpressions and patterns rely on.
class Canonicaliser {
 public:
  Canonicaliser(Graph& graph, PassContext& context) : graph_(graph), context_(context), place_(graph.value_count()) {
    uint32_t next = 0;
    for (const Input& input : graph.inputs()) place_[input.value] = next++;
    graph.for_each_node([&](NodeId id) {
      for (uint16_t i = 0; i < graph.node(id).result_count; ++i) place_[graph.node(id).result(i)] = next++;
    });
  }

  void visit(NodeId id) {
    const Node& node = graph_.node(id);
    if (node.op->has(Trait::structural)) return;
    const auto& params = node.op->schema.params;
    for (size_t i = 0; i < node.arg_count; ++i) {
      const Arg& a = graph_.node(id).args[i];
      if (a.is_none()) continue;
      if (is_dim_param(params[i])) wrap_dims(id, i);
      if (params[i].type.list && a.kind == ArgKind::integer) widen_list(id, i);
      if (params[i].type.kind == ParamKind::scalar && params[i].fallback) spell_default(id, i);
      if (says_nothing_if_default(params[i])) drop_if_inferred(id, i);
    }
    // Eager multiplies one operand of a complex sum by alpha, even by 1: of infinities it matters which.
    if (node.op->has(Trait::commutative) && !is_complex(graph_.type(node.first_result).dtype)) order_operands(id);
  }

 private:
  // Negative dims count from the front.
  void wrap_dims(NodeId id, size_t i) {
    const Node& node = graph_.node(id);
    auto rank = rank_for_dims(graph_, *node.op, node.arguments(), node.first_result);
    if (!rank) return;
    auto wrapped = [&](Dim d) {
      return d.is_constant() && d.constant() < 0 ? Dim(d.constant() + static_cast<int64_t>(*rank)) : d;
    };
    const Arg& a = node.args[i];
    if (a.kind == ArgKind::integer) return set(id, i, Arg::of_dim(wrapped(a.dim())), "dim");
    if (a.kind != ArgKind::int_list) return;
    DimVec dims(a.dim_list());
    bool changed = false;
    for (Dim& d : dims) {
      changed |= !(d == wrapped(d));
      d = wrapped(d);
    }
    if (changed) set(id, i, graph_.context().dims(dims), "dim");
  }

  // One integer for a list: as many times as the schema says.
  void widen_list(NodeId id, size_t i) {
    const Node& node = graph_.node(id);
    int size = std::max(node.op->schema.params[i].type.list_size, 1);
    set(id, i, graph_.context().dims(DimVec(static_cast<size_t>(size), node.args[i].dim())), "list");
  }

  // A number that equals the default is the default.
  void spell_default(NodeId id, size_t i) {
    const Node& node = graph_.node(id);
    Arg given = node.args[i], standard = default_arg(graph_.context(), node.op->schema.params[i]);
    if (given == standard || given.kind == ArgKind::boolean || !same_argument(graph_, given, standard)) return;
    if (keeps_type(id, i, standard)) set(id, i, standard, "default");
  }

  // Arguments that only choose the result's type: with the one chosen anyway, they say nothing.
  static bool says_nothing_if_default(const Param& p) {
    if (!p.type.optional || p.type.list) return false;
    switch (p.type.kind) {
      case ParamKind::dtype:
      case ParamKind::device:
      case ParamKind::layout:
      case ParamKind::memory_format: return true;
      default: return p.name == "pin_memory";
    }
  }
  void drop_if_inferred(NodeId id, size_t i) {
    const Arg& a = graph_.node(id).args[i];
    if (a.kind == ArgKind::boolean && a.boolean()) return;  // pinned memory is no part of the type
    if (a.kind == ArgKind::layout && a.layout() != Layout::strided) return;
    if (keeps_type(id, i, Arg::none())) set(id, i, Arg::none(), "inferred");
  }

  // Operands of commutative ops in the order of their definition, numbers last. Eager derives strides from the operands
  // in order: where the exchange changes the type, the order stays.
  void order_operands(NodeId id) {
    const Node& node = graph_.node(id);
    const auto& params = node.op->schema.params;
    if (node.arg_count < 2 || node.op->schema.mutates() || params[0].type.kind != params[1].type.kind) return;
    for (size_t i = 2; i < node.arg_count; ++i)
      if (!(node.args[i] == default_arg(graph_.context(), params[i]))) return;  // alpha counts the second operand
    if (key(node.args[0]) <= key(node.args[1]) || is_second_for_a_reason(node)) return;
    SmallVec<Arg, 12> args(node.arguments());
    std::swap(args[0], args[1]);
    auto results = try_infer(graph_, *node.op, args);
    if (!results || (*results)[0].type != &graph_.type(node.result()) || !context_.allow("order")) return;
    graph_.set_args(id, args);
  }
  // Half precision rounds the first operand to its own dtype, and not the second where that is one value.
  bool is_second_for_a_reason(const Node& node) const {
    const Dtype result = graph_.type(node.first_result).dtype;
    if ((result != Dtype::f16 && result != Dtype::bf16) || !takes_whole(*node.op, 1)) return false;
    auto differs = [&](const Arg& a) { return !a.is_value() || graph_.type(a.value()).dtype != result; };
    return differs(node.args[0]) || differs(node.args[1]);
  }
  uint64_t key(const Arg& a) const { return a.is_value() ? place_[a.value()] : UINT64_MAX; }

  // Whether the node with another argument has the same results.
  bool keeps_type(NodeId id, size_t i, const Arg& instead) {
    const Node& node = graph_.node(id);
    SmallVec<Arg, 12> args(node.arguments());
    args[i] = instead;
    auto results = try_infer(graph_, *node.op, args);
    if (!results || results->size() != node.result_count) return false;
    for (uint16_t r = 0; r < node.result_count; ++r) {
      ValueId v = node.result(r), alias = (*results)[r].alias_of;
      ValueId storage = alias == kNone ? v : graph_.storage(alias);
      if ((*results)[r].type != &graph_.type(v) || storage != graph_.storage(v)) return false;
    }
    return true;
  }

  void set(NodeId id, size_t i, const Arg& to, std::string_view what) {
    if (graph_.node(id).args[i] == to || !context_.allow(what)) return;
    SmallVec<Arg, 12> args(graph_.node(id).arguments());
    args[i] = to;
    graph_.set_args(id, args);
  }

  Graph& graph_;
  PassContext& context_;
  std::vector<uint32_t> place_;
};

void run(Graph& graph, PassContext& context) {
  Canonicaliser canonicaliser(graph, context);
  graph.for_each_node([&](NodeId id) { canonicaliser.visit(id); });
}

}  // namespace

Pass canonicalise_arguments() {
  return {.name = "canonicalise_arguments",
          .contract =
              "Gives each call one spelling: dims count from the front, lists are lists, defaults and what follows\n"
              "from the operands go unsaid, operands of commutative ops stand in order. Asks schemas and type rules.\n"
              "Keeps every node and every type.",
          .levels = kEveryLevel,
          .idempotent = true,
          .never_grows = true,
          .run = run};
}

}  // namespace lenz
