// The room's command, which runs inside the plugin.
// Thread-safety: constant data.
#pragma once

#include <span>

#include "compiler/base/command.h"

namespace lenz::bench {

std::span<const Command> bench_commands();

}  // namespace lenz::bench
