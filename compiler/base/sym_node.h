// The nodes behind Dim, for the sym_*.cpp files of this room only; everyone else uses sym.h.
//
// A node is immutable, interned (equal structure, same pointer) and lives as long as its pool. Canonical form:
//   symbol     a name
//   sum        constant + at least one (coefficient, monomial), monomials distinct, in monomial order; never just one
//              monomial with coefficient 1 and no constant (that is the monomial itself)
//   product    (atom, power) in atom order, total power >= 2; a sum is an atom only where expanding it would pass a
//   limit floor_div, mod   two arguments       min, max   two or more, sorted, distinct       call   one argument, a
//   factor
// Thread-safety: as the pool's.
#pragma once

#include <memory>

#include "compiler/base/error.h"
#include "compiler/base/sym.h"

namespace lenz {

__extension__ typedef __int128 Wide;

struct SymTerm {
  int64_t coefficient;
  const SymNode* monomial;
};
struct SymFactor {
  const SymNode* atom;
  int64_t power;
};

struct SymNode {
  SymPool::Impl* pool;
  uint64_t hash;     // of the structure; no address goes into it
  int64_t constant;  // sum: the constant; call: the bits of the factor
  const void* items;
  uint32_t count;  // of items
  uint32_t id;     // symbol: dense number
  uint32_t size;   // nodes of the expression as a tree
  uint16_t depth;
  SymKind kind;
  SymFn fn;
  SymbolMask symbols;  // that occur in it

  std::span<const SymTerm> terms() const { return {static_cast<const SymTerm*>(items), count}; }        // sum
  std::span<const SymFactor> factors() const { return {static_cast<const SymFactor*>(items), count}; }  // product
  std::span<const Dim> args() const { return {static_cast<const Dim*>(items), count}; }                 // the others
  std::string_view name() const { return {static_cast<const char*>(items), count}; }                    // symbol
  double factor() const;                                                                                // call
};

// Memory that is given back in the opposite order only.
class SymArena {
 public:
  struct Mark {
    size_t chunk = 0, used = 0;
  };
  void* allocate(size_t bytes);  // aligned to 16
  Mark mark() const { return at_; }
  void release(Mark to) { at_ = to; }  // the chunks stay, for what comes next

 private:
  struct Chunk {
    std::unique_ptr<std::byte[]> bytes;
    size_t size;
  };
  std::vector<Chunk> chunks_;
  Mark at_;
};

struct SymPool::Impl {
  SymArena arena;
  std::vector<const SymNode*> table;  // open addressing, a power of two
  std::vector<const SymNode*> nodes;  // in order of creation
  std::vector<const SymNode*> symbols;

  const SymNode* intern(SymNode probe);  // probe.items may be temporary
  const SymNode* find(const SymNode& probe) const;
  Dim make(SymKind kind, std::span<const Dim> args, SymFn fn = {}, int64_t bits = 0);
  Dim make_sum(std::span<const SymTerm> terms, int64_t constant);  // terms in order, coefficients not 0
  Dim make_product(std::span<const SymFactor> factors);            // factors in order, powers > 0; {} is 1

  void forget_from(size_t node, SymArena::Mark mark);  // the nodes made since; none is a symbol

 private:
  void grow();
};

// Takes back the nodes that are made while it lives: for questions, whose steps nobody asks for again. No dim that was
// made meanwhile may outlive it. Of dims that are all constants there is nothing to take back.
class SymScratch {
 public:
  SymScratch(Dim a, Dim b)
      : pool_(!a.is_constant()   ? a.node()->pool
              : !b.is_constant() ? b.node()->pool
                                 : nullptr),
        nodes_(pool_ ? pool_->nodes.size() : 0),
        mark_(pool_ ? pool_->arena.mark() : SymArena::Mark{}) {}
  ~SymScratch() {
    if (pool_) pool_->forget_from(nodes_, mark_);
  }
  SymScratch(const SymScratch&) = delete;
  SymScratch& operator=(const SymScratch&) = delete;

 private:
  SymPool::Impl* pool_;
  size_t nodes_;
  SymArena::Mark mark_;
};

// Any dim as a sum, without making nodes.
class SumView {
 public:
  explicit SumView(Dim dim);
  SumView(const SumView&) = delete;
  SumView& operator=(const SumView&) = delete;
  std::span<const SymTerm> terms() const { return terms_; }
  int64_t constant() const { return constant_; }

 private:
  SymTerm self_{};
  std::span<const SymTerm> terms_;
  int64_t constant_ = 0;
};

// Any monomial (a node that is no sum, or an atom) as a product, without making nodes.
class ProductView {
 public:
  explicit ProductView(const SymNode* monomial);
  ProductView(const ProductView&) = delete;
  ProductView& operator=(const ProductView&) = delete;
  std::span<const SymFactor> factors() const { return factors_; }

 private:
  SymFactor self_{};
  std::span<const SymFactor> factors_;
};

[[noreturn]] void throw_overflow();
// A dim of which a divisor is the number 0.
class ZeroDivision : public UserError {
 public:
  using UserError::UserError;
};
[[noreturn]] void throw_zero_division();
inline bool fits(Wide v) { return v >= INT64_MIN && v <= INT64_MAX; }
inline int64_t narrow(Wide v) {
  if (!fits(v)) throw_overflow();
  return static_cast<int64_t>(v);
}
inline Wide floor_quotient(Wide a, Wide b) {  // b != 0
  Wide q = a / b;
  return q - ((a % b != 0 && (a % b < 0) != (b < 0)) ? 1 : 0);
}
inline Wide floor_rest(Wide a, Wide b) { return a - b * floor_quotient(a, b); }
inline uint64_t magnitude(int64_t v) { return v < 0 ? 0 - static_cast<uint64_t>(v) : static_cast<uint64_t>(v); }

int compare_nodes(const SymNode* a, const SymNode* b);      // the order of atoms
int compare_monomials(const SymNode* a, const SymNode* b);  // graded, then lexicographic: m < n implies m*k < n*k

SymPool::Impl& pool_of(Dim a, Dim b);  // of whichever is symbolic; they must agree

Dim add_scaled(Dim a, Dim b, int64_t scale);              // a + b*scale
Dim monomial_dim(const SymTerm& term);                    // term as a dim
Dim divide_monomial(const SymNode* a, const SymNode* b);  // a/b for monomials; 0 if b does not divide a
Dim common_monomial(const SymNode* a, const SymNode* b);  // the greatest common divisor of two monomials
std::optional<int64_t> apply_call(SymFn fn, int64_t a, double factor);

// The node with each part replaced, in canonical form. Parts: monomials of a sum, atoms of a product, arguments.
Dim rebuild(Dim dim, const std::function<Dim(Dim)>& child);

// Ranges under facts, or over every integer value of every symbol if `facts` is null.
class FactsReader;
Range range_of(Dim dim, const FactsReader* facts);

// At which size an operation stops expanding or refuses.
inline constexpr size_t kMaxTerms = 128;          // of a sum, and factors of a product: UserError beyond
inline constexpr size_t kMaxArguments = 64;       // of a min or max: UserError beyond
inline constexpr size_t kMaxExpandedTerms = 32;   // a product of two sums with more stays a product
inline constexpr size_t kMaxExpandedSize = 2048;  // or with a larger tree
inline constexpr uint32_t kMaxSize = 8192;        // nodes of an expression as a tree: UserError beyond

}  // namespace lenz
