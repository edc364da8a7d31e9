// The commands that run inside the plugin. Each is also a line in compiler/driver/commands.cpp that forwards to it.
// Thread-safety: constant data.
#pragma once

#include <span>

#include "compiler/base/command.h"

namespace lenz {

std::span<const Command> torch_commands();

}  // namespace lenz
