// Memory that shows who writes where nothing is, and who leaves unwritten what is returned. While a GuardedMemory
// lives, libtorch's fresh CPU memory is filled with a poison and has a band of known bytes before and behind; the
// inputs that it guards have known bytes in the gaps between their elements too. Without one, nothing of this costs
// anything. Thread-safety: one at a time in a process, for libtorch has one allocator; what was allocated may be freed
// anywhere and later.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "compiler/graph/graph.h"
#include "oracle/value.h"

namespace lenz::oracle {

// Bytes that somebody changed and that belong to no element.
struct Damage {
  std::string where;   // "input %x", "a buffer of 64 bytes"
  int64_t offset = 0;  // of the first such byte, from the first one of the storage; negative: before it
  uint64_t bytes = 0;
  std::string after;  // the node after which it was seen, if anybody looked
  std::string text() const;
  friend bool operator==(const Damage&, const Damage&) = default;
};

class GuardedMemory {
 public:
  explicit GuardedMemory(std::byte poison = std::byte{0xFF});
  ~GuardedMemory();
  GuardedMemory(const GuardedMemory&) = delete;
  GuardedMemory& operator=(const GuardedMemory&) = delete;

  // The graph's inputs again, in guarded memory; those that share memory still do.
  std::vector<RunValue> guard(const Graph& graph, std::span<const RunValue> inputs);

  // Looks at the gaps of all memory that is there and right beside it; what is new is told to come after what `after`
  // says. What is written farther off is seen at the end, or where the
  // memory is freed.
  void look_around(const std::function<std::string()>& after);
  std::vector<Damage> damage();  // so far, in the order in which it was seen

  struct State;  // outlives this object as long as memory of it is held

 private:
  std::shared_ptr<State> state_;
};

}  // namespace lenz::oracle
