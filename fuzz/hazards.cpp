#include "fuzz/hazards.h"

#include <algorithm>

namespace lenz::fuzz {

namespace {
// What has several elements, and may be written to. Callers' tensors first: what is written there is written, where
// values that only the graph knows become other values.
ValueId memory_for(const Growth& growth, Chooser& choose) {
  const Graph& graph = *growth.graph;
  std::vector<ValueId> inputs, all;
  for (const ValueId v : growth.values) {
    const Type& t = graph.type(v);
    const bool several = std::ranges::any_of(t.sizes(), [](Dim d) { return d.constant() > 1; });
    const bool none = std::ranges::any_of(t.sizes(), [](Dim d) { return d.is(0); });
    if (!several || none || growth.made_for.contains(graph.storage(v)) || is_constant(graph, v)) continue;
    all.push_back(v);
    if (graph.value(v).producer == kNone) inputs.push_back(v);
  }
  if (all.empty()) return kNone;
  return choose.pick(!inputs.empty() && choose.below(4) != 3 ? inputs : all);
}

// Another tensor of that type, in memory of its own.
std::optional<ValueId> alike(const Growth& growth, Chooser& choose, ValueId memory) {
  const Graph& graph = *growth.graph;
  std::vector<ValueId> all;
  for (const ValueId v : growth.values)
    if (&graph.type(v) == &graph.type(memory) && !shares_memory(graph, v, memory)) all.push_back(v);
  return all.empty() ? std::nullopt : std::optional(choose.pick(all));
}
}  // namespace

void grow_hazards(Growth& growth, Chooser& choose, const Pool& pool, bool write, const CallWith& call) {
  const Graph& graph = *growth.graph;
  const ValueId memory = memory_for(growth, choose);
  if (memory == kNone || pool.looks.empty()) return;
  std::vector<ValueId> looks{memory};
  std::optional<ValueId> read;  // what was made of it last
  const std::optional<ValueId> beside = alike(growth, choose, memory);
  bool writes = write && choose.flip();
  for (uint64_t left = 3 + choose.below(3); left > 0; --left) {
    const bool whole = choose.flip();  // the same points as another one's, of whom it may be made one
    ValueId look = whole ? memory : choose.pick(looks);
    if (!whole && choose.below(3) != 2) {
      call(*choose.pick(pool.looks), memory, std::nullopt);
      const ValueId seen = growth.values.back();
      if (graph.storage(seen) == graph.storage(memory)) looks.push_back(look = seen);
    }
    // Where what is read lies elsewhere, a place is written before another point has read it.
    constexpr Family kReaders[] = {Family::elementwise, Family::movement, Family::indexing, Family::elementwise,
                                   Family::reduction};
    const Family family = writes ? Family::elementwise : choose.pick(kReaders);
    const auto& rows = (writes ? pool.writing : pool.pure)[static_cast<size_t>(family)];
    if (rows.empty()) return;
    // Who writes takes what was made of it, or what was taken beside it: then they run together.
    ValueId made = kNone;
    const bool moved = family == Family::movement || family == Family::indexing;
    for (int tries = moved ? 3 : 1; tries > 0; --tries) {
      call(*choose.pick(rows), look, !writes ? std::nullopt : beside && choose.flip() ? beside : read);
      made = growth.values.back();
      if (moved && std::ranges::equal(graph.type(made).sizes(), graph.type(memory).sizes())) break;
    }
    if (!writes && graph.storage(made) != graph.storage(memory)) {
      if (moved && beside) call(*choose.pick(pool.pure[static_cast<size_t>(Family::elementwise)]), made, beside);
      read = growth.values.back();
    }
    writes = write && (choose.below(4) == 3 ? writes : !writes);
  }
}

void grow_draws(Growth& growth, Chooser& choose, const Pool& pool, const CallWith& call) {
  const Graph& graph = *growth.graph;
  const auto& rows = pool.pure[static_cast<size_t>(Family::random)];
  std::vector<ValueId> from;
  for (const ValueId v : growth.values)
    if (graph.type(v).is_tensor() && is_floating(graph.type(v).dtype) && graph.type(v).rank() > 0) from.push_back(v);
  if (rows.empty() || from.empty()) return;
  std::vector<ValueId> read{choose.pick(from)};
  const std::vector<const OpDef*> again{choose.pick(rows),
                                        choose.pick(rows)};  // one row that draws twice shows more than two rows
  for (uint64_t left = 3 + choose.below(2); left > 0; --left) {
    call(*choose.pick(again), choose.pick(read), std::nullopt);
    const ValueId made = growth.values.back();
    const Type& t = graph.type(made);
    if (t.is_tensor() && is_floating(t.dtype) && std::ranges::find(read, made) == read.end()) read.push_back(made);
  }
}

std::pair<ValueId, ValueId> input_in_memory_of_another(Growth& growth, Chooser& choose) {
  Graph& graph = *growth.graph;
  const size_t i = choose.below(graph.inputs().size());
  const ValueId v = graph.inputs()[i].value;
  const Type& t = graph.type(v);
  if (!t.is_tensor() || growth.made_for.contains(v) || graph.inputs().size() >= growth.most_inputs) return {v, kNone};
  if (std::ranges::find(growth.values, v) == growth.values.end()) return {v, kNone};  // it has been resized
  if (std::ranges::any_of(t.sizes(), [](Dim d) { return d.constant() == 0; })) return {v, kNone};
  TensorType other = t.tensor();
  for (size_t d = 0; d < other.rank(); ++d) {
    const int64_t n = other.sizes[d].constant();
    if (n < 2 || choose.flip()) continue;
    const int64_t from = choose.between(0, n - 1);  // a part of the dim
    other.offset = other.offset + other.strides[d] * from;
    other.sizes[d] = choose.between(1, n - from);
  }
  if (other.rank() >= 2 && choose.flip()) {
    std::swap(other.sizes[0], other.sizes[1]);
    std::swap(other.strides[0], other.strides[1]);
  }
  const NameId shared =
      graph.inputs()[i].alias ? *graph.inputs()[i].alias : graph.context().intern("m" + std::to_string(i));
  const Initialiser init = graph.inputs()[i].init;
  graph.input(i).alias = shared;
  const ValueId made = graph.add_input("x" + std::to_string(graph.inputs().size()), graph.context().tensor(other));
  graph.input(graph.inputs().size() - 1).alias = shared;
  graph.input(graph.inputs().size() - 1).init = init;
  growth.add(made);
  return {v, made};
}

}  // namespace lenz::fuzz
