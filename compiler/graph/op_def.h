// OpDef: the row of an op. Everything anyone needs to know about it: data, and pointers to shared rules.
// The table of all rows is compiler/ops; this header is only the type, so that the graph can hold rows without knowing
// them. Thread-safety: constant once the table is built.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "compiler/graph/number_fits.h"
#include "compiler/graph/schema.h"
#include "compiler/graph/type.h"

namespace lenz {

class Infer;
class CallMaker;

// What passes ask instead of names.
enum class Trait : uint32_t {
  elementwise = 1u << 0,  // one result element depends on one element of each (broadcast) operand
  reduction = 1u << 1,
  view = 1u << 2,        // the result always aliases its first tensor operand
  maybe_view = 1u << 3,  // aliases or copies, depending on strides (reshape, contiguous, to)
  random = 1u << 4,
  commutative = 1u << 5,           // in its first two operands, the other parameters (alpha) at their defaults
  associative = 1u << 6,           // mathematically; the dtype decides whether a pass may use it
  idempotent = 1u << 7,            // f(f(x)) == f(x)
  involution = 1u << 8,            // f(f(x)) == x, bitwise
  monotone = 1u << 9,              // non-decreasing in its tensor operand
  creation = 1u << 10,             // needs no tensor operand
  data_dependent = 1u << 11,       // result shapes depend on values
  effect = 1u << 12,               // does something besides its results and mutations: asserts, prints
  nondeterministic = 1u << 13,     // eager may give different bits from run to run (atomics on duplicates)
  composite = 1u << 14,            // has a decomposition that defines it
  core = 1u << 15,                 // may stand in a graph of level core
  scan = 1u << 16,                 // cumulative along one dim
  movement = 1u << 17,             // moves elements, computes nothing: bitwise exact
  contraction = 1u << 18,          // matmul, convolution, attention
  indexing = 1u << 19,             // reads or writes through an index tensor
  structural = 1u << 20,           // Lenz's own plumbing: getitem, constants, control flow, tokens
  reads_metadata_only = 1u << 21,  // *_like, new_*: an operand gives shape and dtype, not values
  empty_dims_keep = 1u << 23,      // an empty list of dims reduces nothing, instead of all
  makes_float = 1u << 22,          // integer and bool operands give a float result
  opaque_view = 1u << 24,          // a view that is more than its type: lazily conjugated, cut off from autograd
};
struct Traits {
  uint32_t bits = 0;
  constexpr Traits() = default;
  constexpr Traits(Trait t) : bits(static_cast<uint32_t>(t)) {}  // NOLINT: a trait is a set of one
  constexpr explicit Traits(uint32_t b) : bits(b) {}
  constexpr bool has(Trait t) const { return (bits & static_cast<uint32_t>(t)) != 0; }
  friend constexpr Traits operator|(Traits a, Traits b) { return Traits(a.bits | b.bits); }
};
constexpr Traits operator|(Trait a, Trait b) { return Traits(a) | Traits(b); }
std::string_view name(Trait trait);
std::span<const Trait> all_traits();

// Where an op's floating results may lie, for the oracle: see compiler/ops/README.md.
enum class Accuracy : uint8_t {
  exact,    // bitwise: movement, comparisons, integers, min/max
  rounded,  // one correctly rounded operation (add, mul, sqrt, fma)
  ulp1,
  ulp2,
  ulp4,
  ulp16,        // a transcendental within this many ulps
  accumulated,  // a sum or product of n terms in any order
  composed,     // as its decomposition says
};

// How errors of operands reach a result that neither a primitive nor a definition explains; oracle/bounds interprets
// it.
struct ErrorFlow {
  enum Kind : uint8_t {
    by_traits,     // movement moves errors, a reduction that computes nothing is monotone, what accumulates is positive
                   // (through an index tensor: in the storage's dtype), what is drawn or left unwritten is neither
    moved,         // every result element is an element of an operand, or a constant
    positive,      // a polynomial of the floating operands whose coefficients have one sign: sums, products of matrices
    monotone,      // non-decreasing in every element of its first operand
    interpolated,  // a weighted mean of the operand's elements, the weights computed in floating arithmetic
    opaque,        // exact of exact operands; of others nothing is known
    log_sums,      // the logarithm of a sum of exponentials
  };
  enum Terms : uint8_t {  // how many terms an element of a positive result has at most
    counted,              // what the op gives for operands of ones
    factors,              // one, of as many factors as elements are taken together
    windowed,             // as many as the parameter kernel_size has places, or an adaptive window
    all,                  // as many as the operands have elements
  };
  Kind kind = by_traits;
  Terms terms = counted;
  // Whether it accumulates in the result's own dtype, however narrow: "always", "in several steps" (along dims that
  // don't lie behind each other), "beside a size of 1" (that stands for another one among contracted dims), or a
  // parameter that says so if true.
  std::string_view in_storage = {};
  std::string_view divisor = {};    // of a positive result: an operand that divides
  bool ties_open = false;           // which of equal elements an index names is nobody's promise
  bool extreme_index = false;       // its result is where the greatest or least element stands
  double eager = 1;                 // eager's own error is up to this many times what its steps may add
  std::string_view eager_for = {};  // "approximate=none": in calls with that argument alone
  bool stores_steps = false;  // eager's formula has steps that the definition has not, and stores them in the dtype
};

// Values for which an op is defined and smooth: what input generation draws from. Indices carry their bound elsewhere.
struct Domain {
  double low = -4.0, high = 4.0;
  bool exclude_zero = false;
};

// f(x, value) == x, bitwise, for operands of these dtypes and the other parameters (alpha) at their defaults: 0 of a
// sum, 1 of a product. Signed zeros count: x + 0.0 turns -0.0 into 0.0, so a float's sum has -0.0 here.
struct Neutral {
  enum Side : uint8_t { right, left, both };  // where the value stands
  double value = 0;
  Side side = right;
  DtypeSet dtypes;
};
// f(x, value) == f(value, x) == result for every x of these dtypes: 0 of an integer product.
struct Absorbing {
  double value = 0, result = 0;
  DtypeSet dtypes;
};

// How a row's op gets to loops. A later stage fills the data; `none` says honestly that nothing does it yet.
enum class LoweringKind : uint8_t { none, loops, decompose, external };
struct Lowering {
  LoweringKind kind = LoweringKind::none;
  std::string_view body;  // kind loops: what the op's loops compute, see compiler/lower/NOTATION.md; empty: `scalar`
};

// How an out= variant treats its tensor.
enum class OutRule : uint8_t {
  direct,       // written directly: any dtype that the result casts to; resized to the result's own strides
  same_dtype,   // written directly: exactly the result's dtype
  copied,       // the result is made first, then copied: exactly its dtype; resized to contiguous
  copied_cast,  // resized to contiguous too, but any dtype that the result casts to
  plain,        // written as if it had the result's own dtype and sizes, and were contiguous: others are Unsupported
};

// Which variants of one row exist in ATen; they are derived, never written. Where a row returns a list, both kinds
// write to the tensors of a list and return nothing.
struct Variants {
  bool in_place = false;      // add_
  std::string_view out = {};  // the overload name of the out= variant ("out", "IntList_out"); empty: there is none
  // Its out= parameters where ATen names them otherwise ("max max_values"); with a '!' its results have no names.
  std::string_view out_params = {};
  OutRule out_rule = OutRule::direct;
  std::optional<std::string_view> in_place_as = {};  // the in-place overload's name where it is not the row's own
  // A definition of what the in-place variant writes, where that is not what the row gives.
  std::string_view in_place_value = {};
};
enum class VariantKind : uint8_t { functional, in_place, out };

struct OpDef {
  Schema schema;
  std::string full_name;   // "aten.add.Tensor"
  uint64_t name_hash = 0;  // of that; set when the row joins the table, as is
  bool may_write = false;  // whether any call of it writes to an operand
  VariantKind variant = VariantKind::functional;
  const OpDef* base = nullptr;  // the functional row it was derived from
  const OpDef* each = nullptr;  // a row over lists: the row that it applies to every element
  Variants variants;            // of a functional row
  Traits traits;
  // Result types from argument types; throws UserError when eager raises. Null: results must be annotated (an extern).
  void (*infer)(Infer&) = nullptr;
  // Makes a legal call. Null: no generator (structural ops, externs).
  void (*generate)(CallMaker&) = nullptr;
  DtypeSet dtypes = dtypes::all;  // of the leading tensor operand, on a CPU
  DtypeSet computes;              // elementwise: what eager computes in, once promoted; empty: the same dtypes
  Domain domain;
  Accuracy accuracy = Accuracy::exact;
  ErrorFlow flow;
  std::string scalar;          // elementwise: the primitive in the scalar table, if it is just that
  std::string_view raises;     // when eager raises, in words
  std::string_view decompose;  // text of its definition, see compiler/ops/decompose.h; empty: none
  // Of f16 and bf16 its definition's steps are taken in f32 and results rounded once, as eager's kernel does.
  bool wide_steps = false;
  // Of a view: what its base holds once the view holds %written, as a definition over the op's own parameters.
  std::string_view written_base;
  // Operands that it writes to though ATen's schema does not say so, by parameter: "running_mean running_var if
  // training" (only where that flag is not false), "mean" (always).
  std::string_view writes;
  // Operands that need not lie where the others do, "src:any indices:cpu": anywhere; there or on the CPU (`cpu`); there
  // or, of no dims, on the CPU (`number`).
  std::string_view devices;
  std::string_view fits;      // numbers that must fit into a dtype, see number_fits.h
  std::string_view wants;     // what it wants of single operands' values, see compiler/ops/wants.h
  std::string_view sampling;  // how a random op samples from Lenz's own stream, see compiler/ops/draws.h
  Lowering lowering;
  std::string_view gradient;  // a later stage's data
  // Where the result's type (dtype, sizes, strides, offset, device) equals the first tensor operand's, and that is one
  // of these dtypes, the result equals it bitwise: clone, to, repeat; rounding of integers.
  DtypeSet copies;
  SmallVec<Neutral, 2> neutral;
  SmallVec<Absorbing, 1> absorbing;
  std::string_view fills;       // every element of the result is this: a parameter's name, or "0" or "1"
  bool dims_of_result = false;  // its dim parameters count the result's dims: unsqueeze, stack
  // Where eager itself is inconsistent, and why the row says what it says. It excuses a meta device that differs from
  // the CPU, a dtype that it names and the row leaves out, and, in words that it quotes in `backquotes`, refusals of
  // eager's that depend on values and refusals of the rule's that eager forgets.
  std::string_view exception;
  SmallVec<uint8_t, 2> unsaid_writes;  // `writes`, read when the row joins the table: parameters,
  int unsaid_writes_if = -1;           // and the flag; -1: always
  std::vector<NumberFit> number_fits;  // `fits`, read then
  bool has(Trait t) const { return traits.has(t); }
  // Whether a variant writes something else than its base gives: its definition says what.
  bool redefined() const { return base && decompose != base->decompose; }
};

// The table: rows by name and by packet. Built once; lookups are const and thread-safe.
class OpTable {
 public:
  void add(OpDef def);                                  // a functional row and the variants that it declares
  const OpDef* find(std::string_view full_name) const;  // "aten.add.Tensor"
  std::span<const OpDef* const> packet(std::string_view name) const;      // "aten.add": all overloads, in table order
  std::span<const std::unique_ptr<OpDef>> rows() const { return rows_; }  // all, derived ones after their base

 private:
  std::string_view keep_text(std::string_view text);

  std::deque<std::string> texts_;  // what rows say; the table owns it
  std::vector<std::unique_ptr<OpDef>> rows_;
  std::unordered_map<std::string_view, const OpDef*> by_name_;
  std::unordered_map<std::string, std::vector<const OpDef*>> by_packet_;
};

}  // namespace lenz
