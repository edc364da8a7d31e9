// A storage whose writes become values: the value that it holds now, views of it made when somebody asks, and what it
// holds once one of its views is written to.
//
// Two ways to hold a storage. By its first value, through whose views writes are traced back row by row
// (OpDef::written_base). Or flat, as the memory that it is: where inputs share it, where a view says strides or
// overlaps, so that only places in memory tell what a write changes.
// Thread-safety: as the graph's.
#pragma once

#include "compiler/passes/storages.h"

namespace lenz {

struct WrittenStorage {
  SmallVec<ValueId, 1> inputs;
  ValueId first = kNone;  // the value that is the storage, as far as the graph says; resized, what it is then
  bool written = false, taken = false, flat = false;
  bool stuck = false;     // a write to it has no functional form here
  bool returned = false;  // its inputs hold the final values
  bool resized = false;   // its input gets another size
  ValueId given = kNone;  // resized: what that input is at the end
  ValueId base = kNone;   // taken: what it holds: a value like `first`, or all of it as a vector
  uint32_t version = 0;   // counts writes
  SmallVec<ValueId, 1> written_inputs;
  bool written_anywhere = false;  // perhaps beside the elements of its inputs
};

class StorageValues {
 public:
  StorageValues(Graph& graph, const Storages& storages);

  WrittenStorage* taken(ValueId v);  // the storage of this value, if its writes become values
  WrittenStorage& of(ValueId v) { return all_[storages_.storage(v)]; }
  std::vector<WrittenStorage>& all() { return all_; }
  void take(WrittenStorage& storage);  // holds it from now on

  // What stands for v here: of its very type.
  ValueId current(ValueId v, NodeId before);
  // The same elements, perhaps at other places in memory: for who only reads them.
  ValueId elements(ValueId v, NodeId before);
  // `written`, of v's sizes, becomes what v holds. `now`: what v is from then on, where it is resized.
  void assign(ValueId v, ValueId now, ValueId written, NodeId before, uint32_t origin);
  // The end of the graph: inputs get their final values, and from now on their views show these.
  void give_back();

 private:
  struct Made {
    ValueId value = kNone;
    uint32_t version = 0;
  };
  WrittenStorage* storage_of(ValueId v);
  ValueId remembered(std::vector<Made>& list, ValueId v, const WrittenStorage& storage);
  ValueId make(ValueId v, ValueId operand, NodeId before);
  SmallVec<Arg, 8> view_args(const StorageLink& link, ValueId operand, NodeId before);
  ValueId fitted(ValueId written, const Type& target, NodeId before, uint32_t origin);
  ValueId written_over(ValueId operand, NodeId before, uint32_t origin);
  // Of a flat storage.
  bool counts_from_storage(const WrittenStorage& storage, const StorageLink& link) const;
  ValueId place(const WrittenStorage& storage, const Type& type, NodeId before, uint32_t origin);
  ValueId looked_at(ValueId placed, ValueId v, NodeId before);
  ValueId held_as(ValueId written, ValueId v, NodeId before, uint32_t origin);
  ValueId in_dtype(ValueId flat, Dtype dtype, NodeId before, uint32_t origin);
  void write_flat(WrittenStorage& storage, const Type& target, ValueId written, NodeId before, uint32_t origin);
  ValueId all_of(ValueId v, Dim extent);
  uint32_t origin_of(ValueId v);

  Graph& graph_;
  const Storages& storages_;
  std::vector<WrittenStorage> all_;
  std::vector<Made> made_, elements_;
};

// Whether no two elements of such a tensor share a place. May add guards: as strides typically are.
bool lies_apart(Graph& graph, const Type& type);
// How many elements of its dtype a storage needs for this tensor. May add a guard: whether there is any.
Dim extent_of(Graph& graph, const Type& type);

}  // namespace lenz
