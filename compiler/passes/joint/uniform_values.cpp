#include "compiler/passes/uniform.h"

#include <cmath>

#include "compiler/graph/pattern_functions.h"
#include "compiler/graph/rewrite.h"
#include "compiler/graph/try_infer.h"
#include "compiler/passes/algebraic_patterns.h"
#include "compiler/passes/expand_node.h"
#include "compiler/passes/pass.h"
#include "compiler/scalar/rounding.h"
#include "compiler/scalar/scalar.h"

namespace lenz {

namespace {

// Calls whose operands are all one number each: so is the result. Of primitives only those whose every bit is defined,
// with operands that already have the dtype that they are computed in; of other calls what their definitions come to.
class Folder {
 public:
  Folder(Graph& graph, PassContext& context)
      : graph_(graph), context_(context), aliases_(graph), uniforms_(graph, aliases_) {
    full_ = graph.ops().find(filled_form());
  }

  void run() {
    if (!full_) return;
    graph_.for_each_node([&](NodeId id) { visit(id); });
    graph_.erase_all(dead_);
  }

 private:
  void visit(NodeId id) {
    const Node node = graph_.node(id);  // not a reference: nodes move where one is inserted
    if (!node.op->has(Trait::elementwise) || node.result_count != 1) return;
    if (node.op->accuracy != Accuracy::exact && node.op->accuracy != Accuracy::rounded) return;
    if (node.op->scalar.empty() && !node.op->has(Trait::composite)) return;
    const Type& type = graph_.type(node.result());
    if (!type.is_tensor() || is_complex(type.dtype) || is_float8(type.dtype) || effects(graph_, node).any()) return;
    auto number = node.op->scalar.empty() ? by_definition(node) : value(node, type.dtype);
    if (!number) return;
    Context& c = graph_.context();
    const Arg args[] = {c.dims(type.sizes()),        *number,    Arg::of_dtype(type.dtype), Arg::none(),
                        Arg::of_device(type.device), Arg::none()};
    auto results = try_infer(graph_, *full_, args);
    if (!results || (*results)[0].type != &type || aliases_.is_written(node.result()) || seen_as_an_operand(node) ||
        !context_.allow("one number"))
      return;
    NodeId fresh = graph_.insert(id, *full_, args, provenance(graph_, id));
    replace_value(graph_, aliases_, node.result(), graph_.node(fresh).result());
    dead_.push_back(id);
  }

  // A call may hand on an operand itself: to who holds both, a fill would be other memory.
  bool seen_as_an_operand(const Node& node) {
    bool shared = false;
    for (const Arg& a : node.arguments())
      for_each_value(a, [&](ValueId v) { shared |= aliases_.shared(v, node.result()); });
    return shared && aliases_.escapes(node.result());
  }

  // In a graph of its own, whose fills stand for the operands.
  std::optional<Arg> by_definition(const Node& node) {
    Graph scratch(graph_.shared_context(), graph_.ops(), "definition");
    scratch.level = graph_.level;
    scratch.assumptions = graph_.assumptions;
    SmallVec<Arg, 8> args;
    for (const Arg& a : node.arguments()) {
      if (!a.is_value()) {
        if (a.kind == ArgKind::value_list || a.kind == ArgKind::arg_list) return std::nullopt;
        args.push_back(a);
        continue;
      }
      const Type& type = graph_.type(a.value());
      auto n = uniforms_.of(a.value());
      auto number = n ? literal_of(type.dtype, *n) : std::nullopt;
      if (!number) return std::nullopt;
      const Arg fill[] = {graph_.context().dims(type.sizes()), *number,    Arg::of_dtype(type.dtype), Arg::none(),
                          Arg::of_device(type.device),         Arg::none()};
      auto filled = try_infer(scratch, *full_, fill);
      if (!filled) return std::nullopt;
      args.push_back(Arg::of_value(scratch.node(scratch.append(*full_, fill)).result()));
    }
    if (!try_infer(scratch, *node.op, args)) return std::nullopt;
    const NodeId call = scratch.append(*node.op, args);
    const Arg result[] = {Arg::of_value(scratch.node(call).result())};
    scratch.set_outputs(result);
    if (!expand_node(scratch, call)) return std::nullopt;
    PassContext unasked;
    Folder(scratch, unasked).run();
    AliasClasses aliases(scratch);
    const ValueId made = scratch.outputs()[0].value();
    auto n = Uniforms(scratch, aliases).of(made);
    return n ? literal_of(scratch.type(made).dtype, *n) : std::nullopt;
  }

  std::optional<Arg> value(const Node& node, Dtype result) {
    const ScalarRow* row = find_scalar(node.op->scalar);
    if (!row || row->operands != OperandRule::same || row->result == ResultRule::target) return std::nullopt;
    std::optional<Dtype> compute;
    for (const Arg& a : node.arguments())
      if (a.is_value() && graph_.type(a.value()).is_tensor()) {
        Dtype d = graph_.type(a.value()).dtype;
        if (compute && *compute != d) return std::nullopt;
        compute = d;
      }
    if (!compute || !row->dtypes.has(*compute) || result_dtype(*row, *compute) != result) return std::nullopt;
    SmallVec<ScalarValue, 3> operands;
    for (size_t i = 0; i < node.arg_count; ++i) {
      const Arg& a = node.args[i];
      if (i >= static_cast<size_t>(row->arity)) {
        if (!(a == default_arg(graph_.context(), node.op->schema.params[i]))) return std::nullopt;
        continue;
      }
      auto n = a.is_value() ? uniforms_.of(a.value()) : number_of(a);
      if (!n || std::isnan(*n)) return std::nullopt;
      auto operand = as(*compute, *n);
      if (!operand) return std::nullopt;
      operands.push_back(*operand);
    }
    if (operands.size() != static_cast<size_t>(row->arity)) return std::nullopt;
    if (!is_defined(*row, *compute, operands)) return std::nullopt;
    try {
      return literal(result, evaluate(*row, *compute, operands));
    } catch (const UserError&) {  // a division that eager refuses
      return std::nullopt;
    }
  }

  // A number as an operand of this dtype: of integers only those that a double and the dtype hold.
  static std::optional<ScalarValue> as(Dtype d, double n) {
    if (is_floating(d)) return round_to(d, n) == n ? std::optional(ScalarValue(n)) : std::nullopt;
    if (!(std::fabs(n) < 0x1p53) || std::trunc(n) != n) return std::nullopt;
    auto i = static_cast<int64_t>(n);
    return wrap_to(d, i) == i ? std::optional(ScalarValue(i)) : std::nullopt;
  }

  static std::optional<Arg> literal_of(Dtype d, double n) {
    auto exact = as(d, n);
    return exact ? literal(d, *exact) : std::nullopt;
  }

  static std::optional<Arg> literal(Dtype d, const ScalarValue& v) {
    if (d == Dtype::b8) return Arg::of_bool(v.integer() != 0);
    if (v.kind() == ScalarKind::integer) return Arg::of_int(v.integer());
    if (v.kind() != ScalarKind::real) return std::nullopt;
    double rounded = round_to(d, v.real());
    return std::isnan(rounded) ? std::nullopt : std::optional(Arg::of_real(rounded));
  }

  Graph& graph_;
  PassContext& context_;
  AliasClasses aliases_;
  Uniforms uniforms_;
  const OpDef* full_;
  std::vector<NodeId> dead_;
};

void run(Graph& graph, PassContext& context) { Folder(graph, context).run(); }

}  // namespace

Pass uniform_values() {
  return {.name = "uniform_values",
          .contract =
              "Computes calls whose operands are all one number each, and fills their results with what comes out.\n"
              "Asks the row's scalar primitive, in the operands' own dtype, its every bit defined; or its definition.\n"
              "Keeps dtypes and strides; 0 times a tensor that is not all one number is no number of floats.",
          .levels = {Level::torch, Level::aten},
          .idempotent = true,
          .never_grows = true,
          .run = run};
}

}  // namespace lenz
