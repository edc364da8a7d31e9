// The fuzzer's commands, which run inside the plugin.
// Thread-safety: constant data.
#pragma once

#include <span>

#include "compiler/base/command.h"

namespace lenz::fuzz {

std::span<const Command> fuzz_commands();

ExitCode fuzz_command(std::span<const std::string> args);
ExitCode reduce_command(std::span<const std::string> args);

}  // namespace lenz::fuzz
