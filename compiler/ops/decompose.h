// The definition of a composite op is text in its row; this expands it into nodes.
//
//   %d = aten.sub(%self, %target)
//   %l = aten.abs(%d)
//   if $reduction == 1 { return aten.mean(%l) } else { return %l }
//
// `%name` is a tensor parameter or an earlier result, `$name` any parameter's argument. Expressions: integers, reals,
// strings, true, false, none, dtype names, lists [a, b], + - * // % and / on numbers, == != < <= > >=, and, or, not,
// and the functions rank(t) size(t, dim) shape(t) numel(t) dtype(t) device(t) given(x) len(list) at(list, i)
// first(list, n) last(list, n) drop(list, n) product(list) list(n, value) sum(list) range(a, b) wrap(dim, rank)
// from_start(place, size), of a place that may be counted from the end, element_place(place, size), of an element;
// compute_dtype(d) real_dtype(d) is_float(d) is_complex(d) is_integral(d) promote(d, e) suggested_format(t) concat(a,
// b); conjugated(t), whether a view is lazily conjugated, lazy(t), or negated; result_type(x, y...) of tensors and
// numbers as eager promotes them; float_type(d), which integers and bools become f32 in; highest(d) and lowest(d), a
// dtype's largest and smallest finite values, and epsilon(d), how far its numbers lie apart at 1; fits(x, d), whether
// eager converts a number to a dtype; held(x, d), what an element of a dtype becomes that is given a number; rounded(x,
// d), the number as a float of that dtype; without_imaginary(x), a complex number that is a real one as that;
// is_constant(x), which has no symbols and is no value of the run; is_open(n), of which only the run knows whether it
// is 0; run_tells(n), which only the run knows, or one of a list; scaled(n, f), floor(n * f); count(t, dims), how many
// elements a reduction takes together (no dims: all); max(x, y) min(x, y) power(x, y) factorial(n); find(list, x),
// where x stands first, or -1; broadcast(a, b) and equal(a, b) of two shapes; moved(rank, from, to), the permutation
// that puts dims `from` at places `to`; einsum(equation, list, path), Einstein's sum of tensors. each(list, %x, e) is
// the list of what e is for each element x, and choose(c, x, y) is x if c holds, else y. A result that is a list of
// tensors is the list of their values. A condition on symbolic sizes is decided as type rules decide, and recorded as a
// guard.
//
// Of an op with a type rule of its own, result_shape() result_strides() result_dtype() result_device() are what the
// rule says of its result (one argument: of which), result_count() how long its list is, and result_is_view() whether
// it shares an operand's storage.
//
// A definition gives an op's values, dtypes and sizes, and what shares an operand's storage. Where the op has a type
// rule of its own, that says how a fresh result is laid out: who puts a definition in an op's place sees to that.
// Thread-safety: as the graph's.
#pragma once

#include "compiler/graph/graph.h"

namespace lenz {

// Inserts the definition of op(args) before `before` and returns its results, one per result of the op.
// Throws UserError where the definition refuses its arguments as eager does.
SmallVec<Arg, 4> expand(Graph& graph, NodeId before, const OpDef& op, std::span<const Arg> args, uint32_t origin = 0);

// Whether the steps of a definition are taken in f32 and its results rounded (OpDef::wide_steps): where all operands,
// its tensors, are of one narrow dtype. What has another one eager converts to the narrow one first.
bool steps_are_wide(const OpDef& op, std::span<const Type* const> operands);

// Steps that give a definition's results write them to tensors of these dtypes: what is told no dtype computes in that
// one, as eager adds up in f32 a loss of f64 that goes to an out= tensor of f32.
void write_results(Graph& definition, std::span<Arg> results, std::span<const Dtype> into);

// Of a view op(args) whose result is to hold `written` (OpDef::written_base): inserts what its operand holds then. Of a
// list of views, `element` says which one; the text knows them as `%written` and `$element`.
ValueId expand_written_base(Graph& graph, NodeId before, const OpDef& op, std::span<const Arg> args, ValueId written,
                            int64_t element, uint32_t origin = 0);

// Whether the definition writes to something with an in-place call, to what it made itself or to an operand.
bool definition_writes(const OpDef& op);

namespace rule {
// The result types of a composite are those of its definition, whose steps see operands as they lie: also what is
// lazily conjugated or negated, which eager hands over as it is where an op is strung together of others.
void composite(Infer& in);
// The same of what has a kernel in eager: it is handed copies of these.
void composite_of_copies(Infer& in);
}  // namespace rule

}  // namespace lenz
