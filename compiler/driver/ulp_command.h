// `lenz ulp`: holds the code that is emitted for scalar primitives against the table.
// Thread-safety: reads constant data.
#pragma once

#include <span>
#include <string>

#include "compiler/base/error.h"

namespace lenz {

ExitCode ulp_command(std::span<const std::string> args);

}  // namespace lenz
