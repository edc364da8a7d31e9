// Which values lie in one storage, and how each was made of another: what a write to one of them means for the others.
// A snapshot: values made afterwards are unknown to it.
// Thread-safety: constant once made.
#pragma once

#include <unordered_map>
#include <vector>

#include "compiler/graph/alias.h"

namespace lenz {

// How a value came to lie in the storage of another one.
struct StorageLink {
  ValueId of = kNone;    // what it was made of; kNone: it is the first of its storage
  NodeId by = kNone;     // the view; kNone: it is the same tensor, as what an in-place op returns
  int64_t element = -1;  // of a view that gives a list
  bool first() const { return of == kNone; }
};

class Storages {
 public:
  explicit Storages(const Graph& graph);

  const StorageLink& link(ValueId v) const { return links_[v]; }
  // The earliest value that is the same tensor.
  ValueId itself(ValueId v) const {
    while (!links_[v].first() && links_[v].by == kNone) v = links_[v].of;
    return v;
  }
  static constexpr uint32_t kNoStorage = UINT32_MAX;
  // Which storage, by number; none for what is no tensor, and for lists that are no views: their elements have one
  // each.
  uint32_t storage(ValueId v) const { return v < storage_.size() ? storage_[v] : kNoStorage; }
  uint32_t count() const { return count_; }

 private:
  void result(const Node& node, uint16_t index);
  void element(const Node& node);

  const Graph& graph_;
  std::vector<StorageLink> links_;
  std::vector<uint32_t> storage_;
  std::unordered_map<uint64_t, ValueId> elements_;  // of lists with storages of their own, by list and index
  uint32_t count_ = 0;
};

// A view that is told strides, or an offset: it looks at the storage, whatever part of it its operand is.
bool looks_at_storage(const OpDef& op);

}  // namespace lenz
