// The commands of `lenz`, in the order in which --help lists them. One file per command in this folder, one line in
// commands.cpp. What needs libtorch lives in the plugin and is listed here by a line that forwards to it.
// Thread-safety: constant data.
#pragma once

#include <span>

#include "compiler/base/command.h"

namespace lenz {

std::span<const Command> driver_commands();

}  // namespace lenz
