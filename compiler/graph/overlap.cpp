#include "compiler/graph/overlap.h"

#include <algorithm>

#include "compiler/graph/alias.h"
#include "compiler/graph/graph.h"
#include "compiler/graph/lazy_views.h"

namespace lenz {

namespace {
// Every place from the offset on is one element's, as far as one can prove.
bool is_dense(const Facts& facts, const Type& t) {
  SmallVec<size_t, 8> dims;
  for (size_t i = 0; i < t.rank(); ++i)
    if (!t.sizes()[i].is(1)) dims.push_back(i);
  std::ranges::stable_sort(dims, {}, [&](size_t i) { return facts.hint(t.strides()[i]).value_or(0); });
  Dim next = 1;
  for (size_t i : dims) {
    if (!(t.strides()[i] == next) && !facts.proves(eq(t.strides()[i], next))) return false;
    next *= t.sizes()[i];
  }
  return true;
}

// Who holds a value's memory: the first value of its storage, and of a list of tensors of their own which one.
struct Memory {
  ValueId first = kNone;
  int64_t element = -1;
  bool operator==(const Memory&) const = default;
};
Memory memory_of(const Graph& graph, ValueId v) {
  ValueId first = graph.storage(v);
  if (graph.type(first).kind != TypeKind::list) return {first};
  while (true) {
    const Node& node = graph.node(graph.value(v).producer);
    if (node.op->has(Trait::structural) && node.op->has(Trait::view)) return {first, node.args[1].dim().constant()};
    ValueId from = kNone;
    for (const Arg& a : node.arguments())
      for_each_value(a, [&](ValueId each) {
        if (from == kNone && graph.storage(each) == first) from = each;
      });
    if (from == kNone || graph.value(from).producer == kNone) return {first};
    v = from;
  }
}

bool same_memory(const Graph& graph, ValueId a, ValueId b) {
  Memory x = memory_of(graph, a), y = memory_of(graph, b);
  if (x == y) return true;
  if (graph.value(x.first).producer != kNone || graph.value(y.first).producer != kNone) return false;
  auto alias = [&](const Memory& of) {
    auto input = std::ranges::find(graph.inputs(), of.first, &Input::value);
    return input == graph.inputs().end() ? std::nullopt : input->alias;
  };
  auto name = alias(x);
  return name && name == alias(y);
}

Dim bytes(const Type& t, Dim elements) { return elements * item_size(t.dtype); }

// How many bytes lie between a tensor's first and last element, by the dims whose strides in bytes `counts`.
template <class F>
Dim reach(const Type& t, F&& counts) {
  Dim sum = 0;
  for (size_t i = 0; i < t.rank(); ++i)
    if (counts(bytes(t, t.strides()[i]))) sum += bytes(t, (t.sizes()[i] - 1) * t.strides()[i]);
  return sum;
}

// Whether the places, counted in rows of so many bytes, stand beside each other in every row: a column and those behind
// it, every other element and those between.
bool apart_in_rows(const Facts& facts, const Type& a, const Type& b, Dim row) {
  auto inside = [&](Dim stride) {
    if (stride == row) return false;
    if (stride.is_constant() && row.is_constant()) return stride.constant() % row.constant() != 0;
    return !facts.proves(eq(mod(stride, row), 0));
  };
  // Where a place of `a` may lie, seen from one of `b` in a row of the same number.
  Dim from_b_to_a = bytes(a, a.offset) - bytes(b, b.offset);
  Dim low = from_b_to_a - reach(b, inside) - (item_size(b.dtype) - 1);
  Dim high = from_b_to_a + reach(a, inside) + (item_size(a.dtype) - 1);
  auto usual_low = facts.hint(low), usual_row = facts.hint(row);
  if (!usual_low || !usual_row || *usual_row <= 0) return false;
  // Rows lie at multiples; the last one before `low`.
  Dim before = floor_div(Dim(*usual_low - 1), Dim(*usual_row));
  return facts.proves(lt(before * row, low)) && facts.proves(lt(high, (before + 1) * row));
}

bool all_equal(const Facts& facts, std::span<const Dim> a, std::span<const Dim> b) {
  return std::ranges::equal(a, b, [&](Dim x, Dim y) { return x == y || facts.proves(eq(x, y)); });
}

// Whether every element of one lies within the element of the other that has its indices.
bool element_by_element(const Facts& facts, const Type& a, const Type& b) {
  if (!all_equal(facts, a.sizes(), b.sizes())) return false;
  for (size_t i = 0; i < a.rank(); ++i) {
    Dim step_a = bytes(a, a.strides()[i]), step_b = bytes(b, b.strides()[i]);
    if (!a.sizes()[i].is(1) && !(step_a == step_b) && !facts.proves(eq(step_a, step_b))) return false;
  }
  Dim from_a = bytes(a, a.offset), from_b = bytes(b, b.offset);
  Dim to_a = from_a + item_size(a.dtype), to_b = from_b + item_size(b.dtype);
  auto within = [&](Dim from, Dim to, Dim outer_from, Dim outer_to) {
    return facts.proves(le(outer_from, from)) && facts.proves(le(to, outer_to));
  };
  return within(from_a, to_a, from_b, to_b) || within(from_b, to_b, from_a, to_a);
}

// What of an overlap eager looks for.
enum class Refused : uint8_t { nothing, partial, any };
Refused refused(const OpDef& op) {
  bool copies = op.has(Trait::movement) && op.schema.find("src") >= 0;
  if (op.has(Trait::elementwise) || op.has(Trait::scan) || (copies && !op.has(Trait::indexing)))
    return Refused::partial;
  bool indexed = op.schema.find("index") >= 0 || op.schema.find("indices") >= 0;
  return op.has(Trait::indexing) && indexed ? Refused::any : Refused::nothing;
}
}  // namespace

bool may_meet(const Facts& facts, std::span<const Dim> sizes, std::span<const Dim> strides) {
  if (std::ranges::any_of(sizes, [&](Dim size) { return facts.proves(eq(size, 0)); })) return false;
  std::vector<size_t> order;
  for (size_t d = 0; d < sizes.size(); ++d)
    if (!facts.proves(eq(sizes[d], 1))) order.push_back(d);
  std::ranges::stable_sort(order, [&](size_t x, size_t y) { return facts.proves(lt(strides[x], strides[y])); });
  Dim reach = 1;  // of the dims so far: the next one must step over it
  bool apart = true;
  for (size_t d : order) {
    apart = apart && facts.proves(le(reach, strides[d]));
    reach += strides[d] * (sizes[d] - 1);
  }
  return !apart;
}

Overlap overlap(const Facts& facts, const Type& a, const Type& b) {
  Dim na = numel(a.sizes()), nb = numel(b.sizes());
  if (na.is(0) || nb.is(0)) return Overlap::none;
  if (!is_dense(facts, a) || !is_dense(facts, b)) return Overlap::open;
  Dim from_a = a.offset * item_size(a.dtype), to_a = from_a + na * item_size(a.dtype);
  Dim from_b = b.offset * item_size(b.dtype), to_b = from_b + nb * item_size(b.dtype);
  if (from_a == from_b && to_a == to_b)
    return std::ranges::equal(a.strides(), b.strides()) ? Overlap::full : Overlap::partial;
  if (facts.proves(le(to_a, from_b)) || facts.proves(le(to_b, from_a))) return Overlap::none;
  bool meet = facts.proves(lt(from_a, to_b)) && facts.proves(lt(from_b, to_a));
  return meet && facts.proves(gt(na, 0)) && facts.proves(gt(nb, 0)) ? Overlap::partial : Overlap::open;
}

bool lie_apart(const Facts& facts, const Type& a, const Type& b) {
  if (numel(a.sizes()).is(0) || numel(b.sizes()).is(0)) return true;
  auto all = [](Dim) { return true; };
  Dim from_a = bytes(a, a.offset), to_a = from_a + reach(a, all) + item_size(a.dtype);
  Dim from_b = bytes(b, b.offset), to_b = from_b + reach(b, all) + item_size(b.dtype);
  if (facts.proves(le(to_a, from_b)) || facts.proves(le(to_b, from_a))) return true;
  for (const Type* t : {&a, &b})
    for (size_t i = 0; i < t->rank(); ++i)
      if (!t->sizes()[i].is(1) && !t->strides()[i].is(0) && apart_in_rows(facts, a, b, bytes(*t, t->strides()[i])))
        return true;
  return false;
}

namespace {
// Calls visit(target, operand, parameter) for what is written, each with what is read to compute it.
template <class F>
void for_each_read(const Infer& in, F&& visit) {
  const auto& params = in.op().schema.params;
  auto tensors = [&](const Arg& a) {
    SmallVec<ValueId, 8> found;
    for_each_value(a, [&](ValueId v) {
      if (in.type_of(v).is_tensor()) found.push_back(v);
    });
    return found;
  };
  for (size_t t = 0; t < params.size(); ++t) {
    if (!params[t].writes) continue;
    bool targets = in.arg(t).kind == ArgKind::value_list;
    for (size_t i = 0; i < params.size(); ++i) {
      if (i == t || params[i].writes || params[i].name == "value") continue;  // a number in a tensor is read first
      auto written = tensors(in.arg(t)), read = tensors(in.arg(i));
      bool paired = targets && in.arg(i).kind == ArgKind::value_list;  // others are written one after the other
      for (size_t k = 0; k < written.size(); ++k)
        for (size_t j = 0; j < read.size(); ++j)
          if (!paired || k == j) visit(written[k], read[j], params[i]);
    }
  }
}
}  // namespace

void refuse_overlaps(const Infer& in) {
  const OpDef& op = in.op();
  const OpDef& row = op.each ? *op.each : *op.base;
  bool copied = op.variant == VariantKind::out && row.variants.out_rule != OutRule::direct &&
                row.variants.out_rule != OutRule::same_dtype;  // read before anything is written
  if (copied || row.has(Trait::reads_metadata_only)) return;
  const Graph& graph = *in.owner;
  const Facts& facts = graph.assumptions.known();
  Refused what = refused(row);
  for_each_read(in, [&](ValueId target, ValueId operand, const Param& param) {
    if (!same_memory(graph, target, operand)) return;
    const Type &written = in.type_of(target), &read = in.type_of(operand);
    Overlap found = target == operand ? Overlap::full : overlap(facts, written, read);
    if ((found == Overlap::partial && what != Refused::nothing) || (found == Overlap::full && what == Refused::any))
      in.raise("what is written overlaps `" + param.name + "` in memory");
    // Eager does not see it, and reads what it has written already.
    bool in_step = what != Refused::any && !row.has(Trait::contraction) && element_by_element(facts, written, read);
    if (!in_step && !lie_apart(facts, written, read))
      throw Unsupported(op.full_name + ": `" + param.name +
                        "` may share places with what is written while it is read, " +
                        "so that eager's result hangs on the order of its loops; read a copy of it (clone)");
  });
}

void refuse_lazy_writes(const Infer& in) {
  const OpDef& op = in.op();
  if (op.schema.space != "aten") return;
  for (size_t i = 0; i < in.args().size(); ++i) {
    if (!writes_operand(op, in.args(), i)) continue;
    for_each_value(in.arg(i), [&](ValueId v) {
      if (in.owner->storage(v) == v || !in.type_of(v).is_tensor() || !laziness(*in.owner, v).any()) return;
      const std::string who = "`" + op.schema.params[i].name + "` is written to, and is lazily conjugated or negated";
      if (!op.schema.params[i].writes) throw Unsupported(op.full_name + ": " + who + ": eager writes to a copy of it");
      if (in.results().empty() || in.results()[0].alias_of != v) in.raise(who);
    });
  }
}

}  // namespace lenz
