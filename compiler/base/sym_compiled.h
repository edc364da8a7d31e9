// Dims made ready for evaluation at many points: a linear form over symbols where they are one, else a little program
// in postfix. Thread-safety: constant once made.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "compiler/base/sym.h"

namespace lenz {

class CompiledDim {
 public:
  // Symbols that `fixed` knows are folded in; the others are read at each evaluation.
  CompiledDim(Dim dim, const SymValues& fixed);

  // `values` by symbol_id, for all symbols that were not fixed. UserError on overflow and division by zero, as of Dims
  // themselves.
  int64_t operator()(const int64_t* values) const {
    if (!steps_.empty()) return run(values);
    int64_t total = constant_, part = 0;
    for (const Term& t : terms_)
      if (__builtin_mul_overflow(t.coefficient, values[t.slot], &part) || __builtin_add_overflow(total, part, &total))
        return wide_sum(values);
    return total;
  }
  bool is_constant() const { return steps_.empty() && terms_.empty(); }

  struct Term {
    int64_t coefficient;
    uint32_t slot;
  };
  // What it is where it is linear: the constant and terms of other slots, or of one slot several. Else nothing is told.
  bool is_linear() const { return steps_.empty(); }
  int64_t constant() const { return constant_; }
  std::span<const Term> terms() const { return terms_; }

 private:
  struct Step {
    enum Kind : uint8_t { constant, symbol, add, multiply, floor_div, mod, min, max, call } kind;
    SymFn fn{};         // call
    int64_t value = 0;  // constant, slot
    double factor = 0;  // call
  };

  bool add_linear(const SymNode* monomial, int64_t coefficient, const SymValues& fixed);
  void emit(Dim dim, const SymValues& fixed);
  int64_t run(const int64_t* values) const;
  std::optional<int64_t> run_narrow(const int64_t* values) const;
  int64_t run_wide(const int64_t* values) const;
  int64_t wide_sum(const int64_t* values) const;

  int64_t constant_ = 0;
  std::vector<Term> terms_;
  std::vector<Step> steps_;  // not empty: they are the dim
};

}  // namespace lenz
