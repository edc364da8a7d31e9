#include <bit>
#include <cmath>

#include "compiler/graph/alias.h"
#include "compiler/graph/try_infer.h"
#include "compiler/passes/algebraic_patterns.h"
#include "compiler/passes/pass.h"
#include "compiler/passes/uniform.h"

namespace lenz {

namespace {

// What operands are worth if all their elements are one number, and what rows say follows from it.
class Constants {
 public:
  Constants(Graph& graph, PassContext& context)
      : graph_(graph), context_(context), aliases_(graph), uniforms_(graph, aliases_) {
    full_ = graph.ops().find(filled_form());
  }

  void run() {
    graph_.for_each_node([&](NodeId id) {
      const OpDef& op = *graph_.node(id).op;
      if (op.neutral.empty() && op.absorbing.empty()) return;
      if (applies(id) && (drop_neutral(id) || absorb(id))) dead_.push_back(id);
    });
    graph_.erase_all(dead_);
  }

 private:
  // Two operands, and whatever else the op takes at its default: alpha is 1.
  bool applies(NodeId id) const {
    const Node& node = graph_.node(id);
    if (node.arg_count < 2 || node.result_count != 1 || effects(graph_, node).any()) return false;
    for (size_t i = 2; i < node.arg_count; ++i)
      if (!(node.args[i] == default_arg(graph_.context(), node.op->schema.params[i]))) return false;
    return true;
  }

  // f(x, neutral) = x
  bool drop_neutral(NodeId id) {
    const Node& node = graph_.node(id);
    for (const Neutral& n : node.op->neutral)
      for (size_t side : {size_t{1}, size_t{0}}) {
        if (side == 1 ? n.side == Neutral::left : n.side == Neutral::right) continue;
        const Arg& other = node.args[1 - side];
        if (!other.is_value() || !is_number(node.args[side], n.value)) continue;
        const Type& type = graph_.type(other.value());
        if (!type.is_tensor() || !n.dtypes.has(type.dtype)) continue;
        Refusal refusal = may_replace(graph_, aliases_, node.result(), other.value());
        if (refusal != Refusal::none) {
          context_.count("refused:" + std::string(name(refusal)));
          continue;
        }
        if (!context_.allow("neutral element")) continue;
        replace_value(graph_, aliases_, node.result(), other.value());
        return true;
      }
    return false;
  }

  // f(x, absorbing) = result
  bool absorb(NodeId id) {
    const Node& node = graph_.node(id);
    const Type& type = graph_.type(node.result());
    if (!full_ || !type.is_tensor()) return false;
    for (const Absorbing& a : node.op->absorbing) {
      if (!a.dtypes.has(type.dtype) || !(is_number(node.args[0], a.value) || is_number(node.args[1], a.value)))
        continue;
      Context& c = graph_.context();
      Arg number = type.dtype == Dtype::b8 ? Arg::of_bool(a.result != 0) : Arg::of_int(static_cast<int64_t>(a.result));
      const Arg args[] = {c.dims(type.sizes()),        number,     Arg::of_dtype(type.dtype), Arg::none(),
                          Arg::of_device(type.device), Arg::none()};
      auto results = try_infer(graph_, *full_, args);
      if (!results || (*results)[0].type != &type || !context_.allow("absorbing element")) continue;
      NodeId fresh = graph_.insert(id, *full_, args, provenance(graph_, id));
      replace_value(graph_, aliases_, graph_.node(id).result(), graph_.node(fresh).result());
      return true;
    }
    return false;
  }

  bool is_number(const Arg& a, double value) {
    auto n = a.is_value() ? uniforms_.of(a.value()) : number_of(a);
    return n && std::bit_cast<uint64_t>(*n) == std::bit_cast<uint64_t>(value);
  }

  Graph& graph_;
  PassContext& context_;
  AliasClasses aliases_;
  Uniforms uniforms_;
  const OpDef* full_;
  std::vector<NodeId> dead_;
};

void run(Graph& graph, PassContext& context) {
  Constants(graph, context).run();
  context.apply(graph, algebraic_patterns());
}

}  // namespace

Pass algebraic_simplification() {
  return {.name = "algebraic_simplification",
          .contract =
              "Applies laws of algebra that hold bit for bit: for floats with NaN, infinities and signed zeros, for\n"
              "integers modulo 2^n. Asks rows for neutral and absorbing elements and traits; the rest are rules\n"
              "(algebraic_patterns.cpp). Keeps dtypes, strides and aliasing.",
          .levels = kEveryLevel,
          .never_grows = true,
          .run = run};
}

}  // namespace lenz
