// `lenz diff`: two graphs, node by node.
// Thread-safety: none; it prints.
#pragma once

#include <span>
#include <string>

#include "compiler/base/error.h"

namespace lenz {

ExitCode diff_command(std::span<const std::string> args);

}  // namespace lenz
