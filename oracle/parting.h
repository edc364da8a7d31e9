// A graph cut into stretches of its nodes, each a graph of its own: what it takes from the nodes before it are inputs,
// what later ones or the caller take from it are outputs.
// Thread-safety: constant once made.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "compiler/graph/graph.h"

namespace lenz::oracle {

struct Part {
  std::unique_ptr<Graph> graph;
  std::vector<ValueId> taken;  // of the whole: what its inputs behind the whole's own stand for
  std::vector<ValueId> given;  // of the whole: its outputs
  std::vector<NodeId> nodes;   // of the whole, in order
};

class Parting {
 public:
  explicit Parting(const Graph& graph);

  size_t nodes() const { return nodes_.size(); }
  const Graph& whole() const { return *graph_; }  // with its values numbered densely; parts speak of it
  // Whether the graph may be cut before its node of this number: nothing but tensors crosses, no symbol that a node
  // made, and nothing that two of them share is written to behind the cut.
  bool may_cut(size_t at) const { return cuts_[at]; }
  size_t number_of(NodeId id) const { return number_[id]; }
  // What nodes [first, last) make and others or the caller read.
  std::vector<ValueId> given(size_t first, size_t last) const;
  // Nodes [first, last), and those before them that only compute with sizes, as far as they are asked for.
  Part part(size_t first, size_t last) const;

 private:
  bool only_sizes(NodeId id) const;
  std::vector<ValueId> alive_at(size_t at) const;
  std::vector<ValueId> caller_reads() const;
  std::string name_of(ValueId v) const;
  void find_cuts();

  std::unique_ptr<Graph> graph_;
  std::vector<NodeId> nodes_;
  std::vector<size_t> number_;     // by node
  std::vector<size_t> made_at_;    // by value, the number of its node; of an input: none
  std::vector<size_t> last_read_;  // by value; of outputs: behind all nodes
  std::vector<bool> cuts_;
};

}  // namespace lenz::oracle
