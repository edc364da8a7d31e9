// The inside of Facts, for the sym_*.cpp files of this room only: how questions are answered, how facts are learned.
#pragma once

#include "compiler/base/sym_node.h"

namespace lenz {

// Answers questions about dims. A question that overflows on the way, or outgrows its budget, is left open.
class FactsReader {
 public:
  explicit FactsReader(const Facts& facts) : facts_(facts) {}

  Range symbol_range(const SymNode* symbol) const;
  Range range(Dim dim) const { return range_of(dim, this); }
  Congruence congruence(Dim dim) const;

  Dim normalize(Dim dim) const;  // simplified with solved symbols replaced, whatever the size
  Dim simplify(Dim dim) const;   // as Facts::simplify

  Truth prove(const Cond& cond) const;
  bool nonnegative(Dim dim) const;  // dim is normalized

 private:
  const Facts::Known* known(const SymNode* symbol) const;
  Congruence node_congruence(const SymNode* node) const;
  Dim simplify_once(Dim dim) const;
  Dim fixpoint(Dim dim, bool solve) const;
  Dim pass(Dim dim, bool solve) const;
  Dim local(Dim dim) const;
  Dim local_sum(Dim dim) const;
  Dim local_floor_div(Dim a, Dim b) const;
  Dim local_mod(Dim a, Dim b) const;
  Dim local_extreme(Dim dim) const;
  bool nonnegative(Dim dim, int depth, int& budget) const;
  int sign_of_divisor(Dim k, int depth, int& budget) const;
  Dim with_whole_quotients(Dim dim) const;
  Dim without_quotients(Dim k) const;
  bool positive_by_product(Dim k) const;
  bool divides(Dim k, Dim x) const;
  std::pair<Dim, Dim> remainder_ends(Dim x, Dim k) const;
  bool nonnegative_by_atom(Dim dim, const SymTerm& term, int depth, int& budget) const;
  bool nonnegative_by_extreme_factor(Dim dim, const SumView& view, int depth, int& budget) const;
  bool nonnegative_by_factor(const SumView& view, int depth, int& budget) const;
  bool differs_by_ranges(const SumView& view, const SumView& bound, int64_t m) const;
  bool nonnegative_by_bound(Dim dim, const SumView& view, int depth, int& budget) const;
  SymbolMask sought_in_bounds(const SumView& view) const;
  Truth prove_zero(Dim dim) const;
  Truth prove_gap(Rel rel, Dim gap) const;  // gap: right minus left

  const Facts& facts_;
};

// Hints: values by symbol id.
struct Facts::Hints {
  struct Value {
    std::optional<int64_t> number;
    bool open = false;  // of a symbol that was not solved then: no other one gets the same, where that is possible
  };
  std::vector<Value> values;
  std::vector<int64_t> used;  // the numbers of the open ones, in order
  size_t conditions = 0;      // that were looked at
  uint64_t version = 0;       // of the facts that they were made for
  bool tried_all = false;     // values of what conditions on few values break: no others will do, whatever is learnt
};

struct Facts::Proven {
  Cond cond{};
  Truth truth = Truth::unknown;
  uint64_t version = UINT64_MAX;  // of the facts that it follows from
};

// Adds facts. Unless keep() is called in the end, its destructor takes everything back.
class FactsLearner {
 public:
  explicit FactsLearner(Facts& facts);
  ~FactsLearner();
  FactsLearner(const FactsLearner&) = delete;
  FactsLearner& operator=(const FactsLearner&) = delete;

  bool assume(const Cond& cond);  // false on contradiction, as all of the following
  bool assume_range(const SymNode* symbol, const Range& range);
  bool settle();  // draws the consequences that are still pending
  void keep();

  Facts::Known& known(const SymNode* symbol);  // to change; valid until the next call

 private:
  // Something that holds and is still to be taken in. Steps append here instead of calling each other, so that a long
  // chain of consequences needs no stack.
  struct Pending {
    enum class Kind : uint8_t { zero, nonzero, nonnegative, congruent, tighten, fixed } kind;
    Dim dim;
    Congruence congruence;
  };
  struct Saved {
    ListBySymbols<Facts::Bound> bounds, nonzero;
    ListBySymbols<Facts::Rewrite> rewrites;
  };

  bool take_in(const Pending& pending);
  Dim without_factors(const Cond& cond);
  std::optional<Dim> without_solved_factor(Dim dim) const;
  void divide_by_solved(Dim value);
  void bound_factors(Dim dim);
  void none_is_zero(const SymTerm& term);
  bool assume_zero(Dim dim);
  bool assume_nonzero(Dim dim);
  bool assume_nonnegative(Dim dim);
  bool assume_congruence(Dim dim, int64_t modulus, int64_t residue);
  void keep_remainder(Dim dim, int64_t modulus, int64_t residue);
  void keep_difference(Dim dim, Dim least);
  bool assume_remainder(Dim dim, bool& done);
  bool assume_power(Dim dim, bool exactly, bool& done);
  bool solve(Dim dim);
  void save();
  void relearn_rewrites(const SymbolMask& symbols, const std::function<bool(Dim, Dim)>& which);
  std::vector<const SymNode*> solved_where(const std::function<bool(Dim)>& is) const;
  void replace(const SymNode* symbol, Dim by);
  void rewrite(Dim dim);
  static bool stands_in(const ListBySymbols<Facts::Bound>& list, Dim dim);
  void keep_bound(Dim dim);
  void bound_quotient(Dim dim);
  void bound_extreme(Dim dim);
  void bound_remainders(const SumView& view);
  bool tighten(Dim bound);
  bool tighten_factors(const SymNode* monomial, const Range& range);
  bool solved(const SymNode* symbol) const;

  Facts& facts_;
  bool kept_ = false;
  std::vector<Pending> pending_;
  SymbolMask changed_;  // symbols whose range changed since bounds were last looked at
  int budget_ = 2048;   // of proofs and propagation steps
  // What to go back to.
  size_t solved_, bounds_, nonzero_, rewrites_;
  std::vector<std::pair<uint32_t, Facts::Known>> touched_;  // as they were; without a symbol, if they were not there
  std::optional<Saved> saved_;  // the lists as they were, once a symbol was replaced in them
};

// x = r1 (mod m1) and x = r2 (mod m2), as one; nullopt on contradiction, the first where the modulus overflows.
std::optional<Congruence> intersect(const Congruence& a, const Congruence& b);
Congruence canonical(const Congruence& c);
// The x modulo m that solve c*x = r (mod m), as a congruence; nullopt if there are none. m >= 1.
std::optional<Congruence> solve_congruence(int64_t c, int64_t r, int64_t m);

Range multiply_ranges(const Range& a, const Range& b);
Range intersect_ranges(const Range& a, const Range& b);

// sym_add.cpp. What a condition says where it bounds one symbol by numbers alone.
std::optional<std::pair<const SymNode*, Range>> as_range(const Cond& cond);

// sym_factors.cpp. What is left of dim = 0, or dim >= 0, without a factor that is not 0, or positive; nullopt if there
// is none.
std::optional<Dim> without_common_factor(const FactsReader& reader, Dim dim);
std::optional<Dim> without_common_sum(const FactsReader& reader, Dim dim);  // of dim = 0 alone

inline SymbolMask symbol_mask(Dim dim) { return dim.is_constant() ? SymbolMask{} : dim.node()->symbols; }
bool mentions(Dim dim, const SymNode* symbol);
Dim replace_symbol(Dim dim, const SymNode* symbol, Dim by);

}  // namespace lenz
