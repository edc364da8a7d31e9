#include "compiler/graph/overlap.h"

#include <algorithm>

#include "compiler/graph/graph.h"

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

bool same_memory(const Graph& graph, ValueId a, ValueId b) {
  ValueId x = graph.storage(a), y = graph.storage(b);
  if (x == y) return true;
  if (graph.value(x).producer != kNone || graph.value(y).producer != kNone) return false;
  auto alias = [&](ValueId v) {
    auto input = std::ranges::find(graph.inputs(), v, &Input::value);
    return input == graph.inputs().end() ? std::nullopt : input->alias;
  };
  auto name = alias(x);
  return name && name == alias(y);
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

void refuse_overlaps(const Infer& in) {
  const OpDef& op = in.op();
  const OpDef& row = op.each ? *op.each : *op.base;
  Refused what = refused(row);
  bool copied = op.variant == VariantKind::out && row.variants.out_rule != OutRule::direct &&
                row.variants.out_rule != OutRule::same_dtype;  // read before anything is written
  if (what == Refused::nothing || copied) return;
  const Graph& graph = *in.owner;
  const auto& params = op.schema.params;
  auto check = [&](ValueId target, ValueId operand, const Param& param) {
    if (target == kNone || operand == kNone || !same_memory(graph, target, operand)) return;
    if (target == operand && what == Refused::partial) return;
    Overlap found =
        target == operand ? Overlap::full : overlap(graph.assumptions.known(), in.type_of(target), in.type_of(operand));
    if (found == Overlap::partial || (found == Overlap::full && what == Refused::any))
      in.raise("what is written overlaps `" + param.name + "` in memory");
  };
  for (size_t t = 0; t < params.size(); ++t) {
    if (!params[t].writes) continue;
    for (size_t i = 0; i < params.size(); ++i) {
      const Arg &target = in.arg(t), &operand = in.arg(i);
      if (i == t || params[i].writes || params[i].name == "value") continue;  // a number in a tensor is read first
      if (target.is_value() && operand.is_value() && in.type_of(operand.value()).is_tensor() &&
          in.type_of(target.value()).is_tensor())
        check(target.value(), operand.value(), params[i]);
      if (target.kind != ArgKind::value_list || operand.kind != ArgKind::value_list) continue;
      for (size_t k = 0; k < std::min(target.count, operand.count); ++k)
        check(target.value_list()[k], operand.value_list()[k], params[i]);
    }
  }
}

}  // namespace lenz
