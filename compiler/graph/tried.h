// A node that is tried: what a rule relied on before it refused, or went no further, is nothing that a graph without
// the node relies on. (Who is told of a refusal by an exception may ask under which guards it was: Graph::insert leaves
// them there.)
// Thread-safety: as the graph's.
#pragma once

#include <utility>

#include "compiler/graph/assumptions.h"

namespace lenz {

class Tried {
 public:
  explicit Tried(Assumptions& of) : of_(of), before_(of) {}
  ~Tried() {
    if (!stays_) of_ = std::move(before_);
  }
  Tried(const Tried&) = delete;
  Tried& operator=(const Tried&) = delete;

  void stays() { stays_ = true; }
  bool more_is_known() const { return of_.guards().size() > before_.guards().size(); }

 private:
  Assumptions& of_;
  Assumptions before_;
  bool stays_ = false;
};

}  // namespace lenz
