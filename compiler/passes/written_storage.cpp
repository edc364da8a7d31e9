#include "compiler/passes/written_storage.h"

#include <algorithm>

#include "compiler/graph/lazy_views.h"
#include "compiler/graph/rewrite.h"
#include "compiler/ops/decompose.h"
#include "compiler/passes/expand_node.h"

namespace lenz {

bool lies_apart(Graph& graph, const Type& type) {
  if (contiguous_strides(type.sizes()) == DimVec(type.strides())) return true;
  const Facts& facts = graph.assumptions.known();
  std::vector<size_t> dims;
  for (size_t i = 0; i < type.rank(); ++i) {
    if (type.sizes()[i].is(0)) return true;
    if (!type.sizes()[i].is(1)) dims.push_back(i);
  }
  auto usual = [&](size_t i) { return facts.hint(type.strides()[i]).value_or(0); };
  std::ranges::stable_sort(dims, {}, usual);
  Dim covered = 0;  // the farthest place of what the dims before reach
  for (size_t i : dims) {
    const Cond further = gt(type.strides()[i], covered);
    const bool open = graph.assumptions.is_open(further);
    if (open ? graph.assumptions.prove(further) != Truth::yes : !graph.assumptions.decide(further)) return false;
    covered += (type.sizes()[i] - 1) * type.strides()[i];
  }
  return true;
}

Dim extent_of(Graph& graph, const Type& type) {
  Dim last = type.offset, any = 1;
  for (size_t i = 0; i < type.rank(); ++i) {
    Dim size = type.sizes()[i];
    if (graph.assumptions.mentions_open(size))
      any *= min(size, 1);
    else if (graph.assumptions.decide(eq(size, 0)))
      return 0;
    last += (size - 1) * type.strides()[i];
  }
  return (last + 1) * any;
}

StorageValues::StorageValues(Graph& graph, const Storages& storages)
    : graph_(graph),
      storages_(storages),
      all_(storages.count()),
      made_(graph.value_count()),
      elements_(graph.value_count()) {
  for (const Input& input : graph.inputs()) {
    uint32_t s = storages.storage(input.value);
    if (s != Storages::kNoStorage) all_[s].inputs.push_back(input.value);
  }
  for (const Input& input : graph.inputs())
    if (WrittenStorage* s = storage_of(input.value); s && s->first == kNone) s->first = input.value;
  graph.for_each_node([&](NodeId id) {
    for (uint16_t i = 0; i < graph.node(id).result_count; ++i) {
      ValueId v = graph.node(id).result(i);
      if (WrittenStorage* s = storage_of(v); s && s->first == kNone && storages.link(v).first()) s->first = v;
    }
  });
}

WrittenStorage* StorageValues::storage_of(ValueId v) {
  uint32_t s = storages_.storage(v);
  return s == Storages::kNoStorage ? nullptr : &all_[s];
}

WrittenStorage* StorageValues::taken(ValueId v) {
  WrittenStorage* storage = storage_of(v);
  return storage && storage->taken ? storage : nullptr;
}

uint32_t StorageValues::origin_of(ValueId v) {
  NodeId producer = graph_.value(v).producer;
  return producer == kNone ? 0 : provenance(graph_, producer);
}

void StorageValues::take(WrittenStorage& storage) {
  storage.taken = true;
  storage.base = storage.first;
  if (!storage.flat) return;
  for (ValueId input : storage.inputs)  // the one that reaches farthest
    if (graph_.assumptions.decide(
            gt(extent_of(graph_, graph_.type(input)) * item_size(graph_.type(input).dtype),
               extent_of(graph_, graph_.type(storage.base)) * item_size(graph_.type(storage.base).dtype))))
      storage.base = input;
  const Type& type = graph_.type(storage.base);
  NodeId producer = graph_.value(storage.base).producer;
  NodeId before = producer == kNone ? graph_.first() : graph_.node(producer).next;
  const Dim size[] = {extent_of(graph_, type)}, stride[] = {1};
  if (&type == graph_.context().tensor(contiguous_tensor(type.dtype, size, type.device))) return;
  const Arg args[] = {Arg::of_value(storage.base), graph_.context().dims(size), graph_.context().dims(stride),
                      Arg::of_int(0)};
  storage.base = call(graph_, before, "aten.as_strided", args, origin_of(storage.base));  // op name: memory as it is
}

ValueId StorageValues::remembered(std::vector<Made>& list, ValueId v, const WrittenStorage& storage) {
  if (v >= list.size()) list.resize(graph_.value_count());
  return list[v].version == storage.version ? list[v].value : kNone;
}

bool StorageValues::counts_from_storage(const WrittenStorage& storage, const StorageLink& link) const {
  return storage.flat && !storage.returned && link.by != kNone && looks_at_storage(*graph_.node(link.by).op);
}

ValueId StorageValues::current(ValueId v, NodeId before) {
  WrittenStorage* storage = taken(v);
  if (!storage) return v;
  v = storages_.itself(v);
  SmallVec<ValueId, 8> chain;
  ValueId at = v, made = kNone;
  while (true) {
    made = remembered(made_, at, *storage);
    if (made != kNone) break;
    const StorageLink& link = storages_.link(at);
    bool from_memory = storage->flat && !storage->returned && (link.first() || counts_from_storage(*storage, link));
    if (link.first() || from_memory) {
      made = storage->given != kNone ? storage->given
             : storage->returned     ? at
             : from_memory           ? looked_at(place(*storage, graph_.type(at), before, origin_of(at)), at, before)
                                     : storage->base;
      made_[at] = {made, storage->version};
      break;
    }
    chain.push_back(at);
    at = storages_.itself(link.of);
  }
  while (!chain.empty()) {
    at = chain.back();
    chain.pop_back();
    made = make(at, made, before);
    if (at >= made_.size()) made_.resize(graph_.value_count());
    made_[at] = {made, storage->version};
  }
  return made;
}

SmallVec<Arg, 8> StorageValues::view_args(const StorageLink& link, ValueId operand, NodeId before) {
  const Node node = graph_.node(link.by);
  SmallVec<Arg, 8> args;
  for (const Arg& a : node.arguments())
    args.push_back(
        map_values(graph_.context(), a, [&](ValueId u) { return u == link.of ? operand : current(u, before); }));
  return args;
}

// The view v once more, of what its operand is now.
ValueId StorageValues::make(ValueId v, ValueId operand, NodeId before) {
  const StorageLink link = storages_.link(v);
  const Node node = graph_.node(link.by);
  uint32_t origin = origin_of(v);
  SmallVec<const Type*, 4> annotated;
  for (uint16_t i = 0; i < node.result_count; ++i) annotated.push_back(&graph_.type(node.result(i)));
  ValueId made = kNone;
  if (link.element >= 0) {  // one list for all of its elements
    WrittenStorage& storage = of(v);
    ValueId list = remembered(made_, node.result(), storage);
    if (list == kNone) {
      list = graph_.node(graph_.insert(before, *node.op, view_args(link, operand, before), origin, annotated)).result();
      made_[node.result()] = {list, storage.version};
    }
    const Arg taken[] = {Arg::of_value(list), Arg::of_int(link.element)};
    made = call(graph_, before, "lenz.getitem", taken, origin);  // op name: an element of a list
  } else {
    NodeId id = graph_.insert(before, *node.op, view_args(link, operand, before), origin, annotated);
    made = graph_.node(id).result(graph_.value(v).index);
  }
  LENZ_CHECK(&graph_.type(made) == &graph_.type(v),
             "a view of the same layout is " + to_string(graph_.type(made)) + ", not " + to_string(graph_.type(v)));
  if (NameId name = graph_.value(v).name; name != kNone) {
    graph_.set_name(v, kNone);
    graph_.set_name(made, name);
  }
  return made;
}

ValueId StorageValues::elements(ValueId v, NodeId before) {
  WrittenStorage* storage = taken(v);
  if (!storage) return v;
  ValueId known = remembered(elements_, storages_.itself(v), *storage);
  return known != kNone ? known : current(v, before);
}

// In the target's dtype, in memory of its own.
ValueId StorageValues::fitted(ValueId written, const Type& target, NodeId before, uint32_t origin) {
  auto self = [&] { return Arg::of_value(written); };
  const ValueId owner = graph_.storage(written);
  // An element of a list of fresh tensors counts as the list's. What an op that copies nothing gives of such an element
  // does too, but is memory that somebody else has.
  const Node* producer =
      graph_.value(written).producer == kNone ? nullptr : &graph_.node(graph_.value(written).producer);
  const bool element = graph_.type(owner).kind == TypeKind::list && producer && producer->arg_count > 0 &&
                       producer->args[0].is_value() && producer->args[0].value() == owner;
  if (graph_.type(written).dtype != target.dtype) {
    const Arg args[] = {self()};
    const Keyword dtype[] = {{"dtype", Arg::of_dtype(target.dtype)}};
    written = call(graph_, before, "aten._to_copy", args, origin, dtype);  // op name: the cast itself
  } else if (owner != written && !element) {
    const Arg args[] = {self()};
    written = call(graph_, before, "aten.clone", args, origin);  // op name: memory of its own
  }
  if (!std::ranges::equal(graph_.type(written).sizes(), target.sizes())) {  // equal ones, said in another way
    const Arg args[] = {self(), graph_.context().dims(target.sizes())};
    written = call(graph_, before, "aten.reshape", args, origin);  // op name: the sizes' other spelling
  }
  return written;
}

// What is written over is copied as it lies; but eager lays a copy of what is lazily conjugated, or negated, as one of
// dense elements.
ValueId StorageValues::written_over(ValueId operand, NodeId before, uint32_t origin) {
  const Type& type = graph_.type(operand);
  if (!laziness(graph_, operand).any() || extent_of(graph_, type) - type.offset == numel(type.sizes())) return operand;
  const Arg self[] = {Arg::of_value(operand)};
  return call(graph_, before, "aten.clone", self, origin);  // op name: dense, without the bit
}

void StorageValues::assign(ValueId v, ValueId now, ValueId written, NodeId before, uint32_t origin) {
  WrittenStorage& storage = of(v);
  v = storages_.itself(v);
  if (!storage.taken) {
    const Arg copy[] = {Arg::of_value(v), Arg::of_value(written)};
    call(graph_, before, "aten.copy_", copy, origin);  // op name: the write that stays
    return;
  }
  if (written == remembered(made_, v, storage)) return;  // an op that had nothing to do
  const Type& target = graph_.type(v);
  written = fitted(written, graph_.type(now), before, origin);
  ValueId elements = written;
  if (&graph_.type(now) != &target) {
    if (v != storage.first || storage.inputs.size() > 1 || storage.flat)
      throw Unsupported("an out= tensor that is resized where somebody else looks at it: " + graph_.value_name(v));
    storage.first = v = storages_.itself(now);
    storage.resized = !storage.inputs.empty();
  }
  if (ValueId root = graph_.storage(v); graph_.value(root).producer == kNone &&
                                        std::ranges::find(storage.written_inputs, root) == storage.written_inputs.end())
    storage.written_inputs.push_back(root);
  if (storage.flat) {
    for (ValueId at = v; !storages_.link(at).first(); at = storages_.itself(storages_.link(at).of))
      storage.written_anywhere |= counts_from_storage(storage, storages_.link(at));
    write_flat(storage, target, held_as(written, v, before, origin), before, origin);
  } else {
    ValueId at = v;
    for (StorageLink link = storages_.link(at); !link.first(); link = storages_.link(at)) {
      ValueId operand = written_over(current(link.of, before), before, origin);
      const Node node = graph_.node(link.by);
      SmallVec<Arg, 8> args = view_args(link, operand, before);
      written = expand_written_base(graph_, before, *node.op, args, written, link.element, origin);
      at = storages_.itself(link.of);
    }
    storage.base = placed_like(graph_, before, written, graph_.type(at), origin);
    if (at == v) elements = storage.base;
  }
  ++storage.version;
  if (v >= elements_.size()) elements_.resize(graph_.value_count());
  const Type &have = graph_.type(elements), &want = graph_.type(v);
  if (std::ranges::equal(have.sizes(), want.sizes()) && std::ranges::equal(have.strides(), want.strides()))
    elements_[v] = {elements, storage.version};
}

// --- flat storages

ValueId StorageValues::in_dtype(ValueId flat, Dtype dtype, NodeId before, uint32_t origin) {
  const Type& type = graph_.type(flat);
  if (type.dtype == dtype) return flat;
  int64_t have = item_size(type.dtype), want = item_size(dtype);
  if (want > have) {  // whole elements only
    Dim whole = floor_div(type.sizes()[0], want / have) * (want / have);
    if (!(whole == type.sizes()[0])) {
      const Arg part[] = {Arg::of_value(flat), Arg::of_int(0), Arg::of_int(0), Arg::of_dim(whole)};
      flat = call(graph_, before, "aten.slice", part, origin);  // op name: memory as it is
    }
  }
  const Arg args[] = {Arg::of_value(flat), Arg::of_dtype(dtype)};
  return call(graph_, before, "aten.view.dtype", args, origin);  // op name: memory as it is
}

ValueId StorageValues::place(const WrittenStorage& storage, const Type& type, NodeId before, uint32_t origin) {
  Context& c = graph_.context();
  ValueId whole = in_dtype(storage.base, type.dtype, before, origin);
  if (&graph_.type(whole) == &type) return whole;
  const Arg args[] = {Arg::of_value(whole), c.dims(type.sizes()), c.dims(type.strides()), Arg::of_dim(type.offset)};
  return call(graph_, before, "aten.as_strided", args, origin);  // op name: memory as it is
}

// What memory holds there as the view shows it: it may be lazily conjugated, or negated.
ValueId StorageValues::looked_at(ValueId placed, ValueId v, NodeId before) {
  const Laziness lazy = laziness(graph_, v);
  const Arg self[] = {Arg::of_value(placed)};
  if (lazy.conjugated) return call(graph_, before, "aten._conj", self, origin_of(v));   // op name: the bit itself
  if (lazy.negated) return call(graph_, before, "aten._neg_view", self, origin_of(v));  // op name: the bit itself
  return placed;
}

// And what memory holds where the view shows what is written.
ValueId StorageValues::held_as(ValueId written, ValueId v, NodeId before, uint32_t origin) {
  const Laziness lazy = laziness(graph_, v);
  const Arg self[] = {Arg::of_value(written)};
  if (lazy.conjugated) return call(graph_, before, "aten._conj_physical", self, origin);  // op name: without the bit
  if (lazy.negated) return call(graph_, before, "aten.neg", self, origin);                // op name: without the bit
  return written;
}

void StorageValues::write_flat(WrittenStorage& storage, const Type& target, ValueId written, NodeId before,
                               uint32_t origin) {
  if (!lies_apart(graph_, target))
    throw Unsupported("a write to a tensor whose elements may share places: " + to_string(target));
  Context& c = graph_.context();
  ValueId whole = in_dtype(storage.base, target.dtype, before, origin);
  const Arg args[] = {Arg::of_value(whole), Arg::of_value(written), c.dims(target.sizes()), c.dims(target.strides()),
                      Arg::of_dim(target.offset)};
  ValueId made = call(graph_, before, "aten.as_strided_scatter", args, origin);  // op name: memory as it is
  const Type& flat = graph_.type(storage.base);
  if (flat.dtype != target.dtype) {
    const Arg back[] = {Arg::of_value(made), Arg::of_dtype(flat.dtype)};
    made = call(graph_, before, "aten.view.dtype", back, origin);  // op name: memory as it is
    if (!(graph_.type(made).sizes()[0] == flat.sizes()[0])) {
      const Arg rest[] = {Arg::of_value(storage.base), Arg::of_value(made), Arg::of_int(0), Arg::of_int(0),
                          Arg::of_dim(graph_.type(made).sizes()[0])};
      made = call(graph_, before, "aten.slice_scatter", rest, origin);  // op name: memory as it is
    }
  }
  storage.base = made;
}

void StorageValues::give_back() {
  struct Copy {
    ValueId to, from;
    Dim extent = 0;  // of all of the input's memory; 0: of its elements
  };
  std::vector<Copy> copies;
  SmallVec<WrittenStorage*, 2> resized;
  for (WrittenStorage& storage : all_) {
    if (!storage.taken) continue;
    if (storage.resized) {
      resized.push_back(&storage);
      continue;
    }
    for (ValueId input : storage.written_inputs) {
      const Type& type = graph_.type(input);
      if (storage.flat && (storage.written_anywhere || !lies_apart(graph_, type))) {
        Dim extent = extent_of(graph_, type);
        if (extent.is(0)) continue;  // no places: nothing to give back
        copies.push_back({input, all_of(in_dtype(storage.base, type.dtype, kNone, 0), extent), extent});
      } else {
        copies.push_back({input, current(input, kNone)});
      }
    }
  }
  for (const Copy& copy : copies) {
    ValueId to = copy.extent.is(0) ? copy.to : all_of(copy.to, copy.extent);
    const Arg args[] = {Arg::of_value(to), Arg::of_value(copy.from)};
    call(graph_, kNone, "aten.copy_", args, 0);  // op name: a write that a functional graph has
  }
  for (WrittenStorage* storage : resized) {
    const Arg args[] = {Arg::of_value(storage->inputs[0]), Arg::of_value(storage->base)};
    storage->given = call(graph_, kNone, "lenz.resized_to", args, 0);  // op name: the other one
  }
  for (WrittenStorage& storage : all_) {
    if (storage.written_inputs.empty()) continue;
    storage.returned = true;
    ++storage.version;
  }
}

// As many places of memory as a vector, at the end of the graph; `v` itself if it is that.
ValueId StorageValues::all_of(ValueId v, Dim extent) {
  const Dim size[] = {extent}, stride[] = {1};
  if (&graph_.type(v) == graph_.context().tensor(contiguous_tensor(graph_.type(v).dtype, size, graph_.type(v).device)))
    return v;
  const Arg args[] = {Arg::of_value(v), graph_.context().dims(size), graph_.context().dims(stride), Arg::of_int(0)};
  return call(graph_, kNone, "aten.as_strided", args, 0);  // op name: memory as it is
}

}  // namespace lenz
