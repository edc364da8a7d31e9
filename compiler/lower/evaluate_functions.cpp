// The functions of the notation beyond those of definitions (compiler/ops/definition_functions.cpp) and the scalar
// table's rows; NOTATION.md says what each is.
#include <algorithm>
#include <bit>

#include "compiler/graph/overlap.h"
#include "compiler/lower/coordinates.h"
#include "compiler/lower/evaluate.h"
#include "compiler/ops/rules/elementwise.h"

namespace lenz::lower {

namespace {
using Items = std::span<const Item>;

size_t place(TextRunner& in, const Item& v, size_t rank) {
  int64_t d = in.host_values().constant(v.arg);
  if (d < 0) d += static_cast<int64_t>(std::max<size_t>(rank, 1));
  return static_cast<size_t>(d);
}
Arg real_arg(double x) { return Arg::of_real(x); }

// --- of tensors
Item shape(TextRunner& in, Items a) { return in.list(in.type(a[0]).sizes); }
Item rank(TextRunner& in, Items a) { return Item::of(Arg::of_int(static_cast<int64_t>(in.type(a[0]).rank()))); }
Item size(TextRunner& in, Items a) {
  const TensorType& t = in.type(a[0]);
  return Item::of(Arg::of_dim(t.rank() ? t.sizes[place(in, a[1], t.rank())] : Dim(1)));
}
Item elements(TextRunner& in, Items a) { return Item::of(Arg::of_dim(numel(in.type(a[0]).sizes))); }
bool is_tensor(TextRunner& in, const Item& v) {
  return v.kind == Item::buffer || (v.kind == Item::host && v.arg.is_value() && in.is_tensor(v.arg.value()));
}
Item tensor_given(TextRunner& in, Items a) { return Item::of(Arg::of_bool(is_tensor(in, a[0]))); }
Item dtype_of(TextRunner& in, Items a) {
  if (a[0].kind == Item::scalar) return Item::of(Arg::of_dtype(in.nest().dtype(a[0].ssa)));
  if (is_tensor(in, a[0])) return Item::of(Arg::of_dtype(in.type(a[0]).dtype));
  return Item::of(Arg::of_dtype(in.host_values().dtype(a[0].arg)));
}
// As eager promotes tensors and numbers that stand together.
Item result_type(TextRunner& in, Items a) {
  Infer rules = in.host_values().rules();
  rule::Operands operands;
  for (const Item& x : a)
    operands.push_back(is_tensor(in, x) ? rule::Operand{.type = rules.context().tensor(in.type(x))}
                                        : rule::number_operand(rules, x.arg));
  return Item::of(Arg::of_dtype(rule::result_type(rules, operands)));
}
// The dtypes that sums are taken in: never a narrow float.
Item accumulates(TextRunner&, Items a) {
  Dtype d = a[0].arg.dtype();
  return Item::of(Arg::of_dtype(is_reduced_float(d) || is_float8(d) ? Dtype::f32 : d));
}
Item temporary(TextRunner& in, Items a) {
  return Item::of_buffer(in.lowering().add_buffer("t", a[0].arg.dtype(), in.dims(a[1])));
}
Item stride(TextRunner& in, Items a) {
  const TensorType& t = in.type(a[0]);
  return Item::of(Arg::of_dim(t.strides[place(in, a[1], t.rank())]));
}

Item offset(TextRunner& in, Items a) { return Item::of(Arg::of_dim(in.type(a[0]).offset)); }
Item is_placed(TextRunner& in, Items a) {
  return Item::of(Arg::of_bool(in.lowering().program.buffers[in.buffer(a[0])].placed));
}
// Where elements share places, what one of them is tells the others: the buffer lies as its type says.
Item overlaps(TextRunner& in, Items a) {
  loops::Program& program = in.lowering().program;
  const TensorType& t = in.type(a[0]);
  const bool meet = may_meet(program.assumptions.known(), t.sizes, t.strides);
  if (meet) program.buffers[in.buffer(a[0])].placed = true;
  return Item::of(Arg::of_bool(meet));
}
Item step(TextRunner& in, Items a) {
  const std::optional<Dim> even = even_step(in.lowering().program, in.type(a[0]));
  if (!even) throw Unsupported("a tensor with gaps or overlap, looked at through its memory");
  return Item::of(Arg::of_dim(*even));
}
// Whether a part of a tensor's memory may name one place twice, or is known to leave the tensor's elements; whether
// there are odd gaps between these.
Item strays(TextRunner& in, Items a) {
  const TensorType& t = in.type(a[0]);
  const DimVec sizes = in.dims(a[1]), strides = in.dims(a[2]);
  const std::optional<Dim> step = even_step(in.lowering().program, t);
  if (!step) return Item::of(Arg::of_bool(true));
  const Dim first = in.dim(a[3]) - t.offset;
  Dim last = first, places = *step;
  for (size_t d = 0; d < sizes.size(); ++d) last += strides[d] * (sizes[d] - 1);
  for (Dim size : t.sizes) places *= size;
  const Facts& facts = in.lowering().program.assumptions.known();
  const bool leaves = facts.proves(lt(first, 0)) || facts.proves(le(places, last));
  const bool none = std::ranges::any_of(sizes, [&](Dim size) { return facts.proves(eq(size, 0)); });
  return Item::of(Arg::of_bool((leaves && !none) || may_meet(facts, sizes, strides)));
}
Item shape_changes(TextRunner& in, Items a) {
  return Item::of(Arg::of_bool(!(in.type(a[0]).sizes == in.type(a[1]).sizes)));
}

// How often a number of things is halved until none is left; below zero: nobody knows, or too often.
Item halvings(TextRunner& in, Items a) {
  constexpr int64_t kMost = 24;
  const Dim n = in.dim(a[0]);
  if (n.is_constant()) return Item::of(Arg::of_int(std::bit_width(static_cast<uint64_t>(n.constant()))));
  int64_t least = 0, most = kMost + 1;
  while (least < most) {  // the least number of halvings that is enough
    const int64_t middle = (least + most) / 2;
    if (in.lowering().more_than(n, (int64_t{1} << middle) - 1))
      least = middle + 1;
    else
      most = middle;
  }
  return Item::of(Arg::of_int(least > kMost ? -1 : least));
}

Item item_bytes(TextRunner&, Items a) { return Item::of(Arg::of_int(item_size(a[0].arg.dtype()))); }
// The integers that are as wide.
Item bits_dtype(TextRunner& in, Items a) {
  switch (item_size(a[0].arg.dtype())) {
    case 1: return Item::of(Arg::of_dtype(Dtype::i8));
    case 2: return Item::of(Arg::of_dtype(Dtype::i16));
    case 4: return Item::of(Arg::of_dtype(Dtype::i32));
    case 8: return Item::of(Arg::of_dtype(Dtype::i64));
    default: in.wrong("no integers are as wide");
  }
}

Item results(TextRunner& in, Items) { return Item::of(Arg::of_int(static_cast<int64_t>(in.results().size()))); }
Item result(TextRunner& in, Items a) {
  return Item::of_buffer(in.results()[static_cast<size_t>(in.host_values().constant(a[0].arg))]);
}

Item memory(TextRunner& in, Items a) { return Item::of_buffer(in.memory(in.buffer(a[0]))); }
Item shown(TextRunner& in, Items a) { return Item::of_scalar(in.shown(in.buffer(a[0]), in.scalar(a[1]))); }
// A look at a tensor's storage in the layout of another one; it needs no copy.
Item laid_as(TextRunner& in, Items a) { return Item::of_buffer(in.lowering().view(in.buffer(a[0]), in.type(a[1]))); }
Item same_order(TextRunner& in, Items a) {
  return Item::of(Arg::of_bool(lies_as(in.lowering().program, in.type(a[0]), in.type(a[1]))));
}
Item without_gaps(TextRunner& in, Items a) {
  return Item::of(Arg::of_bool(is_dense(in.lowering().program, in.type(a[0]))));
}

// --- of coordinates
Item without(TextRunner& in, Items a) {
  DimVec all = in.dims(a[0]), drop = in.dims(a[1]), out;
  for (size_t i = 0; i < all.size(); ++i)
    if (std::ranges::find(drop, Dim(static_cast<int64_t>(i))) == drop.end()) out.push_back(all[i]);
  return in.list(out);
}
// merged(places, x, rest): x at those places, the others from `rest`, in order.
Item merged(TextRunner& in, Items a) {
  DimVec places = in.dims(a[0]), x = in.dims(a[1]), rest = in.dims(a[2]), out;
  size_t next = 0;
  for (size_t i = 0; i < x.size() + rest.size(); ++i) {
    auto at = std::ranges::find(places, Dim(static_cast<int64_t>(i)));
    out.push_back(at != places.end() ? x[static_cast<size_t>(at - places.begin())] : rest[next++]);
  }
  return in.list(out);
}
Item replaced(TextRunner& in, Items a) {
  DimVec list = in.dims(a[0]);
  if (!list.empty()) list[place(in, a[1], list.size())] = in.dim(a[2]);
  return in.list(list);
}
Item inserted(TextRunner& in, Items a) {
  DimVec list = in.dims(a[0]);
  list.insert(place(in, a[1], list.size() + 1), in.dim(a[2]));
  return in.list(list);
}
Item selected(TextRunner& in, Items a) {  // the items of a list at these places
  DimVec list = in.dims(a[0]), out;
  for (Dim d : in.dims(a[1])) out.push_back(list[static_cast<size_t>(d.constant())]);
  return in.list(out);
}
// Of a permutation: where each of 0, 1, ... stands.
Item inverse(TextRunner& in, Items a) {
  DimVec order = in.dims(a[0]), out(order.size(), Dim(0));
  for (size_t i = 0; i < order.size(); ++i) out[static_cast<size_t>(order[i].constant())] = static_cast<int64_t>(i);
  return in.list(out);
}
// The places of a reduction's dims, ascending: all where there are none.
Item reduced_dims(TextRunner& in, Items a) {
  auto rank = static_cast<int64_t>(in.type(a[0]).rank());
  DimVec given, out;
  if (!a[1].arg.is_none()) given = in.dims(a[1]);
  bool all = given.empty() && (a[1].arg.is_none() || a.size() < 3);
  for (int64_t d = 0; d < rank; ++d) {
    bool named = std::ranges::any_of(given, [&](Dim g) { return g.is(d) || g.is(d - rank); });
    if (all || named) out.push_back(d);
  }
  return in.list(out);
}
// broadcast_at(i, sizes): the coordinates in a tensor of these sizes that stand below i, aligned at the right.
Item broadcast_at(TextRunner& in, Items a) {
  return in.list(broadcast_coordinates(in.lowering().program, in.dims(a[0]), in.dims(a[1])));
}
Item reshaped(TextRunner& in, Items a) {  // reshaped(i, from, to): the same element's coordinates under other sizes
  return in.list(reshaped_coordinates(in.lowering().program, in.dims(a[0]), in.dims(a[1]), in.dims(a[2])));
}
Item spread(TextRunner& in, Items a) {  // a list of one number stands for n of them
  DimVec list = in.dims(a[0]);
  if (list.size() == 1) list = DimVec(place(in, a[1], 0), list[0]);
  return in.list(list);
}
// The lesser or greater of two numbers, or of lists element by element.
template <bool kLess>
Item extreme(TextRunner& in, Items a) {
  auto is_list = [](const Item& v) { return v.arg.kind == ArgKind::int_list; };
  if (!is_list(a[0]) && !is_list(a[1])) {
    const Arg args[] = {a[0].arg, a[1].arg};
    return Item::of(in.host_values().function(kLess ? "min" : "max", args));
  }
  DimVec x = in.dims(a[0]), y = in.dims(a[1]), out;
  size_t count = is_list(a[0]) ? x.size() : y.size();
  for (size_t i = 0; i < count; ++i) {
    Dim p = x[x.size() == 1 ? 0 : i], q = y[y.size() == 1 ? 0 : i];
    NestBuilder* nest = in.open_nest();
    if (!nest)
      out.push_back(kLess ? min(p, q) : max(p, q));
    else
      out.push_back(kLess ? nest->smaller(p, q) : nest->larger(p, q));
  }
  return in.list(out);
}
Item raveled(TextRunner& in, Items a) {
  return Item::of(Arg::of_dim(raveled_coordinate(in.dims(a[0]), in.dims(a[1]))));
}
// The coordinates at which an element of a tensor without odd gaps lies, counted in memory from its first.
Item at_storage(TextRunner& in, Items a) {
  return in.list(storage_coordinates(in.lowering().program, in.type(a[0]), in.dim(a[1])));
}

// --- into scalars
Item to(TextRunner& in, Items a) {
  Dtype d = a[1].arg.dtype();
  if (a[0].kind == Item::host && !a[0].arg.is_value()) {
    bool number = a[0].arg.kind != ArgKind::integer || !a[0].arg.symbolic;
    if (number) return Item::of_scalar(in.nest().constant(d, a[0].arg));
  }
  return Item::of_scalar(in.nest().converted(in.scalar(a[0]), d));
}
// What arithmetic is done in: narrow floats in f32, all else in itself.
Item wide(TextRunner& in, Items a) {
  Ssa x = in.scalar(a[0]);
  Dtype d = in.nest().dtype(x);
  return Item::of_scalar(in.nest().converted(x, is_reduced_float(d) || is_float8(d) ? Dtype::f32 : d));
}
Item bits_as(TextRunner& in, Items a) {
  Ssa x = in.scalar(a[0]);
  if (in.nest().dtype(x) == a[1].arg.dtype()) return a[0];
  const Dtype to = a[1].arg.dtype();
  // Shapes agree where widths don't if there is no element.
  if (item_size(in.nest().dtype(x)) != item_size(to)) return Item::of_scalar(in.nest().constant(to, Arg::of_int(0)));
  const Ssa operands[] = {x};
  return Item::of_scalar(in.nest().apply(*find_scalar("bitcast"), operands, to));
}
Item position_of(TextRunner& in, const Item& x, Dim extent, bool wraps) {
  if (x.kind == Item::host && !x.arg.is_value()) return x;
  return Item::of(Arg::of_dim(in.nest().position(in.scalar(x), extent, wraps)));
}
Item position(TextRunner& in, Items a) { return position_of(in, a[0], in.dim(a[1]), false); }
Item wrapped(TextRunner& in, Items a) { return position_of(in, a[0], in.dim(a[1]), true); }
// Whether coordinates lie inside of a tensor of these sizes.
Item within(TextRunner& in, Items a) {
  DimVec at = in.dims(a[0]), sizes = in.dims(a[1]);
  Ssa all = in.nest().constant(Dtype::b8, Arg::of_bool(true));
  bool first = true;
  for (size_t i = 0; i < at.size(); ++i)
    for (const Cond& cond : {ge(at[i], 0), lt(at[i], sizes[i])}) {
      Ssa holds = in.nest().condition(cond);
      all = first ? holds : in.nest().apply("logical_and", {all, holds});
      first = false;
    }
  return Item::of_scalar(all);
}
Item divides(TextRunner& in, Items a) {  // divides(lists): every coordinate is a multiple
  DimVec at = in.dims(a[0]), by = in.dims(a[1]);
  Ssa all = in.nest().constant(Dtype::b8, Arg::of_bool(true));
  for (size_t i = 0; i < at.size(); ++i) {
    Ssa holds = in.nest().condition(eq(mod(at[i], by[i]), 0));
    all = i ? in.nest().apply("logical_and", {all, holds}) : holds;
  }
  return Item::of_scalar(all);
}

// --- random numbers; the last argument says how many there are
std::optional<Dim> drawn(TextRunner& in, Items a, size_t at) {
  return a.size() > at ? std::optional(in.dim(a[at])) : std::nullopt;
}
Item draw_word(TextRunner& in, Items a) {
  return Item::of_scalar(
      in.nest().draw(loops::DrawKind::word, Dtype::i64, in.stream(false, drawn(in, a, 1)), in.dim(a[0])));
}
// Whether a coin shows its face: word / 2^32 < probability, as integers of 32 bits.
Item coin(TextRunner& in, Items a) {  // coin(element, probability, how many)
  const double below = std::ceil(std::ldexp(a[1].arg.real(), 32));
  NestBuilder& nest = in.nest();
  if (!(below > 0)) return Item::of_scalar(nest.constant(Dtype::b8, Arg::of_bool(false)));
  if (below > 0xFFFFFFFFp0) return Item::of_scalar(nest.constant(Dtype::b8, Arg::of_bool(true)));
  Ssa word = nest.draw(loops::DrawKind::signed_word, Dtype::i32, in.stream(false, drawn(in, a, 2)), in.dim(a[0]));
  const int64_t limit = static_cast<int64_t>(below) - (int64_t{1} << 31);
  return Item::of_scalar(nest.apply("lt", {word, nest.constant(Dtype::i32, Arg::of_int(limit))}));
}
Item draw_wide(TextRunner& in, Items a) {
  return Item::of_scalar(
      in.nest().draw(loops::DrawKind::wide_word, Dtype::i64, in.stream(true, drawn(in, a, 1)), in.dim(a[0])));
}
// Those that a dtype, or the parts of a complex one, take: as many bits as it has, in f64.
Item draw_uniform(TextRunner& in, Items a) {
  Dtype d = to_real(a[0].arg.dtype());
  uint32_t stream = in.stream(d == Dtype::f64, drawn(in, a, 2));
  NestBuilder& nest = in.nest();
  return Item::of_scalar(nest.converted(nest.draw(loops::DrawKind::uniform, d, stream, in.dim(a[1])), Dtype::f64));
}
Item draw_normal(TextRunner& in, Items a) {
  bool wide = to_real(a[0].arg.dtype()) == Dtype::f64;
  auto kind = wide ? loops::DrawKind::wide_normal : loops::DrawKind::normal;
  return Item::of_scalar(in.nest().draw(kind, Dtype::f64, in.stream(wide, drawn(in, a, 2)), in.dim(a[1])));
}
// Behind the last integer of a dtype; of a float, the last one up to which it has all. i64's last one is the end.
Item integers_end(TextRunner&, Items a) {
  Dtype d = a[0].arg.dtype();
  if (is_floating(d)) return Item::of(Arg::of_int((int64_t{1} << info(d).mantissa_bits) + 1));
  if (d == Dtype::b8) return Item::of(Arg::of_int(2));
  if (d == Dtype::i64) return Item::of(Arg::of_int(std::numeric_limits<int64_t>::max()));
  return Item::of(Arg::of_int(int64_t{1} << (info(d).bits - (info(d).is_signed ? 1 : 0))));
}

// --- limits of any dtype, as numbers
Item greatest(TextRunner& in, Items a) {
  Dtype d = a[0].arg.dtype();
  if (is_floating(d)) return Item::of(real_arg(std::numeric_limits<double>::infinity()));
  if (d == Dtype::b8 || d == Dtype::u8) return Item::of(Arg::of_int(d == Dtype::b8 ? 1 : 255));
  if (!is_integral(d, false)) in.wrong("no greatest value");
  return Item::of(Arg::of_int(static_cast<int64_t>((uint64_t{1} << (info(d).bits - 1)) - 1)));
}
Item least(TextRunner& in, Items a) {
  Dtype d = a[0].arg.dtype();
  if (is_floating(d)) return Item::of(real_arg(-std::numeric_limits<double>::infinity()));
  if (d == Dtype::b8 || d == Dtype::u8) return Item::of(Arg::of_int(0));
  if (!is_integral(d, false)) in.wrong("no least value");
  return Item::of(Arg::of_int(-static_cast<int64_t>((uint64_t{1} << (info(d).bits - 1)) - 1) - 1));
}

struct Row {
  std::string_view name;
  size_t arguments;  // at least
  NotationFunction apply;
};
constexpr Row kRows[] = {
    {"shape", 1, shape},
    {"rank", 1, rank},
    {"size", 2, size},
    {"numel", 1, elements},
    {"stride", 2, stride},
    {"dtype", 1, dtype_of},
    {"result_type", 1, result_type},
    {"is_tensor", 1, tensor_given},
    {"accumulates", 1, accumulates},
    {"temporary", 2, temporary},
    {"offset", 1, offset},
    {"is_placed", 1, is_placed},
    {"shape_changes", 2, shape_changes},
    {"item_size", 1, item_bytes},
    {"bits_dtype", 1, bits_dtype},
    {"overlaps", 1, overlaps},
    {"step", 1, step},
    {"strays", 4, strays},
    {"results", 0, results},
    {"result", 1, result},
    {"memory", 1, memory},
    {"shown", 2, shown},
    {"laid_as", 2, laid_as},
    {"lies_as", 2, same_order},
    {"is_dense", 1, without_gaps},
    {"without", 2, without},
    {"merged", 3, merged},
    {"replaced", 3, replaced},
    {"inserted", 3, inserted},
    {"selected", 2, selected},
    {"inverse", 1, inverse},
    {"reduced_dims", 2, reduced_dims},
    {"broadcast_at", 2, broadcast_at},
    {"reshaped", 3, reshaped},
    {"spread", 2, spread},
    {"min", 2, extreme<true>},
    {"max", 2, extreme<false>},
    {"raveled", 2, raveled},
    {"at_storage", 2, at_storage},
    {"to", 2, to},
    {"wide", 1, wide},
    {"bits_as", 2, bits_as},
    {"position", 2, position},
    {"wrapped", 2, wrapped},
    {"within", 2, within},
    {"divides", 2, divides},
    {"draw_word", 1, draw_word},
    {"coin", 2, coin},
    {"draw_wide", 1, draw_wide},
    {"draw_uniform", 2, draw_uniform},
    {"draw_normal", 2, draw_normal},
    {"integers_end", 1, integers_end},
    {"greatest", 1, greatest},
    {"halvings", 1, halvings},
    {"least", 1, least},
};
}  // namespace

NotationFunction find_notation_function(std::string_view name) {
  for (const Row& row : kRows)
    if (row.name == name) return row.apply;
  return nullptr;
}

}  // namespace lenz::lower
