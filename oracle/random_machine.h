// Runs a graph in eager with the draws of random ops taken from Lenz's own stream (compiler/scalar/random_stream.h)
// instead of eager's generator, which no compiled code can follow.
//
// A run's ambient stream has as seed one 64-bit draw of PyTorch's CPU generator, and offset 0; each op without a
// generator of its own takes what it needs and leaves the offset behind it. An op with an explicit seed draws from that
// seed, from offset 0.
// Thread-safety: as Boxed.
#pragma once

#include "compiler/scalar/random_stream.h"
#include "oracle/execute.h"

namespace lenz::oracle {

class LenzRandom final : public NodeMachine {
 public:
  explicit LenzRandom(Boxed& boxed) : boxed_(boxed) {}
  // Throws Unsupported for a random op whose row does not say how it samples.
  Outcome run(const Graph& graph, const Node& node, std::span<const RunValue> values,
              const SymValues& symbols) override;
  void seed(uint64_t ambient) override;

 private:
  Boxed& boxed_;
  RandomStream ambient_;
};

}  // namespace lenz::oracle
