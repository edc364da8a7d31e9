#include "fuzz/adapt.h"

#include <algorithm>

#include "compiler/graph/infer.h"

namespace lenz::fuzz {

namespace {
// The ways to get from one shape to another: data, as patterns are.
constexpr std::string_view kReshape = "aten.reshape";      // op name: an adapter of shapes
constexpr std::string_view kExpand = "aten.expand";        // op name: an adapter of shapes
constexpr std::string_view kApart = "aten.unsqueeze";      // op name: an adapter of shapes
constexpr std::string_view kSlice = "aten.slice.Tensor";   // op name: an adapter of shapes
constexpr std::string_view kPad = "aten.constant_pad_nd";  // op name: an adapter of shapes
constexpr std::string_view kCast = "aten.to.dtype";        // op name: an adapter of dtypes
constexpr std::string_view kClone = "aten.clone";          // op name: an adapter of layouts

ValueId call(Graph& graph, std::string_view op, std::initializer_list<Arg> args,
             std::initializer_list<Keyword> keywords = {}) {
  try {
    Resolved r = resolve(graph, op, {args.begin(), args.size()}, {keywords.begin(), keywords.size()});
    const std::optional<NodeId> made = graph.try_append(*r.op, r.args);
    return made ? graph.node(*made).result() : kNone;
  } catch (const UserError&) {
    return kNone;
  }
}

Sizes sizes_of(const Graph& graph, ValueId v) {
  Sizes s;
  for (Dim d : graph.type(v).sizes()) s.push_back(d.constant());
  return s;
}

int64_t count(const Sizes& s) {
  int64_t n = 1;
  for (int64_t d : s) n *= d;
  return n;
}

bool expands(const Sizes& from, const Sizes& to) {
  if (from.size() > to.size()) return false;
  for (size_t i = 0; i < from.size(); ++i) {
    int64_t a = from[from.size() - 1 - i], b = to[to.size() - 1 - i];
    if (a != b && a != 1) return false;
  }
  return true;
}
}  // namespace

ValueId with_sizes(Graph& graph, ValueId v, const Sizes& to, Chooser& c) {
  Sizes from = sizes_of(graph, v);
  if (from == to) return v;
  Context& context = graph.context();
  const bool same_count = count(from) == count(to), broadcast = expands(from, to);
  if (same_count && (!broadcast || c.flip())) return call(graph, kReshape, {Arg::of_value(v), context.ints(to)});
  if (broadcast) return call(graph, kExpand, {Arg::of_value(v), context.ints(to)});
  // To the same rank, then each dim cut, padded or repeated.
  if (from.size() > to.size()) {
    Sizes merged(to.size(), 1);
    for (size_t i = 0; i + 1 < to.size(); ++i) merged[i] = from[i];
    if (to.empty()) {
      if (count(from) == 0) return kNone;
      for (size_t d = from.size(); d-- > 0 && v != kNone;)
        v = call(graph, kSlice,
                 {Arg::of_value(v), Arg::of_int(static_cast<int64_t>(d)), Arg::of_int(0), Arg::of_int(1)});
      return v == kNone ? v : call(graph, kReshape, {Arg::of_value(v), context.ints(to)});
    }
    if (count(from) == 0) return kNone;
    merged[to.size() - 1] = count(from);
    for (size_t i = 0; i + 1 < to.size(); ++i) merged[to.size() - 1] /= from[i];
    v = call(graph, kReshape, {Arg::of_value(v), context.ints(merged)});
    from = merged;
  } else if (from.size() < to.size()) {
    Sizes wider(to.size() - from.size(), 1);
    for (int64_t n : from) wider.push_back(n);
    v = call(graph, kReshape, {Arg::of_value(v), context.ints(wider)});
    from = wider;
  }
  for (size_t d = 0; d < to.size() && v != kNone; ++d) {
    if (from[d] == to[d] || from[d] == 1) continue;
    if (from[d] > to[d]) {
      int64_t start = c.between(0, from[d] - to[d]);
      v = call(
          graph, kSlice,
          {Arg::of_value(v), Arg::of_int(static_cast<int64_t>(d)), Arg::of_int(start), Arg::of_int(start + to[d])});
    } else {
      Sizes pad(2 * (to.size() - d), 0);
      const int64_t front = c.between(0, to[d] - from[d]);
      pad[pad.size() - 2] = front;
      pad[pad.size() - 1] = to[d] - from[d] - front;
      v = call(graph, kPad, {Arg::of_value(v), context.ints(pad)});
    }
    from[d] = to[d];
  }
  if (v == kNone || from == to) return v;
  return call(graph, kExpand, {Arg::of_value(v), context.ints(to)});
}

ValueId with_dtype(Graph& graph, ValueId v, Dtype dtype) {
  if (graph.type(v).dtype == dtype) return v;
  return call(graph, kCast, {Arg::of_value(v), Arg::of_dtype(dtype)});
}

ValueId spread(Graph& graph, ValueId v, Chooser& c) {
  Sizes sizes = sizes_of(graph, v);
  const uint64_t at = c.below(sizes.size() + 1);
  const ValueId apart = call(graph, kApart, {Arg::of_value(v), Arg::of_int(static_cast<int64_t>(at))});
  if (apart == kNone) return kNone;
  sizes = sizes_of(graph, apart);
  sizes[at] = c.between(2, 5);
  return call(graph, kExpand, {Arg::of_value(apart), graph.context().ints(sizes)});
}

ValueId as_plain(Graph& graph, ValueId v) {
  const Type& t = graph.type(v);
  const DimVec sizes(t.sizes());
  DimVec dense = contiguous_strides(sizes);
  if (std::ranges::equal(t.strides(), dense) && t.offset.constant() == 0) return v;
  return call(graph, kClone, {Arg::of_value(v)}, {{"memory_format", Arg::of_memory_format(MemoryFormat::contiguous)}});
}

bool do_not_meet(const Graph& graph, const OpDef& op, std::span<const Arg> args) {
  struct Product {
    std::string_view packet;
    size_t rank, first;  // of its two operands
  };
  constexpr Product kProducts[] = {{"mm", 2, 0}, {"bmm", 3, 0}, {"addmm", 2, 1}, {"baddbmm", 3, 1}};
  const auto product = std::ranges::find(kProducts, op.schema.packet, &Product::packet);  // op name: who is drawn often
  if (product == std::end(kProducts) || args.size() < product->first + 2) return false;
  Dim inner[2];
  for (size_t k = 0; k < 2; ++k) {
    const Arg& operand = args[product->first + k];
    if (!operand.is_value() || !graph.type(operand.value()).is_tensor()) return false;
    const Type& t = graph.type(operand.value());
    if (t.rank() != product->rank) return true;
    inner[k] = t.sizes()[product->rank - 1 - k];
  }
  return inner[0].is_constant() && inner[1].is_constant() && inner[0].constant() != inner[1].constant();
}

}  // namespace lenz::fuzz
