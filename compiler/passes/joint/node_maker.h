// Makes the nodes of a replacement one by one, and takes them back if it does not work out.
// Thread-safety: as the graph's.
#pragma once

#include <initializer_list>
#include <optional>
#include <span>
#include <string_view>

#include "compiler/graph/rewrite.h"

namespace lenz {

class NodeMaker {
 public:
  // New nodes stand before `root` and come from it.
  NodeMaker(Graph& graph, NodeId root);
  // The first result of a call. Throws UserError if the op refuses.
  ValueId call(std::string_view op, std::initializer_list<Arg> args, std::initializer_list<Keyword> keywords = {});
  ValueId call(const OpDef& op, std::span<const Arg> args);  // of all its arguments
  bool guards_added() const { return saved_ && saved_->relied().size() != graph_.assumptions.relied().size(); }
  void undo();  // the new nodes are gone; nobody else may use them

 private:
  Graph& graph_;
  NodeId root_;
  uint32_t origin_;
  std::optional<Assumptions> saved_;  // of a graph with symbols
  std::vector<NodeId> made_;
};

}  // namespace lenz
