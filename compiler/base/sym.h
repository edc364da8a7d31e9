// Symbolic dims: integer expressions over symbols in canonical form, hash-consed in a SymPool.
//
// A Dim is a value of 16 bytes: a constant, or a pointer to a node of a pool. Equal expressions of one pool are the
// same pointer, so == is structural equality of canonical forms. Constants need no pool. Arithmetic is exact in int64;
// an overflow of constants throws UserError ("dimension overflows 64 bits").
//
// Canonical form: a sum is a sorted list of (coefficient, monomial) and a constant; a monomial is a sorted product of
// atoms with powers; atoms are symbols, floor divisions, mods, mins, maxes and opaque calls. // and % are Python's
// (floor; the sign of the divisor); division by zero throws UserError.
//
// Facts (ranges, divisibility, equalities) live in a Facts value beside the pool: the pool's own simplification uses
// only what holds for every integer value of every symbol.
//
// Thread-safety: a pool and its dims belong to one thread at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/base/shared.h"

namespace lenz {

class SymPool;
struct SymNode;

class Dim {
 public:
  constexpr Dim() = default;
  constexpr Dim(int64_t value) : value_(value) {}  // NOLINT: a number is a dim
  constexpr Dim(int value) : value_(value) {}      // NOLINT
  explicit Dim(const SymNode* node) : node_(node) {}
  bool is_constant() const { return node_ == nullptr; }
  int64_t constant() const { return value_; }  // only if is_constant()
  const SymNode* node() const { return node_; }
  bool is(int64_t v) const { return node_ == nullptr && value_ == v; }
  friend bool operator==(const Dim& a, const Dim& b) { return a.node_ == b.node_ && a.value_ == b.value_; }
  size_t hash() const;

 private:
  int64_t value_ = 0;  // 0 when node_ is set
  const SymNode* node_ = nullptr;
};

namespace detail {  // the general cases; constants are handled in place, below
Dim add(Dim a, Dim b);
Dim subtract(Dim a, Dim b);
Dim multiply(Dim a, Dim b);
}  // namespace detail

inline Dim operator+(Dim a, Dim b) {
  int64_t r;
  if (a.is_constant() && b.is_constant() && !__builtin_add_overflow(a.constant(), b.constant(), &r)) return r;
  return detail::add(a, b);
}
inline Dim operator-(Dim a, Dim b) {
  int64_t r;
  if (a.is_constant() && b.is_constant() && !__builtin_sub_overflow(a.constant(), b.constant(), &r)) return r;
  return detail::subtract(a, b);
}
inline Dim operator-(Dim a) { return Dim(0) - a; }
inline Dim operator*(Dim a, Dim b) {
  int64_t r;
  if (a.is_constant() && b.is_constant() && !__builtin_mul_overflow(a.constant(), b.constant(), &r)) return r;
  return detail::multiply(a, b);
}
inline Dim& operator+=(Dim& a, Dim b) { return a = a + b; }
inline Dim& operator*=(Dim& a, Dim b) { return a = a * b; }
Dim floor_div(Dim a, Dim b);
Dim mod(Dim a, Dim b);
Dim min(Dim a, Dim b);
Dim max(Dim a, Dim b);
Dim sum(std::span<const Dim> dims);  // as repeated +, without the nodes of the steps
Dim min(std::span<const Dim> dims);  // of at least one
Dim max(std::span<const Dim> dims);
inline Dim ceil_div(Dim a, Dim b) { return -floor_div(-a, b); }

// Opaque functions that can be evaluated but not reasoned about, beyond their range.
enum class SymFn : uint8_t {
  floor_scale,  // floor(a * f), in double
  ceil_scale,   // ceil(a * f)
  round_scale,  // half-even round(a * f)
};
Dim call(SymFn fn, Dim a, double factor);

// Text, as in a .lenz file: "s0*8 + 4", "(s0 + 1)//2", "min(s0, s1)", "floor(1.5*s0)". Deterministic.
std::string to_string(Dim dim);

enum class SymKind : uint8_t { symbol, sum, product, floor_div, mod, min, max, call };

// Total order used for canonical form and printing: by structure and symbol name, never by address.
int compare(Dim a, Dim b);

SymKind kind_of(Dim dim);  // of a dim that is no constant
size_t size_of(Dim dim);   // how many operands and operations it is written with, roughly: 1 for a constant or a symbol

// Nesting beyond this is refused with a UserError, as are sums of more than a hundred terms and expressions of
// thousands of operations: whatever the text, time and memory stay in proportion to it, and recursion is safe.
inline constexpr int kMaxDimDepth = 128;

// Visits the symbols of a dim, each once, in order of first appearance.
void for_each_symbol(Dim dim, const std::function<void(const SymNode* symbol)>& visit);
std::string_view symbol_name(const SymNode* symbol);
uint32_t symbol_id(const SymNode* symbol);  // dense per pool, in order of creation

// Reads what to_string prints; any symbol name makes a symbol. A UserError says what is wrong, and the column.
//   condition  sum (== | != | < | <= | > | >=) sum
//   sum        product ((+ | -) product)*
//   product    unary ((* | // | %) unary)*
//   unary      - unary | number | name | ( sum ) | (min | max)(sum, ...) | (floor | ceil | round)(factor*sum)
Dim parse_dim(std::string_view text, SymPool& pool);

// Evaluates with a value for each symbol; nullopt if a symbol has none, or on overflow or division by zero.
using SymValues = std::function<std::optional<int64_t>(const SymNode* symbol)>;
std::optional<int64_t> evaluate(Dim dim, const SymValues& values);

// Replaces symbols by dims (nullopt: keeps the symbol); the result is canonical in `pool`.
Dim substitute(Dim dim, SymPool& pool, const std::function<std::optional<Dim>(const SymNode* symbol)>& with);

// Owns nodes. The only way to make a symbol.
class SymPool {
 public:
  SymPool();
  ~SymPool();
  SymPool(const SymPool&) = delete;
  SymPool& operator=(const SymPool&) = delete;

  Dim symbol(std::string_view name);                            // the same name gives the same dim
  std::optional<Dim> find_symbol(std::string_view name) const;  // without creating it
  size_t node_count() const;

  struct Impl;
  Impl& impl() { return *impl_; }

 private:
  std::unique_ptr<Impl> impl_;
};

// A condition on dims: what facts, guards and questions are made of.
enum class Rel : uint8_t { eq, ne, lt, le };
struct Cond {
  Rel rel;
  Dim lhs, rhs;
  friend bool operator==(const Cond&, const Cond&) = default;
};
inline Cond eq(Dim a, Dim b) { return {Rel::eq, a, b}; }
inline Cond ne(Dim a, Dim b) { return {Rel::ne, a, b}; }
inline Cond lt(Dim a, Dim b) { return {Rel::lt, a, b}; }
inline Cond le(Dim a, Dim b) { return {Rel::le, a, b}; }
inline Cond gt(Dim a, Dim b) { return {Rel::lt, b, a}; }
inline Cond ge(Dim a, Dim b) { return {Rel::le, b, a}; }
inline Cond divisible(Dim a, Dim by) { return {Rel::eq, mod(a, by), 0}; }
Cond negate(const Cond& cond);
std::string to_string(const Cond& cond);  // "s0 % 8 == 0"
Cond parse_cond(std::string_view text, SymPool& pool);
std::optional<bool> evaluate(const Cond& cond, const SymValues& values);

enum class Truth : uint8_t { no, yes, unknown };

struct Range {  // inclusive; a missing end is unbounded
  std::optional<int64_t> low, high;
  friend bool operator==(const Range&, const Range&) = default;
};

// What is known of a value beyond its range: it is `residue` modulo `modulus` (modulus 0: it is `residue` exactly).
struct Congruence {
  int64_t modulus = 1, residue = 0;
  friend bool operator==(const Congruence&, const Congruence&) = default;
};

// Roughly which symbols an expression has: those that share a symbol meet, others seldom.
struct SymbolMask {
  uint64_t low = 0, high = 0;  // a bit for each symbol's id modulo 64, and for what is left of it
  bool meets(const SymbolMask& o) const { return (low & o.low) != 0 && (high & o.high) != 0; }
  bool covers(const SymbolMask& o) const { return (o.low & ~low) == 0 && (o.high & ~high) == 0; }
  bool empty() const { return low == 0; }
  void add(uint32_t id) {
    low |= uint64_t{1} << (id % 64);
    high |= uint64_t{1} << (id / 64 % 64);
  }
  void add(const SymbolMask& o) {
    low |= o.low;
    high |= o.high;
  }
};

// A list of what has `symbols`, made to be asked for all that has one of a few. Blocks that have none are passed over:
// symbols that were made one after another lie in few of them.
template <class T>
class ListBySymbols {
 public:
  size_t size() const { return items_.size(); }
  bool empty() const { return items_.empty(); }

  void push_back(const T& item) {
    items_.push_back(item);
    if (items_.size() % kBlock == 0) blocks_.push_back(mask_of(items_.size() - kBlock));
  }
  void truncate(size_t size) {
    items_.truncate(size);
    blocks_.truncate(size / kBlock);
  }
  template <class F>
  void erase_if(F&& is) {
    const size_t before = items_.size();
    items_.erase_if(is);
    if (items_.size() == before) return;
    blocks_.clear();
    for (size_t first = 0; first + kBlock <= items_.size(); first += kBlock) blocks_.push_back(mask_of(first));
  }

  // Whether `is` says so of one that may have such a symbol; it is asked of these in order, up to that one.
  template <class F>
  bool any_of(const SymbolMask& symbols, F&& is) const {
    for (size_t i = 0; i < items_.size(); ++i) {
      if (i % kBlock == 0 && i / kBlock < blocks_.size() && !blocks_[i / kBlock].meets(symbols)) {
        i += kBlock - 1;
        continue;
      }
      const T item = items_[i];
      if (item.symbols.meets(symbols) && is(item)) return true;
    }
    return false;
  }

 private:
  static constexpr size_t kBlock = 64;
  SymbolMask mask_of(size_t first) const {
    SymbolMask mask;
    for (size_t i = first; i < first + kBlock; ++i) mask.add(items_[i].symbols);
    return mask;
  }
  SharedList<T> items_;
  SharedList<SymbolMask> blocks_;  // of those that are full
};

// What is known about the symbols of one graph. A symbol without a fact is any integer >= 0 (it is a size).
// Facts are about the symbols of one pool, which must outlive them. Queries may make nodes in it.
// Copies share what they have in common: they cost what was learnt since, whatever a graph knows of its symbols.
class Facts {
 public:
  // Intersects with what is known; for a symbol that no fact is about yet it replaces "any integer >= 0". A UserError
  // if nothing is left (the facts are then unchanged).
  void set_range(const SymNode* symbol, Range range);
  // Adds a condition that holds. False if it contradicts what is known (the facts are then unchanged). A bound of one
  // symbol by a constant becomes part of its range. UserError beyond kMaxConditions.
  bool add(const Cond& cond);

  Range range(Dim dim) const;      // sound: contains every value that the facts allow
  int64_t divisor(Dim dim) const;  // the largest known constant that divides it (0 for the constant 0)
  Congruence congruence(Dim dim) const;
  Truth prove(const Cond& cond) const;  // yes and no are proofs
  bool proves(const Cond& cond) const { return prove(cond) == Truth::yes; }
  Dim simplify(Dim dim) const;  // equal under the facts, never larger; idempotent

  // A typical value of a symbol inside its facts: distinct for distinct symbols where the ranges allow, not 0 or 1.
  // Type rules that must decide what facts leave open decide as these values say, and record the guard.
  int64_t hint(const SymNode* symbol) const;
  std::optional<int64_t> hint(Dim dim) const;

  struct Declared {
    const SymNode* symbol;
    Range range;
  };
  const SharedList<Cond>& conditions() const { return conditions_; }  // as added, ranges apart
  std::vector<Declared> ranges() const;                               // in order of declaration

  static constexpr size_t kMaxConditions = 4096;

 private:
  friend class FactsReader;   // the queries' view of what follows
  friend class FactsLearner;  // draws the consequences of a new fact
  friend class HintSearch;

  struct Known {  // of one symbol
    const SymNode* symbol = nullptr;
    Range range{0, std::nullopt};
    Congruence congruence;
    std::optional<Dim> solved;  // equals this, in which no solved symbol occurs
    std::optional<Range> declared;
    bool in_conditions = false;  // more speaks of it than ranges: bounds, rewrites, what another is solved by
  };
  struct Bound {  // dim >= 0, or dim is not 0
    Dim dim;
    SymbolMask symbols;
  };
  struct Rewrite {  // an atom or product that equals a smaller dim
    Dim from, to;
    SymbolMask symbols;  // of both
  };
  struct Hints;  // kept from question to question, so that a fact that agrees with them leaves them alone
  struct Proven;

  void declare(const SymNode* symbol, const Range& first, const Range& range);
  void next_version();

  SharedList<uint32_t> declared_;  // symbol ids, in order
  SharedList<Cond> conditions_;
  SharedTable<Known> known_;     // by symbol id
  SharedList<uint32_t> solved_;  // symbol ids
  ListBySymbols<Bound> bounds_;  // conditions on several symbols
  ListBySymbols<Bound> nonzero_;
  ListBySymbols<Rewrite> rewrites_;
  uint64_t version_ = 0;  // no other facts, unless these were copied from them or they from these, have the same
  mutable std::shared_ptr<Hints> hints_;   // of copies too, until they differ
  mutable SharedList<uint32_t> unhinted_;  // ids of symbols of which something was learnt since
  mutable std::shared_ptr<Proven[]>
      proven_;  // by hash; holds dims that callers made, and they live as long as the pool
};

}  // namespace lenz
