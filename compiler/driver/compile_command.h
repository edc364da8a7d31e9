// `lenz compile`.
// Thread-safety: none needed; a command runs once.
#pragma once

#include <span>
#include <string>

#include "compiler/base/error.h"

namespace lenz {

ExitCode compile_command(std::span<const std::string> args);

}  // namespace lenz
