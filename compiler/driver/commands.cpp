#include "compiler/driver/commands.h"

namespace lenz {

std::span<const Command> driver_commands() { return {}; }

}  // namespace lenz
