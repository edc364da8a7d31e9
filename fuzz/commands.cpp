#include "fuzz/commands.h"

namespace lenz::fuzz {

std::span<const Command> fuzz_commands() {
  static constexpr Command kCommands[] = {
      {"fuzz", "hold every stage of the compiler against the oracle, on random graphs", fuzz_command},
      {"reduce", "find the smallest graph that fails as a given one does", reduce_command},
  };
  return kCommands;
}

}  // namespace lenz::fuzz
