// The oracle's commands, which run inside the plugin.
// Thread-safety: constant data.
#pragma once

#include <span>

#include "compiler/base/command.h"

namespace lenz::oracle {

std::span<const Command> oracle_commands();

ExitCode ops_check_command(std::span<const std::string> args);     // `lenz ops --check`
ExitCode values_check_command(std::span<const std::string> args);  // `lenz ops --check --values`

ExitCode run_command(std::span<const std::string> args);
ExitCode graph_check_command(std::span<const std::string> args);  // `lenz check`
ExitCode python_command(std::span<const std::string> args);
ExitCode controls_command(std::span<const std::string> args);

}  // namespace lenz::oracle
