// Wrong ways to compute a graph: compilers' classic bugs, one at one place of one run.
// Thread-safety: pure functions; values.
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "oracle/controls/plan.h"

namespace lenz::oracle::controls {

enum class Mutant : uint8_t {
  one_bad_element,
  reduction_drops_last,
  extremum_starts_at_zero,  // instead of at an infinity
  transposed_read,
  wrong_dtype,       // an intermediate rounded to a narrower one
  off_by_one_count,  // n - 1 for n
  row_off_by_one,
  element_off_by_one,
  half_overwritten,  // half of the elements are an operand's: a write came before its reads were done
  row_unwritten,
  eps_dropped,
  operands_swapped,
  wrong_broadcast_dim,
  stale_accumulator,  // a row's sum starts at the one before
  nan_lost,           // a NaN becomes zero
};
inline constexpr int kMutants = 15;
std::string_view name(Mutant mutant);
std::optional<Mutant> find_mutant(std::string_view name);

struct Mutation {
  Mutant mutant = Mutant::one_bad_element;
  const Step* site = nullptr;  // of the plan
  Step step;                   // what stands there instead
  uint64_t seed = 0;

  void spoil(std::span<Elements*> results, const std::vector<Elements>& values) const;
};

// The primitives of a plan at which a mutant can be.
std::vector<const Step*> sites(const Plan& plan, Mutant mutant);
Mutation mutate(const Step& site, Mutant mutant, uint64_t seed);

}  // namespace lenz::oracle::controls
