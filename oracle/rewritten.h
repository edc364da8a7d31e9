// What passes make of a graph, run in eager, and held to what the graph itself gives there. What eager is known to get
// wrong it need not get wrong in the same way for both: then the reference decides.
// Thread-safety: the trial's.
#pragma once

#include "oracle/trial.h"

namespace lenz::oracle {

class Rewritten {
 public:
  explicit Rewritten(Trial& trial, std::span<const KnownFault> known = known_faults()) : trial_(trial), known_(known) {}

  // Bit for bit; but signs of zeros and NaNs that are nobody's promise, and what hangs on them, within the bounds.
  std::optional<Mismatch> differs(const Graph& made, const Execution& got);
  // Where the passes may round otherwise: within the bounds.
  std::optional<Mismatch> out_of_bounds(const Graph& made, const Execution& got);
  // Whether eager is known to be wrong somewhere in what it ran.
  const KnownFault* known_of(const Graph& ran, const Execution& got, Draws draws = Draws::eager);
  // The same of code that left a part to libtorch: whether it is as far off as eager is known to be there, and no
  // further.
  bool known_of_host(const Mismatch& mismatch, const Execution& got, HowRun how);

 private:
  bool rounds_by_layout(const Graph& made) const;
  static bool rounds_in_place(const Graph& graph);
  bool eager_is_at_fault();
  std::optional<Mismatch> beyond_bounds(const Execution& got);

  Trial& trial_;
  std::span<const KnownFault> known_;
};

}  // namespace lenz::oracle
