#include "oracle/commands.h"

namespace lenz::oracle {

std::span<const Command> oracle_commands() {
  static constexpr Command kCommands[] = {
      {"ops-check", "hold rows of the op table against libtorch", ops_check_command},
      {"run", "run a graph on given or made inputs", run_command},
      {"check", "hold every pass against eager libtorch, on one graph", graph_check_command},
      {"python", "print a graph as a program for PyTorch", python_command},
      {"controls", "hold the oracle against legal and wrong variants of random graphs", controls_command},
  };
  return kCommands;
}

}  // namespace lenz::oracle
