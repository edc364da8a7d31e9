// `lenz verify`: graphs against the numbered rules.
// Thread-safety: none; it prints.
#pragma once

#include <span>
#include <string>

#include "compiler/base/error.h"

namespace lenz {

ExitCode verify_command(std::span<const std::string> args);

}  // namespace lenz
