#include "compiler/graph/host_kernels.h"
#include "compiler/passes/expand_node.h"
#include "compiler/passes/pass.h"

namespace lenz {

Pass functionalise();

namespace {

// One node if it is none of level core: by its definition, or element by element. What the definition says is looked
// at in turn.
class Decomposer {
 public:
  Decomposer(Graph& graph, PassContext& context) : graph_(graph), context_(context) {}

  void run() {
    expand_all();
    // A definition may write to what it made itself, or, in the middle of the graph, to an input.
    bool early = writes_early();
    if (early) graph_.level = Level::torch;
    if (writes_ || early) {
      functionalise().run(graph_, context_);
      expand_all();  // what writes became
    }
    bool core = true;
    graph_.for_each_node([&](NodeId id) { core = core && stays(graph_.node(id)); });
    for (const auto& sub : graph_.subgraphs) core = core && sub->level == Level::core;
    if (core && graph_.level == Level::aten && context_.allow("level")) graph_.level = Level::core;
    for (const auto& sub : graph_.subgraphs) sub->level = graph_.level;
  }

 private:
  void expand_all() {
    for (NodeId id = graph_.first(); id != kNone;) {
      NodeId previous = graph_.previous(id), next = graph_.node(id).next;
      if (expanded(id)) next = previous == kNone ? graph_.first() : graph_.node(previous).next;
      id = next;
    }
  }

  // Externs say what they are; a write to an input is how a functional graph ends.
  static bool is_core(const Node& node) {
    return !node.op->infer || node.op->has(Trait::core) || node.op->schema.mutates();
  }

  bool stays(const Node& node) const {
    if (is_core(node)) return true;
    if (!context_.products_outside || !has_host_kernel(graph_, node)) return false;
    return !(context_.attention_in_steps && has_scores_for_caches(graph_, node));
  }

  // Whether anything but writes and views stands behind a write.
  bool writes_early() const {
    bool written = false, early = false;
    graph_.for_each_node([&](NodeId id) {
      const OpDef& op = *graph_.node(id).op;
      early = early || (written && !op.schema.mutates() && !op.has(Trait::view));
      written = written || op.schema.mutates();
    });
    return early;
  }

  bool expanded(NodeId id) {
    const Node& node = graph_.node(id);
    const OpDef& op = *node.op;
    if (is_core(node)) {
      writes_ = writes_ || (op.schema.mutates() && !ends(node));
      return false;
    }
    if (stays(node)) return false;
    if (op.each) return context_.allow("elements") && expand_elements(graph_, id);
    if (op.decompose.empty()) return false;
    if (!context_.allow("definition")) return false;
    std::string_view packet = op.schema.packet;
    if (expand_node(graph_, id)) {
      context_.count(packet);
      return true;
    }
    context_.count("refused " + op.full_name);
    return false;
  }

  bool ends(const Node& node) const {
    for (size_t i = 0; i < node.arg_count; ++i)
      if (node.op->schema.params[i].writes && node.args[i].is_value() &&
          graph_.value(graph_.storage(node.args[i].value())).producer != kNone)
        return false;
    return true;
  }

  Graph& graph_;
  PassContext& context_;
  bool writes_ = false;
};

void run(Graph& graph, PassContext& context) { Decomposer(graph, context).run(); }

}  // namespace

Pass decompose_to_core() {
  return {.name = "decompose_to_core",
          .contract =
              "Puts definitions in the place of ops until only core ones are left, and elements in the place\n"
              "of lists. Asks rows' definitions, and types for how results lie.\n"
              "Keeps what a definition keeps: values but for rounding, types to the last stride.",
          .levels = {Level::aten},
          .idempotent = true,
          .rounds = true,
          .run = run};
}

}  // namespace lenz
