#include "compiler/passes/joint/node_maker.h"

namespace lenz {

NodeMaker::NodeMaker(Graph& graph, NodeId root) : graph_(graph), root_(root), origin_(provenance(graph, root)) {
  if (graph.context().syms.node_count()) saved_ = graph.assumptions;
}

ValueId NodeMaker::call(std::string_view op, std::initializer_list<Arg> args, std::initializer_list<Keyword> keywords) {
  Resolved r = resolve(graph_, op, {args.begin(), args.size()}, {keywords.begin(), keywords.size()});
  made_.push_back(graph_.insert(root_, *r.op, r.args, origin_));
  return graph_.node(made_.back()).result();
}

ValueId NodeMaker::call(const OpDef& op, std::span<const Arg> args) {
  made_.push_back(graph_.insert(root_, op, args, origin_));
  return graph_.node(made_.back()).result();
}

void NodeMaker::undo() {
  graph_.erase_all(made_);
  made_.clear();
  if (saved_) graph_.assumptions = *saved_;
}

}  // namespace lenz
