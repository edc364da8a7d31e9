// `lenz fmt`: graphs in canonical spelling.
// Thread-safety: none; it prints.
#pragma once

#include <span>
#include <string>

#include "compiler/base/error.h"

namespace lenz {

ExitCode fmt_command(std::span<const std::string> args);

}  // namespace lenz
