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
  Dim simplify(Dim dim) const;

  Truth prove(const Cond& cond) const;
  bool nonnegative(Dim dim) const;  // dim is normalized

 private:
  const Facts::Known* known(const SymNode* symbol) const;
  Congruence node_congruence(const SymNode* node) const;
  Dim fixpoint(Dim dim, bool solve) const;
  Dim pass(Dim dim, bool solve) const;
  Dim local(Dim dim) const;
  Dim local_sum(Dim dim) const;
  Dim local_floor_div(Dim a, Dim b) const;
  Dim local_mod(Dim a, Dim b) const;
  Dim local_extreme(Dim dim) const;
  bool nonnegative(Dim dim, int depth, int& budget) const;
  bool nonnegative_by_atom(Dim dim, const SymTerm& term, int depth, int& budget) const;
  Truth prove_zero(Dim dim) const;

  const Facts& facts_;
};

// Adds facts to a copy of Facts, which is thrown away if they contradict.
class FactsLearner {
 public:
  explicit FactsLearner(Facts& facts) : facts_(facts) {}

  // Each false on contradiction.
  bool assume(const Cond& cond);
  bool assume_range(const SymNode* symbol, const Range& range);
  bool assume_congruence(Dim dim, int64_t modulus, int64_t residue);

  Facts::Known& known(const SymNode* symbol);

 private:
  bool assume_zero(Dim dim);
  bool assume_nonzero(Dim dim);
  bool assume_nonnegative(Dim dim);
  bool solve(Dim dim, bool& done);
  bool replace(const SymNode* symbol, Dim by);
  bool tighten(Dim bound);
  bool propagate();

  Facts& facts_;
  int budget_ = 256;  // of propagation steps
};

// Picks values for the symbols that lack one or whose value no longer fits.
void update_hints(Facts& facts);

// x = r1 (mod m1) and x = r2 (mod m2), as one; nullopt on contradiction, the first where the modulus overflows.
std::optional<Congruence> intersect(const Congruence& a, const Congruence& b);
Congruence canonical(const Congruence& c);

uint64_t symbol_mask(Dim dim);

}  // namespace lenz
