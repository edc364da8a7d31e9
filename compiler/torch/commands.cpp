#include "compiler/torch/commands.h"

namespace lenz {

std::span<const Command> torch_commands() { return {}; }

}  // namespace lenz
