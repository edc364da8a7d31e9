// Runs a graph in eager with the draws of random ops taken from Lenz's own stream (compiler/scalar/random_stream.h)
// instead of eager's generator, which no compiled code can follow.
//
// A run's ambient stream has as seed one 64-bit draw of PyTorch's CPU generator, and offset 0; each op without a
// generator of its own takes what it needs and leaves the offset behind it. An op with an explicit seed draws from that
// seed, from offset 0.
// Thread-safety: as Boxed.
#pragma once

#include "compiler/ops/draws.h"
#include "compiler/scalar/random_stream.h"
#include "oracle/execute.h"

namespace lenz::oracle {

// Whether a call that draws has a sampling from the stream: its row says how.
bool has_sampling(const OpDef& op);

class LenzRandom final : public NodeMachine {
 public:
  enum class Others { refused, left_to_libtorch };  // calls that draw and have no sampling: Unsupported, or eager's
  explicit LenzRandom(Boxed& boxed, Others others = Others::refused) : boxed_(boxed), others_(others) {}
  void run(const Graph& graph, const Node& node, std::span<const RunValue> values, const SymValues& symbols,
           Outcome& outcome) override;
  void seed(uint64_t ambient) override;

 private:
  Outcome drawn(const Graph& graph, const Node& node, std::span<const RunValue> values, const SymValues& symbols,
                const Draw& draw);
  Boxed& boxed_;
  Others others_;
  RandomStream ambient_;
};

}  // namespace lenz::oracle
